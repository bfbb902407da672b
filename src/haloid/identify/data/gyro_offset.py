"""Gyros read an offset that changes with their temperature, 0.01 rad/s and more.

Comes in: a recording with gyros, and its smoothed motion. Goes out: the recording with every gyro's offset taken off.
How fast a link turns follows from the encoders alone, whatever the robot weighs: the offset is the median of what a
gyro reads beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from haloid.engines.sensing.sensors import GyroSensor, Sensor
from haloid.identify.data.usable import Motion
from haloid.recordings.recording import Recording

_ROWS = 1000
"""As many tell an offset to a thirtieth of the noise."""


def without_gyro_offsets(motion: Motion, sensors: Sequence[Sensor], model: mujoco.MjModel) -> Recording:
    recording, extra = motion.recording, {}
    count = len(recording.time_s)
    rows = np.linspace(0, count - 1, min(count, _ROWS)).round().astype(int)
    for gyro in (sensor for sensor in sensors if isinstance(sensor, GyroSensor)):
        turning = gyro.turn_rate(model, motion.smooth_rad[None, rows], motion.velocity_rad_s[None, rows])[0]
        offset = np.median(gyro.measured(recording, ())[rows] - turning, axis=0)
        extra |= {name: recording.extra[name] - value for name, value in zip(gyro.columns, offset, strict=True)}
    return replace(recording, extra=recording.extra | extra) if extra else recording
