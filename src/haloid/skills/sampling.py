"""Skills, where episodes start: adaptive sampling of the reference's frames (BeyondMimic, mjlab).

In: the frames at which episodes failed. Out: frames to start from, more often where the policy fails. The frames lie in
bins of about a second; a bin's failure level is the moving average f ← α·failures + (1 − α)·f of every control step,
and a bin is drawn with probability ∝ f + 0.1/bins.
"""

import numpy as np

from haloid.skills.reference import CONTROL_HZ, Reference

UNIFORM_RATIO = 0.1
ALPHA = 0.001


class AdaptiveSampling:
    def __init__(self, reference: Reference, adaptive: bool = True) -> None:
        self._reference = reference
        self._adaptive = adaptive
        self.bins = int(len(reference) // CONTROL_HZ) + 1
        self.failure_level = np.zeros(self.bins)
        self._failures_now = np.zeros(self.bins)

    def failed_at(self, frames: np.ndarray) -> None:
        """Take note of the frames at which episodes failed in this control step."""
        rows = np.clip(frames * self.bins // len(self._reference), 0, self.bins - 1)
        self._failures_now = np.bincount(rows, minlength=self.bins).astype(float)

    def end_step(self) -> None:
        self.failure_level = ALPHA * self._failures_now + (1 - ALPHA) * self.failure_level
        self._failures_now = np.zeros(self.bins)

    @property
    def probabilities(self) -> np.ndarray:
        """(bins,)"""
        level = self.failure_level * self._adaptive
        weight = level + UNIFORM_RATIO / self.bins
        return weight / weight.sum()

    def draw(self, random: np.random.Generator, number: int) -> np.ndarray:
        """(number,) frames to start from; never the last frame of a motion, after which nothing is left to do."""
        rows = random.choice(self.bins, size=number, p=self.probabilities)
        frames = ((rows + random.random(number)) / self.bins * (len(self._reference) - 1)).astype(int)
        last = self._reference.last[self._reference.motion_of_frame[frames]]
        return np.minimum(frames, last - 1)
