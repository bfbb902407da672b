"""Skills, the world: many robots that follow a reference, stepped by MuJoCo's C code on all cores.

In: a robot, a reference, settings, the task's terms; actions under mjlab's contract (target = default + scale·action),
or the servos' targets themselves. Out: observations, rewards and ends of episodes, for the tracking task as mjlab
defines them (observations.py, terms.py).

An episode starts with the robot in a frame k of the reference, disturbed; the observation then shows frame k + 1, where
the control step of 20 ms should bring it; reward and end are judged against that frame, and the index moves on. Unlike
in mjlab, reaching the end of a motion ends the episode (as a time-out, which does not count as failure), and rewards
see the state after the step, not one physics step before it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haloid.skills.task.clamped import Clamp
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.observations import (
    History,
    Sensed,
    actor_observation,
    critic_observation,
    observation_terms,
    term_columns,
)
from haloid.skills.task.randomisation import RANDOMISATIONS, RANDOMISED_FIELDS, Randomisation, narrowed, randomise
from haloid.skills.task.reference import CONTROL_HZ, Poses, Reference
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.starts import AdaptiveSampling, disturbed, starts_of
from haloid.skills.task.terms import Moment, Terms, tracking_terms
from haloid.skills.task.transforms import Command, Now, Transform, each_late
from haloid.trajectories.mujoco_states import ModelStates
from haloid.trajectories.rotations import apply, apply_inverse, inverse, multiply

STEP_S = 1.0 / CONTROL_HZ
EPISODE_STEPS = 500
RANDOMISATION_STREAM = 1
"""Robots are drawn from random numbers of their own, so that they can be drawn again at another width."""


@dataclass(frozen=True)
class EnvironmentConfig:
    robots: int = 512
    seed: int = 0
    threads: int = 0
    """0: all cores."""
    state_estimation: bool = False
    """Whether the actor sees its place and its linear velocity."""
    phase: bool = False
    """Whether all that the actor sees of the motion is its phase, as in ASAP."""
    randomisation: Randomisation = field(default_factory=lambda: RANDOMISATIONS["nominal"])
    transforms: tuple[Transform, ...] = ()
    """Between the policy's targets and the servos, in this order."""
    history: int = 1
    """Readings of the sensors that the actor sees, the current one included."""
    adaptive_sampling: bool = True
    restart: bool = True
    """Whether a robot restarts when its episode ends; otherwise it goes on, and stays in the motion's last frame."""


@dataclass(frozen=True)
class Step:
    """The outcome of one control step, (N,) each."""

    reward: np.ndarray
    terminated: np.ndarray
    timed_out: np.ndarray
    reward_terms: dict[str, np.ndarray]
    """Weighted, per second."""
    termination_terms: dict[str, np.ndarray]
    body_error_m: np.ndarray
    """Mean distance of the tracked bodies from the reference, in the world."""


class TrackingEnvironment:
    def __init__(
        self,
        robot: TrackedRobot,
        reference: Reference,
        config: EnvironmentConfig,
        starts: ModelStates | None = None,
        terms: Terms | None = None,
        simulate: Simulate = Simulation,
    ) -> None:
        """`starts`: where a controller that knows the robot's load would have it; None: in the reference's frames.
        `terms`: what is rewarded and what ends an episode; None: mjlab's tracking. `simulate`: what moves the robots.
        """
        self.robot, self.reference, self.config, self.simulate = robot, reference, config, simulate
        self.starts, self.terms = starts or starts_of(reference), terms or tracking_terms(robot)
        self._difficulty = Difficulty()
        self.random = np.random.default_rng(config.seed)
        self.sampling = AdaptiveSampling(reference, config.adaptive_sampling)
        self.diverged = 0
        """Simulations that had to be restarted because their state was not finite."""
        self.on_diverged: Callable[[dict[str, np.ndarray]], None] | None = None
        """Called with the state before the step in which a simulation became infinite or NaN."""
        number, joints = config.robots, len(robot.joint_names)
        self._substeps = round(STEP_S / robot.model.opt.timestep)
        self.simulation = simulate(robot, number, config.threads)
        self._randomise()
        self._default = robot.default_joint_pos_rad.astype(np.float32)
        self._scale = robot.action_scale_rad.astype(np.float32)
        self._limits = robot.soft_limits_rad.astype(np.float32)
        self._anchor = robot.description.tracked_links.index(robot.description.anchor)
        self.time_step = np.zeros(number, dtype=int)
        """(N,) index of the frame each robot should reach next."""
        self.episode_step = np.zeros(number, dtype=int)
        self.action = np.zeros((number, joints), dtype=np.float32)
        self._until_push = np.zeros(number, dtype=int)
        columns = term_columns(joints, config.state_estimation, config.phase)
        self._history = History(number, config.history, columns)
        self._sent_rad = np.zeros((number, 2, joints))
        """(N, 2, n) targets that were sent two control steps ago, and one, for servos that are late."""
        self.reset(np.arange(number))

    @property
    def difficulty(self) -> Difficulty:
        return self._difficulty

    @difficulty.setter
    def difficulty(self, difficulty: Difficulty) -> None:
        """From the next step on; robots that differ more, or less, do so in the same directions as before."""
        before, self._difficulty = self._difficulty, difficulty
        if before.randomisation != difficulty.randomisation:
            self._randomise()

    @property
    def robots(self) -> int:
        return self.config.robots

    def step(self, action: np.ndarray) -> Step:
        """Drive all robots for 20 ms; those whose episode ends restart before they are observed (`restart`)."""
        action = np.array(action, dtype=np.float32)  # a copy: a reset clears it, and the learner keeps its own
        return self._step(action, self._default + self._scale * action)

    def step_targets(self, target_rad: np.ndarray) -> Step:
        """The same with (N, n) targets of the encoders' angles; the action is the one that would have led to them."""
        return self._step(((target_rad - self._default) / self._scale).astype(np.float32), target_rad)

    def _step(self, action: np.ndarray, target_rad: np.ndarray) -> Step:
        simulation, last_action, self.action = self.simulation, self.action, action
        before = simulation.state.copy()
        unusable = simulation.drive(self._command(target_rad))
        if unusable.any():
            self._rescue(np.flatnonzero(unusable), before)
        simulation.sense()
        self.episode_step += 1
        poses, frame = self.poses(), self.reference.frames.at(self.time_step)
        moment = Moment(poses, frame, self.action, last_action, self.torques_nm())
        verdict = self.terms(moment, self.difficulty.termination)
        ends = {**verdict.termination_terms, "diverged": unusable}
        terminated = np.any(list(ends.values()), axis=0)
        last_frame = self.reference.last[self.reference.motion_of_frame[self.time_step]]
        timed_out = ~terminated & ((self.episode_step >= EPISODE_STEPS) | (self.time_step >= last_frame))
        result = Step(
            reward=np.sum(list(verdict.reward_terms.values()), axis=0).astype(np.float32) * np.float32(STEP_S),
            terminated=terminated,
            timed_out=timed_out,
            reward_terms=verdict.reward_terms,
            termination_terms=ends,
            body_error_m=np.linalg.norm(frame.body_pos_w - poses.body_pos_w, axis=-1).mean(axis=-1),
        )
        self._push()
        if terminated.any():
            self.sampling.failed_at(self.time_step[terminated])
        done = np.flatnonzero(terminated | timed_out)
        np.minimum(self.time_step + 1, last_frame, out=self.time_step)
        if done.size and self.config.restart:
            self.reset(done)
        self.sampling.end_step()
        return result

    def _command(self, target_rad: np.ndarray) -> Command:
        """The servos' commands in a control step, in the coordinates of the joints."""
        simulation = self.simulation
        command: Command = [(target_rad - self.encoder_bias, self._substeps)]
        for transform in self.config.transforms:
            now = Now(
                qpos=simulation.qpos,
                qvel=simulation.qvel,
                held_rad=simulation.held_rad.copy(),
                episode_step=self.episode_step,
                timestep_s=float(self.robot.model.opt.timestep),
                random=self.random,
            )
            command = transform(command, now)
        if self.delay_s is not None:
            arriving = each_late(self._sent_rad, self.delay_s, self._substeps, float(self.robot.model.opt.timestep))
            self._sent_rad = np.stack([self._sent_rad[:, 1], command[-1][0]], axis=1)
            return arriving
        return command

    def reset(self, robots: np.ndarray, frames: np.ndarray | None = None) -> None:
        """Start these robots (sorted) in frames of the reference: drawn, or those given; disturbed as mjlab does."""
        if frames is None:
            frames = self.sampling.draw(self.random, len(robots))
        self._put_in_frames(robots, frames)
        self.time_step[robots] = frames + 1
        self.episode_step[robots] = 0
        self.action[robots] = 0.0
        self._until_push[robots] = self._push_intervals(len(robots))
        self._history.forget(robots)
        self.simulation.sense(robots)

    def observations(self) -> tuple[np.ndarray, np.ndarray]:
        """The actor's and the critic's."""
        config, frame = self.config, self.reference.frames.at(self.time_step)
        phase = self.reference.phase(self.time_step) if config.phase else None
        terms = observation_terms(self.poses(), self.sensed(), frame, self._default, self._anchor, phase)
        noise = self.random if self.difficulty.noise else None
        actor = actor_observation(
            terms, self.encoder_bias, config.state_estimation, noise, self.difficulty.noise, config.phase
        )
        critic = np.concatenate([critic_observation(terms), self._differences], axis=1)
        return self._history.after(actor), critic

    def poses(self) -> Poses:
        """Where all robots are now."""
        return self.simulation.poses()

    def torques_nm(self) -> np.ndarray:
        """(N, n) what the servos exert now."""
        return self.simulation.torques_nm(self.kp_ratio)

    def sensed(self) -> Sensed:
        return Sensed(self.simulation.imu_lin_vel, self.simulation.imu_ang_vel, self.action, self.encoder_bias)

    def state(self) -> dict[str, Any]:
        """Everything the next steps depend on, apart from the configuration."""
        return {
            "physics": self.simulation.state.copy(),
            "time_step": self.time_step.copy(),
            "episode_step": self.episode_step.copy(),
            "action": self.action.copy(),
            "until_push": self._until_push.copy(),
            "failure_level": self.sampling.failure_level.copy(),
            "diverged": self.diverged,
            "readings": self._history.readings.copy(),
            "fresh": self._history.fresh.copy(),
            "sent_rad": self._sent_rad.copy(),
            "random": self.random.bit_generator.state,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on exactly where `state` was taken, in an environment made with the same configuration."""
        self.simulation.state[:] = state["physics"]
        self.time_step[:], self.episode_step[:] = state["time_step"], state["episode_step"]
        self.action[:], self._until_push[:] = state["action"], state["until_push"]
        self.sampling.failure_level[:] = state["failure_level"]
        self.diverged = int(state["diverged"])
        self._history.readings[:], self._history.fresh[:] = state["readings"], state["fresh"]
        if "sent_rad" in state:  # older checkpoints have no late servos
            self._sent_rad[:] = state["sent_rad"]
        self.random.bit_generator.state = state["random"]
        self.simulation.sense()
        self.simulation.held_rad[:] = self.simulation.ctrl

    def _rescue(self, robots: np.ndarray, before: np.ndarray) -> None:
        """Report what reproduces the divergence, and put the robots where they should be."""
        self.diverged += len(robots)
        if self.on_diverged is not None:
            first, simulation = robots[0], self.simulation
            fields = {name: simulation.batch.expand(name)[first].copy() for name in RANDOMISED_FIELDS}
            targets = {"state_before": before[first], "ctrl": simulation.ctrl[first].copy()}
            targets["kp_ratio"] = self.kp_ratio[first]
            self.on_diverged({**targets, **fields, "time_step": self.time_step[first]})
        self._put_in_frames(robots, self.time_step[robots] - 1)

    def _randomise(self) -> None:
        ranges = narrowed(self.config.randomisation, self.difficulty.randomisation)
        draws = np.random.default_rng([self.config.seed, RANDOMISATION_STREAM])
        drawn = randomise(self.simulation.batch, self.simulation.robot, ranges, draws)
        self.encoder_bias, self.kp_ratio, self.delay_s = drawn.encoder_bias_rad, drawn.kp_ratio, drawn.delay_s
        self._differences = drawn.seen_by_critic

    def _put_in_frames(self, robots: np.ndarray, frames: np.ndarray) -> None:
        scale, clamp = self.difficulty.reset, self.robot.clamp
        root = 0.0 if clamp is not None else scale
        qpos, qvel = disturbed(self.starts, frames, self._limits, self.random, joints=scale, root=root)
        self.simulation.put(robots, qpos, qvel)
        if clamp is not None:
            self._put_in_clamp(robots, clamp)
        self._sent_rad[robots] = self.simulation.held_rad[robots, None]

    def _put_in_clamp(self, robots: np.ndarray, clamp: Clamp) -> None:
        """Move whole robots so that the clamped link is where the clamp is, whatever their joints."""
        self.simulation.sense(robots)
        qpos, poses = self.simulation.qpos, self.poses().at(robots)
        link = self.robot.description.tracked_links.index(clamp.link)
        turn = multiply(clamp.quat_wxyz, inverse(poses.body_quat_w[:, link]))
        arm = qpos[robots, :3] - poses.body_pos_w[:, link]
        qpos[robots, :3] = clamp.pos_w_m + apply(turn, arm)
        qpos[robots, 3:7] = multiply(turn, qpos[robots, 3:7])

    def _push(self) -> None:
        """Now and then a kick: velocities are added to the root's."""
        if not self.difficulty.push:
            return
        self._until_push -= 1
        robots = np.flatnonzero(self._until_push <= 0)
        if not robots.size:
            return
        kick = self.random.uniform(-1, 1, (len(robots), 6)) * self.config.randomisation.push_velocity
        kick *= self.difficulty.push
        self.kick(robots, kick)
        self._until_push[robots] = self._push_intervals(len(robots))

    def kick(self, robots: np.ndarray, velocity: np.ndarray) -> None:
        """Add (k, 6) velocities, linear and angular in world axes, to the roots of these robots."""
        qpos, qvel = self.simulation.qpos, self.simulation.qvel
        qvel[robots, :3] += velocity[:, :3]
        qvel[robots, 3:6] += apply_inverse(qpos[robots, 3:7], velocity[:, 3:])
        self.simulation.sense(robots)

    def _push_intervals(self, number: int) -> np.ndarray:
        return np.round(self.random.uniform(*self.config.randomisation.push_every_s, number) / STEP_S).astype(int)
