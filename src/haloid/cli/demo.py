"""`haloid demo`: the whole main job on a simulated robot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from haloid.cli import console

if TYPE_CHECKING:
    from haloid.cli.runs import Run
    from haloid.recordings.recording import Recording
    from haloid.report import Section

HANDS_AND_TORSO = ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
NOISE_RAD = 0.0005
RUNS = 3
"""Unloaded, and as many loaded, as in HALO's experiment."""


@dataclass(frozen=True)
class Config:
    """Record a simulated G1 with and without a load, reconstruct its motion, write a report.

    The robot is worn (masses, centres of mass, friction, damping and rotors are off its data sheet) and then carries
    HALO's Perturbation Setting 1. Writes recordings, the truth to compare with, and report.html.

    Example:
        haloid demo -o out/demo
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo")
    """Directory to write the recordings and results to."""
    seed: int = 0
    """Seed of the simulated robot and of its sensors' noise."""


def run(config: Config) -> None:
    from haloid.cli.runs import runs_table, write_runs
    from haloid.outputs import atomic_directory
    from haloid.recordings.read import read_recording
    from haloid.report import write_report

    with atomic_directory(config.out) as folder:
        with console.progress("Recording") as say:
            runs = record_demo(config.seed, say)
        files = write_runs(runs, folder / "recordings", folder / "truth")
        with console.progress("Writing the report"):
            recordings = [read_recording(file) for file in files]
            lead = (
                f"A worn Unitree G1, its left foot clamped, was shaken {RUNS} times as it is and {RUNS} times with "
                "HALO's Perturbation Setting 1 on torso and hands."
            )
            sections = [_runs_section(runs), _motion_section(recordings), _bodies_section(recordings)]
            write_report(folder / "report.html", "A G1 before and after loading", lead, sections)
    console.print_table(runs_table(runs))
    console.results.print(f"wrote {config.out / 'report.html'}")


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
            ("length of a run", f"{seconds:.0f} s", f"{1 / recording.control_dt_s:.0f} rows a second"),
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
    from haloid.recordings.reconstruct import reconstruct
    from haloid.report import Section, Text
    from haloid.report.plots import body_paths

    text = Text(
        "With one foot held fixed, forward kinematics of the encoder readings gives the pose of every body in the "
        "world, without motion capture. The clamped foot is at the height it has when the robot stands upright."
    )
    figures = []
    for recording in (recordings[0], recordings[RUNS]):
        motion = reconstruct(recording)
        paths = {body: motion.path_of(body) for body in HANDS_AND_TORSO}
        figures.append(body_paths(paths, f"{recording.name}: paths of torso and hands."))
    return Section("Body positions, reconstructed", [text, *figures])
