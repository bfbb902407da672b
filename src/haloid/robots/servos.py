"""Robots, the drives: one ideal servo or torque motor per joint in place of a spec's own actuators.

A servo's torque is clip(kp·(ctrl − q) − kd·dq, effort range). The limit sits on the actuator, not on the joint: only
then does MuJoCo's `implicitfast` know that a saturated servo has no velocity derivative.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.load import joints_in_qpos_order, scalar_joints

_QPOS_SIZE = {mujoco.mjtJoint.mjJNT_FREE: 7, mujoco.mjtJoint.mjJNT_BALL: 4}


@dataclass(frozen=True)
class Gains:
    """Servo torque = kp·(target − q) − kd·dq; both dicts hold the same joints in the robot's order."""

    kp: dict[str, float]
    """N·m/rad by joint name."""
    kd: dict[str, float]
    """N·m·s/rad by joint name."""


class JointNotInModelError(HaloidError):
    def __init__(self, joint: str, available: Sequence[str]):
        near = difflib.get_close_matches(joint, available, n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        super().__init__(f"The model has no hinge or slide joint '{joint}'.{meant} It has: {', '.join(available)}.")


class UnequalGainsError(HaloidError):
    def __init__(self, only_kp: Sequence[str], only_kd: Sequence[str]):
        super().__init__(
            f"kp and kd must name the same joints. Only in kp: {', '.join(only_kp) or 'none'}; "
            f"only in kd: {', '.join(only_kd) or 'none'}. Give both gains for every driven joint."
        )


def model_gains(spec: mujoco.MjSpec) -> Gains:
    """The position servos of the robot's own file; a damping ratio as the damping that MuJoCo makes of it."""
    servos = {
        row: one
        for row, one in enumerate(spec.actuators)
        if one.biastype == mujoco.mjtBias.mjBIAS_AFFINE and one.biasprm[1] < 0
    }
    kd = {row: float(-one.biasprm[2]) for row, one in servos.items()}
    if any(damping < 0 for damping in kd.values()):  # a ratio, which needs the inertia of the whole robot
        compiled = spec.copy().compile()
        kd = {row: float(-compiled.actuator_biasprm[row, 2]) for row in servos}
    return Gains(
        {one.target: float(one.gainprm[0]) for one in servos.values()},
        {one.target: kd[row] for row, one in servos.items()},
    )


def set_servos(spec: mujoco.MjSpec, kp: Mapping[str, float], kd: Mapping[str, float]) -> None:
    """Replace all actuators, in place, by position servos of the joints in `kp` (N·m/rad) and `kd` (N·m·s/rad).

    They are named after their joints and come in model joint order. Keyframes' targets become their joint positions.
    """
    if set(kp) != set(kd):
        raise UnequalGainsError([j for j in kp if j not in kd], [j for j in kd if j not in kp])
    for joint, actuator in _fresh_actuators(spec, tuple(kp)).items():
        actuator.gainprm[0] = kp[joint]
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.biasprm[1:3] = -kp[joint], -kd[joint]
    addresses = _qpos_addresses(spec)
    for key in spec.keys:
        qpos = np.array(key.qpos)
        key.ctrl = [qpos[addresses[actuator.name]] for actuator in spec.actuators] if qpos.size else []


def set_motors(spec: mujoco.MjSpec, joint_names: Sequence[str]) -> None:
    """Replace all actuators, in place, by torque motors of `joint_names`: torque = ctrl, up to the effort limit."""
    for actuator in _fresh_actuators(spec, joint_names).values():
        actuator.gainprm[0] = 1.0
    for key in spec.keys:
        key.ctrl = []


def _fresh_actuators(spec: mujoco.MjSpec, joint_names: Sequence[str]) -> dict[str, mujoco.MjsActuator]:
    """Delete all actuators and add one per joint, in model order, with its effort limit and neither gain nor bias."""
    available = scalar_joints(spec)
    for joint in joint_names:
        if joint not in available:
            raise JointNotInModelError(joint, available)
    ordered = [joint for joint in available if joint in joint_names]
    efforts = {joint: _effort_range(spec, joint) for joint in ordered}
    _delete_actuators(spec, keep_sensors_of=ordered)
    return {joint: _add_actuator(spec, joint, efforts[joint]) for joint in ordered}


def _delete_actuators(spec: mujoco.MjSpec, keep_sensors_of: Sequence[str]) -> None:
    """Rotor inertia and friction of an actuator move to its joint; sensors of vanished actuators go."""
    for sensor in list(spec.sensors):
        if sensor.objtype == mujoco.mjtObj.mjOBJ_ACTUATOR and sensor.objname not in keep_sensors_of:
            spec.delete(sensor)
    for actuator in list(spec.actuators):
        if actuator.trntype == mujoco.mjtTrn.mjTRN_JOINT:
            spec.joint(actuator.target).armature += actuator.gear[0] ** 2 * actuator.armature
            spec.joint(actuator.target).damping[0] += actuator.gear[0] ** 2 * actuator.damping[0]
        spec.delete(actuator)
    for key in spec.keys:
        key.act = []


def _add_actuator(spec: mujoco.MjSpec, joint: str, effort_range: np.ndarray | None) -> mujoco.MjsActuator:
    """Every field is set: the spec's default class may hold anything."""
    actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    actuator.dyntype = mujoco.mjtDyn.mjDYN_NONE
    actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    actuator.biastype = mujoco.mjtBias.mjBIAS_NONE
    actuator.gainprm[:] = 0.0
    actuator.biasprm[:] = 0.0
    actuator.gear[:] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    actuator.armature = actuator.delay = actuator.inheritrange = 0.0
    actuator.damping[:] = 0.0
    actuator.ctrllimited = actuator.actlimited = False
    actuator.forcelimited = effort_range is not None
    actuator.forcerange[:] = 0.0 if effort_range is None else effort_range
    spec.joint(joint).actfrclimited = False
    spec.joint(joint).actfrcrange[:] = 0.0
    return actuator


def _effort_range(spec: mujoco.MjSpec, joint: str) -> np.ndarray | None:
    """(2,) N·m (N for a slide): the tightest of the joint's limit and its actuators'; None where there is none."""
    on_joint = spec.joint(joint)
    ranges = [on_joint.actfrcrange] if _limited(on_joint.actfrclimited, on_joint.actfrcrange) else []
    for actuator in spec.actuators:
        if actuator.target == joint and actuator.trntype == mujoco.mjtTrn.mjTRN_JOINT:
            if _limited(actuator.forcelimited, actuator.forcerange):
                ranges.append(np.sort(actuator.gear[0] * actuator.forcerange))
            if _is_motor(actuator) and _limited(actuator.ctrllimited, actuator.ctrlrange):
                ranges.append(np.sort(actuator.gear[0] * actuator.gainprm[0] * actuator.ctrlrange))
    if not ranges:
        return None
    return np.array([max(low for low, _ in ranges), min(high for _, high in ranges)])


def _is_motor(actuator: mujoco.MjsActuator) -> bool:
    return (
        actuator.dyntype == mujoco.mjtDyn.mjDYN_NONE
        and actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED
        and actuator.biastype == mujoco.mjtBias.mjBIAS_NONE
    )


def _limited(flag: int, bounds: np.ndarray) -> bool:
    """MuJoCo's rule: limits are on where they are switched on, or left to the range ("auto") and the range is given."""
    automatic = flag == mujoco.mjtLimited.mjLIMITED_AUTO and bool(bounds[0] < bounds[1])
    return flag == mujoco.mjtLimited.mjLIMITED_TRUE or automatic


def _qpos_addresses(spec: mujoco.MjSpec) -> dict[str, int]:
    addresses, address = {}, 0
    for joint in joints_in_qpos_order(spec):
        addresses[joint.name] = address
        address += _QPOS_SIZE.get(joint.type, 1)
    return addresses
