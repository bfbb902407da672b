"""The scenario of a design: a clamped robot that must follow one motion both as it is and with the heaviest payload.

In: the robot, the links that will carry and the heaviest they may carry. Out: the two lab robots, the posture they
share, and the check that a reference keeps position, velocity, torque and balance margins for both of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from haloid.errors import HaloidError
from haloid.lab.collisions import self_collisions
from haloid.lab.dynamics import LabDynamics
from haloid.lab.excitation import Excitation, JointLimits, Reference, amplitude_rad
from haloid.lab.loads import Load, RigidLoad
from haloid.lab.play import FellError, play
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.robots.inertia import find_link

_ROUNDING = 1e-9
_RIPPLE_SHARE = 0.93
"""Of the effort limit, by inverse dynamics."""
_PLAYED_SHARE = 0.97
"""Of the effort limit, when the robot moves; an identification leaves out rows with a servo at 98 % of it."""


@dataclass(frozen=True)
class Scenario:
    nominal: LabRobot
    """The robot without its payload."""
    heaviest: LabRobot
    """The same robot with the heaviest payload it may carry."""
    payload_links: tuple[str, ...]
    """The links whose mass and CoM are to be found."""
    excitation: Excitation
    """Length, band, amplitudes and margins."""

    @property
    def robots(self) -> tuple[LabRobot, LabRobot]:
        return self.nominal, self.heaviest

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.nominal.built.joint_names

    @property
    def limits(self) -> JointLimits:
        return self.nominal.built.limits

    @cached_property
    def posture_rad(self) -> np.ndarray:
        """(n,) halfway between the postures in which either robot balances."""
        return (self.nominal.posture_rad + self.heaviest.posture_rad) / 2

    @cached_property
    def amplitude_rad(self) -> np.ndarray:
        """(n,) how far each joint may go from the middle of its motion."""
        return np.array([amplitude_rad(self.excitation, limb) for limb in self.nominal.built.limbs])

    @property
    def allowed_nm(self) -> np.ndarray:
        """(n,) the share of every effort limit, the clamped ankle's included, that a reference may need."""
        return self.excitation.torque_fraction * self.limits.effort_nm

    @property
    def allowed_with_ripple_nm(self) -> np.ndarray:
        """(n,) the most that a servo may give at either end of a control step, where it is nowhere at its limit."""
        return _RIPPLE_SHARE * self.limits.effort_nm

    @property
    def hold_ripple(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) N·m by dq and by ddq: a target held for a control step is half a step early, then half a step late."""
        built = self.nominal.built
        return built.kp * built.control_dt_s / 2, built.kd * built.control_dt_s / 2

    @cached_property
    def _dynamics(self) -> tuple[LabDynamics, ...]:
        return tuple(LabDynamics(robot.built) for robot in self.robots)

    def worst_torque(self, q_rad: np.ndarray, dq_rad_s: np.ndarray, ddq_rad_s2: np.ndarray) -> np.ndarray:
        """(T, n) the larger of the two robots' torques, N·m."""
        first, second = (dynamics.torque(q_rad, dq_rad_s, ddq_rad_s2) for dynamics in self._dynamics)
        return np.where(np.abs(first) > np.abs(second), first, second)

    def torque_demand(self, q_rad: np.ndarray, dq_rad_s: np.ndarray, ddq_rad_s2: np.ndarray) -> np.ndarray:
        """(T, n) N·m, within `allowed_nm` where torques are, at the ends of the control steps too."""
        torque_nm = np.abs(self.worst_torque(q_rad, dq_rad_s, ddq_rad_s2))
        by_velocity, by_acceleration = self.hold_ripple
        with_ripple_nm = torque_nm + np.abs(by_velocity * dq_rad_s + by_acceleration * ddq_rad_s2)
        return np.maximum(torque_nm, self.excitation.torque_fraction / _RIPPLE_SHARE * with_ripple_nm)

    def broken_limits(self, reference: Reference) -> dict[str, str]:
        """By joint, what the reference asks too much; empty if both robots can follow it."""
        limits, excitation, q_rad = self.limits, self.excitation, reference.q_rad
        demand_nm = self.torque_demand(q_rad, reference.dq_rad_s, reference.ddq_rad_s2)
        room_rad = np.minimum(q_rad - limits.lower_rad, limits.upper_rad - q_rad).min(axis=0)
        checks = (
            ("moves past its amplitude", np.abs(q_rad - q_rad[0]).max(axis=0), self.amplitude_rad),
            ("comes too near its limit", excitation.limit_margin_rad - room_rad, 0.0),
            ("is too fast", np.abs(reference.dq_rad_s).max(axis=0), excitation.velocity_limit_rad_s),
            ("needs too much torque", demand_nm.max(axis=0), self.allowed_nm),
        )
        return {
            name: what
            for what, found, allowed in checks
            for name, beyond in zip(self.joint_names, found > allowed + _ROUNDING, strict=True)
            if beyond
        }

    def overloaded(self, reference: Reference) -> dict[str, str]:
        """By joint, what goes wrong when either robot plays the reference: a servo near its limit, or a fall."""
        for robot in self.robots:
            try:
                played = play(robot, reference, Sensors())
            except FellError:
                return dict.fromkeys(self.joint_names, "does not follow")
            force_nm = robot.built.kp * (played.target_rad - played.q_rad) - robot.built.kd * played.dq_rad_s
            beyond = np.abs(force_nm).max(axis=0) > _PLAYED_SHARE * self.limits.effort_nm
            if beyond.any():
                return {name: "is overloaded" for name, is_so in zip(self.joint_names, beyond, strict=True) if is_so}
        return {}

    def touching(self, reference: Reference) -> tuple[str, ...]:
        """Pairs of links that touch during the motion and not in the shared posture."""
        return self_collisions(self.nominal.built, np.vstack([self.posture_rad[None], reference.q_rad]))


def make_scenario(
    robot: LabRobot,
    payload_links: tuple[str, ...],
    heaviest: tuple[Load | RigidLoad, ...],
    excitation: Excitation,
) -> Scenario:
    """A scenario for a robot in single support, whose free foot (if it has one) touches nothing."""
    if robot.support != "single":
        raise HaloidError(
            "excitations are designed for single support, found double; clamp a foot or the pelvis and let the other "
            "foot hang free"
        )
    for link in payload_links:
        body = find_link(robot.built.model, link)
        if robot.built.model.body_weldid[body] == 0:
            raise HaloidError(
                f"the payload link {link} is held by the clamp, so no joint feels its mass; expected links that move. "
                "Clamp another link, or leave it out of --payload-links"
            )
    return Scenario(replace(robot, loads=()), replace(robot, loads=heaviest), payload_links, excitation)


def payload_of(mass_by_link_kg: Mapping[str, float]) -> tuple[Load, ...]:
    """Loads at the links' own centres of mass."""
    for link, mass_kg in mass_by_link_kg.items():
        if not mass_kg > 0:
            raise HaloidError(f"the heaviest payload of {link} is {mass_kg:g} kg; expected more than 0 kg")
    return tuple(Load(link, mass_kg) for link, mass_kg in mass_by_link_kg.items())
