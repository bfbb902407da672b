"""The drive train: a position servo, its motor, gears and battery, as a real robot has them.

In, every physics step: the position target, the joint's angle and velocity. Out: the torque on the joint, to be given
to MuJoCo as it is (`set_motors`). All robots and joints at once: arrays are (..., joints). In this order:

    delay → PD law → torque limits (battery sag, speed) → heat (weaker motor) → efficiency → backlash → friction

The PD law and the friction are explicit: keep the step at 2 ms or below for light joints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.lab.motors.backlash import Backlash
from haloid.lab.motors.delay import Delay
from haloid.lab.motors.efficiency import Efficiency
from haloid.lab.motors.friction import Friction, Value
from haloid.lab.motors.supply import Supply
from haloid.lab.motors.thermal import Thermal


@dataclass
class DriveTrain:
    kp: Value
    """N·m/rad"""
    kd: Value
    """N·m·s/rad"""
    delay: Delay
    supply: Supply
    thermal: Thermal
    efficiency: Efficiency
    backlash: Backlash
    friction: Friction
    h_s: float
    """The physics step."""

    def reset(self, target_rad: np.ndarray, temperature_c: Value | None = None) -> None:
        """At rest under `target_rad` (..., joints)."""
        self.delay.reset(target_rad, self.h_s)
        self.thermal.reset(target_rad.shape, temperature_c)
        self.backlash.reset(target_rad.shape)
        self.friction.reset(target_rad.shape)
        self.motor_nm = np.zeros(target_rad.shape)

    def torque_nm(self, target_rad: np.ndarray, q_rad: np.ndarray, dq_rad_s: np.ndarray) -> np.ndarray:
        """The joints' torques over the next physics step; `motor_nm` is then what the motors' currents show."""
        heard_rad = self.delay.heard(target_rad, self.h_s)
        wanted_nm = self.kp * (heard_rad - q_rad) - self.kd * dq_rad_s
        self.motor_nm = self.supply.limited_nm(wanted_nm, dq_rad_s)
        self.thermal.heat(self.motor_nm, self.h_s)
        geared_nm = self.efficiency.passed_on_nm(self.motor_nm * self.thermal.torque_scale)
        rubbing_nm = self.efficiency.friction_nm(geared_nm)
        pushed_nm = self.backlash.passed_on_nm(geared_nm, self.h_s)
        return pushed_nm + self.friction.torque_nm(dq_rad_s, self.h_s, self.thermal.friction_scale, rubbing_nm)

    @property
    def temperature_c(self) -> np.ndarray:
        return self.thermal.temperature_c
