"""A recording to look at: the robot as its encoders saw it, held by its clamp."""

import mujoco
import numpy as np

from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.view.show import Show, poses_of


def show_recording(recording: Recording) -> Show:
    model = clamped_model(recording)
    curves = {} if recording.target_rad is None else {"target": recording.target_rad}
    return Show(
        title=recording.name,
        about=recording_facts(recording),
        model=model,
        time_s=recording.time_s - recording.time_s[0],
        robots={"measured": poses_of(model, recording.joint_names, recording.q_rad)},
        joint_names=recording.joint_names,
        curves_rad={"measured": recording.q_rad, **curves},
    )


def clamped_model(recording: Recording) -> mujoco.MjModel:
    return clamp(load_spec(recording.robot), recording.clamp, recording.clamp_pose).compile()


def recording_facts(recording: Recording) -> tuple[str, ...]:
    seconds, rate_hz = recording.time_s[-1] - recording.time_s[0], 1 / recording.control_dt_s
    held = f"clamped at {recording.clamp}" if recording.clamp else "on its own base"
    moving = recording.joint_names[int(np.argmax(np.ptp(recording.q_rad, axis=0)))]
    return (
        f"{len(recording.joint_names)} joints, {held}, {recording.support} support",
        f"{seconds:.1f} s at {rate_hz:.0f} Hz; payload: {recording.payload}",
        f"moves the most: {moving}",
    )
