"""Aging: a robot that has worked for a while is not the robot of its data sheet.

In: the nominal MjSpec. Out: the same spec with seeded random offsets in links and joints, and the strength of each
motor. The draws follow the order of the robot's own links and joints, so that one seed is one robot, whichever link
is clamped and whatever it carries.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.robots.inertia import perturb, read_links, write_links


@dataclass(frozen=True)
class Aging:
    """Widths of the random offsets; all are drawn uniformly."""

    seed: int = 0
    mass_fraction: float = 0.05
    """Link masses are off by up to ± this share; inertias about the CoM are kept."""
    com_m: float = 0.008
    """Each coordinate of each link's CoM is off by up to ± this."""
    damping: float = 0.3
    """Joint damping in N·m·s/rad, between 0 and this, on top of the nominal one."""
    frictionloss_nm: float = 0.2
    """Dry friction of a joint, between 0 and this, on top of the nominal one."""
    armature_fraction: float = 0.1
    """Rotor inertias are off by up to ± this share."""
    strength_fraction: float = 0.0
    """Servo stiffness, damping and torque limit are all off by up to ± this share."""


def age(spec: mujoco.MjSpec, aging: Aging, joint_names: tuple[str, ...]) -> np.ndarray:
    """Ages the robot in place; returns the strength of each joint's motor, 1 being nominal."""
    rng = np.random.default_rng(aging.seed)
    links = read_links(spec)
    aged = {}
    for name, link in links.items():
        share = rng.uniform(-aging.mass_fraction, aging.mass_fraction)
        aged[name] = perturb(link, share * link.mass_kg, rng.uniform(-aging.com_m, aging.com_m, 3))
    write_links(spec, aged)

    strength = np.ones(len(joint_names))
    for column, name in enumerate(joint_names):
        joint = spec.joint(name)
        joint.damping[0] += rng.uniform(0.0, aging.damping)
        joint.frictionloss += rng.uniform(0.0, aging.frictionloss_nm)
        joint.armature *= 1.0 + rng.uniform(-aging.armature_fraction, aging.armature_fraction)
        strength[column] += rng.uniform(-aging.strength_fraction, aging.strength_fraction)
    return strength
