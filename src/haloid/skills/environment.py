"""Skills, the world: many robots that follow a reference, stepped by MuJoCo's C code on all cores.

In: a robot, a reference, settings, actions under mjlab's contract (target = default + scale·action). Out: observations,
rewards and ends of episodes, as mjlab defines them (observations.py, rewards.py, terminations.py).

An episode starts with the robot in a frame k of the reference, disturbed; the observation then shows frame k + 1, where
the control step of 20 ms should bring it; reward and end are judged against that frame, and the index moves on. Unlike
in mjlab, reaching the end of a motion ends the episode (as a time-out, which does not count as failure), and rewards
see the state after the step, not one physics step before it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.skills.clamped import Clamp
from haloid.skills.observations import Sensed, actor_observation, critic_observation, observation_terms
from haloid.skills.randomisation import RANDOMISATIONS, RANDOMISED_FIELDS, Randomisation, narrowed, randomise
from haloid.skills.reference import CONTROL_HZ, Poses, Reference
from haloid.skills.relative import carried_along
from haloid.skills.rewards import WEIGHTS, reward_terms
from haloid.skills.robot import TrackedRobot
from haloid.skills.rotations import apply, apply_inverse, from_roll_pitch_yaw, inverse, multiply
from haloid.skills.sampling import AdaptiveSampling
from haloid.skills.terminations import termination_terms

STEP_S = 1.0 / CONTROL_HZ
EPISODE_STEPS = 500
PUSH_EVERY_S = (1.0, 3.0)
POSE_RANGE = np.array([0.05, 0.05, 0.01, 0.1, 0.1, 0.2])
"""Half widths at reset: x, y, z (m), roll, pitch, yaw (rad)."""
VELOCITY_RANGE = np.array([0.5, 0.5, 0.2, 0.52, 0.52, 0.78])
"""Half widths at reset and of pushes: m/s and rad/s, in the world's axes."""
JOINT_RANGE_RAD = 0.1
RANDOMISATION_STREAM = 1
"""Robots are drawn from random numbers of their own, so that they can be drawn again at another width."""
FASTEST = 1e3
"""m/s and rad/s; a simulation beyond it has diverged, and a step or two later MuJoCo refuses to factor its matrices."""


@dataclass
class Difficulty:
    """What a curriculum may change while training goes on."""

    reset: float = 1.0
    """Part of mjlab's disturbance at the start of an episode."""
    push: float = 1.0
    """Part of mjlab's pushes; 0: none."""
    noise: float = 1.0
    """Part of mjlab's observation noise."""
    termination: float = 1.0
    """Factor on the thresholds that end an episode."""
    randomisation: float = 1.0
    """Part of the width of the ranges that robots differ by."""


@dataclass(frozen=True)
class EnvironmentConfig:
    robots: int = 512
    seed: int = 0
    threads: int = 0
    """0: all cores."""
    state_estimation: bool = False
    """Whether the actor sees its place and its linear velocity."""
    randomisation: Randomisation = field(default_factory=lambda: RANDOMISATIONS["nominal"])
    delay_s: float = 0.0
    """From the policy's target to the servos."""
    action_rate_weight: float = WEIGHTS["action_rate_l2"]
    """Of the reward term of that name."""
    adaptive_sampling: bool = True
    restart: bool = True
    """Whether a robot starts anew when its episode ends; otherwise it goes on, at last in the motion's last frame."""


@dataclass(frozen=True)
class Step:
    """What one control step brought, (N,) each."""

    reward: np.ndarray
    terminated: np.ndarray
    timed_out: np.ndarray
    reward_terms: dict[str, np.ndarray]
    """Weighted, a second."""
    termination_terms: dict[str, np.ndarray]
    body_error_m: np.ndarray
    """Mean distance of the tracked bodies from the reference, in the world."""


@dataclass(frozen=True)
class Starts:
    """Where episodes start, frame by frame of the reference."""

    qpos: np.ndarray
    """(frames, nq)"""
    qvel: np.ndarray
    """(frames, nv)"""


def starts_of(reference: Reference) -> Starts:
    """In the frames themselves."""
    frames = reference.frames
    root_quat = frames.body_quat_w[:, 0]
    spin_b = apply_inverse(root_quat, frames.body_ang_vel_w[:, 0])
    return Starts(
        qpos=np.concatenate([frames.body_pos_w[:, 0], root_quat, frames.joint_pos], axis=1),
        qvel=np.concatenate([frames.body_lin_vel_w[:, 0], spin_b, frames.joint_vel], axis=1),
    )


class TrackingEnvironment:
    def __init__(
        self, robot: TrackedRobot, reference: Reference, config: EnvironmentConfig, starts: Starts | None = None
    ) -> None:
        """`starts`: where a controller that knows the robot's load would have it; None: in the reference's frames."""
        from mjbatch import Batch

        self.robot, self.reference, self.config = robot, reference, config
        self.starts = starts or starts_of(reference)
        self._difficulty = Difficulty()
        self.random = np.random.default_rng(config.seed)
        self.sampling = AdaptiveSampling(reference, config.adaptive_sampling)
        self.diverged = 0
        """Simulations that had to be started anew because their state was not finite."""
        self.on_diverged: Callable[[dict[str, np.ndarray]], None] | None = None
        """Is told the state before the step of a simulation that left the finite numbers."""
        self.physics_s = 0.0
        """Time spent in MuJoCo."""
        number, joints = config.robots, len(robot.joint_names)
        model = robot.model
        self._substeps = round(STEP_S / model.opt.timestep)
        self._delay_substeps = round(config.delay_s / model.opt.timestep)
        if not 0 <= self._delay_substeps <= self._substeps:
            raise HaloidError(f"a delay of {config.delay_s:g} s; expected at most one control step, {STEP_S:g} s")
        self._batch = Batch(model, number, config.threads)
        self._flags = self._batch.expand("disableflags")
        self._flags_with_sensors = int(model.opt.disableflags) | int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        self._flags_in_steps = self._flags_with_sensors | int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        self._state = self._batch.bind("state")
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._ctrl, self._warmstart = self._batch.bind("ctrl"), self._batch.bind("qacc_warmstart")
        self._sensors = self._batch.bind("sensordata", np.float32)
        self._randomise()
        self._default = robot.default_joint_pos_rad.astype(np.float32)
        self._scale = robot.action_scale_rad.astype(np.float32)
        self._limits = robot.soft_limits_rad.astype(np.float32)
        bodies = robot.layout.bodies
        self._anchor = bodies.index(robot.layout.anchor)
        self._ends = np.array([bodies.index(name) for name in robot.layout.end_effectors])
        self.time_step = np.zeros(number, dtype=int)
        """(N,) index of the frame each robot should reach next."""
        self.episode_step = np.zeros(number, dtype=int)
        self.action = np.zeros((number, joints), dtype=np.float32)
        self._until_push = np.zeros(number, dtype=int)
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
        """Drive all robots for 20 ms; those whose episode ends start anew before observations (`restart`)."""
        last_action = self.action
        self.action = np.array(action, dtype=np.float32)  # a copy: a reset clears it, and the learner keeps its own
        before = self._state.copy()
        unusable = self._drive()
        unusable |= ~(np.isfinite(self._qpos).all(axis=1) & (np.abs(self._qvel) < FASTEST).all(axis=1))
        if unusable.any():
            self._rescue(np.flatnonzero(unusable), before)
        self._sense(None)
        self.episode_step += 1
        poses, frame = self.poses(), self.reference.frames.at(self.time_step)
        carried = carried_along(poses, frame, self._anchor)
        ends = termination_terms(poses, frame, carried[0], self._anchor, self._ends, self.difficulty.termination)
        ends["diverged"] = unusable
        terms = reward_terms(poses, frame, carried, self.action, last_action, self._limits, self._anchor)
        weights = {**WEIGHTS, "action_rate_l2": self.config.action_rate_weight}
        weighted = {name: weights[name] * term for name, term in terms.items()}
        terminated = np.any(list(ends.values()), axis=0)
        last_frame = self.reference.last[self.reference.motion_of_frame[self.time_step]]
        timed_out = ~terminated & ((self.episode_step >= EPISODE_STEPS) | (self.time_step >= last_frame))
        result = Step(
            reward=np.sum(list(weighted.values()), axis=0).astype(np.float32) * np.float32(STEP_S),
            terminated=terminated,
            timed_out=timed_out,
            reward_terms=weighted,
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

    def reset(self, robots: np.ndarray, frames: np.ndarray | None = None) -> None:
        """Start these robots (sorted) in frames of the reference: drawn, or those given; disturbed as mjlab does."""
        if frames is None:
            frames = self.sampling.draw(self.random, len(robots))
        self._put_in_frames(robots, frames)
        self.time_step[robots] = frames + 1
        self.episode_step[robots] = 0
        self.action[robots] = 0.0
        self._until_push[robots] = self._push_intervals(len(robots))
        self._sense(robots)

    def observations(self) -> tuple[np.ndarray, np.ndarray]:
        """The actor's and the critic's."""
        terms = observation_terms(
            self.poses(), self.sensed(), self.reference.frames.at(self.time_step), self._default, self._anchor
        )
        noise = self.random if self.difficulty.noise else None
        actor = actor_observation(terms, self.encoder_bias, self.config.state_estimation, noise, self.difficulty.noise)
        return actor, critic_observation(terms)

    def poses(self) -> Poses:
        """Where all robots are now."""
        n, count = self.config.robots, len(self.robot.layout.bodies)
        at = np.cumsum([6, 3 * count, 4 * count, 3 * count])
        return Poses(
            joint_pos=self._qpos[:, 7:].astype(np.float32),
            joint_vel=self._qvel[:, 6:].astype(np.float32),
            body_pos_w=self._sensors[:, at[0] : at[1]].reshape(n, count, 3),
            body_quat_w=self._sensors[:, at[1] : at[2]].reshape(n, count, 4),
            body_lin_vel_w=self._sensors[:, at[2] : at[3]].reshape(n, count, 3),
            body_ang_vel_w=self._sensors[:, at[3] :].reshape(n, count, 3),
        )

    def sensed(self) -> Sensed:
        return Sensed(self._sensors[:, :3], self._sensors[:, 3:6], self.action, self.encoder_bias)

    def torques_nm(self) -> np.ndarray:
        """(N, n) what the servos exert now: clip(kp·(target − q) − kd·dq)."""
        servo = self.robot.kp * (self._ctrl - self._qpos[:, 7:]) - self.robot.kd * self._qvel[:, 6:]
        return np.clip(servo, -self.robot.effort_nm, self.robot.effort_nm)

    def qpos(self) -> np.ndarray:
        """(N, nq) a copy of the generalised positions."""
        return self._qpos.copy()

    def state(self) -> dict[str, Any]:
        """All that the future depends on, apart from the configuration."""
        return {
            "physics": self._state.copy(),
            "time_step": self.time_step.copy(),
            "episode_step": self.episode_step.copy(),
            "action": self.action.copy(),
            "until_push": self._until_push.copy(),
            "failure_level": self.sampling.failure_level.copy(),
            "diverged": self.diverged,
            "random": self.random.bit_generator.state,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on exactly where `state` was taken, in an environment made with the same configuration."""
        self._state[:] = state["physics"]
        self.time_step[:], self.episode_step[:] = state["time_step"], state["episode_step"]
        self.action[:], self._until_push[:] = state["action"], state["until_push"]
        self.sampling.failure_level[:] = state["failure_level"]
        self.diverged = int(state["diverged"])
        self.random.bit_generator.state = state["random"]
        self._sense(None)

    def _rescue(self, robots: np.ndarray, before: np.ndarray) -> None:
        """Tell what is needed to see the divergence again, and put the robots where they should be."""
        self.diverged += len(robots)
        if self.on_diverged is not None:
            first = robots[0]
            fields = {name: self._batch.expand(name)[first].copy() for name in RANDOMISED_FIELDS}
            targets = {"state_before": before[first], "ctrl": self._ctrl[first].copy()}
            self.on_diverged({**targets, **fields, "time_step": self.time_step[first]})
        self._put_in_frames(robots, self.time_step[robots] - 1)

    def _randomise(self) -> None:
        ranges = narrowed(self.config.randomisation, self.difficulty.randomisation)
        draws = np.random.default_rng([self.config.seed, RANDOMISATION_STREAM])
        self.encoder_bias = randomise(self._batch, self.robot, ranges, draws)

    def _drive(self) -> np.ndarray:
        """20 ms of physics; (N,) whether MuJoCo refused to go on with a simulation."""
        target = self._default + self._scale * self.action - self.encoder_bias
        started = time.perf_counter()
        self._flags[:] = self._flags_in_steps
        refused = self._advance(self._delay_substeps)
        self._ctrl[:] = target
        refused |= self._advance(self._substeps - self._delay_substeps)
        self.physics_s += time.perf_counter() - started
        return refused

    def _advance(self, substeps: int) -> np.ndarray:
        """A simulation that MuJoCo refuses stays as it was, its clock too, while the others go on."""
        clock = self._state[:, 0].copy()
        try:
            if substeps:
                self._batch.step(nstep=substeps)
        except RuntimeError:
            refused = np.asarray(self._state[:, 0] == clock)
            if not refused.any():
                raise
            return refused
        return np.zeros(self.config.robots, dtype=bool)

    def _sense(self, robots: np.ndarray | None) -> None:
        """Sensors are computed once a control step, not in every physics step."""
        started = time.perf_counter()
        self._flags[:] = self._flags_with_sensors
        self._batch.refresh_sensor_range(robots, (0, self.robot.model.nsensordata))
        self.physics_s += time.perf_counter() - started

    def _put_in_frames(self, robots: np.ndarray, frames: np.ndarray) -> None:
        qpos, qvel = self.starts.qpos[frames], self.starts.qvel[frames]
        scale, number = self.difficulty.reset, len(robots)
        root_scale = 0.0 if self.robot.clamp is not None else scale
        pose = self.random.uniform(-1, 1, (number, 6)) * POSE_RANGE * root_scale
        velocity = self.random.uniform(-1, 1, (number, 6)) * VELOCITY_RANGE * root_scale
        quat = multiply(from_roll_pitch_yaw(pose[:, 3:]), qpos[:, 3:7])
        joints = qpos[:, 7:] + self.random.uniform(-1, 1, (number, qpos.shape[1] - 7)) * JOINT_RANGE_RAD * scale
        joints = np.clip(joints, self._limits[:, 0], self._limits[:, 1])
        self._qpos[robots] = np.concatenate([qpos[:, :3] + pose[:, :3], quat, joints], axis=1)
        spin_b = apply_inverse(quat, apply(qpos[:, 3:7], qvel[:, 3:6]) + velocity[:, 3:])
        self._qvel[robots] = np.concatenate([qvel[:, :3] + velocity[:, :3], spin_b, qvel[:, 6:]], axis=1)
        self._warmstart[robots] = 0.0
        self._ctrl[robots] = joints
        if self.robot.clamp is not None:
            self._put_in_clamp(robots, self.robot.clamp)

    def _put_in_clamp(self, robots: np.ndarray, clamp: Clamp) -> None:
        """Move whole robots so that the clamped link is where the clamp is, whatever their joints."""
        self._sense(robots)
        poses, link = self.poses().at(robots), self.robot.layout.bodies.index(clamp.link)
        turn = multiply(clamp.quat_wxyz, inverse(poses.body_quat_w[:, link]))
        arm = self._qpos[robots, :3] - poses.body_pos_w[:, link]
        self._qpos[robots, :3] = clamp.pos_w_m + apply(turn, arm)
        self._qpos[robots, 3:7] = multiply(turn, self._qpos[robots, 3:7])

    def _push(self) -> None:
        """Every one to three seconds a kick: velocities are added to the root's."""
        if not self.difficulty.push:
            return
        self._until_push -= 1
        robots = np.flatnonzero(self._until_push <= 0)
        if not robots.size:
            return
        kick = self.random.uniform(-1, 1, (len(robots), 6)) * VELOCITY_RANGE * self.difficulty.push
        self._qvel[robots, :3] += kick[:, :3]
        self._qvel[robots, 3:6] += apply_inverse(self._qpos[robots, 3:7], kick[:, 3:])
        self._until_push[robots] = self._push_intervals(len(robots))
        self._sense(robots)

    def _push_intervals(self, number: int) -> np.ndarray:
        return np.round(self.random.uniform(*PUSH_EVERY_S, number) / STEP_S).astype(int)
