"""The report of an identification: its title, its answer in one sentence, and its sections.

Comes in: an `Identification` and its `Answer`; for a simulated robot also what it really is, to be shown beside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haloid.engines.physics import Column
from haloid.identify.problem.unknowns import LOWER_BOUND
from haloid.identify.results.answer import NORMAL_95, Answer, PayloadEstimate
from haloid.identify.results.files import versions
from haloid.identify.results.identifiability import seen_directions, words_for
from haloid.identify.settings import payload_patterns
from haloid.identify.solvers.fit import Fit
from haloid.identify.stages import Identification
from haloid.recordings.recording import Recording
from haloid.report import identification_plots as plots
from haloid.report.html.parts import KeyNumbers, Note, Part, Section, Table, Text, made_section
from haloid.report.quantities import KnownRobot, Quantity, by_link, has_payload, payload_quantities, with_error_bar

TITLE = "What the robot carries"
_BASE_SHOWN = 16
_AT_BOUND = 1e-6
_SOLVERS = {"lm": "Levenberg–Marquardt, growing horizon", "gd": "gradient descent (HALO's)", "cma": "CMA-ES"}
_LOSSES = {"joints": "joint angles over encoder noise", "cartesian": "body positions (HALO's Eqs. 5-7)"}
_MODELS = {"body": "a body", "halo": "HALO's perturbation"}
_REGULARISERS = {"gaussian": "Gaussian around the data sheet", "paper": "HALO's Eqs. 8-9"}


def lead(answer: Answer) -> str:
    """The answer in one sentence."""
    carried = [one for one in answer.payload if one.mass_kg.std > 0]
    if not carried:
        return "The centres of mass of the payload links were identified, their masses taken as known."
    parts = [f"{_mass(one, significant=1)} at {one.link}" for one in carried]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    doubt = "" if answer.white else " The model does not explain the recordings, so these error bars are too small."
    return f"The robot carries {listed} (± is half of the 95 % interval).{doubt}"


def identification_sections(
    found: Identification,
    answer: Answer,
    unloaded: Sequence[Recording],
    loaded: Sequence[Recording],
    known: KnownRobot | None = None,
) -> list[Section]:
    quantities, stage1 = payload_quantities(answer, known), found.stage1
    sections = {
        "The robot and its load": lambda: _robot_section(answer, loaded[0]),
        "The payload": lambda: _payload_section(found, answer, quantities, known),
        "Prediction, before and after": lambda: _prediction_section(found, answer),
        "The search": lambda: _search_section(found, known),
        "The robot itself": lambda: [] if stage1 is None else _base_section(stage1, answer, known),
        "What the data cannot see": lambda: _blind_section(found, answer),
        "How it was done": lambda: _method_section(found, answer, unloaded, loaded),
    }
    made = [made_section(title, make) for title, make in sections.items()]
    return [section for section in made if section.parts]


def _robot_section(answer: Answer, recording: Recording) -> list[Part]:
    from haloid.report.pictures.carrying_robot import carrying_robot

    return [carrying_robot(recording, answer.payload)]


def _payload_section(
    found: Identification, answer: Answer, quantities: list[Quantity], known: KnownRobot | None
) -> list[Part]:
    masses, others = _mass_numbers(answer), _other_numbers(found, answer)
    numbers = [KeyNumbers([*masses, *others])] if len(masses) < 2 else [KeyNumbers(masses), KeyNumbers(others)]
    parts: list[Part] = [*numbers, *_warnings(found, answer), *plots.found_changes(quantities)]
    if known is not None:
        parts.append(plots.against_truth(quantities))
    return [*parts, _payload_table(quantities, found.stage1 is not None, known is not None)]


def _mass_numbers(answer: Answer) -> list[tuple[str, str, str]]:
    numbers = []
    for one in answer.payload:
        half = float(NORMAL_95 * one.mass_kg.std)
        if half > 0:
            value, bar = with_error_bar(float(one.mass_kg.value), half).split(" ± ")
            numbers.append((f"payload at {one.link}", f"{value} kg", f"± {bar} kg (95 %)"))
    return numbers


def _other_numbers(found: Identification, answer: Answer) -> list[tuple[str, str, str]]:
    rms = {name: 1e3 * value for name, value in answer.rms_rad.items()}
    numbers = [("prediction error", f"{rms['heldout']:.2f} mrad", f"nominal model: {rms['nominal']:.2f} mrad")]
    if answer.noise_rad is not None:
        about = "as given" if found.settings.noise_rad is not None else "estimated, median of the joints"
        numbers.append(("encoder noise", f"{1e3 * np.median(answer.noise_rad):.2f} mrad", about))
    stages = "two stages" if found.stage1 is not None else "one stage"
    numbers.append(("time", f"{found.seconds:.1f} s", f"{stages}, {_iterations(found)} iterations"))
    return numbers


def _warnings(found: Identification, answer: Answer) -> list[Note]:
    notes = []
    if found.stage1 is None:
        notes.append(
            Note(
                "One stage: the robot without its load was taken for its data sheet. Where it differs, the difference "
                "is counted as payload, and the error bars do not cover it. Two stages calibrate it first."
            )
        )
    notes += [Note(f"{doubt[0].upper()}{doubt[1:]}.") for doubt in answer.doubts]
    if not answer.converged:
        notes.append(Note("The solver reached its iteration limit before it converged; raise --iterations."))
    if not answer.white:
        notes.append(
            Note(
                f"The residuals are not white (lag-1 correlation {answer.lag1:+.2f}): the model leaves something out, "
                "and the error bars are too small by an unknown factor."
            )
        )
    return notes


def _payload_table(quantities: list[Quantity], two_stages: bool, with_truth: bool) -> Table:
    def cells(q: Quantity) -> list[str]:
        numbers = [q.text(q.value), f"± {q.text(q.half95)}", q.text(q.nominal)]
        return [*numbers, q.text(q.truth), "yes" if q.inside else "no"] if with_truth else numbers

    columns = ["", "identified", "95 %", "nominal", *(["truth", "inside"] if with_truth else [])]
    note = (
        "Mass and CoM are the link's own with its payload; payload is what was added, and its CoM is its own. CoMs are "
        "in the link's frame."
    )
    if two_stages:
        note += (
            " The payload is known better than the mass of its link: the link's own share cannot be told from its "
            "neighbours' and rests on the data sheet."
        )
    return by_link(columns, quantities, cells, note, indent="\N{EM SPACE}")


def _prediction_section(found: Identification, answer: Answer) -> list[Part]:
    assert answer.validation is not None
    count, rms = answer.validation.fragments.count, answer.rms_rad
    data = "held-out" if found.loaded.held_out.any() else "the fitted"
    text = Text(
        f"On {count} {data} fragments of the loaded recordings, the identified model is {1e3 * rms['heldout']:.3f} "
        f"mrad rms from the encoders, the nominal model {1e3 * rms['nominal']:.3f} mrad. A perfect model would leave "
        "the encoders' noise."
    )
    joints = found.physics.joints
    figures = [plots.prediction(answer.validation, joints), plots.error_by_joint(answer.validation, joints)]
    return [text, *figures]


def _search_section(found: Identification, known: KnownRobot | None) -> list[Part]:
    columns = found.stage2.unknowns.columns[: found.payload_columns]
    masses = [i for i, column in enumerate(columns) if column.kind == "mass"]
    links = [columns[i].owner for i in masses]
    if not masses or len(found.stage2.trace) < 2:
        return [Text(f"Stage 2 took {found.stage2.iterations} iterations.")]
    base = np.array([found.base.link(link).mass_kg for link in links])
    truth = None
    if known is not None:
        truth = np.array([known.loaded.links[x].mass_kg - known.bare.links[x].mass_kg for x in links])
    figure = plots.convergence(found.stage2.trace, masses, links, base, found.stage2.std[masses], truth)
    return [figure]


def _base_section(stage1: Fit, answer: Answer, known: KnownRobot | None) -> list[Part]:
    """Stage 1's largest changes of links, in units of the prior, and all joints."""
    columns, prior = stage1.unknowns.columns, stage1.unknowns.prior
    unit = 1 / np.sqrt(np.maximum(np.diag(prior.information), 1e-12))
    change = (stage1.values - prior.mean) / unit
    links = [i for i, c in enumerate(columns) if c.kind in ("mass", "com") and prior.information[i, i] > 0]
    parts: list[Part] = [
        Text(
            "Stage 1 calibrates the robot without its load, so that its own errors are not taken for payload. What the "
            "data cannot see stays at its nominal value, with the prior's error bar."
        )
    ]
    largest = sorted(links, key=lambda i: -abs(change[i]))[:_BASE_SHOWN]
    if largest:
        truth = None
        if known is not None:
            truth = np.array([(_link_truth(columns[i], known) - prior.mean[i]) / unit[i] for i in largest])
        panels = [
            plots.Values(
                "change (prior standard deviations)",
                [words_for(columns[largest[k]]) for k in half],
                change[largest][half],
                (stage1.std / unit)[largest][half],
                np.zeros(len(half)),
                None if truth is None else truth[half],
            )
            for half in plots.halves(np.arange(len(largest)))
        ]
        caption = f"The {len(largest)} largest changes of the {len(links)} masses and CoM coordinates."
        parts.append(plots.values_by_name(panels, caption))
    joints = _joint_panels(answer, known)
    if joints:
        caption = "Damping and dry friction of the joints. Hollow: at its lower bound."
        parts.append(plots.values_by_name(joints, caption))
    return parts


def _link_truth(column: Column, known: KnownRobot) -> float:
    link = known.bare.links[column.owner]
    return link.mass_kg if column.kind == "mass" else float(link.com_in_link_m["xyz".index(column.component)])


def _joint_panels(answer: Answer, known: KnownRobot | None) -> list[plots.Values]:
    panels = []
    for kind, label in (("damping", "damping (N·m·s/rad)"), ("frictionloss", "friction loss (N·m)")):
        found = {joint: kinds[kind] for joint, kinds in answer.joints.items() if kind in kinds}
        if not found:
            continue
        truth = None
        if known is not None:
            true = known.bare.damping if kind == "damping" else known.bare.frictionloss_nm
            truth = np.array([true[known.bare.joint_names.index(joint)] for joint in found])
        value, std, nominal = (
            np.array([getattr(e, key) for e in found.values()]) for key in ("value", "std", "nominal")
        )
        std[value <= LOWER_BOUND[kind] + _AT_BOUND] = 0.0
        panels.append(plots.Values(label, list(found), value, std, nominal, truth))
    return panels


def _blind_section(found: Identification, answer: Answer) -> list[Part]:
    parts: list[Part] = []
    if found.stage1 is not None:
        seen, total = seen_directions(found.stage1)
        parts.append(
            Text(
                f"Of the {total} directions in the space of stage 1's parameters, the unloaded recordings know {seen} "
                "better than the prior. The others stay where the data sheet has them."
            )
        )
    if answer.blind:
        parts.append(Table(["not seen in these recordings"], [[blind.why] for blind in answer.blind]))
    else:
        parts.append(Text("The data sees every parameter that was sought, and tells each from the others."))
    return parts


def _method_section(
    found: Identification, answer: Answer, unloaded: Sequence[Recording], loaded: Sequence[Recording]
) -> list[Part]:
    settings, data = found.settings, found.loaded.fragments
    held = int(found.loaded.held_out.sum())
    seconds = ", ".join(f"{name} {spent:.1f} s" for name, spent in found.stage_seconds.items() if spent > 0)
    rows = [
        ["robot", f"{loaded[0].robot}, clamped at {loaded[0].clamp or 'its own base'}, {loaded[0].support} support"],
        ["loaded", ", ".join(recording.title for recording in loaded)],
        ["unloaded", ", ".join(recording.title for recording in unloaded) if unloaded else "–"],
        ["payload", f"{_MODELS[settings.payload_model]}: {', '.join(payload_patterns(settings))}"],
        ["engine", f"{settings.engine}, a step of {1e3 * found.simulator.model.opt.timestep:g} ms"],
        ["solver", _SOLVERS[settings.solver]],
        ["loss", _LOSSES[settings.loss]],
        ["fragments", f"{data.count} loaded, {held} of them held out; {data.rows} control steps each"],
        ["iterations", f"{_iterations(found)} ({seconds})"],
        ["residuals", f"lag-1 correlation {answer.lag1:+.3f}; 0 is white"],
        ["versions", ", ".join(f"{name} {number}" for name, number in versions().items())],
    ]
    if (floor := found.contact) is not None:
        text = f"contacts change in {floor.switching} of {floor.fragments} fragments; {floor.left_out} left out for it"
        rows.insert(8, ["floor", text])
    if found.stage1 is not None:
        rows.insert(4, ["base parameters", ", ".join(settings.base_parameters)])
        rows.insert(8, ["prior of the base", _REGULARISERS[settings.regulariser]])
    note = "result.json holds every number and the files' checksums, config.yaml every setting."
    return [Table(["what", "value"], rows, note)]


def _mass(one: PayloadEstimate, significant: int = 2) -> str:
    half = float(NORMAL_95 * one.mass_kg.std)
    text = with_error_bar(float(one.mass_kg.value), half, significant)
    return f"{text} kg" if has_payload(one.mass_kg) else f"nothing certain ({text} kg)"


def _iterations(found: Identification) -> int:
    return found.stage2.iterations + (0 if found.stage1 is None else found.stage1.iterations)
