"""The compiled lab robot and the maps between its coordinates and the recording's joint order."""

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.lab.excitation import JointLimits
from haloid.robots.description import Robot


@dataclass(frozen=True)
class BuiltRobot:
    """The compiled lab robot; arrays are in the order of `joint_names`, the robot's own order."""

    description: Robot
    spec: mujoco.MjSpec
    """What `model` was compiled from, but for the solver's options."""
    model: mujoco.MjModel
    collision_model: mujoco.MjModel
    """The same robot with its own collision geometry, where `model` only has a foot and a floor."""
    joint_names: tuple[str, ...]
    qpos_of: np.ndarray
    """Address of each joint in the clamped model's qpos."""
    dof_of: np.ndarray
    """Address of each joint in the clamped model's qvel."""
    actuator_of: np.ndarray
    """Each joint's servo among the clamped model's actuators."""
    kp: np.ndarray
    """Nominal, as the recording says; the true servo's is strength · kp."""
    kd: np.ndarray
    strength: np.ndarray
    limbs: tuple[str, ...]
    """The limb of each joint, such as "legs" or "left arm"."""
    limits: JointLimits
    timestep_s: float
    control_dt_s: float
    free_foot: str | None
    """The foot that rests on the floor; None in single support."""
