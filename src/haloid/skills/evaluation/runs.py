"""Skills, runs of a deployed policy: many robots follow a motion once, from a start to the motion's end.

In: a `DeployedPolicy`, a robot driven as its file says, the motion, settings. Out: a `Run` for every robot.
Observations are those of training (observations.py), with its noise; only their joint order, default pose and last
action are the file's. A robot that fails keeps falling, so that it can be watched.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from haloid.errors import HaloidError
from haloid.skills.evaluation.metrics import failure_row
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.observations import History, Sensed, actor_observation, observation_terms, term_columns
from haloid.skills.task.randomisation import RANDOMISATIONS, RandomisationName
from haloid.skills.task.reference import CONTROL_HZ, Poses, Reference
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.transforms import Transform, delayed_by
from haloid.trajectories.mujoco_states import floating_trajectory
from haloid.trajectories.trajectory import Trajectory

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
    """At the start, as a fraction of mjlab's: root ± 5 cm and ± 0.1 rad, its velocities ± 0.5 m/s, joints ± 0.1 rad."""
    noise: float = 1.0
    """Of the observations, as a fraction of mjlab's."""
    push: float = 0.0
    """Kicks every one to three seconds, as a fraction of mjlab's: ± 0.5 m/s."""
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
    trajectory: Trajectory
    """Its states, and the targets of its servos; the last row's target repeats the one before."""
    action: np.ndarray
    """(rows, n) the policy's output in each row, in the robot's order of joints; the last row repeats."""
    observation: np.ndarray
    """(rows, width) what the policy saw, in its own order; the last row repeats."""
    torque_nm: np.ndarray
    """(rows, n) at the end of each control step; row 0 is zero."""
    failed_row: int | None
    """The first row whose mean body distance is over 0.5 m, or whose simulation was not finite; None: a success."""
    diverged_row: int | None = None
    """The first row whose simulation was not finite and had to be put back into its frame."""

    @property
    def qpos(self) -> np.ndarray:
        """(rows, nq) for the robot's own model."""
        states = self.trajectory
        assert states.root_pos_w_m is not None
        assert states.root_quat_wxyz is not None
        return np.concatenate([states.root_pos_w_m, states.root_quat_wxyz, states.joint_pos_rad], axis=1)


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
    kp, kd = facts.kp[rows] * robot.strength, facts.kd[rows] * robot.strength
    model = copy.copy(robot.model)
    servos = [model.actuator(name).id for name in robot.joint_names]
    model.actuator_gainprm[servos, 0], model.actuator_biasprm[servos, 1] = kp, -kp
    model.actuator_biasprm[servos, 2] = -kd
    return replace(robot, model=model, kp=kp, kd=kd, default_joint_pos_rad=facts.default_joint_pos_rad[rows])


def frames_of(reference: Reference, run: Run) -> Poses:
    """The frames that a run should have been in, row by row."""
    return reference.frames.at(np.arange(run.first_frame, run.first_frame + len(run.poses)))


def roll_out(
    policy: DeployedPolicy,
    robot: TrackedRobot,
    reference: Reference,
    config: EvaluationConfig,
    say: Callable[[str], None] = lambda detail: None,
    simulate: Simulate = Simulation,
    transforms: tuple[Transform, ...] = (),
) -> tuple[Run, ...]:
    """One run of each of `config.starts` robots (of `driven_by`) along `reference` (of `DeployedPolicy.reference`)."""
    if config.starts < 1:
        raise HaloidError(f"{config.starts} starts; expected at least 1")
    random = np.random.default_rng(config.seed)
    first = np.zeros(config.starts, dtype=int)
    if config.start_from == "random":
        first = random.integers(0, max(len(reference) - LEAST_FRAMES, 1), config.starts)
    environment = tracking_environment(robot, reference, config, first, simulate, transforms)
    driver = Driver(policy, environment, config, random)
    rows = [Row.of(environment, np.zeros(config.starts, dtype=bool))]
    steps = int((len(reference) - 1 - first).max())
    said = []
    for step in range(steps):
        said.append(driver.decide())
        rows.append(driver.act(said[-1]))
        say(f"second {(step + 1) / 50:.0f} of {steps / 50:.0f}")
    return tuple(_run(rows, said, robot_row, frame, environment) for robot_row, frame in enumerate(first))


def tracking_environment(
    robot: TrackedRobot,
    reference: Reference,
    config: EvaluationConfig,
    first: np.ndarray,
    simulate: Simulate = Simulation,
    transforms: tuple[Transform, ...] = (),
) -> TrackingEnvironment:
    """`transforms` come before the delay."""
    environment = TrackingEnvironment(
        robot,
        reference,
        EnvironmentConfig(
            robots=config.starts,
            seed=config.seed,
            threads=config.threads,
            randomisation=RANDOMISATIONS[config.randomisation],
            transforms=(*transforms, *delayed_by(config.delay_s)),
            adaptive_sampling=False,
            restart=False,
        ),
        simulate=simulate,
    )
    environment.difficulty = Difficulty(reset=config.disturbance, push=config.push)
    environment.reset(np.arange(config.starts), first)
    return environment


@dataclass(frozen=True)
class Row:
    """All robots at one instant."""

    poses: Poses
    qpos: np.ndarray
    qvel: np.ndarray
    torque_nm: np.ndarray
    diverged: np.ndarray

    @classmethod
    def of(cls, environment: TrackingEnvironment, diverged: np.ndarray) -> "Row":
        everyone = np.arange(environment.robots)
        simulation = environment.simulation
        return cls(
            poses=environment.poses().at(everyone),
            qpos=simulation.qpos.copy(),
            qvel=simulation.qvel.copy(),
            torque_nm=environment.torques_nm(),
            diverged=diverged,
        )


@dataclass(frozen=True)
class Decision:
    """What the policy saw and answered at one instant, for all robots; joints in the robot's order except in
    `observation`."""

    observation: np.ndarray
    action: np.ndarray
    target_rad: np.ndarray
    """Of the encoders' angles."""


class Driver:
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
        self._anchor = robot.description.tracked_links.index(facts.anchor)
        self._offset = facts.first_frames[policy.motion_row(config.motion)]
        self._action = np.zeros((environment.robots, len(facts.joint_names)), dtype=np.float32)
        columns = term_columns(len(facts.joint_names), facts.state_estimation, facts.phase)
        self._history = History(environment.robots, facts.history, columns)

    def decide(self) -> Decision:
        observation = self._observe()
        self._action = self._policy.actions(observation, self._environment.time_step + self._offset)
        target_rad = self._policy.targets_rad(self._action)[:, self._to_robot]
        return Decision(observation, self._action[:, self._to_robot], target_rad)

    def act(self, decision: Decision) -> Row:
        step = self._environment.step_targets(decision.target_rad)
        return Row.of(self._environment, step.termination_terms["diverged"])

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
            environment.reference.phase(environment.time_step) if facts.phase else None,
        )
        noise = self._random if self._noise else None
        return self._history.after(
            actor_observation(terms, bias, facts.state_estimation, noise, self._noise, facts.phase)
        )

    def _ordered(self, poses: Poses) -> Poses:
        columns = self._to_policy
        return replace(poses, joint_pos=poses.joint_pos[:, columns], joint_vel=poses.joint_vel[:, columns])


def _run(
    rows: list[Row], said: list[Decision], robot_row: int, first_frame: int, environment: TrackingEnvironment
) -> Run:
    """One robot's column of the rows, until the motion's end."""
    reference = environment.reference
    number = len(reference) - first_frame
    rows, said = rows[:number], [*said[: number - 1], said[number - 2]]
    poses = Poses(
        *(np.stack([getattr(row.poses, name)[robot_row] for row in rows]) for name in Poses.__dataclass_fields__)
    )
    failed = failure_row(poses, reference.frames.at(np.arange(first_frame, first_frame + len(rows))))
    diverged = next((number for number, row in enumerate(rows) if row.diverged[robot_row]), None)
    qpos, qvel = (np.stack([getattr(row, name)[robot_row] for row in rows]) for name in ("qpos", "qvel"))
    target_rad = np.stack([decision.target_rad[robot_row] for decision in said])
    return Run(
        first_frame=int(first_frame),
        poses=poses,
        trajectory=floating_trajectory(
            CONTROL_HZ, environment.robot.joint_names, qpos, qvel, target_rad - environment.encoder_bias[robot_row]
        ),
        action=np.stack([decision.action[robot_row] for decision in said]),
        observation=np.stack([decision.observation[robot_row] for decision in said]),
        torque_nm=np.stack([row.torque_nm[robot_row] for row in rows]),
        failed_row=min((row for row in (failed, diverged) if row is not None), default=None),
        diverged_row=diverged,
    )
