"""Robots, the result: identified servos written into a spec, with their torque limits and delays.

A servo acts late by MuJoCo's own actuator delay, read from its history by linear interpolation: a delay between two
steps mixes both, as `haloid.recordings.delay` does. Gains that the robot was merely recorded with replace those of its
file, which are kept in the spec's custom numbers `haloid_own_kp` and `haloid_own_kd` for those who drive it with them.
"""

import math
from collections.abc import Mapping

import mujoco
import numpy as np

from haloid.robots.load import actuated_joints
from haloid.robots.servos import Gains, model_gains, set_servos

OWN_KP, OWN_KD = "haloid_own_kp", "haloid_own_kd"


def set_drives(spec: mujoco.MjSpec, joints: Mapping[str, Mapping[str, float]], *, keep_own_gains: bool) -> None:
    """Write kp, kd, effort and delay of `joints` into the spec, in place."""
    gains = {name: values for name, values in joints.items() if "kp" in values}
    if gains:
        if keep_own_gains:
            _note_own_gains(spec)
        delays = {actuator.target: float(actuator.delay) for actuator in spec.actuators}
        own = model_gains(spec)
        kp = own.kp | {name: values["kp"] for name, values in gains.items()}
        kd = own.kd | {name: values["kd"] for name, values in gains.items()}
        set_servos(spec, kp, kd)
        for actuator in spec.actuators:
            _set_delay(actuator, delays.get(actuator.target, 0.0), spec.option.timestep)
    by_joint = {actuator.target: actuator for actuator in spec.actuators}
    for name, values in joints.items():
        if name in by_joint and "effort" in values:
            by_joint[name].forcerange[:] = [-values["effort"], values["effort"]]
            by_joint[name].forcelimited = True
        if name in by_joint and "delay" in values:
            _set_delay(by_joint[name], values["delay"], spec.option.timestep)


def own_gains(spec: mujoco.MjSpec) -> Gains | None:
    """The gains of the robot's own file, where those of a recording were written over them."""
    numbers = {number.name: np.array(number.data) for number in spec.numerics}
    if OWN_KP not in numbers or OWN_KD not in numbers:
        return None
    names = actuated_joints(spec)
    kp, kd = (dict(zip(names, map(float, numbers[title]), strict=True)) for title in (OWN_KP, OWN_KD))
    return Gains(kp, kd)


def _note_own_gains(spec: mujoco.MjSpec) -> None:
    """As custom numbers in the order of the actuated joints, where every one of them has a servo."""
    own, names = model_gains(spec), actuated_joints(spec)
    if own_gains(spec) is not None or any(name not in own.kp for name in names):
        return
    for title, gains in ((OWN_KP, own.kp), (OWN_KD, own.kd)):
        values = [gains[name] for name in names]
        spec.add_numeric(name=title, data=values, size=len(values))


def _set_delay(actuator: mujoco.MjsActuator, delay_s: float, timestep_s: float) -> None:
    actuator.delay = delay_s
    actuator.nsample = 0 if delay_s == 0 else math.ceil(delay_s / timestep_s - 1e-9) + 1
    actuator.interp = 1
