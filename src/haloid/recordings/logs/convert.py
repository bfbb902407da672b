"""Conversion: any supported log becomes a validated `Recording` on an even grid, with a note of what was done to it.

The content says what kind of log it is. What a log does not hold (robot, clamp, payload) comes from `LogOptions`.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from haloid.recordings.checks.validate import validate
from haloid.recordings.encoder_step import encoder_steps_rad
from haloid.recordings.errors import Origin, RecordingError
from haloid.recordings.logs import bag, lerobot, sage, table
from haloid.recordings.logs.align import Aligned, align
from haloid.recordings.logs.lag import motion_lag_s
from haloid.recordings.logs.log import Log
from haloid.recordings.logs.unitree_bag import TARGET_NOTE, read_unitree_bag
from haloid.recordings.recording import Recording
from haloid.recordings.robot import RobotModel, resolve_robot, robot_model
from haloid.robots.description import MODEL_GAINS, Robot, describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.servos import Gains

KINDS = "an .mcap or .db3 bag, a rosbag2 folder, a .csv, .npz or .parquet table, a LeRobot or a SAGE folder"
_RATES_HZ = (1.0, 10_000.0)
_INSIDE_ROWS_NOTICED = 0.05

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LogOptions:
    """What a log itself does not say."""

    robot: str = DEFAULT_ROBOT
    """A known robot's name, or the path of an MJCF or URDF file."""
    clamp: str | None = None
    support: Literal["single", "double"] = "single"
    payload: str = "unknown"
    rate_hz: float | None = None
    """Rows per second; None: the rate of the commands."""
    gains: str | None = None
    """For a log without gains: a gain set of the robot, or "model" for the servos of its own file."""
    angles: Literal["rad", "deg"] = "rad"
    """The unit of a table's or dataset's angles."""
    episode: int = 0
    """Of a LeRobot dataset."""
    columns: Mapping[str, str] | None = None
    """What a table's columns are, such as {"time": "0", "q": "1-6"} (`column_map`); None: their names say it."""
    actuation: Literal["position", "torque"] | None = None
    """Of a table: torque takes the torque for the command, measured where none was commanded; None: as columns say."""
    nm_per_a: Mapping[str, float] | None = None
    """Of a table with currents: torque at each joint for each ampere."""


def read_log(path: str | Path, options: LogOptions, *, allow_gaps: bool = False) -> Recording:
    """The recording of a log; with `allow_gaps`, lost rows are a warning instead of an error."""
    path = Path(path)
    origin = Origin(str(path), f"{path}, options")
    _check_options(options, origin)
    robot = resolve_robot(options.robot, Path(), origin)
    model = robot_model(robot, origin)
    log = _read(path, options, model, describe(robot))
    aligned = align(log, options.rate_hz)
    kp, kd = _gains(log, aligned, robot, options, origin)
    recording = Recording(
        name=path.stem,
        robot=robot,
        clamp=options.clamp,
        joint_names=log.joint_names,
        time_s=aligned.time_s,
        q_rad=aligned.q_rad,
        target_rad=aligned.target_rad,
        kp=kp,
        kd=kd,
        dq_rad_s=aligned.dq_rad_s,
        tau_nm=aligned.tau_nm,
        support=options.support,
        actuation="torque" if aligned.target_rad is None else "position",
        payload=options.payload,
        encoder_step_rad=_encoder_step_rad(log, aligned),
        note="; ".join([*_note(log, aligned), *_delay_note(aligned, kp, kd)]),
        source=path,
    )
    validate(recording, model.model, allow_gaps=allow_gaps, origin=origin)
    return recording


def _read(path: Path, options: LogOptions, model: RobotModel, robot: Robot) -> Log:
    joint_names = model.actuated
    if not path.exists():
        raise RecordingError(
            str(path), found="there is no such file or folder", expected=KINDS, next_step="Check the path."
        )
    if sage.is_sage(path):
        limits_rad = np.array([model.model.joint(name).range for name in joint_names])
        return sage.read_sage(path, joint_names, limits_rad)
    if lerobot.is_lerobot(path):
        return lerobot.read_lerobot(path, joint_names, options.episode, options.angles)
    if bag.is_bag(path):
        robot.need("a Unitree bag", "motor_order")
        return read_unitree_bag(path, joint_names, robot.motor_order)
    if table.is_table(path):
        return table.read_table(
            path,
            joint_names,
            robot.motor_order or joint_names,
            table.TableOptions(options.angles, options.columns, options.actuation, options.nm_per_a),
        )
    raise RecordingError(
        str(path),
        found="the folder is not a log that haloid knows"
        if path.is_dir()
        else "the file is not a log that haloid knows",
        expected=KINDS,
        next_step="Give the log itself, or write NAME.csv and NAME.json as the recording format describes.",
    )


def _check_options(options: LogOptions, origin: Origin) -> None:
    low_hz, high_hz = _RATES_HZ
    if options.rate_hz is not None and not low_hz <= options.rate_hz <= high_hz:
        raise origin.meta_error(
            "rate",
            found=f"found {options.rate_hz:g} Hz",
            expected=f"{low_hz:g} to {high_hz:g} rows per second",
            next_step="Correct the rate, or leave it out for the rate of the commands.",
        )


def _gains(
    log: Log, aligned: Aligned, robot: str, options: LogOptions, origin: Origin
) -> tuple[np.ndarray | None, np.ndarray | None]:
    if aligned.target_rad is None:
        return None, None
    if aligned.kp is not None and aligned.kd is not None:
        return aligned.kp, aligned.kd
    if options.gains is None:
        known = ", ".join([*describe(robot).gains, MODEL_GAINS])
        raise origin.meta_error(
            "gains",
            found="the log has no gains, and none were named",
            expected="kp and kd of every servo",
            next_step=f"Give --gains with a gain set of the robot ({known}); model: the servos of its own file.",
        )
    return _by_joint(describe(robot).gain_set(options.gains), log.joint_names, origin)


def _by_joint(gains: Gains, joint_names: tuple[str, ...], origin: Origin) -> tuple[np.ndarray, np.ndarray]:
    missing = [name for name in joint_names if name not in gains.kp]
    if missing:
        raise origin.meta_error(
            "gains",
            found=f"the robot's file has no position servo for {missing[0]}",
            expected="one for every actuated joint",
            next_step="Name a gain set of the robot, or record kp and kd in the log.",
        )
    return np.array([gains.kp[name] for name in joint_names]), np.array([gains.kd[name] for name in joint_names])


def _encoder_step_rad(log: Log, aligned: Aligned) -> np.ndarray | None:
    """What interpolated readings no longer show."""
    if aligned.commands_inside_rows is None:
        return None
    steps_rad = encoder_steps_rad(log.states.q_rad)
    return steps_rad if steps_rad.any() else None


def _note(log: Log, aligned: Aligned) -> list[str]:
    """What a user of the recording should know about how it was made."""
    sensed, sent = aligned.state_clock, aligned.command_clock
    lines = [f"converted from {log.source.name}", *log.notes]
    if log.commands.kp is not None:
        lines.append(TARGET_NOTE)
    for what, clock in (("states", sensed), ("commands", sent)):
        lines.append(
            f"{len(clock.time_s):,} {what} at {1 / clock.period_s:.4g} Hz by {clock.source}, jitter "
            f"{1e3 * clock.jitter_s:.2g} ms, {clock.duplicates:,} duplicates removed, {clock.lost_samples:,} lost"
        )
    inside = aligned.commands_inside_rows
    how = "readings by cubic interpolation, commands held and averaged"
    if inside is None:
        how = "rows as logged, evenly timed" if sent.steady else "rows as logged, uneven, at their own times"
    lines.append(
        f"{1 / aligned.period_s:.6g} rows per second: {how}; "
        f"{aligned.rows_left_out:,} rows left out where samples were lost or a joint was not driven"
    )
    if inside is not None and inside > _INSIDE_ROWS_NOTICED:
        lines.append(f"{inside:.0%} of the commanded motion lies inside rows, where only its mean is kept")
    return lines


def _delay_note(aligned: Aligned, kp: np.ndarray | None, kd: np.ndarray | None) -> list[str]:
    if aligned.target_rad is None or kp is None or kd is None:
        return []
    mean_kp, mean_kd = (gain if gain.ndim == 1 else gain.mean(axis=0) for gain in (kp, kd))
    servo_lag_s = np.divide(mean_kd, mean_kp, out=np.zeros_like(mean_kp), where=mean_kp > 0)
    time_s, target_rad, q_rad = aligned.time_s, aligned.target_rad, aligned.q_rad
    if not aligned.command_clock.steady:  # the lag is sought in rows, which must be even
        time_s = np.arange(time_s[0], time_s[-1], aligned.period_s)
        target_rad = target_rad[np.searchsorted(aligned.time_s, time_s, side="right") - 1]
        q_rad = np.stack([np.interp(time_s, aligned.time_s, column) for column in q_rad.T], axis=1)
    lag_s = motion_lag_s(time_s, aligned.period_s, target_rad, q_rad, servo_lag_s)
    found = "not measurable" if lag_s is None else f"{1e3 * lag_s:.1f} ms beyond kd/kp, the joints' inertia included"
    return [f"command-to-motion delay {found}"]
