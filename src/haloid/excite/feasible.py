"""Feasibility: a motion that asks too much is scaled down until both robots of a scenario can follow it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haloid.errors import HaloidError
from haloid.excite.scenario import Scenario
from haloid.lab.excitation import Reference

_CALMING = 0.98
"""Factor by which the motion of a limb beyond a limit is reduced in each step."""
_LARGEST_STEPS = 150
"""After this many, a limb moves at a twentieth: its posture is at fault."""


def feasible(scenario: Scenario, reference: Reference) -> Reference:
    """The motion, scaled down limb by limb until both robots keep every limit and nothing touches."""
    limb_of = dict(zip(scenario.joint_names, scenario.nominal.built.limbs, strict=True))
    limbs = frozenset(limb_of.values())
    arms = frozenset(name for name in limbs if "arm" in name)
    for step in range(_LARGEST_STEPS):
        broken = scenario.broken_limits(reference) or scenario.overloaded(reference)
        touching = scenario.touching(reference)
        if not broken and not touching:
            return reference
        calmed = {limb_of[name] for name in broken}
        if "legs" in calmed or step > _LARGEST_STEPS // 3:  # legs carry all the others, and shake them too
            calmed |= limbs
        elif "waist" in calmed:
            calmed |= arms
        calmed |= arms if touching else frozenset()
        reference = _scaled(reference, [_CALMING if limb in calmed else 1.0 for limb in limb_of.values()])
    found = [f"{name} {what}" for name, what in broken.items()] + [f"{pair} touch" for pair in touching]
    raise HaloidError(
        f"no amplitude keeps both robots within their limits: {'; '.join(found[:3])}. Lighten the heaviest payload, "
        "clamp the robot in another way, or allow less freedom of posture"
    )


def _scaled(reference: Reference, factors: list[float]) -> Reference:
    """The same motion with every joint moving its factor times as far from where it starts."""
    scale = np.array(factors)
    start_rad = reference.q_rad[0]
    return replace(
        reference,
        q_rad=start_rad + scale * (reference.q_rad - start_rad),
        dq_rad_s=scale * reference.dq_rad_s,
        ddq_rad_s2=scale * reference.ddq_rad_s2,
    )
