"""Skills, what the policy sees: mjlab's observation terms for motion tracking, in its order.

In: the robots' poses and sensors, the frames they should be in, the last action. Out: the actor's observation, with the
sensors' noise, and the critic's, without it and with the bodies' poses. `q̂`, `p̂` are the reference's.

| term | numbers | noise ± | meaning |
| --- | --- | --- | --- |
| command | 2n | | joint positions and velocities of the frame |
| motion_anchor_pos_b | 3 | 0.25 m | R⁻¹(p̂ − p) of the anchor; only with state estimation |
| motion_anchor_ori_b | 6 | 0.05 | first two columns of R⁻¹R̂ of the anchor |
| body_pos, body_ori | 9·bodies | | of all tracked bodies in the anchor's frame; critic only |
| base_lin_vel | 3 | 0.5 m/s | of the IMU, in its axes; only with state estimation |
| base_ang_vel | 3 | 0.2 rad/s | of the IMU, in its axes |
| joint_pos | n | 0.01 rad | q − default, with the encoders' bias |
| joint_vel | n | 0.5 rad/s | |
| actions | n | | the last action |

ASAP's pre-training is told only how far the motion is: its actor sees `motion_phase` (1 number, 0 at the motion's start
and 1 at its end), `projected_gravity` (3, ± 0.05; down in the root's axes), base_ang_vel, joint_pos, joint_vel
and actions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloid.skills.task.reference import Poses
from haloid.trajectories.rotations import apply_inverse, inverse, multiply, two_columns

NOISE = {
    "motion_anchor_pos_b": 0.25,
    "motion_anchor_ori_b": 0.05,
    "base_lin_vel": 0.5,
    "base_ang_vel": 0.2,
    "projected_gravity": 0.05,
    "joint_pos": 0.01,
    "joint_vel": 0.5,
}
"""Half width of the uniform noise on the actor's terms."""
NOT_REMEMBERED = ("command", "motion_phase")
"""Terms of which the policy sees one reading, whatever its history."""
STATE_ESTIMATION_TERMS = ("motion_anchor_pos_b", "base_lin_vel")
PHASE_TERMS = ("motion_phase", "projected_gravity", "base_ang_vel", "joint_pos", "joint_vel", "actions")
DOWN = np.array([0.0, 0.0, -1.0], dtype=np.float32)


@dataclass(frozen=True)
class Sensed:
    """What the robots' sensors and their drivers know besides poses."""

    imu_lin_vel: np.ndarray
    """(N, 3) m/s in the IMU's axes."""
    imu_ang_vel: np.ndarray
    """(N, 3) rad/s in the IMU's axes."""
    last_action: np.ndarray
    """(N, n)"""
    encoder_bias: np.ndarray
    """(N, n) rad, reading minus truth."""


def observation_terms(
    robot: Poses,
    sensed: Sensed,
    frame: Poses,
    default_joint_pos: np.ndarray,
    anchor: int,
    phase: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """All terms by mjlab's names, without noise; `joint_pos` without bias. Those of a policy that is told the phase
    come last, and only with it: (N,) in [0, 1]."""
    anchor_quat, anchor_pos = robot.body_quat_w[:, anchor], robot.body_pos_w[:, anchor]
    back = inverse(anchor_quat)
    bodies = (len(robot), -1)
    terms = {
        "command": np.concatenate([frame.joint_pos, frame.joint_vel], axis=1),
        "motion_anchor_pos_b": apply_inverse(anchor_quat, frame.body_pos_w[:, anchor] - anchor_pos),
        "motion_anchor_ori_b": two_columns(multiply(back, frame.body_quat_w[:, anchor])),
        "body_pos": apply_inverse(anchor_quat[:, None], robot.body_pos_w - anchor_pos[:, None]).reshape(bodies),
        "body_ori": two_columns(multiply(back[:, None], robot.body_quat_w)).reshape(bodies),
        "base_lin_vel": sensed.imu_lin_vel,
        "base_ang_vel": sensed.imu_ang_vel,
        "joint_pos": robot.joint_pos - default_joint_pos,
        "joint_vel": robot.joint_vel,
        "actions": sensed.last_action,
    }
    if phase is not None:
        terms |= {"motion_phase": phase[:, None], "projected_gravity": apply_inverse(robot.body_quat_w[:, 0], DOWN)}
    return terms


def actor_term_names(state_estimation: bool, phase: bool = False) -> tuple[str, ...]:
    if phase:
        return PHASE_TERMS
    names = ("command", "motion_anchor_pos_b", "motion_anchor_ori_b", "base_lin_vel", "base_ang_vel")
    names += ("joint_pos", "joint_vel", "actions")
    return names if state_estimation else tuple(name for name in names if name not in STATE_ESTIMATION_TERMS)


@dataclass(frozen=True)
class TermColumns:
    """Where the terms of the actor's observation begin and end."""

    slices: dict[str, slice]
    width: int


def term_columns(joints: int, state_estimation: bool, phase: bool = False) -> TermColumns:
    widths = {"command": 2 * joints, "motion_anchor_ori_b": 6, "joint_pos": joints, "joint_vel": joints}
    widths |= {"actions": joints, "motion_phase": 1}
    slices, start = {}, 0
    for name in actor_term_names(state_estimation, phase):
        end = start + widths.get(name, 3)
        slices[name], start = slice(start, end), end
    return TermColumns(slices, start)


def history_lengths(names: Sequence[str], readings: int) -> list[int]:
    """mjlab's `history_length` of each term: 0 where there is only one reading."""
    return [0 if readings == 1 or name in NOT_REMEMBERED else readings for name in names]


def actor_observation(
    terms: dict[str, np.ndarray],
    encoder_bias: np.ndarray,
    state_estimation: bool,
    noise: np.random.Generator | None,
    noise_scale: float = 1.0,
    phase: bool = False,
) -> np.ndarray:
    """(N, 154) for 29 joints, (N, 160) with state estimation, (N, 94) of a policy that is told the phase; `noise` is
    None for an observation without it."""
    names = actor_term_names(state_estimation, phase)
    observation = np.concatenate([terms[name] for name in names], axis=1, dtype=np.float32)
    column = 0
    for name in names:
        width = terms[name].shape[1]
        columns = observation[:, column : column + width]
        if name == "joint_pos":
            columns += encoder_bias
        if noise is not None and name in NOISE:
            columns += _uniform(noise, columns.shape) * np.float32(NOISE[name] * noise_scale)
        column += width
    return observation


def critic_observation(terms: dict[str, np.ndarray]) -> np.ndarray:
    """(N, 286) for 29 joints and 14 bodies: every term, without noise or bias."""
    return np.concatenate(list(terms.values()), axis=1, dtype=np.float32)


def _uniform(noise: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return noise.random(shape, dtype=np.float32) * 2 - 1


class History:
    """What the policy remembers: the last few readings of its sensors, in mjlab's layout (`history_length`).

    Terms that are sensed are followed from the oldest reading to the newest; the command, which says where to go, stays
    one. When an episode starts, its first reading is used for those before it. Sensors as noisy as mjlab's hardly show
    how fast a pushed robot moves; a few readings do.
    """

    def __init__(self, robots: int, length: int, columns: TermColumns) -> None:
        self.length, self._columns = length, columns.slices
        self.readings = np.zeros((robots, length, columns.width), dtype=np.float32)
        """(robots, length, width), oldest first."""
        self.fresh = np.ones(robots, dtype=bool)
        """Robots that have not been observed since they started."""

    def forget(self, robots: np.ndarray) -> None:
        self.fresh[robots] = True

    def after(self, observation: np.ndarray) -> np.ndarray:
        """(robots, …) what the policy sees, once this observation has been made."""
        if self.length == 1:
            return observation
        self.readings[:, :-1] = self.readings[:, 1:]
        self.readings[:, -1] = observation
        self.readings[self.fresh] = observation[self.fresh, None]
        self.fresh[:] = False
        terms = {name: self.readings[:, :, columns] for name, columns in self._columns.items()}
        seen = [term[:, -1] if name in NOT_REMEMBERED else term.reshape(len(term), -1) for name, term in terms.items()]
        return np.concatenate(seen, axis=1)
