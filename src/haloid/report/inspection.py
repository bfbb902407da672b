"""An inspection as people read it: facts in words, tables for screen and page, and the sections of the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from haloid.identify.data.usable import pieces
from haloid.identify.inspection.inspect import Inspection, JointFacts
from haloid.identify.inspection.precision import LinkPrecision
from haloid.identify.results.answer import NORMAL_95
from haloid.recordings.encoder_step import quantisation_noise_rad
from haloid.recordings.recording import Recording
from haloid.report.html.parts import Figure, Note, Section, Table, Text
from haloid.report.quantities import decimals

_NOTABLE = 6
"""Joints shown where there is little room."""
_PLOTTED_ROWS = 600
_LARGEST_SHARE = 9.99
"""A larger torque comes from wrong gains, and its digits mean nothing."""
_LINKS_FROM = {
    "named": "",
    "robot": "Other links with --payload-links.",
    "leaves": "These are the last links of its chains; others with --payload-links.",
}


def lead(inspection: Inspection, advice: Sequence[str]) -> str:
    """The recording in one sentence."""
    things = f"{len(advice)} thing{'s' * (len(advice) != 1)} to do better" if advice else "nothing amiss"
    return f"{inspection.duration_s:.1f} s at {inspection.rate_hz:.4g} Hz, {things}."


def facts(inspection: Inspection) -> list[tuple[str, str]]:
    """What each fact is, and the fact."""
    held = "its base is fixed" if inspection.clamp is None else f"clamped at {inspection.clamp}"
    support = "" if inspection.support == "single" else ", the other foot on the floor"
    lost = "no gaps"
    if inspection.gaps:
        lost = f"{inspection.gaps} gap{'s' * (inspection.gaps != 1)}, {inspection.lost_rows:,} rows lost"
    found = [
        ("robot", f"{Path(inspection.robot).name}, all its {len(inspection.joints)} joints, {held}{support}"),
        ("driven", f"{inspection.actuation} commands; payload: {inspection.payload}"),
        ("length", f"{inspection.duration_s:.1f} s: {inspection.rows:,} rows {_spacing(inspection)}, {lost}"),
        ("usable", f"{100 * inspection.usable_share:.0f} % of the rows (no joint at its stop)"),
        ("noise", f"{1e3 * inspection.noise_rad:.3f} mrad, {_noise_source(inspection)}"),
    ]
    if inspection.precision is not None and inspection.precision.misfit_rad is not None:
        missed = f"{1e3 * inspection.precision.misfit_rad:.3f} mrad rms"
        found.append(("fit", f"the robot of the data sheet with the best load misses by {missed}"))
    return found


def _spacing(inspection: Inspection) -> str:
    if inspection.uneven_steps_s is None:
        return f"at {inspection.rate_hz:.4g} Hz"
    shortest_s, longest_s = inspection.uneven_steps_s
    return f"{1e3 * shortest_s:.3g} to {1e3 * longest_s:.3g} ms apart, their times taken as given"


def _noise_source(inspection: Inspection) -> str:
    if inspection.noise_rad > float(quantisation_noise_rad(np.array(inspection.encoder_step_rad))):
        return "from how the readings scatter"
    if inspection.encoder_step_rad == 0:
        return "the readings do not scatter at all"
    return f"from the encoders' step of {1e3 * inspection.encoder_step_rad:.3g} mrad"


def notable(joints: Sequence[JointFacts]) -> list[JointFacts]:
    """Joints at a limit, then those that move the most and the least, in the robot's order."""
    if len(joints) <= _NOTABLE:
        return list(joints)
    limited = [j for j in joints if j.saturated_share > 0 or j.at_stop_share > 0]
    limited = sorted(limited, key=lambda j: -(j.saturated_share + j.at_stop_share))[: _NOTABLE // 2]
    by_motion = sorted((j for j in joints if j not in limited), key=lambda j: j.rms_rad)
    room = _NOTABLE - len(limited)
    chosen = {j.name for j in [*limited, *by_motion[: room // 2], *by_motion[len(by_motion) - (room - room // 2) :]]}
    return [joint for joint in joints if joint.name in chosen]


def joints_table(joints: Sequence[JointFacts], total: int) -> Table:
    rows = [
        [
            joint.name,
            f"{joint.low_rad:.2f} to {joint.high_rad:.2f}",
            f"{joint.rms_rad:.3f}",
            f"{joint.fastest_rad_s:.1f}",
            _share(joint.torque_share),
            _share(max(joint.saturated_share, joint.at_stop_share)),
        ]
        for joint in joints
    ]
    note = "" if len(joints) == total else f"{len(joints)} of {total}: at a limit, or moving the most or the least."
    return Table(["joint", "range (rad)", "rms", "rad/s", "torque", "at limit"], rows, note)


def _share(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{100 * share:.0f} %" if share < _LARGEST_SHARE else f"> {100 * _LARGEST_SHARE:.0f} %"


def precision_table(inspection: Inspection) -> Table | None:
    """Predicted 95 % intervals; None where nothing can be predicted."""
    found = inspection.precision
    if found is None:
        return None
    load = "with about the load it carries" if found.misfit_rad is not None else "without load"
    note = (
        f"Predicted from {found.fragments} fragments of {found.rows / inspection.rate_hz:.2g} s for a robot as in its "
        f"data sheet, {load}; wear makes it less certain. {_LINKS_FROM[inspection.links_from]}"
    ).strip()
    rows = [_precision_row(link) for link in found.links]
    return Table(["95 % interval of", "mass (g)", "CoM x (mm)", "y (mm)", "z (mm)"], rows, note)


def _precision_row(link: LinkPrecision) -> list[str]:
    std = {"mass": link.mass_std_kg, **dict(zip(("com.x", "com.y", "com.z"), link.com_std_m, strict=True))}
    return [link.link, *("–" if name in link.unseen else half95_text(1e3 * value) for name, value in std.items())]


def half95_text(std: float) -> str:
    """
    >>> half95_text(19.3)
    '± 38'
    """
    half = NORMAL_95 * std
    return f"± {half:.{decimals(half)}f}"


def inspection_sections(inspection: Inspection, advice: Sequence[str], recording: Recording) -> list[Section]:
    better = [Note(sentence) for sentence in advice] or [Text("Nothing: it is well within what identification needs.")]
    precision = precision_table(inspection)
    predicted = Text(f"Nothing can be predicted: {inspection.why_no_precision}.") if precision is None else precision
    note = [Text(f"Its note: {inspection.note}")] if inspection.note else []
    return [
        Section("What is in it", [Table(["", "found"], facts(inspection)), *note]),
        Section("What it could tell", [predicted]),
        Section("What to do better", better),
        Section("Joint by joint", [joints_table(inspection.joints, len(inspection.joints)), _curves(recording)]),
    ]


def _curves(recording: Recording) -> Figure:
    """All joints, thinned to what a plot can show, no line across a gap."""
    from haloid.report.plots import joint_curves

    stride = -(-len(recording.time_s) // _PLOTTED_ROWS)
    rows: list[int] = []
    for piece in pieces(recording):
        rows += [*range(piece.start, piece.stop, stride), -1]
    shown, between = np.array(rows), np.array(rows) < 0

    def thinned(values: np.ndarray) -> np.ndarray:
        chosen = values[shown].astype(float)
        chosen[between] = np.nan
        return chosen

    target = recording.target_rad
    reference = np.broadcast_to(recording.q_rad[0], recording.q_rad.shape) if target is None else target
    name = "start" if target is None else "target"
    curves = {name: thinned(reference), "encoder": thinned(recording.q_rad)}
    caption = f"Every joint: {name} and encoder."
    return joint_curves(thinned(recording.time_s), recording.joint_names, curves, caption, recording.joint_names)
