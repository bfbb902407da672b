"""The resting foot of a double-support recording: how high the encoders say its sole is above the floor.

In: a recording whose other foot is clamped. Out: heights of three points of the sole and their derivatives with
respect to the joints that can move it. The floor is level, at the height of the clamped foot's sole; a foot rests on
it when the three heights are 0.
"""

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from haloid.recordings.errors import RecordingError
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.floor import other_foot
from haloid.robots.inertia import find_link
from haloid.robots.load import load_spec
from haloid.robots.sole import sole_height_m, sole_points_in_foot_m


@dataclass(frozen=True)
class RestingFoot:
    """The foot that is not clamped. Angles come as rows whose columns are `joint_names`."""

    model: mujoco.MjModel
    """The clamped robot, its tree rooted in the clamped foot."""
    joint_names: tuple[str, ...]
    link: str
    floor_m: float
    """World height of the floor."""
    points_in_foot_m: np.ndarray
    """(3, 3) centre, front and left edge of the sole."""

    @cached_property
    def lower_body(self) -> np.ndarray:
        """Columns of the joints between the clamped foot and this one: both legs. No other joint moves it."""
        chain, body = set(), self._foot_id
        while body:
            chain.add(body)
            body = self.model.body_parentid[body]
        moves = [self.model.joint(name).bodyid[0] in chain for name in self.joint_names]
        return np.flatnonzero(moves)

    def limits_rad(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits of all joints; infinite where a joint has none."""
        joints = [self.model.joint(name).id for name in self.joint_names]
        limited = self.model.jnt_limited[joints].astype(bool)
        lower, upper = self.model.jnt_range[joints].T
        return np.where(limited, lower, -np.inf), np.where(limited, upper, np.inf)

    def heights_m(self, q_rad: np.ndarray) -> np.ndarray:
        """(T, 3) heights of the sole's points above the floor at angles (T, n)."""
        return np.array([self._heights(self._kinematics(row)) for row in q_rad]).reshape(-1, 3)

    def linearised(self, q_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Heights (3,) at one row of angles (n,), and their derivatives (3, n) w.r.t. the joints, in m/rad."""
        linear, angular = self.twist(q_rad).reshape(2, 3, -1)
        data = self._data
        x, y, _ = (self._points_w_m(data) - data.xpos[self._foot_id]).T
        slopes = linear[2] + np.outer(y, angular[0]) - np.outer(x, angular[1])  # z of v + ω × r
        return self._heights(data), slopes

    def twist(self, q_rad: np.ndarray) -> np.ndarray:
        """(6, n) linear and angular velocity of the foot by the joints' velocities, at one row of angles (n,)."""
        data = self._kinematics(q_rad)
        mujoco.mj_comPos(self.model, data)  # mj_jacBody reads the joints' axes from it
        linear, angular = np.empty((2, 3, self.model.nv))
        mujoco.mj_jacBody(self.model, data, linear, angular, self._foot_id)
        return np.concatenate([linear, angular])[:, self._dof]

    def _heights(self, data: mujoco.MjData) -> np.ndarray:
        return self._points_w_m(data)[:, 2] - self.floor_m

    def _points_w_m(self, data: mujoco.MjData) -> np.ndarray:
        return data.xpos[self._foot_id] + self.points_in_foot_m @ data.xmat[self._foot_id].reshape(3, 3).T

    def _kinematics(self, q_rad: np.ndarray) -> mujoco.MjData:
        self._data.qpos[self._address] = q_rad
        mujoco.mj_kinematics(self.model, self._data)
        return self._data

    @cached_property
    def _data(self) -> mujoco.MjData:
        return mujoco.MjData(self.model)

    @cached_property
    def _foot_id(self) -> int:
        return find_link(self.model, self.link)

    @cached_property
    def _address(self) -> np.ndarray:
        return np.array([self.model.joint(name).qposadr[0] for name in self.joint_names])

    @cached_property
    def _dof(self) -> np.ndarray:
        return np.array([self.model.joint(name).dofadr[0] for name in self.joint_names])


def resting_foot(recording: Recording) -> RestingFoot:
    """The foot that rests on the floor in `recording`; refuses one in which no foot does."""
    if recording.support != "double":
        raise RecordingError(
            recording.name,
            found=f'its support is "{recording.support}": no foot rests on the floor',
            expected='a recording with support "double", one foot clamped and the other on the floor',
            next_step='Leave the feet as they are, or set "support": "double" in its json if the foot did rest.',
        )
    link = other_foot(recording.clamp)
    robot = load_spec(recording.robot)
    standing = robot.copy().compile()
    model = clamp(robot, recording.clamp, recording.clamp_pose).compile()
    return RestingFoot(
        model=model,
        joint_names=recording.joint_names,
        link=link,
        floor_m=sole_height_m(model, find_link(model, str(recording.clamp))),
        points_in_foot_m=sole_points_in_foot_m(standing, find_link(standing, link)),
    )
