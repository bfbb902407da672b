"""The report of a calibration: the gap that is left, the servos, and the runs they were judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from haloid.identify.calibration.calibrate import Calibration
from haloid.identify.calibration.files import joint_estimates
from haloid.identify.calibration.lone_joint import KINDS
from haloid.identify.replay import mean_rms
from haloid.report.html.parts import KeyNumbers, Note, Section, Table, Text
from haloid.report.plots import joint_curves

TITLE = "The servos as they are"
_UNITS = {
    "kp": "N·m/rad",
    "damping": "N·m·s/rad",
    "frictionloss": "N·m",
    "armature": "kg·m²",
    "effort": "N·m",
    "delay": "ms",
}


def lead(found: Calibration) -> str:
    """One sentence: the gap before and after."""
    played, nominal = found.judged
    seen = "on runs that were not used to fit" if found.held_out else "on the runs that were fitted"
    return (
        f"Replayed from its first state, the calibrated robot strays {1e3 * mean_rms(played):.1f} mrad rms {seen}, "
        f"against {1e3 * mean_rms(nominal):.1f} mrad for the nominal one."
    )


def summary_lines(found: Calibration) -> list[str]:
    """For the screen: the gap, how many readings were foreseen, and every doubt."""
    foreseen = f"{100 * found.coverage95:.0f} % of the readings are in the 95 % interval of their prediction."
    return [lead(found), foreseen, *(f"warning: {doubt}" for doubt in found.doubts)]


def servo_table(found: Calibration) -> Table:
    """One line per joint: every quantity with its 95 % interval."""
    kinds = (*KINDS, "delay")
    rows = []
    for j, name in enumerate(found.fit.joint_names):
        estimates = joint_estimates(found, j)
        rows.append([name, *(_cell(kind, estimates.get(kind)) for kind in kinds)])
    note = "In brackets the 95 % interval; kd is part of the damping."
    unseen = [name for name, seen in zip(found.fit.joint_names, found.fit.kp_seen, strict=True) if not seen]
    if unseen:
        note += f" The scale of the forces of {', '.join(unseen)} shows little and is taken from the other servos."
    return Table(["joint", *(f"{kind} ({_UNITS[kind]})" for kind in kinds)], rows, note)


def truth_table(found: Calibration, truth: Mapping[str, Mapping[str, float]], kinds: Sequence[str]) -> Table:
    """Of a simulated robot: true servos, by joint and kind, beside those found."""
    rows: list[list[str]] = []
    for j, name in enumerate(found.fit.joint_names):
        estimates = joint_estimates(found, j)
        rows.append([name, "", "", "", ""])
        for kind in kinds:
            scale, estimate = _scale(kind), estimates[kind]
            low, high = estimate["interval95"]
            numbers = [f"{scale * number:.3g}" for number in (truth[name][kind], estimate["value"], low, high)]
            inside = "yes" if low <= truth[name][kind] <= high else "no"
            rows.append(
                [f"  {kind} ({_UNITS[kind]})", *numbers[:2], f"{numbers[2]} to {numbers[3]}", inside],
            )
    return Table(
        ["", "truth", "estimate", "95 % interval", "inside"],
        rows,
        "The truth was not used to find the estimate.",
    )


def calibration_sections(found: Calibration, tables: list[Table]) -> list[Section]:
    """`tables` are the gap by run and by joint."""
    played, nominal = found.judged
    numbers = KeyNumbers(
        [
            ("calibrated", f"{1e3 * mean_rms(played):.1f} mrad", "rms, mean of runs"),
            ("nominal", f"{1e3 * mean_rms(nominal):.1f} mrad", "rms, mean of runs"),
            ("ratio", f"{mean_rms(played) / mean_rms(nominal):.3f}", "held out" if found.held_out else "fitted"),
            ("inside 95 %", f"{100 * found.coverage95:.0f} %", "of the readings, in their predicted interval"),
        ]
    )
    figures = []
    for one, other in list(zip(played, nominal, strict=True))[:2]:
        thin = slice(None, None, max(1, len(one.time_s) // 1500))
        curves = {
            "read": one.read_rad[thin],
            "calibrated": one.played_rad[thin],
            "nominal": np.nan_to_num(other.played_rad[thin]),
        }
        figures.append(joint_curves(one.time_s[thin], one.joint_names, curves, f"{one.name}, a whole run replayed."))
    method = Text(
        "Each joint was simulated on its own, the others as measured, and its gain, damping, friction, armature, "
        "torque limit and delay were fitted to stretches of half a minute. The written model was then replayed in "
        "MuJoCo."
    )
    return [
        Section("The gap that is left", [numbers, *(Note(f"{doubt}.") for doubt in found.doubts), *tables]),
        Section("The servos", [method, servo_table(found)]),
        Section("Whole runs", figures),
    ]


def _cell(kind: str, estimate: dict | None) -> str:
    if estimate is None:
        return "–"
    scale = _scale(kind)
    low, high = (scale * end for end in estimate["interval95"])
    return f"{scale * estimate['value']:.3g} ({low:.2g} to {high:.2g})"


def _scale(kind: str) -> float:
    """From SI units to those shown."""
    return 1e3 if kind == "delay" else 1.0
