"""The baseline to beat: haloid's own calibration on the same pairs, payloads included.

In: pairs. Out: a patch of the robot's servos (gains, damping, friction, armature, effort, delay by joint), fitted one
joint at a time to the real sides. What each hand carried is in the model, as it is in the simulator that is corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from haloid.engines.simulate import Simulator
from haloid.gap.crowd import Base, loaded
from haloid.gap.dataset.pairs import Pair
from haloid.identify.calibration.calibrate import servo_patch
from haloid.identify.calibration.fit import Say, fit_servos
from haloid.identify.calibration.lone_joint import Windows, cut_windows
from haloid.robots.patch import Patch

_WINDOW_S, _FEW = 30.0, 24


def fit_parameters(base: Base, pairs: Sequence[Pair], say: Say | None = None) -> Patch:
    """The servos that explain the pairs best."""
    spec = base.spec()
    windows = []
    for payload in sorted({pair.payload_kg for pair in pairs}):
        simulator = Simulator(loaded(spec, base.robot, payload), float(spec.option.timestep))
        recordings = [pair.recording(base) for pair in pairs if pair.payload_kg == payload]
        windows.append(cut_windows(recordings, simulator, _WINDOW_S))
    whole = _joined(windows)
    kp = np.array([base.gains.kp[name] for name in whole.joint_names])
    limit, rotor = simulator.effort_limit, simulator.nominal.armature
    fit = fit_servos(whole, whole.livelier(_FEW), limit, rotor, kp, say=say)
    return servo_patch(base.robot, fit, whole.timestep_s)


def _joined(windows: Sequence[Windows]) -> Windows:
    """All windows as one, the shorter ones padded as their own are."""
    longest = max(one.valid.shape[1] for one in windows)
    first = windows[0]
    parts = {}
    for name in (field.name for field in fields(Windows)):
        if isinstance(getattr(first, name), np.ndarray):
            parts[name] = np.concatenate([_padded(one, name, longest) for one in windows])
    return replace(first, **parts)


def _padded(one: Windows, name: str, rows: int) -> np.ndarray:
    values = getattr(one, name)
    missing = rows - one.valid.shape[1]
    if not missing or values.ndim < 2 or name in ("q0_rad", "v0_rad_s"):
        return values
    fill = values[:, -1:] if name in ("target_rad", "inertia") else np.zeros_like(values[:, -1:])
    return np.concatenate([values, np.repeat(fill, missing, axis=1)], axis=1)
