"""Self-collisions: the lab simulates none, so it asks whether a motion would have had any.

In: joint positions. Out: the pairs of links that come to touch and did not at the start.
"""

from copy import copy

import mujoco
import numpy as np

from haloid.lab.built import BuiltRobot

_EVERY_ROWS = 5
"""A tenth of a second at 50 Hz."""


def self_collisions(built: BuiltRobot, q_rad: np.ndarray) -> tuple[str, ...]:
    """Pairs such as "left_hip_yaw_link and left_wrist_yaw_link", looked for in every fifth row of `q_rad` (T, n)."""
    model = copy(built.collision_model)
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)

    def touching(row: np.ndarray) -> set[tuple[int, int]]:
        data.qpos[built.qpos_of] = row
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        bodies = np.sort(model.geom_bodyid[data.contact.geom[: data.ncon]], axis=1)
        return {(int(one), int(other)) for one, other in bodies}

    pairs = set().union(*(touching(row) for row in q_rad[::_EVERY_ROWS])) - touching(q_rad[0])
    return tuple(sorted(" and ".join(sorted(model.body(body).name for body in pair)) for pair in pairs))
