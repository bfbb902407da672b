"""Replays, the data: a policy drives a stand-in for the real robot through many short clips, and all of it is kept.

In: a policy, a stand-in, settings. Out: a `Rollout` (docs/rollouts.md), one episode for each clip. Coverage comes from
starts in random frames with disturbed poses and velocities (a push, as it were, before the clip's first row: one within
a clip would be a jump of the velocity that no dynamics explains) and from noise on the targets. A clip that falls goes
on for a moment and is marked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haloid.robots.files.model_hash import model_sha256
from haloid.setting_limits import check_settings
from haloid.skills.evaluation.metrics import FAILURE_M
from haloid.skills.evaluation.rollout import ACTION_MEANING
from haloid.skills.evaluation.runs import LEAST_FRAMES, Driver, EvaluationConfig, driven_by, tracking_environment
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.trajectories.mujoco_states import floating_trajectory
from haloid.trajectories.rollout import Episode, Rollout

AFTER_FALL_S = 0.2
"""A clip goes on for this long after it counts as fallen: how a robot begins to fall is worth learning from."""
NOISE_MEMORY = 0.8
"""Noise on the targets changes slowly, as a policy's do: what it was in the last step counts this much."""

_LIMITS = {"clips": (1, 100_000), "seconds": (0.2, 60.0), "target_noise_rad": (0.0, 1.0), "disturbance": (0.0, 2.0)}


@dataclass(frozen=True)
class CollectConfig:
    clips: int = 40
    seconds: float = 3.0
    """Of a clip, or less where the motion ends."""
    target_noise_rad: float = 0.02
    """Standard deviation of what is added to every target."""
    disturbance: float = 0.3
    """Of the starts, as a fraction of mjlab's: root ± 5 cm and ± 0.1 rad, its velocities ± 0.5 m/s, joints ± 0.1
    rad."""
    observation_noise: float = 0.2
    """As a fraction of mjlab's, which is several times a real robot's."""
    motion: str | None = None
    """Which of the policy's motions; may be left out when it has one."""
    seed: int = 0
    threads: int = 0
    """0: all cores."""

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)


@dataclass
class _Clips:
    """What all clips did, row by row."""

    qpos: list[np.ndarray]
    qvel: list[np.ndarray]
    target_rad: list[np.ndarray]
    torque_nm: list[np.ndarray]
    off_m: list[np.ndarray]
    """Mean distance of the bodies from the motion."""
    diverged: list[np.ndarray]


def collect(
    policy: DeployedPolicy,
    stand_in: TrackedRobot,
    robot_name: str,
    stand_in_name: str,
    config: CollectConfig,
    say: Callable[[str], None] = lambda detail: None,
    simulate: Simulate = Simulation,
) -> Rollout:
    """Clips of one policy on a stand-in, which `simulate` moves; `robot_name` is the robot that it stands in for."""
    robot = driven_by(policy, stand_in)
    reference = policy.reference(robot, config.motion)
    random = np.random.default_rng(config.seed)
    first = random.integers(0, max(len(reference) - LEAST_FRAMES, 1), config.clips)
    settings = EvaluationConfig(
        starts=config.clips,
        seed=config.seed,
        motion=config.motion,
        disturbance=config.disturbance,
        noise=config.observation_noise,
        threads=config.threads,
    )
    environment = tracking_environment(robot, reference, settings, first, simulate)
    driver = Driver(policy, environment, settings, random)
    steps = min(round(config.seconds * CONTROL_HZ), len(reference) - 1)
    clips, noise_rad = _Clips([], [], [], [], [], []), np.zeros((config.clips, len(robot.joint_names)))
    fresh = config.target_noise_rad * np.sqrt(1 - NOISE_MEMORY**2)
    off_m, diverged = np.zeros(config.clips), np.zeros(config.clips, dtype=bool)
    for step in range(steps + 1):
        simulation = environment.simulation
        for values, now in (
            (clips.qpos, simulation.qpos),
            (clips.qvel, simulation.qvel),
            (clips.torque_nm, simulation.torques_nm()),
            (clips.off_m, off_m),
            (clips.diverged, diverged),
        ):
            values.append(np.array(now))
        noise_rad = NOISE_MEMORY * noise_rad + fresh * random.standard_normal(noise_rad.shape)
        target_rad = driver.decide().target_rad + noise_rad
        clips.target_rad.append(target_rad)
        if step < steps:
            outcome = environment.step_targets(target_rad)
            off_m, diverged = outcome.body_error_m, outcome.termination_terms["diverged"]
            say(f"step {step + 1} of {steps}")
    lengths = [
        _length(clips, clip, min(steps, len(reference) - 1 - int(start)) + 1) for clip, start in enumerate(first)
    ]
    names = robot_name, stand_in_name, environment.simulation.name
    return _rollout(clips, lengths, policy, robot, names, config, first)


def _fallen(clips: _Clips, clip: int, rows: int) -> int | None:
    return next((row for row in range(rows) if clips.off_m[row][clip] > FAILURE_M), None)


def _length(clips: _Clips, clip: int, most: int) -> int:
    """Rows of a clip: until the motion ends, a moment after a fall, or before its simulation was not finite."""
    ends = [row for row in range(most) if clips.diverged[row][clip]]
    most = min([most, *ends])
    fell = _fallen(clips, clip, most)
    return most if fell is None else min(most, fell + round(AFTER_FALL_S * CONTROL_HZ) + 1)


def _rollout(
    clips: _Clips,
    lengths: list[int],
    policy: DeployedPolicy,
    robot: TrackedRobot,
    names: tuple[str, str, str],
    config: CollectConfig,
    first: np.ndarray,
) -> Rollout:
    kept = [(clip, length) for clip, length in enumerate(lengths) if length > 1]

    def joined(rows: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.stack([row[clip] for row in rows[:length]]) for clip, length in kept])

    qpos, qvel, target_rad = joined(clips.qpos), joined(clips.qvel), joined(clips.target_rad)
    episodes, start = [], 0
    for clip, length in kept:
        fell = _fallen(clips, clip, length)
        episodes.append(Episode(start, start + length, None if fell is None else start + fell))
        start += length
    facts = policy.facts
    order = [facts.joint_names.index(joint) for joint in robot.joint_names]
    default_rad, scale_rad = facts.default_joint_pos_rad[order], facts.action_scale_rad[order]
    return Rollout(
        robot=names[0],
        trajectory=floating_trajectory(CONTROL_HZ, robot.joint_names, qpos, qvel, target_rad),
        time_s=np.concatenate([np.arange(length) / CONTROL_HZ for _, length in kept]),
        action=(target_rad - default_rad) / scale_rad,
        action_meaning=ACTION_MEANING,
        episodes=tuple(episodes),
        simulator=f"{names[2]}, stand-in {names[1]}",
        model_sha256=model_sha256(robot.model),
        policy_sha256=hashlib.sha256(policy.path.read_bytes()).hexdigest(),
        torque_nm=joined(clips.torque_nm),
        facts={
            "motion": facts.motions[policy.motion_row(config.motion)],
            "stand_in": names[1],
            "first_frames": [int(first[clip]) for clip, _ in kept],
            "seed": config.seed,
            "clips": config.clips,
            "seconds": config.seconds,
            "target_noise_rad": config.target_noise_rad,
            "disturbance": config.disturbance,
            "kp": robot.kp.tolist(),
            "kd": robot.kd.tolist(),
            "default_joint_pos_rad": default_rad.tolist(),
            "action_scale_rad": scale_rad.tolist(),
        },
    )
