"""Skills, what is good: mjlab's rewards for motion tracking.

In: the robots' poses, the frames they should be in, actions. Out: each term for each robot; the reward of a control
step is Σ weight·term·Δt. Tracking terms are exp(−e/σ²), e the squared error, averaged over the bodies:

| term | weight | σ | e |
| --- | --- | --- | --- |
| motion_global_root_pos | 0.5 | 0.3 m | ‖p̂ − p‖² of the anchor in the world |
| motion_global_root_ori | 0.5 | 0.4 rad | angle² of the anchor |
| motion_body_pos | 1 | 0.3 m | ‖p' − p‖², reference carried along (terms.py) |
| motion_body_ori | 1 | 0.4 rad | angle² to q' |
| motion_body_lin_vel | 1 | 1 m/s | ‖v̂ − v‖² |
| motion_body_ang_vel | 1 | 3.14 rad/s | ‖ω̂ − ω‖² |
| action_rate_l2 | −0.1 | | ‖a − a_last‖² |
| joint_limit | −10 | | rad beyond the soft limits, summed over joints |

mjlab's ninth term, self-collision, needs contacts between the robot's own links, which this environment leaves out.
"""

import numpy as np

from haloid.skills.task.reference import Poses
from haloid.trajectories.rotations import angle_between

WEIGHTS = {
    "motion_global_root_pos": 0.5,
    "motion_global_root_ori": 0.5,
    "motion_body_pos": 1.0,
    "motion_body_ori": 1.0,
    "motion_body_lin_vel": 1.0,
    "motion_body_ang_vel": 1.0,
    "action_rate_l2": -0.1,
    "joint_limit": -10.0,
}


def reward_terms(
    robot: Poses,
    frame: Poses,
    carried: tuple[np.ndarray, np.ndarray],
    action: np.ndarray,
    last_action: np.ndarray,
    soft_limits_rad: np.ndarray,
    anchor: int,
) -> dict[str, np.ndarray]:
    """Each term, unweighted, (N,); `carried` are the bodies' poses of `terms.carried_along`."""
    pos, quat = carried
    joints = robot.joint_pos
    beyond = np.maximum(soft_limits_rad[:, 0] - joints, 0) + np.maximum(joints - soft_limits_rad[:, 1], 0)
    root_angle = angle_between(frame.body_quat_w[:, anchor], robot.body_quat_w[:, anchor])
    return {
        "motion_global_root_pos": _exp(_square(frame.body_pos_w[:, anchor] - robot.body_pos_w[:, anchor]), 0.3),
        "motion_global_root_ori": _exp(root_angle**2, 0.4),
        "motion_body_pos": _exp(_square(pos - robot.body_pos_w).mean(axis=1), 0.3),
        "motion_body_ori": _exp((angle_between(quat, robot.body_quat_w) ** 2).mean(axis=1), 0.4),
        "motion_body_lin_vel": _exp(_square(frame.body_lin_vel_w - robot.body_lin_vel_w).mean(axis=1), 1.0),
        "motion_body_ang_vel": _exp(_square(frame.body_ang_vel_w - robot.body_ang_vel_w).mean(axis=1), 3.14),
        "action_rate_l2": _square(action - last_action),
        "joint_limit": beyond.sum(axis=1),
    }


def _square(difference: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", difference, difference)


def _exp(squared_error: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-squared_error / sigma**2)
