"""Skills, runs of a deployed policy: many robots follow a motion once, from a start to the motion's end.

In: a `DeployedPolicy`, a robot driven as its file says, the motion, settings. Out: a `Run` for every robot.
Observations are those of training (observations.py), with its noise; only their joint order, default pose and last
action are the file's. A robot that fails goes on falling, so that it can be watched.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from haloid.errors import HaloidError
from haloid.skills.deployed import DeployedPolicy
from haloid.skills.environment import Difficulty, EnvironmentConfig, TrackingEnvironment
from haloid.skills.metrics import failure_row
from haloid.skills.observations import Sensed, actor_observation, observation_terms
from haloid.skills.randomisation import RANDOMISATIONS, RandomisationName
from haloid.skills.reference import Poses, Reference
from haloid.skills.robot import TrackedRobot

LEAST_FRAMES = 10
"""A run from a random frame has at least this many frames ahead."""


@dataclass(frozen=True)
class EvaluationConfig:
    starts: int = 100
    """How many robots."""
    seed: int = 0
    motion: str | None = None
    """Which of the policy's motions; may be left out when it has one."""
    start_from: Literal["beginning", "random"] = "beginning"
    """Where in the motion the robots start."""
    disturbance: float = 0.1
    """At the start, as a part of mjlab's: root ± 5 cm and ± 0.1 rad, its velocities ± 0.5 m/s, joints ± 0.1 rad."""
    noise: float = 1.0
    """Of the observations, as a part of mjlab's."""
    push: float = 0.0
    """Kicks every one to three seconds, as a part of mjlab's: ± 0.5 m/s."""
    delay_s: float = 0.0
    """From the policy's targets to the servos, at most 0.02."""
    randomisation: RandomisationName = "none"
    """Of the robots that are evaluated; none: all are the model."""
    threads: int = 0
    """0: all cores."""


@dataclass(frozen=True)
class Run:
    """What one robot did; row 0 is its start, and the rows end with the motion, whether it fell or not."""

    first_frame: int
    """Of the motion, in which it started."""
    poses: Poses
    """(rows, …)"""
    qpos: np.ndarray
    """(rows, nq)"""
    torque_nm: np.ndarray
    """(rows, n) at the end of each control step; row 0 is zero."""
    failed_row: int | None
    """The first row whose mean body distance is over 0.5 m, or whose simulation was not finite; None: a success."""


def driven_by(policy: DeployedPolicy, robot: TrackedRobot) -> TrackedRobot:
    """The robot with the servo gains and the default pose of the policy's file, on a model of its own."""
    facts = policy.facts
    if set(facts.joint_names) != set(robot.joint_names):
        other = sorted(set(facts.joint_names) ^ set(robot.joint_names))
        raise HaloidError(
            f"{policy.path} drives {len(facts.joint_names)} joints and the robot has {len(robot.joint_names)}; "
            f"they differ in {', '.join(other)}. Evaluate it on the robot it was made for"
        )
    rows = [facts.joint_names.index(name) for name in robot.joint_names]
    kp, kd = facts.kp[rows], facts.kd[rows]
    model = copy.copy(robot.model)
    servos = [model.actuator(name).id for name in robot.joint_names]
    model.actuator_gainprm[servos, 0], model.actuator_biasprm[servos, 1] = kp, -kp
    model.actuator_biasprm[servos, 2] = -kd
    return replace(robot, model=model, kp=kp, kd=kd, default_joint_pos_rad=facts.default_joint_pos_rad[rows])


def frames_of(reference: Reference, run: Run) -> Poses:
    """The frames a run should have been in, row by row."""
    return reference.frames.at(np.arange(run.first_frame, run.first_frame + len(run.poses)))


def roll_out(
    policy: DeployedPolicy,
    robot: TrackedRobot,
    reference: Reference,
    config: EvaluationConfig,
    say: Callable[[str], None] = lambda detail: None,
) -> tuple[Run, ...]:
    """One run of each of `config.starts` robots (of `driven_by`) along `reference` (of `DeployedPolicy.reference`)."""
    if config.starts < 1:
        raise HaloidError(f"{config.starts} starts; expected at least 1")
    random = np.random.default_rng(config.seed)
    first = np.zeros(config.starts, dtype=int)
    if config.start_from == "random":
        first = random.integers(0, max(len(reference) - LEAST_FRAMES, 1), config.starts)
    environment = _environment(robot, reference, config, first)
    driver = _Driver(policy, environment, config, random)
    rows = [_Row.of(environment, np.zeros(config.starts, dtype=bool))]
    steps = int((len(reference) - 1 - first).max())
    for step in range(steps):
        rows.append(driver.step())
        say(f"second {(step + 1) / 50:.0f} of {steps / 50:.0f}")
    return tuple(_run(rows, robot_row, frame, reference) for robot_row, frame in enumerate(first))


def _environment(
    robot: TrackedRobot, reference: Reference, config: EvaluationConfig, first: np.ndarray
) -> TrackingEnvironment:
    environment = TrackingEnvironment(
        robot,
        reference,
        EnvironmentConfig(
            robots=config.starts,
            seed=config.seed,
            threads=config.threads,
            randomisation=RANDOMISATIONS[config.randomisation],
            delay_s=config.delay_s,
            adaptive_sampling=False,
            restart=False,
        ),
    )
    environment.difficulty = Difficulty(reset=config.disturbance, push=config.push)
    environment.reset(np.arange(config.starts), first)
    return environment


@dataclass(frozen=True)
class _Row:
    """All robots at one instant."""

    poses: Poses
    qpos: np.ndarray
    torque_nm: np.ndarray
    diverged: np.ndarray

    @classmethod
    def of(cls, environment: TrackingEnvironment, diverged: np.ndarray) -> "_Row":
        everyone = np.arange(environment.robots)
        return cls(environment.poses().at(everyone), environment.qpos(), environment.torques_nm(), diverged)


class _Driver:
    """The policy between an environment's observations and its actions, in the policy's order of joints."""

    def __init__(
        self,
        policy: DeployedPolicy,
        environment: TrackingEnvironment,
        config: EvaluationConfig,
        random: np.random.Generator,
    ) -> None:
        self._policy, self._environment, self._noise, self._random = policy, environment, config.noise, random
        robot, facts = environment.robot, policy.facts
        self._to_policy = [robot.joint_names.index(name) for name in facts.joint_names]
        self._to_robot = [facts.joint_names.index(name) for name in robot.joint_names]
        self._anchor = robot.layout.bodies.index(facts.anchor)
        self._offset = facts.first_frames[policy.motion_row(config.motion)]
        self._action = np.zeros((environment.robots, len(facts.joint_names)), dtype=np.float32)

    def step(self) -> _Row:
        environment = self._environment
        self._action = self._policy.actions(self._observe(), environment.time_step + self._offset)
        target_rad = self._policy.targets_rad(self._action)[:, self._to_robot]
        robot = environment.robot
        step = environment.step((target_rad - robot.default_joint_pos_rad) / robot.action_scale_rad)
        return _Row.of(environment, step.termination_terms["diverged"])

    def _observe(self) -> np.ndarray:
        environment, facts = self._environment, self._policy.facts
        sensed = environment.sensed()
        bias = sensed.encoder_bias[:, self._to_policy]
        terms = observation_terms(
            self._ordered(environment.poses()),
            Sensed(sensed.imu_lin_vel, sensed.imu_ang_vel, self._action, bias),
            self._ordered(environment.reference.frames.at(environment.time_step)),
            facts.default_joint_pos_rad.astype(np.float32),
            self._anchor,
        )
        noise = self._random if self._noise else None
        return actor_observation(terms, bias, facts.state_estimation, noise, self._noise)

    def _ordered(self, poses: Poses) -> Poses:
        columns = self._to_policy
        return replace(poses, joint_pos=poses.joint_pos[:, columns], joint_vel=poses.joint_vel[:, columns])


def _run(rows: list[_Row], robot_row: int, first_frame: int, reference: Reference) -> Run:
    """One robot's column of the rows, until the motion's end."""
    rows = rows[: len(reference) - first_frame]
    poses = Poses(
        *(np.stack([getattr(row.poses, name)[robot_row] for row in rows]) for name in Poses.__dataclass_fields__)
    )
    failed = failure_row(poses, reference.frames.at(np.arange(first_frame, first_frame + len(rows))))
    diverged = next((number for number, row in enumerate(rows) if row.diverged[robot_row]), None)
    return Run(
        first_frame=int(first_frame),
        poses=poses,
        qpos=np.stack([row.qpos[robot_row] for row in rows]),
        torque_nm=np.stack([row.torque_nm[robot_row] for row in rows]),
        failed_row=min((row for row in (failed, diverged) if row is not None), default=None),
    )
