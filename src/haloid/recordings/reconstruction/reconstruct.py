"""Reconstruction: where every body was, from nothing but encoders (HALO III-A).

In: a recording of a clamped robot. Out: world poses of all its bodies. With one link held fixed the whole body follows
from the joint angles by forward kinematics; no motion capture and no floating-base estimate is needed.
"""

from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.trajectories.kinematics import BodyPoses, forward_kinematics


def reconstruct(recording: Recording) -> BodyPoses:
    """The motion of every body in `recording`; encoder noise and bias go straight into it."""
    model = clamp(load_spec(recording.robot), recording.clamp, recording.clamp_pose).compile()
    return forward_kinematics(model, recording.joint_names, recording.q_rad)
