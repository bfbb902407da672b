"""Reconstruction, whole (HALO III-A): from encoder readings to the poses and velocities of every body.

In: a recording of a clamped robot. Out: a `Motion` at an even rate. Joints are smoothed, in double support put on the
floor if asked to, and sampled; bodies follow by the forward kinematics of the clamped tree, so that poses, velocities
and joints agree with each other in every frame and no pose is ever interpolated.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from haloid.errors import HaloidError
from haloid.recordings.foot_height import CorrectedFeet, FootHeight, put_on_floor
from haloid.recordings.reconstruct import forward_kinematics
from haloid.recordings.recording import Recording
from haloid.recordings.resting_foot import resting_foot
from haloid.recordings.smooth import DEFAULT_BANDWIDTH_HZ, SmoothPath, smooth
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec

DEFAULT_FPS = 50.0


@dataclass(frozen=True)
class Motion:
    """Frames of a whole robot, joints and bodies in the order of its own model: for the G1 the SDK's, pelvis first."""

    fps: float
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    joint_pos_rad: np.ndarray
    """(T, n)"""
    joint_vel_rad_s: np.ndarray
    """(T, n)"""
    body_pos_w_m: np.ndarray
    """(T, bodies, 3) origins of the link frames."""
    body_quat_wxyz: np.ndarray
    """(T, bodies, 4)"""
    body_lin_vel_w_m_s: np.ndarray
    """(T, bodies, 3) of the link frames' origins."""
    body_ang_vel_w_rad_s: np.ndarray
    """(T, bodies, 3) in world axes."""


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
    """The motion in `recording`, its frames `fps` a second from the first row on; `feet` puts the resting one down."""
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
            f"a motion at {fps:g} frames a second has fewer than two frames in the recording's {length_s:.3g} s; "
            "expected a rate above 0 that gives more, such as 50"
        )
    return np.minimum(path.start_s + np.arange(frames) / fps, path.end_s)


def _motion(recording: Recording, fps: float, q_rad: np.ndarray, dq_rad_s: np.ndarray) -> Motion:
    spec = load_spec(recording.robot)
    robot = spec.copy().compile()
    model = clamp(spec, recording.clamp, recording.clamp_pose).compile()
    poses = forward_kinematics(model, recording.joint_names, q_rad)
    lin_vel_w_m_s, ang_vel_w_rad_s = body_velocities(model, recording.joint_names, q_rad, dq_rad_s)
    body_names = tuple(robot.body(body).name for body in range(1, robot.nbody))
    order = [poses.body_names.index(name) for name in body_names]
    return Motion(
        fps=fps,
        joint_names=recording.joint_names,
        body_names=body_names,
        joint_pos_rad=q_rad,
        joint_vel_rad_s=dq_rad_s,
        body_pos_w_m=poses.pos_w_m[:, order],
        body_quat_wxyz=poses.quat_wxyz[:, order],
        body_lin_vel_w_m_s=lin_vel_w_m_s[:, order],
        body_ang_vel_w_rad_s=ang_vel_w_rad_s[:, order],
    )


def body_velocities(
    model: mujoco.MjModel, joint_names: tuple[str, ...], q_rad: np.ndarray, dq_rad_s: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(T, bodies, 3) linear velocities of the link origins and angular velocities, in world axes and model order."""
    address = [model.joint(name).qposadr[0] for name in joint_names]
    dof = [model.joint(name).dofadr[0] for name in joint_names]
    data, velocity = mujoco.MjData(model), np.empty(6)
    lin, ang = np.empty((len(q_rad), model.nbody - 1, 3)), np.empty((len(q_rad), model.nbody - 1, 3))
    for row in range(len(q_rad)):
        data.qpos[address], data.qvel[dof] = q_rad[row], dq_rad_s[row]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        for body in range(1, model.nbody):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            ang[row, body - 1], lin[row, body - 1] = velocity[:3], velocity[3:]
    return lin, ang
