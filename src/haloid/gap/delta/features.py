"""Delta, what the model sees: the robot's state, the target it is sent and the one its servos hold, as one vector.

| columns | what | unit |
| --- | --- | --- |
| 1 | height of the root | m |
| 3 | its linear velocity, in its own axes | m/s |
| 3 | its angular velocity, in its own axes | rad/s |
| 3 | gravity's direction in its axes | 1 |
| n | joint angles − default | rad |
| n | joint velocities | rad/s |
| n | target − angle | rad |
| n | held target − angle | rad |

As ASAP's (base height, velocities, gravity, joints, the recorded action), without the forces on the feet, which a
robot seldom measures, and with the held target in place of the model's own last output: it is what a servo with a delay
is still doing. Nothing depends on where the robot stands and which way it faces.
"""

from __future__ import annotations

import numpy as np

from haloid.gap.replays.simulator import States
from haloid.trajectories.rotations import apply_inverse

ROOT_WIDTH = 10
DOWN = np.array([0.0, 0.0, -1.0])


def width(joints: int) -> int:
    return ROOT_WIDTH + 4 * joints


def features(states: States, target_rad: np.ndarray, default_rad: np.ndarray) -> np.ndarray:
    """(N, width) in single precision."""
    quat, q_rad = states.qpos[:, 3:7], states.qpos[:, 7:]
    columns = [
        states.qpos[:, 2:3],
        apply_inverse(quat, states.qvel[:, :3]),
        states.qvel[:, 3:6],
        apply_inverse(quat, np.broadcast_to(DOWN, (len(q_rad), 3))),
        q_rad - default_rad,
        states.qvel[:, 6:],
        target_rad - q_rad,
        states.held_rad - q_rad,
    ]
    return np.concatenate(columns, axis=1).astype(np.float32)
