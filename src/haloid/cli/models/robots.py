"""`haloid robots`: which robots are known, what is known about them, and what is missing in a user's own model."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from haloid.cli import console
from haloid.errors import HaloidError

if TYPE_CHECKING:
    from haloid.report import Table
    from haloid.robots.check import Checked
    from haloid.robots.description import Robot

FORMAT = "haloid-robot-1"
_SHOWN_NAMES = 6
"""How many links or joints a flag lists."""


@dataclass(frozen=True)
class List:
    """The robots that come with haloid.

    Example:
        haloid robots list
    """

    json: bool = False
    """Print them as json."""


@dataclass(frozen=True)
class Show:
    """What is known about a robot: joints, limits, gains, links, poses, and for which tasks that suffices.

    Examples:
        haloid robots show g1
        haloid robots show my_robot.xml --json
    """

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """A known robot, or the path of an MJCF or URDF file."""
    json: bool = False
    """Print it as json."""


@dataclass(frozen=True)
class Check:
    """What works with your own MJCF or URDF, what is missing for what, and what looks like a mistake.

    Entries that the model has no place for come from a yaml of the same name beside it. Exit status 1 if something in
    the model would make results wrong.

    Example:
        haloid robots check my_robot.urdf
    """

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """An MJCF or URDF file, or a known robot."""
    json: bool = False
    """Print it as json."""


Action = (
    Annotated[List, tyro.conf.subcommand("list", description=inspect.getdoc(List))]
    | Annotated[Show, tyro.conf.subcommand("show", description=inspect.getdoc(Show))]
    | Annotated[Check, tyro.conf.subcommand("check", description=inspect.getdoc(Check))]
)


@dataclass(frozen=True)
class Config:
    """List and show known robots, and check your own.

    A robot of your own is an MJCF or URDF file. That alone is enough to identify it; a short yaml of the same name
    beside it (my_robot.yaml for my_robot.xml) adds what other tasks need: feet, legs, poses, gains, links.

    Examples:
        haloid robots list
        haloid robots show g1
        haloid robots check my_robot.xml
    """

    action: tyro.conf.OmitSubcommandPrefixes[Action]


def run(config: Config) -> None:
    match config.action:
        case List() as action:
            _list(action)
        case Show() as action:
            _show(action)
        case Check() as action:
            _check(action)


def _list(action: List) -> None:
    from haloid.robots.check import check_robot
    from haloid.robots.entries import KNOWN_ROBOTS

    found = [check_robot(name) for name in KNOWN_ROBOTS]
    if action.json:
        _print_json([document(checked) for checked in found])
        return
    width = max(map(len, KNOWN_ROBOTS))
    for checked in found:
        suffices = [task for task, missing in checked.missing.items() if not missing]
        console.results.print(
            f"{checked.robot.name:<{width}}  {checked.robot.title}: {', '.join(suffices)}", soft_wrap=True
        )
    console.next_command("robots", "show", KNOWN_ROBOTS[0])


def _show(action: Show) -> None:
    from haloid.robots.check import check_robot

    checked = check_robot(action.robot)
    if action.json:
        _print_json(document(checked))
        return
    _print_facts(checked.robot)
    console.print_table(_joints_table(checked.robot))
    console.print_table(_tasks_table(checked))
    console.next_command("robots", "check", action.robot)


def _check(action: Check) -> None:
    from haloid.report import Table
    from haloid.robots.check import check_robot

    checked = check_robot(action.robot)
    errors = [flag for flag in checked.flags if flag.severity == "error"]
    if action.json:
        _print_json(document(checked))
    else:
        robot = checked.robot
        like = f", taken as {robot.like} by its joints or its yaml" if robot.like else ""
        console.results.print(f"{robot.name}: {len(robot.joints)} joints{like}", soft_wrap=True)
        console.print_table(_tasks_table(checked))
        if any(checked.missing.values()):
            console.results.print(f"Entries go into {robot.description_file}.", soft_wrap=True)
        if checked.flags:
            rows: list[list[str | int | float]] = [
                [flag.severity, flag.what, _some(flag.where), flag.advice] for flag in checked.flags
            ]
            console.print_table(Table(["", "found", "where", "what to do"], rows))
        else:
            console.results.print("Nothing in the model looks like a mistake.")
    if errors:
        raise HaloidError(f"{action.robot}: {len(errors)} of the findings would make results wrong")
    if not action.json:
        console.next_command("record", "--robot", action.robot, "-o", "logs/run")


def document(checked: Checked) -> dict[str, Any]:
    """Everything that is known, as plain values."""
    from haloid.robots.entries import ENTRIES

    robot = checked.robot
    entries = {name: _plain(getattr(robot, name)) for name in ENTRIES if name != "model" and getattr(robot, name)}
    return {
        "format": FORMAT,
        "robot": robot.name,
        "model_file": str(robot.model_file),
        "description_file": str(robot.description_file),
        "floats": robot.floats,
        "joints": [dict(zip(_JOINT_KEYS, row, strict=True)) for row in _joint_rows(robot)],
        "entries": entries,
        "missing": {task: list(missing) for task, missing in checked.missing.items()},
        "flags": [
            {"severity": flag.severity, "what": flag.what, "where": list(flag.where), "advice": flag.advice}
            for flag in checked.flags
        ],
    }


_JOINT_KEYS = ("name", "low_rad", "high_rad", "effort_nm", "speed_rad_s", "armature", "kp", "kd")


def _joint_rows(robot: Robot) -> list[list[Any]]:
    """By joint, in the order of `_JOINT_KEYS`; None where nothing is known."""
    from haloid.robots.load import load_spec
    from haloid.robots.servos import set_motors

    spec = load_spec(robot.name)
    gains = robot.gain_set("model")
    set_motors(spec, robot.joints)
    model, rows = spec.compile(), []
    for name in robot.joints:
        joint, motor = model.joint(name), model.actuator(name)
        low, high = joint.range if model.jnt_limited[joint.id] else (None, None)
        effort = float(motor.forcerange[1]) if model.actuator_forcelimited[motor.id] else None
        figures = (low, high, effort, robot.speed_limits_rad_s.get(name), model.dof_armature[joint.dofadr[0]])
        gain = (gains.kp.get(name), gains.kd.get(name))
        rows.append([name, *(None if value is None else float(value) for value in (*figures, *gain))])
    return rows


def _joints_table(robot: Robot) -> Table:
    from haloid.report import Table

    columns = ["joint", "from", "to", "torque", "speed", "armature", "kp", "kd"]
    rows: list[list[str | int | float]] = [
        [name.removesuffix("_joint"), *("–" if value is None else f"{value:.3g}" for value in figures)]
        for name, *figures in _joint_rows(robot)
    ]
    return Table(columns, rows, "In rad, N·m, rad/s and kg·m²; kp and kd are the servos of the model file.")


def _tasks_table(checked: Checked) -> Table:
    from haloid.report import Table
    from haloid.robots.check import TASKS

    rows: list[list[str | int | float]] = [
        [f"haloid {task.name}", task.what, "; ".join(checked.missing[task.name]) or "nothing"] for task in TASKS
    ]
    return Table(["command", "to", "is missing"], rows)


def _print_facts(robot: Robot) -> None:
    def line(what: str, found: object) -> None:
        if found:
            console.results.print(f"{what:<16}{found}", soft_wrap=True)

    console.results.print(robot.title or robot.name, soft_wrap=True)
    line("model", robot.model_file)
    line("like", robot.like)
    line("base", "floating" if robot.floats else "fixed in the world")
    line("fixed joints", ", ".join(robot.fixed_joints))
    line("payload links", ", ".join(robot.payload_links))
    line("usual clamp", robot.clamp)
    line("feet", ", ".join(robot.feet.values()))
    line("hands", ", ".join(robot.hands.values()))
    line("anchor", robot.anchor)
    line("IMU", robot.imu_site)
    line("tracked links", len(robot.tracked_links))
    line("gain sets", ", ".join((*robot.gains, "model")))
    line("standing pose", _angles(robot.standing_pose))
    line("motor order", f"{len(robot.motor_order)} motors" if robot.motor_order else "")
    line("mjlab", robot.mjlab)
    line("own motions", ", ".join(robot.motions))


def _angles(pose: dict[str, float]) -> str:
    return ", ".join(f"{joint.removesuffix('_joint')} {angle:g}" for joint, angle in pose.items())


def _some(names: tuple[str, ...]) -> str:
    if not names:
        return "–"
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "kp"):
        return {"kp": value.kp, "kd": value.kd}
    return value


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
