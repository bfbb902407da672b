"""The worn robot: a gap that parameters of the model do express, all of it.

A payload on the torso and in one hand, links and joints off their data sheet (lab/aging.py), servos up to a tenth
weaker or stronger. Same step, same servo law, no delay: an identification can find every bit of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haloid.lab.aging import Aging, age
from haloid.lab.loads import Load, put_on
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.load import actuated_joints, load_spec
from haloid.skills.task.robot import TrackedRobot, tracked_robot_of

SEED = 7
PAYLOAD_KG, PAYLOAD_COM_M, HAND_KG = 2.0, (0.01, 0.0, 0.02), 0.5
WEAR = Aging(seed=SEED, mass_fraction=0.03, com_m=0.004, damping=0.3, frictionloss_nm=0.2, strength_fraction=0.1)


class Strength:
    """Servos that push harder or less hard than they are told, each joint by its own factor."""

    def __init__(self, robot: TrackedRobot, strength: np.ndarray) -> None:
        self._strength, self._slowed_s = strength, robot.kd / robot.kp

    def reset(self, robots: np.ndarray, held_rad: np.ndarray) -> None:
        pass

    def __call__(self, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """The target with which the model's servo yields strength·(kp·(target − q) − kd·dq)."""
        q_rad, brake_rad = qpos[:, 7:], self._slowed_s * qvel[:, 6:]
        return q_rad + brake_rad + self._strength * (target_rad - q_rad - brake_rad)


def worn(robot: str = DEFAULT_ROBOT) -> TrackedRobot:
    spec, description = load_spec(robot), describe(robot)
    strength = age(spec, WEAR, actuated_joints(spec.copy().compile()))
    hand = description.hands["left"]
    put_on(spec, (Load(description.anchor, PAYLOAD_KG, PAYLOAD_COM_M), Load(hand, HAND_KG)))
    tracked = tracked_robot_of(spec, description)
    return replace(tracked, servos=lambda driven, _: Strength(driven, strength))
