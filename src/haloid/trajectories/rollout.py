"""A rollout: what a robot did under a policy or a log's commands, episode by episode.

At row t of an episode the robot is in the state of row t, and the target and the action of row t act from that instant
until row t + 1, at which it is in the state of row t + 1. (With a delay, a target reaches the servos `delay_s` later.)
The last row of an episode is a state alone: what its target and action led to is not known (where none was chosen,
they repeat those of the row before). Targets and positions are in the same joint coordinates, so that a simulator that
is put into the state of row t and driven by target t arrives in row t + 1.
"""

from dataclasses import dataclass, field

import numpy as np

from haloid.errors import HaloidError
from haloid.trajectories.trajectory import Trajectory

ROOT = {"root_pos_w_m": 3, "root_quat_wxyz": 4, "root_lin_vel_w_m_s": 3, "root_ang_vel_b_rad_s": 3}
"""Arrays of a floating robot's root and their widths; a rollout has all of them or none."""
QUATERNION_SLACK = 1e-3
STEP_SLACK = 0.5
"""Rows of an episode are a control period apart, within this share of it: logs of real robots jitter."""


class RolloutError(HaloidError):
    def __init__(self, where: str, *, found: str, expected: str) -> None:
        self.where, self.found, self.expected = where, found, expected
        super().__init__(f"{where}: {found}. Expected {expected}")


@dataclass(frozen=True)
class Episode:
    """Rows `start` until `end` (not included) of a rollout."""

    start: int
    end: int
    fell_row: int | None = None
    """The row of the rollout in which the robot had fallen, or was judged to have failed; None: it did not."""

    @property
    def fell(self) -> bool:
        return self.fell_row is not None

    @property
    def rows(self) -> slice:
        return slice(self.start, self.end)

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Rollout:
    robot: str
    """A known robot's name, or the path of a model."""
    trajectory: Trajectory
    """All episodes one after the other; velocities and targets are known."""
    time_s: np.ndarray
    """(T,) increasing within an episode."""
    action: np.ndarray
    """(T, m) the policy's output."""
    action_meaning: str
    """How an action becomes a target, in words."""
    episodes: tuple[Episode, ...]
    simulator: str
    """What moved the robot: a simulator with its version and step, or "none" for a real one."""
    model_sha256: str | None = None
    """Of the compiled model (robots/model_hash.py); None: not simulated, or not the same model in every episode."""
    policy_sha256: str | None = None
    """Of the policy's file."""
    clamp: str | None = None
    """The link held fixed in the world."""
    delay_s: float = 0.0
    """From a target to the servos."""
    observation: np.ndarray | None = None
    """(T, k) what the policy saw when it chose the action of the row."""
    torque_nm: np.ndarray | None = None
    """(T, n) of the servos in the state of the row, before its target takes over."""
    foot_force_n: np.ndarray | None = None
    """(T, feet, 3) of the ground on each of `foot_names`, in world axes, in the state of the row."""
    foot_names: tuple[str, ...] = ()
    payload: np.ndarray | None = None
    """(T, p) what the robot carries, one column for each of `payload_names`."""
    payload_names: tuple[str, ...] = ()
    """With units, such as torso_link_mass_kg."""
    note: str = ""
    facts: dict[str, object] = field(default_factory=dict)
    """Further plain values for the file's json: seeds, settings."""

    def __post_init__(self) -> None:
        check(self)

    def __len__(self) -> int:
        return len(self.time_s)

    def episode(self, number: int) -> Trajectory:
        """The states and targets of one episode."""
        return self.trajectory.rows(self.episodes[number].rows)


def check(rollout: Rollout) -> None:
    """Raise RolloutError for the first violation of the format."""
    trajectory, rows = rollout.trajectory, len(rollout)
    joints = len(trajectory.joint_names)
    if not 0 < trajectory.rate_hz < np.inf:
        raise RolloutError("rate_hz", found=f"{trajectory.rate_hz:g}", expected="a rate above 0")
    if len(set(trajectory.joint_names)) != joints or joints == 0:
        raise RolloutError("joint_names", found=f"{joints} names", expected="every joint named once, at least one")
    for name, shape in _shapes(rollout, rows, joints).items():
        _check_array(name, _array(rollout, name), shape)
    if trajectory.root_quat_wxyz is not None:
        _check_quaternions(trajectory.root_quat_wxyz)
    _check_episodes(rollout)
    _check_time(rollout)


def _shapes(rollout: Rollout, rows: int, joints: int) -> dict[str, tuple[int, ...]]:
    """What every array of the rollout must look like; −1 is any width."""
    shapes: dict[str, tuple[int, ...]] = {"time_s": (rows,), "action": (rows, -1)}
    shapes |= dict.fromkeys(("joint_pos_rad", "joint_vel_rad_s", "target_rad"), (rows, joints))
    if any(getattr(rollout.trajectory, name) is not None for name in ROOT):
        shapes |= {name: (rows, width) for name, width in ROOT.items()}
    optional = {
        "observation": (rows, -1),
        "torque_nm": (rows, joints),
        "foot_force_n": (rows, len(rollout.foot_names), 3),
        "payload": (rows, len(rollout.payload_names)),
    }
    return shapes | {name: shape for name, shape in optional.items() if getattr(rollout, name) is not None}


def _array(rollout: Rollout, name: str) -> np.ndarray | None:
    return getattr(rollout, name) if hasattr(rollout, name) else getattr(rollout.trajectory, name)


def _check_array(name: str, values: np.ndarray | None, shape: tuple[int, ...]) -> None:
    wanted = f"numbers of shape ({', '.join('any' if size < 0 else str(size) for size in shape)})"
    if values is None:
        raise RolloutError(name, found="missing", expected=wanted)
    fits = values.ndim == len(shape) and all(
        size in (-1, found) for size, found in zip(shape, values.shape, strict=True)
    )
    if not fits or values.dtype.kind not in "fiu":
        raise RolloutError(name, found=f"shape {values.shape} and type {values.dtype}", expected=wanted)
    broken = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if broken.size:
        raise RolloutError(
            name, found=f"NaN or infinite in {broken.size} rows, first in row {broken[0]}", expected="finite numbers"
        )


def _check_quaternions(quat_wxyz: np.ndarray) -> None:
    off = np.abs(np.linalg.norm(quat_wxyz, axis=1) - 1)
    if (off > QUATERNION_SLACK).any():
        row = int(off.argmax())
        raise RolloutError(
            "root_quat_wxyz",
            found=f"length {np.linalg.norm(quat_wxyz[row]):.4g} in row {row}",
            expected="unit quaternions, w first",
        )


def _check_episodes(rollout: Rollout) -> None:
    """They cover all rows, in order, each with one step at least."""
    expected_start = 0
    for number, episode in enumerate(rollout.episodes):
        if episode.start != expected_start or len(episode) < 2:
            raise RolloutError(
                "episodes",
                found=f"episode {number} has rows {episode.start} until {episode.end}",
                expected=f"its first row to be {expected_start} and at least two rows",
            )
        if episode.fell_row is not None and not episode.start <= episode.fell_row < episode.end:
            raise RolloutError(
                "episodes", found=f"episode {number} fell in row {episode.fell_row}", expected="one of its own rows"
            )
        expected_start = episode.end
    if expected_start != len(rollout):
        raise RolloutError(
            "episodes", found=f"they cover {expected_start} rows", expected=f"all {len(rollout)} rows, in order"
        )


def _check_time(rollout: Rollout) -> None:
    steps = np.diff(rollout.time_s) * rollout.trajectory.rate_hz
    within = np.ones(len(steps), dtype=bool)
    within[[episode.end - 1 for episode in rollout.episodes[:-1]]] = False
    off = within & ~(np.abs(steps - 1) < STEP_SLACK)
    if off.any():
        row = int(np.argmax(off))
        raise RolloutError(
            "time",
            found=f"{steps[row] / rollout.trajectory.rate_hz:.4g} s between rows {row} and {row + 1}",
            expected=f"{1 / rollout.trajectory.rate_hz:.4g} s within an episode (a gap starts a new one)",
        )
