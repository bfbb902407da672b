"""`haloid motions`: reference motions in, checked, converted and shown."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.robots.entries import DEFAULT_ROBOT

if TYPE_CHECKING:
    import mujoco

    from haloid.motions.finding import Finding
    from haloid.trajectories.motion import Motion
    from haloid.trajectories.trajectory import FloatingTrajectory


@dataclass(frozen=True)
class Reading:
    fps_in: float | None = None
    """Frames per second of the files, where they do not say (csv: 30 by default; g1-moves has 60)."""
    order: Literal["mjcf", "isaac"] | None = None
    """Order of the joints in an npz without names: mjcf for mjlab's files, isaac for BeyondMimic's."""
    robot: str = DEFAULT_ROBOT
    """A known robot, or the path of an MJCF file with a free joint."""


@dataclass(frozen=True)
class Following:
    model: str | None = None
    """The robot that is to follow the motion, if not --robot itself: calibrated.xml, or a patch.json."""
    payload_setting: Literal[1, 2, 3] | None = None
    """HALO's Perturbation Setting that it carries."""


@dataclass(frozen=True)
class Changes(Reading):
    fps: float = 50.0
    """Frames per second of the result; mjlab plays every file at 50."""
    ground: Literal["clip", "contact"] | None = None
    """Put it on the ground: the lowest point of the clip, or the soles wherever a foot stands."""
    repair: bool = False
    """Lay the soles flat on the ground while they bear the robot."""


@dataclass(frozen=True)
class List:
    """The motions that come with haloid, and those in a folder.

    Example:
        haloid motions list ~/motions
    """

    folder: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = None
    """A folder with motion files."""
    robot: str = DEFAULT_ROBOT
    """A known robot, or the path of an MJCF file with a free joint."""


@dataclass(frozen=True)
class Check(Following, Reading):
    """What is wrong with motions: limits, speeds, jumps, the ground; torque, support and friction. Errors: status 1.

    Torque, support and friction are those of the model, which may carry a load. What training mends by moving the
    pelvis is a warning.

    Examples:
        haloid motions check squat dance.csv --fps-in 60
        haloid motions check swallow --model out/result/calibrated.xml
        haloid motions check swallow --payload-setting 2
    """

    motions: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MOTION [MOTION …]")] = ()
    """Names of own motions, or files."""


@dataclass(frozen=True)
class Convert(Following, Changes):
    """Write a motion as the npz that mjlab, BeyondMimic's tools and haloid train load, names inside.

    --feasible makes a clip one that the robot can follow with the load it carries: soles flat and on the ground, the
    pelvis over them and low enough, torques within their limits, slower if need be. Where that cannot be done, it says
    which joint or foot, when and by how much, and writes nothing.

    Examples:
        haloid motions convert asap/squat.pkl -o out/squat.npz --ground contact
        haloid motions convert asap/squat.pkl -o out/squat.npz --feasible --model out/result/calibrated.xml
    """

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MOTION")] = tyro.MISSING
    """Name of an own motion, or a file."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """File to write, NAME.npz."""
    feasible: bool = False
    """Mend it until the robot can follow it, at 50 frames per second."""


@dataclass(frozen=True)
class Preview(Changes):
    """Draw a motion: poses from the side and the front, heights of feet and root.

    Example:
        haloid motions preview side-kick -o out/side-kick.png
    """

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MOTION")] = tyro.MISSING
    """Name of an own motion, or a file."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """Picture to write: .png, .svg or .pdf."""
    poses: int = 8
    """How many poses."""


Action = (
    Annotated[List, tyro.conf.subcommand("list", description=inspect.getdoc(List))]
    | Annotated[Check, tyro.conf.subcommand("check", description=inspect.getdoc(Check))]
    | Annotated[Convert, tyro.conf.subcommand("convert", description=inspect.getdoc(Convert))]
    | Annotated[Preview, tyro.conf.subcommand("preview", description=inspect.getdoc(Preview))]
)


@dataclass(frozen=True)
class Config:
    """List, check, convert and draw reference motions.

    Motions are haloid's own, by name, or files: npz of haloid, mjlab and BeyondMimic, csv of Unitree (LAFAN1) and
    g1-moves, pickles of ASAP, GMR and TWIST, read without running anything in them. 23 joints are put on 29 by name.

    Examples:
        haloid motions list
        haloid motions check dance.csv --fps-in 60
        haloid motions convert asap/squat.pkl -o out/squat.npz --ground contact
        haloid motions preview out/squat.npz -o out/squat.png
    """

    action: tyro.conf.OmitSubcommandPrefixes[Action]


def run(config: Config) -> None:
    match config.action:
        case List() as action:
            _list(action)
        case Check() as action:
            _check(action)
        case Convert() as action:
            _convert(action)
        case Preview() as action:
            _preview(action)


def _list(action: List) -> None:
    from haloid.motions.load import SUFFIXES
    from haloid.motions.own import OWN_MOTIONS, own_motion
    from haloid.report import Table
    from haloid.robots.description import describe
    from haloid.robots.load import load_spec

    rows = []
    with console.progress("Listing") as say:
        for name in describe(action.robot).motions:
            say(name)
            frames, motion = own_motion(name, action.robot), OWN_MOTIONS[name]
            rows.append([name, f"{(len(frames) - 1) / frames.rate_hz:.1f}", motion.kind, motion.description])
    console.print_table(Table(["motion", "seconds", "kind", "what it is"], rows))
    if action.folder is None:
        console.next_command("view", rows[0][0])
        return
    if not action.folder.is_dir():
        raise HaloidError(f"{action.folder} is not a folder. Give one with motion files, or a file to motions check.")
    files = sorted(path for path in action.folder.rglob("*") if path.is_file() and path.suffix.lower() in SUFFIXES)
    if not files:
        raise HaloidError(f"{action.folder} holds no motion files ({', '.join(SUFFIXES[:3])}).")
    model = load_spec(action.robot).compile()
    rows = [_file_row(path, action.folder, model) for path in files]
    console.print_table(Table(["file", "frames", "per second", "what it is"], rows))
    console.next_command("motions", "check", files[0])


def _file_row(path: Path, folder: Path, model: mujoco.MjModel) -> list[str | int | float]:
    from haloid.motions.load import kind_of, read_frames

    shown = str(path.relative_to(folder))
    try:
        frames = read_frames(path, model, order="mjcf")
    except HaloidError as error:
        return [shown, "–", "–", textwrap.shorten(str(error).removeprefix(f"{path}: "), 60, placeholder=" …")]
    rate = "not stated" if kind_of(path) == "csv" else f"{frames.rate_hz:.3g}"
    return [shown, len(frames), rate, kind_of(path)]


def _check(action: Check) -> None:
    from haloid.motions.check import check
    from haloid.motions.load import read_frames
    from haloid.report import Table
    from haloid.robots.load import load_spec

    if not action.motions:
        raise HaloidError("no motion to check. Give names (haloid motions list shows them) or files.")
    model = load_spec(action.robot).compile()
    bad = []
    for source in action.motions:
        try:
            with console.progress(f"Checking {source}"):
                frames = read_frames(source, model, robot=action.robot, fps_in=action.fps_in, order=action.order)
                findings = check(frames, action.robot)
                is_whole = all(finding.severity == "warning" or finding.where for finding in findings)
                findings += _feasibility(action, frames, source) if is_whole else []
        except HaloidError as error:
            console.error(str(error))
            bad.append(source)
            continue
        errors = sum(finding.severity == "error" for finding in findings)
        bad += [source] if errors else []
        console.results.print(
            f"{source}: {len(frames)} frames at {frames.rate_hz:.3g} per second, {_counted(errors, 'error')}, "
            f"{_counted(len(findings) - errors, 'warning')}",
            soft_wrap=True,
        )
        if findings:
            columns = ["", "finding", "where", "when (s)", "found", "limit"]
            console.print_table(Table(columns, [_finding_row(finding) for finding in findings]))
            for advice in dict.fromkeys(finding.advice for finding in findings):
                about = dict.fromkeys(finding.what for finding in findings if finding.advice == advice)
                console.results.print(f"  {', '.join(about)}: {advice}", soft_wrap=True)
    if bad:
        raise HaloidError(f"{len(bad)} of {_counted(len(action.motions), 'motion')} with errors: {', '.join(bad)}")
    console.next_command("view", action.motions[0])


def _feasibility(action: Check, frames: FloatingTrajectory, source: str) -> list[Finding]:
    """What the robot lacks for the motion at 50 frames per second; nothing if too little is known about it."""
    from haloid.api.skills import robot_to_train
    from haloid.motions.resample import resample
    from haloid.skills.feasibility.check import feasibility_findings
    from haloid.trajectories.motion import motion_of
    from haloid.trajectories.mujoco_states import states_of

    try:
        robot = robot_to_train(action.model or action.robot, action.payload_setting)
        states = states_of(robot.model, motion_of(resample(frames, 50.0), robot.model).trajectory)
        return feasibility_findings(robot.model, robot.description, states)
    except HaloidError as error:
        if action.model or action.payload_setting:
            raise
        console.results.print(f"{source}: torque, support and friction are not checked: {error}", soft_wrap=True)
        return []


def _finding_row(finding: Finding) -> list[str]:
    unit = f" {finding.unit}" if finding.unit else ""
    when = f"{finding.start_s:.2f} to {finding.end_s:.2f}"
    found, limit = f"{finding.amount:.3g}{unit}", f"{finding.limit:.3g}{unit}"
    where = finding.where.removesuffix("_joint").removesuffix("_link").replace("_", " ") or "–"
    return [finding.severity, finding.what, where, when, found, limit]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _convert(action: Convert) -> None:
    from haloid.motions.check import check
    from haloid.trajectories.motion_export import write_motion

    with console.progress("Converting") as say:
        motion = _feasible(action, say) if action.feasible else _loaded(action)
        file = write_motion(motion, action.out)
        findings = check(motion.trajectory, action.robot)
    console.results.print(
        f"{len(motion.joint_pos_rad)} frames at {motion.rate_hz:g} per second, {len(motion.joint_names)} joints, "
        f"{len(motion.body_names)} bodies",
        soft_wrap=True,
    )
    console.wrote(file)
    if findings:
        console.results.print(f"the check has {_counted(len(findings), 'finding')}")
        console.next_command("motions", "check", file)
    else:
        console.next_command("view", file)


def _feasible(action: Convert, say: console.Progress) -> Motion:
    from haloid.api.skills import robot_to_train
    from haloid.motions.load import read_frames, require_usable
    from haloid.skills.feasibility.check import in_words
    from haloid.skills.feasibility.mend import mend

    robot = robot_to_train(action.model or action.robot, action.payload_setting)
    frames = read_frames(action.source, robot.model, robot=action.robot, fps_in=action.fps_in, order=action.order)
    require_usable(action.source, frames)
    mended = mend(frames, robot, action.robot, lambda pace: say(f"at {pace:g} of its speed"))
    if not mended.feasible:
        lacking = "; ".join(in_words(finding) for finding in mended.findings if finding.severity == "error")
        raise HaloidError(
            f"{action.source} cannot be made feasible by moving, lowering, smoothing and slowing it: {lacking}. "
            "Nothing was written. Cut the clip there, take load off the robot, or convert with --repair alone"
        )
    console.results.print(mended.in_words(), soft_wrap=True)
    return mended.motion


def _preview(action: Preview) -> None:
    from haloid.outputs import atomic_file
    from haloid.report.pictures.motion_picture import motion_picture
    from haloid.robots.load import load_spec

    formats = (".png", ".svg", ".pdf")
    if action.out.suffix.lower() not in formats:
        raise HaloidError(f"{action.out} is not a picture. Expected a file that ends in {', '.join(formats)}.")
    if action.poses < 2:
        raise HaloidError(f"found {action.poses} poses; expected at least 2")
    with console.progress("Drawing"):
        motion = _loaded(action)
        title = f"{Path(action.source).name}: {(len(motion.joint_pos_rad) - 1) / motion.rate_hz:.1f} s"
        figure = motion_picture(motion, load_spec(action.robot).compile(), title, action.poses)
        with atomic_file(action.out) as beside:
            figure.savefig(beside, format=action.out.suffix.lower()[1:], dpi=130)
    console.wrote(action.out)
    console.next_command("view", action.source)


def _loaded(changes: Convert | Preview) -> Motion:
    from haloid.motions.load import load_motion

    return load_motion(
        changes.source,
        robot=changes.robot,
        fps=changes.fps,
        fps_in=changes.fps_in,
        order=changes.order,
        repaired=changes.repair,
        grounded=changes.ground or False,
    )
