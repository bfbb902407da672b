"""Robots, the drives: replaces a spec's actuators by one ideal servo or motor a joint, effort limits kept.

A servo's torque is clip(kp·(ctrl − q) − kd·dq, ±effort). The limit sits on the actuator, not on the joint: only then does
MuJoCo's `implicitfast` know that a saturated servo has no velocity derivative.
"""

import difflib
from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from haloid.errors import HaloidError


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


def set_servos(spec: mujoco.MjSpec, kp: Mapping[str, float], kd: Mapping[str, float]) -> None:
    """Replace all actuators, in place, by position servos of the joints in `kp` (N·m/rad) and `kd` (N·m·s/rad)."""
    if set(kp) != set(kd):
        raise UnequalGainsError([j for j in kp if j not in kd], [j for j in kd if j not in kp])
    for joint, actuator in _fresh_actuators(spec, tuple(kp)).items():
        actuator.gainprm[0] = kp[joint]
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.biasprm[1:3] = -kp[joint], -kd[joint]


def set_motors(spec: mujoco.MjSpec, joint_names: Sequence[str]) -> None:
    """Replace all actuators, in place, by torque motors of `joint_names`: joint torque = ctrl, up to the effort limit."""
    for actuator in _fresh_actuators(spec, joint_names).values():
        actuator.gainprm[0] = 1.0


def _fresh_actuators(spec: mujoco.MjSpec, joint_names: Sequence[str]) -> dict[str, mujoco.MjsActuator]:
    """Delete all actuators and add one a joint, in model order, with its effort limit and neither gain nor bias."""
    from haloid.robots.load import _scalar_joints

    joints = _scalar_joints(spec)
    for joint in joint_names:
        if joint not in joints:
            raise JointNotInModelError(joint, joints)
    ordered = [joint for joint in joints if joint in set(joint_names)]
    efforts_nm = {joint: _effort_range_nm(spec, joint) for joint in ordered}
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    return {joint: _add_actuator(spec, joint, efforts_nm[joint]) for joint in ordered}


def _add_actuator(spec: mujoco.MjSpec, joint: str, effort_range_nm: np.ndarray | None) -> mujoco.MjsActuator:
    actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    actuator.dyntype = mujoco.mjtDyn.mjDYN_NONE
    actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    actuator.biastype = mujoco.mjtBias.mjBIAS_NONE
    actuator.gainprm[:] = 0.0
    actuator.biasprm[:] = 0.0
    actuator.gear[:] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    actuator.ctrllimited = False
    actuator.forcelimited = effort_range_nm is not None
    if effort_range_nm is not None:
        actuator.forcerange[:] = effort_range_nm
        spec.joint(joint).actfrclimited = False
        spec.joint(joint).actfrcrange[:] = 0.0
    return actuator


def _effort_range_nm(spec: mujoco.MjSpec, joint: str) -> np.ndarray | None:
    j = spec.joint(joint)
    ranges = [j.actfrcrange] if _limited(j.actfrclimited, j.actfrcrange) else []
    ranges += [a.forcerange for a in spec.actuators if a.target == joint and _limited(a.forcelimited, a.forcerange)]
    if not ranges:
        return None
    return np.array([max(r[0] for r in ranges), min(r[1] for r in ranges)])


def _limited(flag: int, bounds: np.ndarray) -> bool:
    return flag == mujoco.mjtLimited.mjLIMITED_TRUE or (
        flag == mujoco.mjtLimited.mjLIMITED_AUTO and bool(bounds[0] < bounds[1])
    )
