"""Skills in mjlab, the robot: mjlab's G1 with the inertias, frictions and armatures that an identification found.

In: mjlab's own G1, and a patch.json or calibrated.xml. Out: a `spec_fn` (a function that makes the MjSpec) and the
mjlab entity that is built from it. mjlab's actuators write their armature over the spec's; the entity made here takes
it from the spec instead, so that an identified armature is the one simulated. Gains and effort limits stay mjlab's.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import mujoco
from mjlab.asset_zoo.robots import get_g1_robot_cfg
from mjlab.asset_zoo.robots.unitree_g1.g1_constants import G1_ARTICULATION, get_spec
from mjlab.entity import Entity, EntityCfg
from mjlab.envs import ManagerBasedRlEnvCfg

from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.inertia import read_links
from haloid.robots.load import load_spec, scalar_joints
from haloid.robots.patch import Patch, patched_spec, read_patch
from haloid.robots.servos import model_gains, set_servos
from haloid.skills.task.robot import TrackedRobot, add_sensors, tracked_robot

SpecFunction = Callable[[], mujoco.MjSpec]


def g1_spec() -> mujoco.MjSpec:
    """mjlab's G1 before it has servos, with the armatures that mjlab's actuators give its joints."""
    spec = get_spec()
    for joint in spec.joints:
        for actuator in G1_ARTICULATION.actuators:
            if any(re.fullmatch(pattern, joint.name) for pattern in actuator.target_names_expr):
                joint.armature = actuator.armature
    return spec


def identified_spec_fn(model: Path | None) -> SpecFunction:
    """What makes mjlab's G1 as identified: `model` is a patch.json or a calibrated.xml; None: as mjlab has it.

    The function can be sent to other processes, as mjlab's launcher for several GPUs needs.
    """
    return g1_spec if model is None else partial(patched_spec, g1_spec, read_identified(model))


def read_identified(model: Path) -> Patch:
    """A patch.json, or everything a model file states of its links and joints as a patch."""
    if model.suffix == ".json":
        return read_patch(model).without_recorded_servos()
    compiled = load_spec(model).compile()
    joints = {}
    for name in scalar_joints(compiled):
        dof = compiled.joint(name).dofadr[0]
        joints[name] = {
            "damping": float(compiled.dof_damping[dof]),
            "frictionloss": float(compiled.dof_frictionloss[dof]),
            "armature": float(compiled.dof_armature[dof]),
        }
    return Patch(str(model), read_links(compiled), joints)


def robot_cfg(spec_fn: SpecFunction) -> EntityCfg:
    """mjlab's G1 entity on another spec of the G1: links and joints are the spec's; servos and pose are mjlab's."""
    cfg = get_g1_robot_cfg()
    cfg.spec_fn = spec_fn
    actuators = tuple(replace(actuator, armature=None) for actuator in G1_ARTICULATION.actuators)
    cfg.articulation = replace(G1_ARTICULATION, actuators=actuators)
    return cfg


def robot_with_mjlabs_physics(cfg: ManagerBasedRlEnvCfg) -> TrackedRobot:
    """mjlab's own robot for this package's simulation: its geometry, contacts, solver and time step, nothing left out.

    For comparisons of speed. Servos come in joint order, sensors are those of this package.
    """
    spec = Entity(cfg.scene.entities["robot"]).spec
    ours = tracked_robot(DEFAULT_ROBOT)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 0.05])
    gains = model_gains(spec)
    set_servos(spec, gains.kp, gains.kd)
    add_sensors(spec, ours.description)
    model = spec.compile()
    cfg.sim.mujoco.apply(model)
    return replace(ours, model=model)
