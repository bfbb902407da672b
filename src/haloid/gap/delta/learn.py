"""Delta, from rollouts to a model: one of the methods by name, and the model as a correction of the simulator.

In: real data and a method. Out: a `DeltaModel` (files.py) for the robot that is simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.fast import FastConfig, fit_fast
from haloid.gap.delta.files import DeltaModel, delta_facts
from haloid.gap.delta.residual import DeltaDynamics, DynamicsConfig, StateResidual, fit_dynamics
from haloid.gap.replays.data import RealData
from haloid.gap.replays.simulator import Correction
from haloid.skills.policies.networks import Network
from haloid.skills.task.robot import TrackedRobot

Method = Literal["fast", "ppo", "dynamics"]
Joints = Literal["all", "ankles"]


def learn(
    robot: TrackedRobot,
    data: RealData,
    method: Method,
    joints: Joints = "all",
    *,
    seed: int = 0,
    threads: int = 0,
    iterations: int | None = None,
    minutes: float | None = None,
    folder: Path | None = None,
    say: Callable[[str], None] = lambda detail: None,
) -> DeltaModel:
    """`iterations`, `minutes` and the `folder` for checkpoints are PPO's."""
    columns = corrected_columns(robot, joints)
    if method == "dynamics":
        network = fit_dynamics(robot, data, DynamicsConfig(seed=seed, threads=threads), say)
        return _model(robot, data, "dynamics", method, network, columns)
    if method == "ppo":
        from haloid.gap.ppo.train import DeltaPpoConfig, fit_ppo

        config = DeltaPpoConfig(seed=seed, threads=threads)
        config = config if iterations is None else replace(config, iterations=iterations)
        network = fit_ppo(robot, data, columns, config, folder=folder, minutes=minutes, say=say)
        return _model(robot, data, "action", method, network, columns)
    network = fit_fast(robot, data, columns, FastConfig(seed=seed, threads=threads), say)
    return _model(robot, data, "action", method, network, columns)


def _model(
    robot: TrackedRobot, data: RealData, kind: str, method: str, network: Network, columns: np.ndarray
) -> DeltaModel:
    corrected = tuple(robot.joint_names[column] for column in columns)
    return DeltaModel(delta_facts(robot, kind, method, corrected, data.sources, len(data)), network)


def corrected_columns(robot: TrackedRobot, joints: Joints) -> np.ndarray:
    """Of all joints, or of the ankles' alone (ASAP's variant for the real robot)."""
    names = robot.joint_names
    columns = [row for row, name in enumerate(names) if joints == "all" or "ankle" in name]
    if not columns:
        raise HaloidError(f"{robot.description.name} has no joint with «ankle» in its name; correct all: --joints all")
    return np.array(columns)


def correction_of(model: DeltaModel) -> Correction:
    default_rad = np.array(model.facts.default_joint_pos_rad)
    if isinstance(model.network, StateResidual):
        return DeltaDynamics(model.network, default_rad)
    return DeltaAction(model.network, default_rad)
