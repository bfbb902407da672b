"""`haloid demo`: the whole main job on a simulated robot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.robots.entries import DEFAULT_ROBOT

if TYPE_CHECKING:
    from haloid.lab.truth import Run
    from haloid.recordings.recording import Recording
    from haloid.report import Section, Table
    from haloid.report.quantities import Quantity

NOISE_RAD = 0.0005
RUNS = 3
"""Unloaded, and as many loaded, as in HALO's experiment."""


@dataclass(frozen=True)
class Config:
    """Do the whole job on a simulated robot: record, identify or calibrate, report.

    The G1 is worn (masses, centres of mass, friction, damping and rotors are off its data sheet) and then carries
    HALO's Perturbation Setting 1, which is identified in two stages. The SO-101 has hobby servos far softer than its
    model's; they are calibrated and judged by a run held out. Writes recordings/, result/ (the calibrated robot and the
    numbers) and report.html; truth/ holds what the robot really was, which is only compared with the result.

    Examples:
        haloid demo -o out/demo
        haloid demo --robot so101
    """

    robot: Literal["g1", "so101"] = DEFAULT_ROBOT
    """A humanoid that carries something, or an arm on a desk."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Directory to write the recordings and results to; by default out/demo, or out/demo-so101 for the arm."""
    seed: int = 0
    """Seed of the simulated robot and of its sensors' noise."""


def run(config: Config) -> None:
    if config.robot == "so101":
        from haloid.cli.models.demo_arm import run_arm

        run_arm(config.out or Path("out/demo-so101"), config.seed)
    else:
        run_humanoid(config.out or Path("out/demo"), config.seed)


def run_humanoid(out: Path, seed: int) -> None:
    from haloid.api.identification import identify
    from haloid.api.logs import read
    from haloid.cli.models.identify import stage_report
    from haloid.cli.runs import runs_table
    from haloid.lab.truth import write_runs
    from haloid.outputs import atomic_directory
    from haloid.report import write_report
    from haloid.report.identification import lead
    from haloid.report.quantities import KnownRobot, payload_quantities
    from haloid.report.screen import summary_lines
    from haloid.robots.description import describe

    with atomic_directory(out) as folder:
        with console.progress("Recording") as say:
            runs = record_demo(seed, say)
        recordings = read(write_runs(runs, folder / "recordings", folder / "truth"))
        with console.progress("Identifying") as say:
            links = describe(DEFAULT_ROBOT).payload_links
            report = stage_report(say, links)
            result = identify(recordings[:RUNS], recordings[RUNS:], links, report=report)
        with console.progress("Writing the result"):
            (folder / "result").mkdir()
            result.write_into(folder / "result")
            known = KnownRobot(bare=runs[0][1], loaded=runs[RUNS][1])
            assert result.live is not None
            sections = [
                *result.live.sections(known),
                _runs_section(runs),
                _motion_section(recordings),
                _bodies_section(recordings),
            ]
            write_report(folder / "report.html", "A simulated G1 and what it carries", lead(result.answer), sections)
    console.print_table(runs_table(runs))
    console.print_table(truth_table(payload_quantities(result.answer, known)))
    for line in summary_lines(result.answer):
        console.results.print(line)
    console.wrote(out / "result" / "result.json")
    console.wrote(out / "report.html")
    console.next_command("view", out)


def truth_table(quantities: "list[Quantity]") -> "Table":
    """Truth and estimate side by side, one line per quantity."""
    from haloid.report.quantities import by_link
    from haloid.report.screen import shown_quantities

    def cells(q: "Quantity") -> list[str]:
        return [q.text(q.truth), q.text(q.value), q.interval_text(), "yes" if q.inside else "no"]

    note = "Mass and CoM are the link's with its payload. The truth was not used to find the estimate."
    columns = ["", "truth", "estimate", "95 % interval", "inside"]
    return by_link(columns, shown_quantities(quantities), cells, note)


def record_demo(seed: int, say: Callable[[str], None]) -> "list[Run]":
    """Runs unloaded-1.. and loaded-1.. of one worn G1."""
    from haloid.lab.aging import Aging
    from haloid.lab.loads import halo_setting
    from haloid.lab.record import record
    from haloid.lab.robot import LabRobot
    from haloid.lab.sensors import Sensors

    sensors = Sensors(noise_rad=NOISE_RAD)
    runs = []
    for number, (condition, loads) in enumerate((("unloaded", ()), ("loaded", halo_setting(1)))):
        robot = LabRobot(loads=loads, aging=Aging(seed=seed))
        for index in range(RUNS):
            say(f"{condition} run {index + 1} of {RUNS}")
            run_seed = 2 * RUNS * seed + RUNS * number + index
            runs.append(record(robot, sensors, seed=run_seed, name=f"{condition}-{index + 1}"))
    return runs


def _runs_section(runs: "Sequence[Run]") -> "Section":
    from haloid.cli.runs import runs_table
    from haloid.report import KeyNumbers, Section, Text

    recording = runs[0][0]
    seconds = len(recording.time_s) * recording.control_dt_s
    numbers = KeyNumbers(
        [
            ("runs", str(len(runs)), f"{RUNS} unloaded, {RUNS} loaded"),
            ("length of a run", f"{seconds:.0f} s", f"{1 / recording.control_dt_s:.0f} rows per second"),
            ("joints", str(len(recording.joint_names)), "angle and target of each; no velocities"),
            ("encoder noise", f"{1e3 * NOISE_RAD:g} mrad", "and 16-bit quantisation"),
        ]
    )
    text = Text(
        "The robot leans until the clamped ankle carries no static torque and follows seeded multi-sines: waist and "
        "arms work, legs stay quiet. Tracking is the true angle against the reference; a saturated servo is one at its "
        "torque limit."
    )
    return Section("The runs", [numbers, text, runs_table(runs)])


def _motion_section(recordings: "Sequence[Recording]") -> "Section":
    from haloid.report import Section, Text
    from haloid.report.plots import joint_curves

    text = Text(
        "A target leads its joint by torque over stiffness, since it carries gravity and inertia as feed-forward. That "
        "lead is what tells an identification how heavy the robot is."
    )
    figures = []
    for recording in (recordings[0], recordings[RUNS]):
        assert recording.target_rad is not None
        curves = {"target": recording.target_rad, "encoder": recording.q_rad}
        caption = f"{recording.name}: the six joints that move the most."
        figures.append(joint_curves(recording.time_s, recording.joint_names, curves, caption))
    return Section("Targets and encoders", [text, *figures])


def _bodies_section(recordings: "Sequence[Recording]") -> "Section":
    from haloid.recordings.reconstruction.reconstruct import reconstruct
    from haloid.report import Section, Text
    from haloid.report.plots import body_paths
    from haloid.robots.description import describe

    text = Text(
        "With one foot held fixed, forward kinematics of the encoder readings gives the pose of every body in the "
        "world, without motion capture. The clamped foot is at the height it has when the robot stands upright."
    )
    figures = []
    for recording in (recordings[0], recordings[RUNS]):
        motion = reconstruct(recording)
        paths = {body: motion.path_of(body) for body in describe(DEFAULT_ROBOT).payload_links}
        figures.append(body_paths(paths, f"{recording.name}: paths of torso and hands."))
    return Section("Body positions, reconstructed", [text, *figures])
