"""Motions, legs: the pose of the pelvis and of a foot become the six angles of the leg between them.

In: a pose of the whole robot (qpos) and where a foot (the ankle roll link) ought to be. Out: that qpos with the leg's
angles. Levenberg–Marquardt steps on e = (position error, log(R_wanted R_footᵀ)) with MuJoCo's Jacobian, started from
the current angles, so that a sequence of similar poses costs two or three steps each, within the joints' ranges.
"""

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.description import Robot
from haloid.robots.sole import joints_about
from haloid.trajectories.mujoco_states import floating_root

SIDES: tuple[str, ...] = ("left", "right")

_LEG_JOINTS = 6
_TOLERANCE = 1e-6
"""m and rad; solutions are usually a thousand times nearer."""
_MAX_STEPS = 60
_MOST_DAMPING, _STALLED = 10.0, 1e-10
"""Out of reach, steps become short or useless: there is nothing nearer."""
_STRETCHED_RAD, _BENT_RAD = 0.05, 0.4
"""Angles of the knee: below the first a leg counts as stretched; the second is where bending it is tried from."""
_WEIGHTS = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])[:, None]
"""Of the remaining error: out of reach, a radian counts as 0.1 m, the length of a foot's lever."""


class FootOutOfReachError(HaloidError):
    def __init__(self, side: str, pos_w_m: np.ndarray, error: np.ndarray):
        where = ", ".join(f"{value:.3f}" for value in pos_w_m)
        super().__init__(
            f"The {side} foot cannot be brought to ({where}) m within the joints' ranges: the nearest pose is "
            f"{1e3 * np.linalg.norm(error[:3]):.1f} mm and {np.linalg.norm(error[3:]):.3f} rad away. "
            f"Lower the pelvis, or bring the foot nearer to it."
        )


class LegKinematics:
    """Inverse kinematics of a robot's six-joint legs; `data` holds the pose last computed."""

    def __init__(self, model: mujoco.MjModel, robot: Robot):
        robot.need("leg kinematics", "legs", "feet")
        names = [model.joint(row).name for row in range(model.njnt)]
        for side, leg in robot.legs.items():
            if len(leg) != _LEG_JOINTS or not set(leg) <= set(names):
                found = ", ".join(joint for joint in leg if joint in names) or "none"
                raise HaloidError(f"the {side} leg of {robot.name} has the joints {found}; expected six of the model")
        self.model, self.leg_joints = model, robot.legs
        self.data = mujoco.MjData(model)
        self.root = floating_root(model)
        self._legs = {side: [model.joint(joint) for joint in robot.legs[side]] for side in SIDES}
        self._foot = {side: model.body(robot.feet[side]).id for side in SIDES}
        self._pitch = {side: self._pitch_addresses(side) for side in SIDES}
        self._jacobian = np.empty((2, 3, model.nv))

    def addresses(self, side: str) -> np.ndarray:
        """Where the leg's angles are in qpos."""
        return np.array([joint.qposadr[0] for joint in self._legs[side]])

    def _pitch_addresses(self, side: str) -> np.ndarray:
        """Of hip, knee and ankle, which bend the leg."""
        pitch = joints_about(self.model, self.leg_joints[side], 1)
        return np.array([self.model.joint(joint).qposadr[0] for joint in pitch])

    def forward(self, qpos: np.ndarray) -> mujoco.MjData:
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        return self.data

    def com_w_m(self, qpos: np.ndarray) -> np.ndarray:
        """The whole robot's centre of mass."""
        return self.forward(qpos).subtree_com[self.root].copy()

    def foot_pose(self, side: str, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position and wxyz quaternion of the foot's link."""
        data = self.forward(qpos)
        return data.xpos[self._foot[side]].copy(), data.xquat[self._foot[side]].copy()

    def reach(self, side: str, qpos: np.ndarray, pos_w_m: np.ndarray, quat_wxyz: np.ndarray) -> np.ndarray:
        """`qpos` with the leg's angles such that the foot has this pose; FootOutOfReachError where there are none."""
        qpos, error = self.nearest(side, qpos, pos_w_m, quat_wxyz)
        if max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) > _TOLERANCE:
            raise FootOutOfReachError(side, pos_w_m, error)
        return qpos

    def nearest(
        self, side: str, qpos: np.ndarray, pos_w_m: np.ndarray, quat_wxyz: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """`qpos` with the leg's angles that bring the foot nearest to this pose, and the remaining error: (6,) in m
        and rad.

        A stretched leg can bend either way; from there bending it forwards is tried too, and kept unless its error
        is larger.
        """
        found, error = self._descend(side, qpos, pos_w_m, quat_wxyz)
        pitch = self._pitch[side]
        if found[pitch[1]] > _STRETCHED_RAD and np.linalg.norm(error) < _TOLERANCE:
            return found, error
        bent = qpos.copy()
        bent[pitch] += np.array([-0.5, 1.0, -0.5]) * (_BENT_RAD - bent[pitch[1]])
        other, other_error = self._descend(side, bent, pos_w_m, quat_wxyz)
        misses = (np.linalg.norm(_WEIGHTS[:, 0] * value) for value in (other_error, error))
        return (other, other_error) if next(misses) < next(misses) + _TOLERANCE else (found, error)

    def _descend(
        self, side: str, qpos: np.ndarray, pos_w_m: np.ndarray, quat_wxyz: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos = qpos.copy()
        address = self.addresses(side)
        dofs = [joint.dofadr[0] for joint in self._legs[side]]
        low, high = np.array([joint.range for joint in self._legs[side]]).T
        qpos[address] = np.clip(qpos[address], low, high)
        error, jacobian = self._error(side, qpos, pos_w_m, quat_wxyz, dofs)
        damping = 1e-8
        for _ in range(_MAX_STEPS):
            if np.abs(error).max() < 1e-3 * _TOLERANCE:
                break
            downhill = (_WEIGHTS * jacobian).T @ (_WEIGHTS[:, 0] * error)
            outward = ((qpos[address] <= low) & (downhill < 0)) | ((qpos[address] >= high) & (downhill > 0))
            inner = _WEIGHTS * jacobian * ~outward  # a joint that is at its limit and pushes against it is left out
            step = np.linalg.solve(inner.T @ inner + damping * np.eye(6), inner.T @ (_WEIGHTS[:, 0] * error))
            trial = qpos.copy()
            trial[address] = np.clip(qpos[address] + step, low, high)
            trial_error, trial_jacobian = self._error(side, trial, pos_w_m, quat_wxyz, dofs)
            missed, missed_before = (np.linalg.norm(_WEIGHTS[:, 0] * value) for value in (trial_error, error))
            if missed < missed_before:
                qpos, error, jacobian, damping = trial, trial_error, trial_jacobian, max(damping / 10, 1e-12)
            else:
                damping *= 10
            if damping > _MOST_DAMPING or missed_before - _STALLED < missed < missed_before:
                break
        return qpos, error

    def _error(
        self, side: str, qpos: np.ndarray, pos_w_m: np.ndarray, quat_wxyz: np.ndarray, dofs: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        foot = self._foot[side]
        data = self.forward(qpos)
        mujoco.mj_jacBody(self.model, data, self._jacobian[0], self._jacobian[1], foot)
        inverse, turn, error = np.empty(4), np.empty(4), np.empty(6)
        mujoco.mju_negQuat(inverse, data.xquat[foot])
        mujoco.mju_mulQuat(turn, quat_wxyz, inverse)
        mujoco.mju_quat2Vel(error[3:], turn, 1.0)
        error[:3] = pos_w_m - data.xpos[foot]
        return error, self._jacobian[:, :, dofs].reshape(6, -1)
