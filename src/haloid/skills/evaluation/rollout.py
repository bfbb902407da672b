"""Skills, an evaluation's runs as a rollout: one episode for each run (docs/rollouts.md).

A run whose simulation became infinite or NaN ends before that row; a run that fell goes on to the motion's end.
"""

import hashlib

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.files.model_hash import model_sha256
from haloid.skills.evaluation.evaluate import Evaluation
from haloid.skills.evaluation.runs import Run, driven_by
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.rollout import ROOT, Episode, Rollout
from haloid.trajectories.trajectory import Trajectory

ACTION_MEANING = (
    "target_rad = default_joint_pos_rad + action_scale_rad * action, minus the encoders' bias of a randomised robot"
)


def rollout_of_evaluation(
    evaluation: Evaluation,
    policy: DeployedPolicy,
    robot: TrackedRobot,
    name: str,
    observations: bool,
    simulator: str | None = None,
) -> Rollout:
    """All runs that lasted at least one step; `name` is what the user calls the robot, `robot` what was given to
    `evaluate`.

    `simulator` is what moved the robots, with its version and step; None: MuJoCo.
    """
    lengths = [len(run.trajectory) if run.diverged_row is None else run.diverged_row for run in evaluation.runs]
    kept = [(run, length) for run, length in zip(evaluation.runs, lengths, strict=True) if length > 1]
    if not kept:
        raise HaloidError("no run lasted a single control step, so there is nothing to save. Check the model")
    driven, facts, config = driven_by(policy, robot), policy.facts, evaluation.config
    order = [facts.joint_names.index(joint) for joint in driven.joint_names]
    alike = config.randomisation == "none"
    return Rollout(
        robot=name,
        trajectory=_joined([run.trajectory.rows(slice(length)) for run, length in kept]),
        time_s=np.concatenate([np.arange(length) / run.trajectory.rate_hz for run, length in kept]),
        action=np.concatenate([run.action[:length] for run, length in kept]),
        action_meaning=ACTION_MEANING,
        episodes=_episodes(kept),
        simulator=simulator or f"mujoco {mujoco.__version__}, step {driven.model.opt.timestep:g} s",
        model_sha256=model_sha256(driven.model) if alike else None,
        policy_sha256=hashlib.sha256(policy.path.read_bytes()).hexdigest(),
        clamp=None if driven.clamp is None else driven.clamp.link,
        delay_s=config.delay_s,
        observation=np.concatenate([run.observation[:length] for run, length in kept]) if observations else None,
        torque_nm=np.concatenate([run.torque_nm[:length] for run, length in kept]),
        facts={
            "motion": evaluation.motion,
            "first_frames": [run.first_frame for run, _ in kept],
            "seed": config.seed,
            "push": config.push,
            "randomisation": config.randomisation,
            "default_joint_pos_rad": facts.default_joint_pos_rad[order].tolist(),
            "action_scale_rad": facts.action_scale_rad[order].tolist(),
        },
    )


def _joined(parts: list[Trajectory]) -> Trajectory:
    names = ("joint_pos_rad", "joint_vel_rad_s", "target_rad", *ROOT)
    return Trajectory(
        rate_hz=parts[0].rate_hz,
        joint_names=parts[0].joint_names,
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
    )


def _episodes(kept: list[tuple[Run, int]]) -> tuple[Episode, ...]:
    episodes, start = [], 0
    for run, length in kept:
        fell_row = None if run.failed_row is None else start + min(run.failed_row, length - 1)
        episodes.append(Episode(start, start + length, fell_row))
        start += length
    return tuple(episodes)
