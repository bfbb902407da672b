"""Skills, how rough it is: what a curriculum may change while training goes on, as parts of mjlab's values."""

from dataclasses import dataclass


@dataclass
class Difficulty:
    reset: float = 1.0
    """Fraction of mjlab's disturbance at the start of an episode."""
    push: float = 1.0
    """Fraction of mjlab's pushes; 0: none."""
    noise: float = 1.0
    """Fraction of mjlab's observation noise."""
    termination: float = 1.0
    """Factor on the thresholds that end an episode."""
    randomisation: float = 1.0
    """Fraction of the width of the ranges that robots differ by."""
