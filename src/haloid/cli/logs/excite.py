"""`haloid excite`: design a motion that reveals a clamped robot's payload, as a plan to play."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.cli.words import named_numbers
from haloid.robots.entries import DEFAULT_ROBOT, USUAL_CLAMP

if TYPE_CHECKING:
    from haloid.excite.scenario import Scenario
    from haloid.lab.excitation import Reference
    from haloid.report import Section

NOISE_RAD = 0.0005
"""Encoder noise for which intervals are predicted."""


@dataclass(frozen=True)
class Config:
    """Design an excitation: a motion that tells the most about the payload and that the robot can follow.

    Keeps joint limits, velocity, torque, balance (the clamped ankle's torque) and clearance of the links, for the
    robot without payload and with the heaviest one named. Writes NAME.csv and NAME.json, a plan that a robot can play,
    and NAME.html to look at it. haloid record --excitation NAME plays it on the lab robot.

    Examples:
        haloid excite g1 -o out/plan --heaviest torso_link=12 left_wrist_yaw_link=3.5 right_wrist_yaw_link=3
        haloid excite g1 -o out/plan --kind default --seconds 20
    """

    robot: tyro.conf.Positional[str]
    """A known robot, or the path of an MJCF or URDF file."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """NAME to write the plan to."""
    clamp: str | None = USUAL_CLAMP
    """The link held fixed in the world; usual: the one that haloid robots show names; None: a fixed base."""
    payload_links: tuple[str, ...] = ()
    """Links that will carry the payload; by default those that haloid robots show names."""
    heaviest: tuple[str, ...] = ()
    """LINK=KG: the heaviest payload a link may carry; a link not named carries none."""
    seconds: float = 10.0
    """Length of the motion."""
    kind: Literal["optimal", "default"] = "optimal"
    """default: a hand-made multi-sine."""
    budget: float = 600.0
    """Seconds after which the search ends with the best motion so far."""
    gains: str | None = None
    """A gain set of the robot, or model for the position servos in its own file. None: stiff where it has that set."""
    seed: int = 0
    """Seed of the motions that the search starts from."""


def run(config: Config) -> None:
    from haloid.excite.default import default_reference
    from haloid.excite.optimal import Search, optimal_reference
    from haloid.excite.plan import plan_of
    from haloid.excite.scenario import make_scenario, payload_of
    from haloid.lab.excitation import Excitation
    from haloid.lab.robot import LabRobot
    from haloid.recordings.files.write import write_recording
    from haloid.report import write_report
    from haloid.robots.description import describe

    out = config.out.with_suffix("") if config.out.suffix in (".csv", ".json", ".html") else config.out
    robot = LabRobot(robot=config.robot, clamp=config.clamp, gains=config.gains)
    heaviest = payload_of(masses_kg(config.heaviest))
    description = describe(config.robot)
    if not config.payload_links:
        description.need("haloid excite without --payload-links", "payload_links")
    payload_links = config.payload_links or description.payload_links
    scenario = make_scenario(robot, payload_links, heaviest, Excitation(duration_s=config.seconds))
    with console.progress("Designing") as say:
        default = reference = default_reference(scenario, config.seed)
        if config.kind == "optimal":
            design = optimal_reference(scenario, Search(budget_s=config.budget), config.seed, say)
            reference = design.reference
            if design.out_of_time:
                console.messages.print(f"The budget of {config.budget:g} s ended the search early.")
        say("predicting the intervals")
        parts = _prediction(scenario, reference, None if reference is default else default)
    out.parent.mkdir(parents=True, exist_ok=True)
    file = write_recording(plan_of(robot, reference, out.name, f"{config.kind} excitation"), out)
    lead = f"A plan of {config.seconds:g} s for {config.robot}, {config.kind}, for up to {_shown(config.heaviest)}."
    preview = out.with_name(f"{out.name}.html")
    write_report(preview, f"Excitation plan {out.name}", lead, [parts, _motion(scenario, reference)])
    for part in parts.parts:
        console.print_table(part)  # pyright: ignore[reportArgumentType]
    console.wrote(file)
    console.wrote(preview)
    console.next_command("record", *_robot_words(config), "--excitation", file, "-o", "logs/run")


def _robot_words(config: Config) -> list[str]:
    return [] if config.robot == DEFAULT_ROBOT else ["--robot", config.robot]


def masses_kg(words: tuple[str, ...]) -> dict[str, float]:
    """LINK=KG words, parsed."""
    return named_numbers("--heaviest", words, "LINK=KG", "torso_link=12")


def _shown(words: tuple[str, ...]) -> str:
    return ", ".join(f"{kg:g} kg on {link}" for link, kg in masses_kg(words).items()) or "no payload"


def _prediction(scenario: "Scenario", reference: "Reference", default: "Reference | None") -> "Section":
    """95 % intervals that the exact engine predicts for the heaviest payload."""
    from haloid.excite.prediction import predicted_bound
    from haloid.identify.results.answer import NORMAL_95
    from haloid.report import Section, Table

    bound = predicted_bound(scenario.heaviest, reference, scenario.payload_links, NOISE_RAD).without_inertia
    columns = ["parameter", "unit", "plan ±"]
    scale = [1e3] * len(bound.names)
    unit = ["g" if name.endswith(".mass") else "mm" for name in bound.names]
    rows: list[list[str]] = [[name, u] for name, u in zip(bound.names, unit, strict=True)]
    bounds = [bound]
    if default is not None:
        columns.append("multi-sine ±")
        bounds.append(predicted_bound(scenario.heaviest, default, scenario.payload_links, NOISE_RAD).without_inertia)
    for one in bounds:
        for row, factor, std in zip(rows, scale, one.std, strict=True):
            row.append(f"{NORMAL_95 * factor * std:.3g}")
    note = f"Predicted 95 % intervals from one run with the heaviest payload, encoder noise {1e3 * NOISE_RAD:g} mrad."
    if default is not None:
        times = bounds[1].volume_per_parameter / bound.volume_per_parameter
        note += f" Volume per parameter: {times:.2f} times smaller than the multi-sine's."
    return Section("What it tells", [Table(columns, rows, note)])


def _motion(scenario: "Scenario", reference: "Reference") -> "Section":
    import numpy as np

    from haloid.report import Section, Table
    from haloid.report.plots import joint_curves

    demand_nm = scenario.torque_demand(reference.q_rad, reference.dq_rad_s, reference.ddq_rad_s2)
    share = demand_nm.max(axis=0) / scenario.limits.effort_nm
    moving = [i for i, moved in enumerate(np.ptp(reference.q_rad, axis=0)) if moved > 1e-3]
    table = Table(
        ["joint", "from (rad)", "to (rad)", "fastest (rad/s)", "torque, share of limit"],
        [
            [
                reference.joint_names[i],
                f"{reference.q_rad[:, i].min():.2f}",
                f"{reference.q_rad[:, i].max():.2f}",
                f"{np.abs(reference.dq_rad_s[:, i]).max():.2f}",
                f"{100 * share[i]:.0f} %",
            ]
            for i in moving
        ],
        "The torque is the larger of the robot's without payload and with the heaviest.",
    )
    joints = [reference.joint_names[i] for i in moving]
    posture = np.broadcast_to(reference.q_rad[0], reference.q_rad.shape)
    curves = {"start": posture, "plan": reference.q_rad}
    figure = joint_curves(reference.time_s, reference.joint_names, curves, "The plan, joint by joint.", joints)
    return Section("The motion", [figure, table])
