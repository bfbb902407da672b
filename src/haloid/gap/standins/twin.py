"""The twin: a robot with the model's links and a gap that no parameter of the model expresses.

Worn motors (lab/motors: delay, torque limit that falls with speed, efficiency and friction that depend on the load,
backlash, battery sag) and the ankles' linkage. The torque of the motors is handed to MuJoCo's own servo as the target
that yields it, target = q + (τ + kd·dq)/kp, so that its damping stays implicit and the light joints stable.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haloid.gap.standins.linkage import ankle_linkage
from haloid.lab.motors.delay import Delay
from haloid.lab.motors.wear import Wear, worn_motors
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.skills.task.robot import TrackedRobot, tracked_robot

TIMESTEP_S = 0.002
"""Finer than the model's: bristles and backlash are quick."""
WEAR = Wear(
    spread=0.25,
    coulomb_share=0.03,
    static_over_coulomb=1.4,
    viscous_share=0.004,
    loss_at_limit=0.3,
    rub=0.04,
    stiffness_loss=0.08,
    backlash_rad=0.004,
    delay_s=0.012,
    battery_ohm=0.4,
)
"""This twin's, whatever the lab's motors are like by default: results are of one robot."""


class WornServos:
    """The motors of `number` robots of one kind, all worn alike."""

    def __init__(self, robot: TrackedRobot, number: int, seed: int = 0) -> None:
        self._robot, self._number = robot, number
        self._h_s = float(robot.model.opt.timestep)
        self._linkage = ankle_linkage(robot.joint_names)
        self._motors = worn_motors(robot.kp, robot.kd, robot.effort_nm, self._h_s, wear=WEAR, seeds=(seed,))
        self._delay, self._motors.delay = self._motors.delay, Delay(0.0)
        self.reset(np.arange(number), np.zeros((number, len(robot.joint_names))))

    def reset(self, robots: np.ndarray, held_rad: np.ndarray) -> None:
        if len(robots) == self._number:
            self._delay.reset(held_rad, self._h_s)
            self._motors.reset(held_rad)
            return
        motors = self._motors  # the commands under way are the robots' own; a few steps later they are gone
        motors.backlash.place_rad[robots] = 0.0
        motors.friction.deflection_rad[robots] = 0.0
        motors.thermal.temperature_c[robots] = motors.thermal.room_c

    def __call__(self, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        q_rad, dq_rad_s, robot = qpos[:, 7:], qvel[:, 6:], self._robot
        heard_rad = self._linkage.servo_target_rad(self._delay.heard(target_rad, self._h_s), q_rad)
        torque_nm = self._motors.torque_nm(heard_rad, q_rad, dq_rad_s)
        return q_rad + (torque_nm + robot.kd * dq_rad_s) / robot.kp


def twin(robot: str = DEFAULT_ROBOT) -> TrackedRobot:
    return replace(tracked_robot(robot, timestep_s=TIMESTEP_S), servos=WornServos)
