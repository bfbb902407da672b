"""Skills, where the bodies should be: the reference moved to the robot's place and heading (mjlab, BeyondMimic).

In: the robot's poses and the frames it should be in. Out: the frames' bodies, carried along in x, y and yaw by the
robot's anchor, so that drift of the whole is told apart from errors of the pose: with Δ = yaw(q ∘ q̂⁻¹) of the anchor,
p' = (p_x, p_y, p̂_z) + Δ(p̂_body − p̂_anchor),  q' = Δ ∘ q̂_body.
"""

import numpy as np

from haloid.skills.reference import Poses
from haloid.skills.rotations import apply, heading, inverse, multiply


def carried_along(robot: Poses, frame: Poses, anchor: int) -> tuple[np.ndarray, np.ndarray]:
    """(N, bodies, 3) positions and (N, bodies, 4) quaternions that the tracked bodies should have."""
    turn = heading(multiply(robot.body_quat_w[:, anchor], inverse(frame.body_quat_w[:, anchor])))[:, None]
    place = robot.body_pos_w[:, anchor].copy()
    place[:, 2] = frame.body_pos_w[:, anchor, 2]
    offset = frame.body_pos_w - frame.body_pos_w[:, anchor : anchor + 1]
    return place[:, None] + apply(turn, offset), multiply(turn, frame.body_quat_w)
