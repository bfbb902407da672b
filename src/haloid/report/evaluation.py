"""An evaluation as people read it: a table for screen and page, and the sections of the page."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean

from haloid.report.html.parts import KeyNumbers, Note, Section, Table, Text
from haloid.skills.evaluation.evaluate import Evaluation, Which

ERROR_NAMES = {
    "e_g_mpjpe_mm": ("E_g-mpjpe (mm)", "bodies in the world", 1),
    "e_mpjpe_mm": ("E_mpjpe (mm)", "bodies, relative to the pelvis", 1),
    "e_acc_mm_frame2": ("E_acc (mm/frame²)", "acceleration of bodies", 2),
    "e_vel_m_s": ("E_vel (m/s)", "velocity of the pelvis", 3),
    "e_fpos_m": ("E_fpos (m)", "distance forward, greatest", 3),
    "e_epos_m": ("E_epos (m)", "position, at the end", 3),
    "e_ang_deg": ("E_ang (°)", "heading, at the end", 1),
}
"""By metric: its name, what it measures, decimals."""


def success_text(evaluation: Evaluation) -> str:
    return f"{evaluation.successes} of {len(evaluation.metrics)}"


def metrics_table(evaluation: Evaluation) -> Table:
    """All runs beside the successful ones, whether any failed or not."""
    rows = [
        [name, what, _error(evaluation, key, "all", decimals), _error(evaluation, key, "successful", decimals)]
        for key, (name, what, decimals) in ERROR_NAMES.items()
    ]
    note = (
        "Mean ± standard deviation over runs. A run that fails counts up to its failure (mean body distance over 0.5 "
        "m) under “all runs” and has no value at the end; a mean that would leave it out is not shown."
    )
    return Table(["error", "of", "all runs", "successful"], rows, note if evaluation.success_rate < 1 else "")


def _error(evaluation: Evaluation, key: str, which: Which, decimals: int) -> str:
    error = evaluation.error(key, which)
    return "–" if error is None else f"{error.mean:.{decimals}f} ± {error.std:.{decimals}f}"


def use_table(evaluation: Evaluation) -> Table:
    """Torques and joint ranges, the most used joints first."""
    order = sorted(range(len(evaluation.joint_names)), key=lambda row: -evaluation.torque_peak_use[row])
    rows = [
        [
            evaluation.joint_names[row].removesuffix("_joint"),
            f"{100 * evaluation.torque_rms_use[row]:.0f} %",
            f"{100 * evaluation.torque_peak_use[row]:.0f} %",
            f"{100 * evaluation.range_peak_use[row]:.0f} %",
        ]
        for row in order
    ]
    return Table(["joint", "torque rms", "torque peak", "range peak"], rows)


def evaluation_sections(evaluation: Evaluation, settings: Mapping[str, str]) -> list[Section]:
    from haloid.report.evaluation_plots import error_over_time, foot_heights, use_by_joint

    worst = evaluation.torque_peak_use.argmax()
    global_error = mean([metrics.e_g_mpjpe_mm for metrics in evaluation.metrics])
    numbers = KeyNumbers(
        [
            ("success", success_text(evaluation), "mean body distance never over 0.5 m"),
            ("survival", f"{100 * evaluation.survival:.0f} %", "of the motion before a failure"),
            ("E_g-mpjpe", f"{global_error:.1f} mm", "mean of all runs, each up to its end"),
            (
                "peak torque",
                f"{100 * evaluation.torque_peak_use[worst]:.0f} %",
                f"of the limit, {evaluation.joint_names[worst].removesuffix('_joint')}",
            ),
        ]
    )
    failed = len(evaluation.metrics) - evaluation.successes
    caveat = [Note(f"{failed} of {len(evaluation.metrics)} runs failed.")] if failed else []
    return [
        Section("How well it follows", [numbers, *caveat, metrics_table(evaluation), error_over_time(evaluation)]),
        Section("Feet", [foot_heights(evaluation)]),
        Section(
            "Torques and joint ranges",
            [
                Text(
                    "As parts of each joint's torque limit and of half its range (100 % is the stop), over all rows "
                    "that count, taken at the end of every control step."
                ),
                use_by_joint(evaluation),
                use_table(evaluation),
            ],
        ),
        Section("Settings", [Table(["setting", "value"], [[name, value] for name, value in settings.items()])]),
    ]
