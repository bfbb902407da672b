"""The lab robot's run as a rollout: its true motion, before any sensor, and the targets its servos were sent."""

import mujoco
import numpy as np

from haloid.lab.robot import LabRobot
from haloid.lab.truth import Truth
from haloid.robots.files.model_hash import model_sha256
from haloid.robots.load import load_spec
from haloid.trajectories.clamped_root import with_root
from haloid.trajectories.mujoco_states import floating_root, is_floating
from haloid.trajectories.rollout import Episode, Rollout
from haloid.trajectories.trajectory import Trajectory


def rollout_of_run(robot: LabRobot, truth: Truth, simulator: str | None = None) -> Rollout:
    """Of one run of `record`; targets are in the coordinates of the joints, not of their biased encoders.

    `simulator` is what moved the robot, with its version and step; None: MuJoCo.
    """
    built, played = robot.built, truth.playback
    trajectory = Trajectory(
        rate_hz=1.0 / robot.control_dt_s,
        joint_names=built.joint_names,
        joint_pos_rad=played.q_rad,
        joint_vel_rad_s=played.dq_rad_s,
        target_rad=played.target_rad - truth.encoder_bias_rad,
    )
    free = load_spec(robot.robot).compile()
    if robot.clamp is not None and is_floating(free):
        trajectory = with_root(trajectory, built.model, free.body(floating_root(free)).name)
    rows = len(trajectory)
    return Rollout(
        robot=robot.robot,
        trajectory=trajectory,
        time_s=np.arange(rows) * robot.control_dt_s,
        action=played.target_rad,
        action_meaning="the encoders' target: target_rad plus their bias",
        episodes=(Episode(0, rows),),
        simulator=simulator or f"mujoco {mujoco.__version__}, step {robot.timestep_s:g} s",
        model_sha256=model_sha256(built.model),
        clamp=robot.clamp,
        delay_s=truth.delay_s,
        note="simulated lab robot: the truth behind a recording",
    )
