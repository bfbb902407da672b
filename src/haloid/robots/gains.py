"""PD gain sets of known robots, by name: the stiffness and damping each joint's servo runs with."""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco

from haloid.errors import HaloidError
from haloid.robots.load import actuated_joints, load_spec


@dataclass(frozen=True)
class Gains:
    """Servo torque = kp·(target − q) − kd·dq; both dicts hold the same joints in the robot's order."""

    kp: dict[str, float]
    """N·m/rad by joint name."""
    kd: dict[str, float]
    """N·m·s/rad by joint name."""


class UnknownGainSetError(HaloidError):
    def __init__(self, robot: str, name: str):
        available = ", ".join(sorted(_GAIN_SETS[robot]))
        super().__init__(f"No gain set '{name}' for the robot '{robot}'. Available: {available}.")


class NoGainSetsError(HaloidError):
    def __init__(self, robot: str):
        super().__init__(
            f"No named gain sets for the robot '{robot}'; they exist for {', '.join(sorted(_GAIN_SETS))}. "
            f'Give kp and kd of every joint yourself, for a recording in its json ("kp": {{"JOINT": 99.1, ...}}).'
        )


class JointWithoutGainsError(HaloidError):
    def __init__(self, robot: str, joint: str, known: Sequence[str]):
        near = difflib.get_close_matches(joint, known, n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        super().__init__(f"The robot '{robot}' has no actuated joint '{joint}'.{meant} It has: {', '.join(known)}.")


def gain_set(robot: str, name: str, joint_names: Sequence[str] | None = None) -> Gains:
    """The gain set `name` of a known robot, for `joint_names` (default: all its actuated joints) in their order."""
    if robot not in _GAIN_SETS:
        raise NoGainSetsError(robot)
    if name not in _GAIN_SETS[robot]:
        raise UnknownGainSetError(robot, name)
    known = actuated_joints(load_spec(robot))
    for joint in joint_names or ():
        if joint not in known:
            raise JointWithoutGainsError(robot, joint, known)
    by_kind = _GAIN_SETS[robot][name]
    pairs = {joint: by_kind[_kind(joint)] for joint in (joint_names if joint_names is not None else known)}
    return Gains(
        kp={joint: float(kp) for joint, (kp, _) in pairs.items()},
        kd={joint: float(kd) for joint, (_, kd) in pairs.items()},
    )


def model_gains(spec: mujoco.MjSpec) -> Gains:
    """The position servos of the robot's own file."""
    servos = [one for one in spec.actuators if one.biastype == mujoco.mjtBias.mjBIAS_AFFINE and one.biasprm[1] < 0]
    return Gains(
        {one.target: float(one.gainprm[0]) for one in servos}, {one.target: float(-one.biasprm[2]) for one in servos}
    )


def _kind(joint: str) -> str:
    """The joint without its side and suffix: left_hip_roll_joint -> hip_roll."""
    return joint.removeprefix("left_").removeprefix("right_").removesuffix("_joint")


def _g1(
    hip_pitch: tuple[float, float],
    hip_roll: tuple[float, float],
    hip_yaw: tuple[float, float],
    knee: tuple[float, float],
    ankle: tuple[float, float],
    waist_yaw: tuple[float, float],
    waist: tuple[float, float],
    arm: tuple[float, float],
    wrist: tuple[float, float],
) -> Mapping[str, tuple[float, float]]:
    """(kp, kd) by kind of joint; `waist` is roll and pitch, `wrist` pitch and yaw, `arm` all above them."""
    return {
        "hip_pitch": hip_pitch, "hip_roll": hip_roll, "hip_yaw": hip_yaw, "knee": knee,
        "ankle_pitch": ankle, "ankle_roll": ankle,
        "waist_yaw": waist_yaw, "waist_roll": waist, "waist_pitch": waist,
        "shoulder_pitch": arm, "shoulder_roll": arm, "shoulder_yaw": arm, "elbow": arm, "wrist_roll": arm,
        "wrist_pitch": wrist, "wrist_yaw": wrist,
    }  # fmt: skip


def _mjlab_servo(armature: float) -> tuple[float, float]:
    """mjlab's rule: a servo of 10 Hz and damping ratio 2 on the motor's own armature (kg·m²)."""
    omega_rad_s = 2.0 * math.pi * 10.0
    return armature * omega_rad_s**2, 2.0 * 2.0 * armature * omega_rad_s


_5020, _7520_14, _7520_22, _4010 = map(_mjlab_servo, (0.003609725, 0.01017752, 0.025101925, 0.00425))
_5020_PAIR = _mjlab_servo(2 * 0.003609725)

_GAIN_SETS: dict[str, dict[str, Mapping[str, tuple[float, float]]]] = {
    "g1": {
        # mjlab 1.6.0, asset_zoo/robots/unitree_g1.
        "mjlab": _g1(
            hip_pitch=_7520_14, hip_roll=_7520_22, hip_yaw=_7520_14, knee=_7520_22, ankle=_5020_PAIR,
            waist_yaw=_7520_14, waist=_5020_PAIR, arm=_5020, wrist=_4010,
        ),
        # Unitree's unitree_rl_lab, assets/robots/unitree.py, UNITREE_G1_29DOF_CFG: what its policies are deployed with.
        "unitree": _g1(
            hip_pitch=(100, 2), hip_roll=(100, 2), hip_yaw=(100, 2), knee=(150, 4), ankle=(40, 2),
            waist_yaw=(200, 5), waist=(40, 5), arm=(40, 1), wrist=(40, 1),
        ),
        # For recording: holds the robot on one clamped foot with a payload, where the toppling stiffness m·g·h reaches
        # 400 N·m/rad. With kd = kp/20 the sway decays with 1.5 s unloaded, 2.6 s with 12 kg more on the torso.
        "stiff": _g1(
            hip_pitch=(600, 30), hip_roll=(600, 30), hip_yaw=(600, 30), knee=(600, 30), ankle=(800, 40),
            waist_yaw=(500, 25), waist=(500, 25), arm=(100, 5), wrist=(100, 5),
        ),
    },
}  # fmt: skip
