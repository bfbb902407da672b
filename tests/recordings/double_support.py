"""A double-support run of the lab's G1 with the noise and bias that the foot-height correction is made for."""

from functools import cache

from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import Truth
from haloid.recordings.recording import Recording

LEFT, RIGHT = "left_ankle_roll_link", "right_ankle_roll_link"
NOISE_RAD, BIAS_RAD = 0.002, 0.01
HIGH_BIAS_SEED = 488
"""Of 20,000 seeds, the one whose biases lift the foot most: by 7.6 mm."""


@cache
def noisy_run() -> tuple[Recording, Truth]:
    """10 s at 50 Hz, the left foot clamped."""
    sensors = Sensors(noise_rad=NOISE_RAD, bias_rad=BIAS_RAD, bias_seed=HIGH_BIAS_SEED)
    return record(LabRobot(clamp=LEFT, support="double"), sensors, seed=1, name="double")
