"""A recording as a rollout: the encoders' readings as states, the commands as targets.

In: a recording in position mode. Out: a `Rollout`; rows that were lost split it into episodes. Velocities are the
measured ones or, where there are none, those of the smoothing spline (smooth.py). The root of a clamped robot is found
by forward kinematics; a robot with a fixed base has none.
"""

import itertools

import numpy as np

from haloid.recordings.errors import RecordingError
from haloid.recordings.reconstruction.smooth import smooth
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.trajectories.clamped_root import with_root
from haloid.trajectories.mujoco_states import floating_root, is_floating
from haloid.trajectories.rollout import STEP_SLACK, Episode, Rollout
from haloid.trajectories.trajectory import Trajectory


def rollout_of_recording(recording: Recording) -> Rollout:
    if recording.target_rad is None:
        raise RecordingError(
            recording.name,
            found="torques were commanded, not positions",
            expected="position targets, which a rollout holds",
            next_step="Convert a recording in position mode.",
        )
    measured = recording.dq_rad_s is not None
    velocity_rad_s = recording.dq_rad_s if measured else smooth(recording).dq_rad_s(recording.time_s)
    trajectory = Trajectory(
        rate_hz=1.0 / recording.control_dt_s,
        joint_names=recording.joint_names,
        joint_pos_rad=recording.q_rad,
        joint_vel_rad_s=velocity_rad_s,
        target_rad=recording.target_rad,
    )
    spec = load_spec(recording.robot)
    free = spec.copy().compile()
    if recording.clamp is not None and is_floating(free):
        clamped = clamp(spec, recording.clamp, recording.clamp_pose).compile()
        trajectory = with_root(trajectory, clamped, free.body(floating_root(free)).name)
    episodes = _episodes(recording)
    kept = np.concatenate([np.arange(episode.start, episode.end) for episode in episodes])
    return Rollout(
        robot=recording.robot,
        trajectory=trajectory.rows(kept),
        time_s=recording.time_s[kept],
        action=recording.target_rad[kept],
        action_meaning="target_rad itself",
        episodes=_renumbered(episodes),
        simulator="none: a log",
        clamp=recording.clamp,
        torque_nm=None if recording.tau_nm is None else recording.tau_nm[kept],
        note=recording.note,
        facts={"recording": recording.name, "joint_vel": "measured" if measured else "of a smoothing spline"},
    )


def _episodes(recording: Recording) -> list[Episode]:
    """Runs of rows without a gap, in rows of the recording; a single row between two gaps is left out."""
    steps = np.diff(recording.time_s) / recording.control_dt_s
    uneven = np.flatnonzero(~(np.abs(steps - 1) < STEP_SLACK)) + 1
    edges = [0, *uneven.tolist(), len(recording.time_s)]
    episodes = [Episode(start, end) for start, end in itertools.pairwise(edges) if end - start > 1]
    if not episodes:
        raise RecordingError(
            recording.name,
            found="no two rows are one control period apart",
            expected="rows at an even rate",
            next_step="Record it again, or resample it.",
        )
    return episodes


def _renumbered(episodes: list[Episode]) -> tuple[Episode, ...]:
    """The same episodes in a table without the rows between them."""
    ends = np.cumsum([len(episode) for episode in episodes]).tolist()
    return tuple(Episode(end - len(episode), end) for episode, end in zip(episodes, ends, strict=True))
