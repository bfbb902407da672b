"""Feasibility, mending: a clip becomes one that a robot with its load can follow.

In: a trajectory, such as a clip from elsewhere, and the training model. Out: `Mended`: the motion, what was changed
and what still asks too much. In order: joints into their ranges, noise smoothed away, soles flat and on the ground
without spurious flights (motions/repair.py), the pelvis over its support and low enough (balance.py), and joints that
need too much torque smoothed. Where torque, support or friction still do not suffice, the same is done to a slower
clip; gravity sets the duration of a flight, so a clip with one is not slowed. The least demanding attempt is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from haloid.motions.check import check
from haloid.motions.finding import Finding
from haloid.motions.repair import repair
from haloid.motions.resample import resample
from haloid.robots.load import actuated_joints
from haloid.skills.feasibility.balance import balanced
from haloid.skills.feasibility.check import findings_of
from haloid.skills.feasibility.demands import Demands, demands_of
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.motion import Motion, motion_of
from haloid.trajectories.mujoco_states import ModelStates, states_of
from haloid.trajectories.trajectory import FloatingTrajectory

PACES = (1.0, 0.8, 0.65, 0.5)
"""What is tried, as parts of the clip's own speed."""
SMOOTHING_S = 0.03
RANGE_MARGIN_RAD = 0.01
_INSIDE = np.array([RANGE_MARGIN_RAD, -RANGE_MARGIN_RAD])
_TRIAL_RAD = 0.05
_FLIGHT_S = 0.1
_SOFTER = ((0.06, 0.0), (0.12, 0.0), (0.12, 0.1), (0.12, 0.1), (0.12, 0.1))
"""For a joint that needs too much torque, tried in this order: smoothing in s, and how far it turns to where its load
weighs less, in rad."""
_AROUND_S = 0.4
"""This long before and after."""


@dataclass(frozen=True)
class Mended:
    motion: Motion
    pace: float
    """Of the clip's own."""
    shift_m: float
    """The greatest, of the pelvis over its support."""
    lowering_m: float
    """The greatest, of the pelvis."""
    joint_change_rad: float
    """The greatest against the repaired clip at the same pace, legs included."""
    findings: tuple[Finding, ...]
    """What still asks too much; empty or warnings only: the robot can follow it."""

    def in_words(self) -> str:
        """What was done to it."""
        slower = "" if self.pace == 1.0 else f", played at {self.pace:g} of its speed"
        return (
            f"feasible: pelvis moved by up to {100 * self.shift_m:.1f} cm and lowered by up to "
            f"{100 * self.lowering_m:.1f} cm, joints turned by up to {self.joint_change_rad:.2f} rad{slower}"
        )

    @property
    def feasible(self) -> bool:
        return not any(finding.severity == "error" for finding in self.findings)


def mend(
    frames: FloatingTrajectory, robot: TrackedRobot, name: str, on_pace: Callable[[float], None] = lambda _: None
) -> Mended:
    """The motion at 50 frames per second; `name` is the robot's, for its kinematics."""
    best: Mended | None = None
    for pace in PACES:
        on_pace(pace)
        slowed = resample(replace(frames, rate_hz=pace * frames.rate_hz), CONTROL_HZ)
        found, flies = _at_one_pace(slowed, robot, name, pace)
        if best is None or _badness(found) < _badness(best):
            best = found
        if found.feasible or flies:
            break
    assert best is not None
    return best


def _at_one_pace(frames: FloatingTrajectory, robot: TrackedRobot, name: str, pace: float) -> tuple[Mended, bool]:
    """The clip mended without slowing it further, and whether it flies."""
    model = robot.model
    standing = repair(_smoothed(_in_range(frames, robot)), name, close_gaps=True).frames
    states = _states(standing, robot)
    demands = demands_of(model, states)
    moved = balanced(model, robot.description, states, demands.contacts)
    softened, demands = _softened(moved.states, robot)
    motion = motion_of(_trajectory(softened, standing, robot), model)
    findings = findings_of(model, robot.description, demands, softened.step_s)
    findings += [finding for finding in check(motion.trajectory, name) if finding.severity == "error"]
    mended = Mended(
        motion=motion,
        pace=pace,
        shift_m=float(np.linalg.norm(moved.shift_m, axis=1).max()),
        lowering_m=float(moved.lowering_m.max()),
        joint_change_rad=float(np.abs(softened.qpos[:, 7:] - states.qpos[:, 7:]).max()),
        findings=tuple(sorted(findings, key=lambda finding: finding.severity)),
    )
    in_flight_s = (~demands.contacts.resting.any(axis=1)).sum() / CONTROL_HZ
    return mended, bool(in_flight_s > _FLIGHT_S)


def _badness(mended: Mended) -> float:
    """How much the findings exceed their limits, in total."""
    errors = [finding for finding in mended.findings if finding.severity == "error"]
    excess = [abs(finding.amount - finding.limit) / max(abs(finding.limit), 0.02) for finding in errors]
    return len(errors) + float(np.minimum(excess, 5.0).sum())


def _in_range(frames: FloatingTrajectory, robot: TrackedRobot) -> FloatingTrajectory:
    ranges = np.array([robot.model.joint(joint).range for joint in frames.joint_names]) + _INSIDE
    return replace(frames, joint_pos_rad=np.clip(frames.joint_pos_rad, *ranges.T))


def _smoothed(frames: FloatingTrajectory) -> FloatingTrajectory:
    width = SMOOTHING_S * frames.rate_hz
    rotation = Rotation.from_quat(frames.root_quat_wxyz, scalar_first=True)
    steps = (rotation[:-1].inv() * rotation[1:]).as_rotvec()
    turns = [rotation[0]]
    for step in gaussian_filter1d(steps, width, axis=0, mode="nearest"):
        turns.append(turns[-1] * Rotation.from_rotvec(step))
    return replace(
        frames.poses(),
        root_pos_w_m=gaussian_filter1d(frames.root_pos_w_m, width, axis=0, mode="nearest"),
        root_quat_wxyz=Rotation.concatenate(turns).as_quat(scalar_first=True),
        joint_pos_rad=gaussian_filter1d(frames.joint_pos_rad, width, axis=0, mode="nearest"),
    )


def _states(frames: FloatingTrajectory, robot: TrackedRobot) -> ModelStates:
    return states_of(robot.model, motion_of(frames, robot.model).trajectory)


def _softened(states: ModelStates, robot: TrackedRobot) -> tuple[ModelStates, Demands]:
    """Joints above the legs that need too much torque move more smoothly, and aside, around where they do."""
    legs = {joint for leg in robot.description.legs.values() for joint in leg}
    demands, fps = demands_of(robot.model, states), 1.0 / states.step_s
    for width_s, aside_rad in _SOFTER:
        over = demands.torque_of_limit > 1.0
        columns = [c for c, joint in enumerate(actuated_joints(robot.model)) if over[:, c].any() and joint not in legs]
        if not columns:
            break
        qpos = states.qpos.copy()
        for column in columns:
            around = maximum_filter1d(over[:, column].astype(float), 2 * round(_AROUND_S * fps) + 1, mode="nearest")
            weight = gaussian_filter1d(around, 0.5 * _AROUND_S * fps, mode="nearest")
            smooth = gaussian_filter1d(qpos[:, 7 + column], width_s * fps, mode="nearest")
            smooth += aside_rad * _lighter_side(robot.model, qpos[over[:, column]], column)
            smooth = np.clip(smooth, *(robot.model.joint(robot.joint_names[column]).range + _INSIDE))
            qpos[:, 7 + column] += weight * (smooth - qpos[:, 7 + column])
        qvel = states.qvel.copy()
        qvel[:, 6:] += np.gradient(qpos[:, 7:] - states.qpos[:, 7:], states.step_s, axis=0)
        states = replace(states, qpos=qpos, qvel=qvel)
        demands = demands_of(robot.model, states)
    return states, demands


def _lighter_side(model: mujoco.MjModel, qpos: np.ndarray, column: int) -> float:
    """1 or −1: where to turn a joint so that it holds less weight in these poses, on the whole."""
    data, weight_nm = mujoco.MjData(model), np.zeros(2)
    for pose in qpos:
        for side, turn_rad in enumerate((-_TRIAL_RAD, _TRIAL_RAD)):
            data.qpos[:] = pose
            data.qpos[7 + column] += turn_rad
            mujoco.mj_forward(model, data)
            weight_nm[side] += abs(data.qfrc_bias[6 + column])
    return 1.0 if weight_nm[1] < weight_nm[0] else -1.0


def _trajectory(states: ModelStates, frames: FloatingTrajectory, robot: TrackedRobot) -> FloatingTrajectory:
    return FloatingTrajectory(
        rate_hz=frames.rate_hz,
        joint_names=robot.joint_names,
        joint_pos_rad=states.qpos[:, 7:],
        root_pos_w_m=states.qpos[:, :3],
        root_quat_wxyz=states.qpos[:, 3:7],
    )
