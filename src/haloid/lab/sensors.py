"""Sensors: what the lab robot's encoders make of its true motion, and how late its servos receive a command.

In: true joint positions and velocities at the control rows. Out: readings with bias, noise and quantisation, and
the rows that survive. The order is the physical one: bias, noise, quantisation, loss of rows.
"""

from dataclasses import dataclass

import numpy as np

from haloid.errors import HaloidError

_STREAM = 2
"""Separates the noise from the excitation of a run with the same seed."""
ENCODER_STEP_RAD = 2 * np.pi / 65536
"""Resolution of a 16-bit encoder."""


@dataclass(frozen=True)
class Sensors:
    """The measuring chain; every default is the ideal one but for the quantisation."""

    noise_rad: float = 0.0
    """Standard deviation of the encoders' noise; the servo acts on the reading without it."""
    quantise: bool = True
    """Round readings to the 65536 steps per turn of a 16-bit encoder."""
    bias_rad: float = 0.0
    """Encoder biases are uniform within ± this; they belong to the robot and are the same in every run."""
    bias_seed: int = 0
    delay_s: float = 0.0
    """Time from a command to its effect on the servo."""
    drop_fraction: float = 0.0
    """Share of rows lost from the log; the robot goes on acting on their targets."""
    measure_velocity: bool = False
    """Log velocities as well."""
    velocity_noise_rad_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.drop_fraction < 1.0:
            raise HaloidError(f"the share of rows lost is {self.drop_fraction:g}; expected 0 or more and less than 1")
        if self.delay_s < 0:
            raise HaloidError(f"a command delay of {self.delay_s:g} s was given; expected zero or more seconds")

    def bias_of(self, joints: int) -> np.ndarray:
        """The encoder bias of each of `joints` joints, in rad: the encoder reads q + bias."""
        return np.random.default_rng(self.bias_seed).uniform(-self.bias_rad, self.bias_rad, joints)


@dataclass(frozen=True)
class Readings:
    """Rows that reached the log; `row` are their numbers in the run."""

    row: np.ndarray
    q_rad: np.ndarray
    dq_rad_s: np.ndarray | None


@dataclass(frozen=True)
class Chance:
    """What chance does to a run's readings."""

    q_rad: np.ndarray
    """(T, n)"""
    dq_rad_s: np.ndarray
    """(T, n) zero where velocities are not measured."""
    kept: np.ndarray
    """(T,) rows that reach the log."""


def chance(sensors: Sensors, rows: int, joints: int, seed: int, stream: int = _STREAM) -> Chance:
    """Noise and losses of a run, known before it begins; the first and the last row are never lost."""
    rng = np.random.default_rng((seed, stream))
    q_rad = sensors.noise_rad * rng.standard_normal((rows, joints))
    dq_rad_s = np.zeros((rows, joints))
    if sensors.measure_velocity:
        dq_rad_s = sensors.velocity_noise_rad_s * rng.standard_normal((rows, joints))
    kept = rng.uniform(size=rows) >= sensors.drop_fraction
    kept[[0, -1]] = True
    return Chance(q_rad, dq_rad_s, kept)


def encoder_reading(sensors: Sensors, q_rad: np.ndarray) -> np.ndarray:
    """Angles, bias and noise included, as the encoder's steps resolve them."""
    return np.round(q_rad / ENCODER_STEP_RAD) * ENCODER_STEP_RAD if sensors.quantise else q_rad


def read(sensors: Sensors, q_rad: np.ndarray, dq_rad_s: np.ndarray, seed: int) -> Readings:
    """Readings of true positions and velocities `(T, n)`."""
    by_chance = chance(sensors, len(q_rad), q_rad.shape[1], seed)
    reading = encoder_reading(sensors, q_rad + sensors.bias_of(q_rad.shape[1]) + by_chance.q_rad)
    row = np.flatnonzero(by_chance.kept)
    velocity = (dq_rad_s + by_chance.dq_rad_s)[row] if sensors.measure_velocity else None
    return Readings(row, reading[row], velocity)
