"""Controller, its design: which weights and assumptions serve the robots that it is made for.

In: a score of a design, measured on robots of the task. Out: the best design found. A few that differ in how they take
feet to tip are always tried; a search goes on from the best of them, a (1+1) evolution strategy on the logarithms of
all two dozen numbers: each try changes some of them by random factors, the better design stays, and the factors grow
after a success and shrink after a failure. The score needs no derivative, and a controller is designed and tried on a
hundred robots in seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from haloid.skills.controller.estimate import Noise
from haloid.skills.controller.linear_feedback import FeedbackWeights


@dataclass(frozen=True)
class Design:
    weights: FeedbackWeights = field(default_factory=FeedbackWeights)
    assumed: Noise = field(default_factory=Noise)


DESIGNS = (
    Design(),
    Design(assumed=Noise(tip_return=0.15)),
    Design(assumed=Noise(tip_rad=0.01)),
    Design(FeedbackWeights(com_m=0.016, com_vel_m_s=0.18), Noise(tip_return=0.5)),
)
"""What is always tried: assumptions about feet, and a gentler one for jumps."""
CLAMPED = Design(FeedbackWeights(torque_of_limit=0.2))
"""A foot that cannot tip lets the feedback be stiffer, and unknown loads ask for it."""

_CHANGED = 0.4
"""Share of the numbers that a try changes."""
_FIRST_STEP, _LEAST_STEP, _LONGEST_STEP = 0.5, 0.1, 1.0
"""Standard deviation of a change, in logarithms: a factor of 1.6, 1.1 and 2.7."""
_GROWTH, _SHRINKAGE = 1.3, 0.95


def searched(
    start: Design, score: Callable[[Design], float], tries: int, seed: int, tell: Callable[[str], None]
) -> Design:
    """The best of `start` and `tries` other designs; a score of −∞ is a design that does not work out."""
    random, best, best_score, step = np.random.default_rng(seed), start, score(start), _FIRST_STEP
    for number in range(1, tries + 1):
        tell(f"design {number} of {tries}, best score {best_score:.3f}")
        found = _changed(best, step, random)
        found_score = score(found)
        if found_score > best_score:
            best, best_score, step = found, found_score, min(_GROWTH * step, _LONGEST_STEP)
        else:
            step = max(_SHRINKAGE * step, _LEAST_STEP)
    return best


def _changed(design: Design, step: float, random: np.random.Generator) -> Design:
    def change(numbers: FeedbackWeights | Noise) -> dict[str, float]:
        """Of what is a length, a speed, a share …, not of what is counted."""
        values = {entry.name: getattr(numbers, entry.name) for entry in fields(numbers)}
        return {
            name: value * np.exp(step * random.normal() * (random.random() < _CHANGED))
            for name, value in values.items()
            if isinstance(value, float)
        }

    return Design(replace(design.weights, **change(design.weights)), replace(design.assumed, **change(design.assumed)))
