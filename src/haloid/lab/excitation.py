"""Excitation: seeded multi-sine joint references that a clamped robot can follow and that reveal its masses.

In: a posture, the joints' limits and the robot's inverse dynamics. Out: a `Reference`. Arms and waist work, legs
stay quiet. The lab plays any `Reference`, however it was designed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haloid.errors import HaloidError

InverseDynamics = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(T, n) positions, velocities and accelerations to (T, n) joint torques in N·m."""


@dataclass(frozen=True)
class Excitation:
    """How the joints are shaken."""

    duration_s: float = 10.0
    ramp_s: float = 1.0
    """Length of the smooth start and of the smooth end."""
    lowest_hz: float = 0.1
    highest_hz: float = 2.0
    harmonics: int = 4
    """Sines per joint, one in each of as many equal parts of the band (on a logarithmic scale)."""
    leg_amplitude_rad: float = 0.03
    waist_amplitude_rad: float = 0.45
    arm_amplitude_rad: float = 0.6
    limit_margin_rad: float = 0.08
    """Distance that references keep from the joints' limits."""
    velocity_limit_rad_s: float = 6.0
    torque_fraction: float = 0.85
    """Share of every joint's effort limit that the references may need."""

    def __post_init__(self) -> None:
        if self.duration_s < 2 * self.ramp_s:
            raise HaloidError(
                f"an excitation of {self.duration_s:g} s has no room for two ramps of {self.ramp_s:g} s; "
                "make it longer or the ramps shorter"
            )
        if not 0 < self.lowest_hz < self.highest_hz:
            raise HaloidError(
                f"the excitation's band is {self.lowest_hz:g} to {self.highest_hz:g} Hz; expected two frequencies "
                "above 0, the lower one first"
            )


@dataclass(frozen=True)
class Reference:
    """What the joints should do, one row per control step; columns in the order of `joint_names`."""

    joint_names: tuple[str, ...]
    time_s: np.ndarray
    q_rad: np.ndarray
    dq_rad_s: np.ndarray
    ddq_rad_s2: np.ndarray


@dataclass(frozen=True)
class JointLimits:
    """Columns in the order of the reference's joints; infinite where a joint has no limit."""

    lower_rad: np.ndarray
    upper_rad: np.ndarray
    effort_nm: np.ndarray


def multi_sine(
    excitation: Excitation,
    joint_names: tuple[str, ...],
    limbs: tuple[str, ...],
    posture_rad: np.ndarray,
    limits: JointLimits,
    torque_of: InverseDynamics,
    control_dt_s: float,
    seed: int,
) -> Reference:
    """q(t) = posture + w(t)·A·Σ a_k·sin(2π f_k t + φ_k), with A as large as amplitudes and limits allow.

    `limbs` names the limb of every joint: "legs" and "waist" move less than arms, whatever they are called.
    w is a quintic ramp, so position, velocity and acceleration start and end at rest. A limb whose torque is
    beyond its share moves less, the others as much as before; the peak of every joint is within its amplitude.
    """
    time_s = np.arange(round(excitation.duration_s / control_dt_s)) * control_dt_s
    shape, dshape, ddshape = _windowed_sines(excitation, len(joint_names), time_s, seed)
    room = np.minimum(posture_rad - limits.lower_rad, limits.upper_rad - posture_rad)
    amplitude = np.array([amplitude_rad(excitation, limb) for limb in limbs])
    amplitude = np.clip(room - excitation.limit_margin_rad, 0.0, amplitude)
    amplitude = np.minimum(amplitude, excitation.velocity_limit_rad_s / np.abs(dshape).max(axis=0))

    def reference(amplitude: np.ndarray) -> Reference:
        q_rad = posture_rad + amplitude * shape
        return Reference(joint_names, time_s, q_rad, amplitude * dshape, amplitude * ddshape)

    allowed_nm = excitation.torque_fraction * limits.effort_nm
    return reference(_within_torque(amplitude, np.array(limbs), reference, torque_of, allowed_nm))


def amplitude_rad(excitation: Excitation, limb: str) -> float:
    by_limb = {"legs": excitation.leg_amplitude_rad, "waist": excitation.waist_amplitude_rad}
    return by_limb.get(limb, excitation.arm_amplitude_rad)


def _windowed_sines(
    excitation: Excitation, joints: int, time_s: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shapes (T, n) of peak 1 and their first and second time derivatives."""
    rng = np.random.default_rng(seed)
    edges = np.geomspace(excitation.lowest_hz, excitation.highest_hz, excitation.harmonics + 1)
    omega = 2 * np.pi * rng.uniform(edges[:-1, None], edges[1:, None], (excitation.harmonics, joints))
    phase = rng.uniform(0, 2 * np.pi, omega.shape)
    weight = rng.uniform(0.5, 1.0, omega.shape) / np.sqrt(omega)
    angle = omega * time_s[:, None, None] + phase
    sines = (weight * np.sin(angle)).sum(axis=1)
    dsines = (weight * omega * np.cos(angle)).sum(axis=1)
    ddsines = -(weight * omega**2 * np.sin(angle)).sum(axis=1)
    w, dw, ddw = (column[:, None] for column in window(time_s, excitation.duration_s, excitation.ramp_s))
    shape = w * sines
    peak = np.abs(shape).max(axis=0)
    dshape = dw * sines + w * dsines
    ddshape = ddw * sines + 2 * dw * dsines + w * ddsines
    return shape / peak, dshape / peak, ddshape / peak


def window(time_s: np.ndarray, duration_s: float, ramp_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """10x³ - 15x⁴ + 6x⁵ up over the first ramp and down over the last, with its two time derivatives."""
    from_end = time_s > duration_s / 2
    x = np.clip(np.where(from_end, duration_s - time_s, time_s) / ramp_s, 0.0, 1.0)
    sign = np.where(from_end, -1.0, 1.0)
    w = x**3 * (10 - 15 * x + 6 * x**2)
    dw = sign * 30 * x**2 * (1 - x) ** 2 / ramp_s
    ddw = 60 * x * (1 - x) * (1 - 2 * x) / ramp_s**2
    return w, dw, ddw


def _within_torque(
    amplitude: np.ndarray,
    limbs: np.ndarray,
    reference: Callable[[np.ndarray], Reference],
    torque_of: InverseDynamics,
    allowed_nm: np.ndarray,
) -> np.ndarray:
    """Amplitudes at which no joint needs more than `allowed_nm`: first limb by limb, then all together."""
    names = reference(amplitude).joint_names
    carried_by = {"legs": set(limbs), "waist": set(limbs) - {"legs"}}
    for attempt in range(60):
        motion = reference(amplitude)
        tau_nm = torque_of(motion.q_rad, motion.dq_rad_s, motion.ddq_rad_s2)
        static_nm, peak_nm = np.abs(tau_nm[0]), np.abs(tau_nm).max(axis=0)
        if np.any(static_nm > allowed_nm):
            worst = int(np.argmax(static_nm / allowed_nm))
            raise HaloidError(
                f"holding the posture takes {static_nm[worst]:.1f} N·m at {names[worst]}; expected at most "
                f"{allowed_nm[worst]:.1f} N·m, the allowed share of its effort limit. Lighten the load or raise "
                "the excitation's torque fraction"
            )
        beyond = peak_nm > allowed_nm
        if not beyond.any():
            return amplitude
        share = np.clip((allowed_nm - static_nm) / np.maximum(peak_nm - static_nm, 1e-12), 0.3, 0.97)
        factor = np.ones(len(names))
        for name in set(limbs[beyond]):
            smallest = share[beyond & (limbs == name)].min()
            moved = set(limbs) if attempt >= 20 else carried_by.get(str(name), {name})
            factor = np.minimum(factor, np.where([one in moved for one in limbs], smallest, 1.0))
        amplitude = amplitude * factor
    raise HaloidError(
        "no amplitude keeps the joints within their torque limits; lighten the load, lower the excitation's "
        "highest frequency or raise its torque fraction"
    )
