"""Skills, the curriculum: how hard the task is while a policy learns.

In: how often episodes fail. Out: a `Difficulty`. A level between 0 and 1 rises while the policy fails less than once in
four seconds and falls when it fails more than three times in five; disturbances at reset, pushes and the
differences between robots grow with it, and the thresholds that end an episode tighten to the task's. ASAP's tighten
from 1.5 to 0.3 m, and its episodes start undisturbed.
"""

import math
from dataclasses import dataclass

from haloid.skills.task.difficulty import Difficulty

RISE_BELOW_FAILURES_A_S, FALL_ABOVE_FAILURES_A_S = 0.25, 0.6
RISE, FALL = 0.02, 0.01
GENTLEST_RESET = 0.05
LEAST_RANDOMISATION = 0.1
LOOSEST_TERMINATION = 1.2
STAGES = 5
"""In which the differences between robots grow: changing all bodies takes as long as a control step of all robots."""


@dataclass(kw_only=True)
class Curriculum:
    hardest: float = 1.0
    """The level it may rise to: 1 is all of mjlab's disturbances."""
    noise: float = 1.0
    """Of the observations, as a fraction of mjlab's; it does not change."""
    loosest_termination: float = LOOSEST_TERMINATION
    """Factor on the thresholds that end an episode, at level 0."""
    reset: float = 1.0
    """Of the disturbance at the start of an episode, as a fraction of mjlab's, at level 1."""
    level: float = 0.0

    def update(self, failures_per_s: float) -> None:
        if failures_per_s < RISE_BELOW_FAILURES_A_S:
            self.level = min(self.hardest, self.level + RISE)
        elif failures_per_s > FALL_ABOVE_FAILURES_A_S:
            self.level = max(0.0, self.level - FALL)

    @property
    def difficulty(self) -> Difficulty:
        return Difficulty(
            reset=self.reset * (GENTLEST_RESET + (1 - GENTLEST_RESET) * self.level),
            push=self.level,
            noise=self.noise,
            randomisation=LEAST_RANDOMISATION + (1 - LEAST_RANDOMISATION) * self._level_of_stage,
            termination=self.loosest_termination - (self.loosest_termination - 1) * min(self.level, 1.0),
        )

    @property
    def _level_of_stage(self) -> float:
        """The level when the present stage began."""
        stage_height = self.hardest / STAGES
        return math.floor(self.level / stage_height + 1e-9) * stage_height if stage_height else 0.0
