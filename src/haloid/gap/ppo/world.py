"""Delta action by PPO, the environment: replays of recorded targets, to which the network adds (ASAP, III-B).

In: real data, the simulator, the network's outputs. Out: what π^Δ sees (features.py), Table II's rewards. An episode is
a window of the recording: it begins in the recorded state, lasts a second and, but for a simulation that diverges, has
no early end. Outputs are in the policies' units of action, Δ = scale·output rad, for the corrected joints alone. The
critic sees also how far the simulation is from the recording and how much of the window is left.
"""

from __future__ import annotations

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from haloid.errors import HaloidError
from haloid.gap.delta.features import features
from haloid.gap.delta.linearise import difference
from haloid.gap.ppo.rewards import WEIGHTS, reward_terms
from haloid.gap.replays.data import RealData, too_short
from haloid.gap.replays.simulator import Simulator, States, recorded
from haloid.skills.asap.tracking import body_rows
from haloid.skills.task.environment import STEP_S
from haloid.skills.task.reference import Poses
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import FASTEST


class ReplayWorld(VecEnv):
    def __init__(
        self,
        robot: TrackedRobot,
        data: RealData,
        joints: np.ndarray,
        *,
        robots: int,
        horizon: int,
        random: np.random.Generator,
        threads: int = 0,
    ) -> None:
        """Windows of `horizon` control steps; `joints` are the columns that are corrected."""
        self._firsts = data.windows(horizon, stride=1)
        if not len(self._firsts):
            raise HaloidError(too_short(horizon))
        self.num_envs, self.num_actions, self.max_episode_length = robots, len(joints), horizon
        self.episode_length_buf = torch.zeros(robots, dtype=torch.long)
        self.device, self.cfg = "cpu", {}
        self.robot, self._data, self._joints, self._random = robot, data, joints, random
        self._simulator = Simulator(robot, robots, threads)
        self._real = _poses_of_rows(robot, data, threads)
        self._bodies, self._scale_rad = body_rows(robot), robot.action_scale_rad[joints]
        self._action = np.zeros((robots, len(joints)))
        self._row, self._end = np.zeros(robots, dtype=int), np.zeros(robots, dtype=int)
        self._qpos, self._qvel = data.qpos[self._row], data.qvel[self._row]
        self.terms: dict[str, np.ndarray] = {}
        """Of the last step, unweighted."""
        everyone = np.arange(robots)
        self._restart(everyone, random.integers(0, horizon, robots))  # so that windows do not end all at once
        self._observations = self._observe()

    def get_observations(self) -> TensorDict:
        return self._observations

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        action = actions.numpy().astype(float)
        told_rad = self._data.target_rad[self._row].copy()
        told_rad[:, self._joints] += self._scale_rad * action
        self._qpos, self._qvel = self._simulator.step(told_rad)
        self._row += 1
        sound = np.isfinite(self._qpos).all(axis=1) & (np.abs(self._qvel) < FASTEST).all(axis=1)
        diverged = np.logical_not(np.asarray(sound))
        reward = self._reward(action, told_rad, diverged)
        timed_out = ~diverged & (self._row >= self._end)
        self._action = action
        done = np.flatnonzero(diverged | timed_out)
        if len(done):
            self._restart(done, np.zeros(len(done), dtype=int))
        self._observations = self._observe()
        extras = {"time_outs": torch.from_numpy(timed_out)}
        return self._observations, torch.from_numpy(reward), torch.from_numpy(diverged | timed_out), extras

    def _reward(self, action: np.ndarray, told_rad: np.ndarray, diverged: np.ndarray) -> np.ndarray:
        robot = self.robot
        torque_nm = robot.kp * (told_rad - self._qpos[:, 7:]) - robot.kd * self._qvel[:, 6:]
        self.terms = reward_terms(
            self._simulator.poses(),
            self._real.at(self._row),
            self._bodies,
            action,
            self._action,
            robot.soft_limits_rad,
            torque_nm,
            robot.effort_nm,
            diverged,
        )
        total = sum(weight * np.nan_to_num(self.terms[name]) for name, weight in WEIGHTS.items())
        return (STEP_S * np.asarray(total)).astype(np.float32)

    def _restart(self, robots: np.ndarray, passed: np.ndarray) -> None:
        """In new windows, so many steps of which have passed already."""
        first = self._random.choice(self._firsts, len(robots))
        self._row[robots], self._end[robots] = first + passed, first + self.max_episode_length
        rows = self._row[robots]
        self._qpos[robots], self._qvel[robots] = self._data.qpos[rows], self._data.qvel[rows]
        self._action[robots] = 0.0
        self._simulator.put(States(self._qpos[robots], self._qvel[robots], self._data.held_rad[rows]), robots)

    def _observe(self) -> TensorDict:
        data, rows = self._data, self._row
        states = States(self._qpos, self._qvel, data.held_rad[rows])
        seen = features(states, data.target_rad[rows], self.robot.default_joint_pos_rad)
        off = difference(self._qpos, self._qvel, data.qpos[rows], data.qvel[rows])
        left = (self._end - rows)[:, None] / self.max_episode_length
        privileged = np.concatenate([seen, off, left], axis=1).astype(np.float32)
        groups = {"actor": torch.from_numpy(seen), "critic": torch.from_numpy(privileged)}
        return TensorDict(groups, batch_size=[self.num_envs])


def _poses_of_rows(robot: TrackedRobot, data: RealData, threads: int) -> Poses:
    """Where the bodies were in every row of the recording."""
    number = min(512, len(data))
    simulator, parts = Simulator(robot, number, threads), []
    for start in range(0, len(data), number):
        rows = np.minimum(np.arange(start, start + number), len(data) - 1)
        (poses,) = recorded(simulator, data, rows, 0)
        parts.append(poses.at(np.arange(min(number, len(data) - start))))
    return Poses(*(np.concatenate([getattr(part, name) for part in parts]) for name in Poses.__dataclass_fields__))
