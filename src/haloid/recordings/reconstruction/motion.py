"""Reconstruction, whole (HALO III-A): from encoder readings to the poses and velocities of every body.

In: a recording of a clamped robot. Out: a `Motion` at an even rate. Joints are smoothed, corrected to put the foot on
the floor in double support if requested, and sampled; bodies follow by the forward kinematics of the clamped tree, so
that poses, velocities and joints agree with each other in every frame and no pose is ever interpolated.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from haloid.errors import HaloidError
from haloid.recordings.reconstruction.foot_height import CorrectedFeet, FootHeight, put_on_floor
from haloid.recordings.reconstruction.resting_foot import resting_foot
from haloid.recordings.reconstruction.smooth import DEFAULT_BANDWIDTH_HZ, SmoothPath, smooth
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.trajectories.kinematics import body_states
from haloid.trajectories.motion import Motion
from haloid.trajectories.mujoco_states import qpos_of, qvel_of
from haloid.trajectories.rotations import apply_inverse
from haloid.trajectories.trajectory import FloatingTrajectory, Trajectory

DEFAULT_FPS = 50.0


@dataclass(frozen=True)
class Reconstruction:
    motion: Motion
    path: SmoothPath
    feet: CorrectedFeet | None
    """None: the feet are where the encoders say."""


def reconstruct_motion(
    recording: Recording,
    *,
    bandwidth_hz: float = DEFAULT_BANDWIDTH_HZ,
    fps: float = DEFAULT_FPS,
    feet: FootHeight | None = None,
) -> Reconstruction:
    """The motion in `recording` at `fps` frames per second from the first row on; `feet` puts the resting foot down."""
    path = smooth(recording, bandwidth_hz)
    time_s = _frame_times(path, fps)
    q_rad, dq_rad_s = path.q_rad(time_s), path.dq_rad_s(time_s)
    corrected = None
    if feet is not None:
        corrected = put_on_floor(resting_foot(recording), time_s, q_rad, feet, recording.name)
        q_rad = corrected.q_rad
        dq_rad_s = dq_rad_s + CubicSpline(time_s, corrected.increment_rad, bc_type="natural")(time_s, 1)
    return Reconstruction(_motion(recording, fps, q_rad, dq_rad_s), path, corrected)


def _frame_times(path: SmoothPath, fps: float) -> np.ndarray:
    length_s = path.end_s - path.start_s
    frames = int(length_s * fps * (1 + 1e-9)) + 1 if 0 < fps < np.inf else 0
    if frames < 2:
        raise HaloidError(
            f"a motion at {fps:g} frames per second has fewer than two frames in the recording's {length_s:.3g} s; "
            "expected a rate above 0 that gives more, such as 50"
        )
    return np.minimum(path.start_s + np.arange(frames) / fps, path.end_s)


def _motion(recording: Recording, fps: float, q_rad: np.ndarray, dq_rad_s: np.ndarray) -> Motion:
    spec = load_spec(recording.robot)
    robot = spec.copy().compile()
    model = clamp(spec, recording.clamp, recording.clamp_pose).compile()
    joints = Trajectory(fps, recording.joint_names, q_rad, joint_vel_rad_s=dq_rad_s)
    bodies = body_states(model, qpos_of(model, joints), qvel_of(model, joints))
    bodies = bodies.ordered([robot.body(body).name for body in range(1, robot.nbody)])
    quat_wxyz = bodies.quat_wxyz[:, 0]
    return Motion(
        FloatingTrajectory(
            rate_hz=fps,
            joint_names=recording.joint_names,
            joint_pos_rad=q_rad,
            root_pos_w_m=bodies.pos_w_m[:, 0],
            root_quat_wxyz=quat_wxyz,
            joint_vel_rad_s=dq_rad_s,
            root_lin_vel_w_m_s=bodies.lin_vel_w_m_s[:, 0],
            root_ang_vel_b_rad_s=apply_inverse(quat_wxyz, bodies.ang_vel_w_rad_s[:, 0]),
        ),
        bodies,
    )
