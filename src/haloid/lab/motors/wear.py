"""Wear: the motors of one robot, drawn around those of its kind. The same seed is the same robot.

In: the servo gains and torque limits of the data sheet. Out: a drive train with every effect in it. What all robots of
the kind share is set by `Wear`'s values; how far each robot's joints scatter about them by `spread`.
"""

from dataclasses import dataclass

import numpy as np

from haloid.lab.motors.backlash import Backlash
from haloid.lab.motors.delay import Delay
from haloid.lab.motors.drive_train import DriveTrain
from haloid.lab.motors.efficiency import Efficiency
from haloid.lab.motors.friction import Friction
from haloid.lab.motors.supply import Supply
from haloid.lab.motors.thermal import Thermal


@dataclass(frozen=True)
class Wear:
    """Of a kind of robot; each joint of a robot has these values times a factor between 1 − spread and 1 + spread."""

    spread: float = 0.25
    coulomb_share: float = 0.015
    """Sliding friction as a share of the torque limit."""
    static_over_coulomb: float = 1.4
    viscous_share: float = 0.004
    """N·m·s/rad for each N·m of torque limit."""
    loss_at_limit: float = 0.3
    rub: float = 0.04
    stiffness_loss: float = 0.08
    """The servo is this much softer than its gains say."""
    backlash_rad: float = 0.004
    delay_s: float = 0.012
    battery_ohm: float = 0.4
    torque_drop_per_k: float = 0.0015
    friction_drop_per_k: float = 0.004


def worn_motors(
    kp: np.ndarray,
    kd: np.ndarray,
    effort_nm: np.ndarray,
    h_s: float,
    *,
    no_load_rad_s: np.ndarray | float = 20.0,
    wear: Wear | None = None,
    seeds: tuple[int, ...] = (0,),
) -> DriveTrain:
    """One drive train for as many robots as there are seeds: its arrays are (robots, joints)."""
    wear, joints = wear or Wear(), len(kp)
    rngs = [np.random.default_rng((seed, 5)) for seed in seeds]

    def about(value: np.ndarray | float) -> np.ndarray:
        factors = np.array([rng.uniform(1 - wear.spread, 1 + wear.spread, joints) for rng in rngs])
        return factors * value

    coulomb = about(wear.coulomb_share * effort_nm)
    softer = 1.0 - about(wear.stiffness_loss)
    heat = 4.0 / effort_nm  # W for each N·m squared: a third of the limit, held, warms every motor alike
    return DriveTrain(
        kp=softer * kp,
        kd=softer * kd,
        delay=Delay(about(wear.delay_s)),
        supply=Supply(effort_nm, no_load_rad_s, resistance_ohm=about(wear.battery_ohm)[:, :1], copper_w_per_nm2=heat),
        thermal=Thermal(
            heat_w_per_nm2=heat,
            resistance_k_per_w=20.0 / effort_nm,
            torque_drop_per_k=about(wear.torque_drop_per_k),
            friction_drop_per_k=about(wear.friction_drop_per_k),
        ),
        efficiency=Efficiency(effort_nm, about(wear.loss_at_limit), about(wear.rub)),
        backlash=Backlash(about(wear.backlash_rad)),
        friction=Friction(coulomb, wear.static_over_coulomb * coulomb, viscous=about(wear.viscous_share * effort_nm)),
        h_s=h_s,
    )
