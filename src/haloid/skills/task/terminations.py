"""Skills, when an episode has failed: mjlab's terminations for motion tracking.

| term | ends when |
| --- | --- |
| anchor_pos | the anchor's height is off by more than 0.25 m |
| anchor_ori | gravity's z in the anchor's frame is off by more than 0.8 |
| ee_body_pos | an ankle's or wrist's height, reference carried along, is off by more than 0.25 m |

A termination curriculum multiplies the three thresholds by a factor that falls to 1. A task may allow more than 0.25 m.
"""

import numpy as np

from haloid.skills.task.reference import Poses

HEIGHT_M = 0.25
GRAVITY = 0.8


def termination_terms(
    robot: Poses,
    frame: Poses,
    carried_pos_w: np.ndarray,
    anchor: int,
    end_effectors: np.ndarray,
    factor: float = 1.0,
    height_m: float = HEIGHT_M,
) -> dict[str, np.ndarray]:
    """(N,) bool by term; `end_effectors` are rows of the tracked bodies."""
    height = np.abs(frame.body_pos_w[:, anchor, 2] - robot.body_pos_w[:, anchor, 2])
    ends = np.abs(carried_pos_w[:, end_effectors, 2] - robot.body_pos_w[:, end_effectors, 2])
    return {
        "anchor_pos": np.greater(height, height_m * factor),
        "anchor_ori": tipped_over(robot, frame, anchor, factor),
        "ee_body_pos": np.any(ends > height_m * factor, axis=1),
    }


def tipped_over(robot: Poses, frame: Poses, anchor: int, factor: float = 1.0) -> np.ndarray:
    """(N,) bool, `anchor_ori`."""
    off = np.abs(_up_z(frame.body_quat_w[:, anchor]) - _up_z(robot.body_quat_w[:, anchor]))
    return np.greater(off, GRAVITY * factor)


def _up_z(quat: np.ndarray) -> np.ndarray:
    """z component of the body's z axis: minus the z of unit gravity in the body's frame."""
    return 1 - 2 * (quat[..., 1] ** 2 + quat[..., 2] ** 2)
