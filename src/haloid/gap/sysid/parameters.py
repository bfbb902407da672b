"""Parameters of a free robot: what rollouts may tell about the simulator's model.

In: a robot and values. Out: the same robot on a model with these values. Ratios are to the model's own; masses of the
anchor (the torso) and the hands and the anchor's centre of mass are offsets. Position targets are sent as before: gains
are the model's, and `TrackedRobot.kp` stays what the robot's makers say.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from haloid.gap.replays.simulator import Fields
from haloid.skills.task.robot import TrackedRobot

OWN = ("kp", "kd", "armature", "damping", "friction")
"""Of every joint: logarithms of three ratios; N·m·s/rad and N·m to add."""
FIELDS = ("actuator_gainprm", "actuator_biasprm", "dof_armature", "dof_damping", "dof_frictionloss")
FIELDS += ("body_mass", "body_inertia", "body_ipos")


@dataclass(frozen=True)
class Parameters:
    own: np.ndarray
    """(joints, 5) in the order of `OWN`."""
    masses_kg: np.ndarray
    """(links,) to add to the anchor and the hands."""
    com_m: np.ndarray
    """(3,) to add to the anchor's centre of mass."""

    @property
    def shared(self) -> np.ndarray:
        """What is not a joint's own."""
        return np.concatenate([self.masses_kg, self.com_m])

    def moved(self, own: np.ndarray, shared: np.ndarray) -> Parameters:
        """Damping and friction never fall below the model's own."""
        added = self.own + own
        added[:, 3:] = np.maximum(added[:, 3:], 0.0)
        masses = len(self.masses_kg)
        return Parameters(added, self.masses_kg + shared[:masses], self.com_m + shared[masses:])


def no_change(robot: TrackedRobot) -> Parameters:
    return Parameters(np.zeros((len(robot.joint_names), len(OWN))), np.zeros(len(links_of(robot))), np.zeros(3))


def links_of(robot: TrackedRobot) -> tuple[str, ...]:
    return (robot.description.anchor, *robot.description.hands.values())


def with_parameters(robot: TrackedRobot, parameters: Parameters) -> TrackedRobot:
    model = copy.copy(robot.model)
    servos = [model.actuator(name).id for name in robot.joint_names]
    dofs = [int(model.joint(name).dofadr[0]) for name in robot.joint_names]
    kp, kd, armature = np.exp(parameters.own[:, :3]).T
    model.actuator_gainprm[servos, 0] *= kp
    model.actuator_biasprm[servos, 1] *= kp
    model.actuator_biasprm[servos, 2] *= kd
    model.dof_armature[dofs] *= armature
    model.dof_damping[dofs] += parameters.own[:, 3]
    model.dof_frictionloss[dofs] += parameters.own[:, 4]
    for link, mass_kg in zip(links_of(robot), parameters.masses_kg, strict=True):
        body = model.body(link).id
        ratio = max(1.0 + mass_kg / model.body_mass[body], 0.2)
        model.body_mass[body] *= ratio
        model.body_inertia[body] *= ratio
    model.body_ipos[model.body(robot.description.anchor).id] += parameters.com_m
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return replace(robot, model=model)


def fields_of(robot: TrackedRobot, variants: Sequence[Parameters], copies: int) -> Fields:
    """Fields of `copies` simulations of each variant, one block after the other."""
    models = [with_parameters(robot, parameters).model for parameters in variants]
    return {
        name: np.concatenate([np.repeat(getattr(model, name)[None], copies, axis=0) for model in models])
        for name in FIELDS
    }
