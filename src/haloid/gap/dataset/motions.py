"""Motions of a SimLifter-style dataset: one joint, two joints or all of them move, the others hold.

In: the joints' ranges and a seed. Out: position targets. A moving joint goes from waypoint to waypoint (smoothly, or in
ramps with rests between them) or swings with two sine waves; all within 0.8 of its range and a speed it can follow.
"""

import numpy as np

KINDS = ("single", "pair", "whole")
_RANGE = 0.8
_FASTEST_RAD_S = 2.5
"""A target never moves faster."""


def draw_motion(
    rng: np.random.Generator, kind: str, lower: np.ndarray, upper: np.ndarray, rows: int, dt_s: float
) -> tuple[np.ndarray, np.ndarray]:
    """(rows, n) targets and (n,) which joints move."""
    n = len(lower)
    middle, half = (lower + upper) / 2, _RANGE * (upper - lower) / 2
    half = np.minimum(half, 1.6)
    count = {"single": 1, "pair": 2, "whole": n}[kind]
    moving = np.zeros(n, bool)
    moving[rng.choice(n, min(count, n), replace=False)] = True
    rest = middle + half * rng.uniform(-0.7, 0.7, n)
    time_s = dt_s * np.arange(rows)
    target = np.repeat(rest[None], rows, axis=0)
    for joint in np.flatnonzero(moving):
        style = rng.choice(("waypoints", "ramps", "swing"))
        draw = {"waypoints": _waypoints, "ramps": _ramps, "swing": _swing}[str(style)]
        path = draw(rng, rest[joint], time_s, half[joint] * (0.5 if kind == "whole" else 0.8))
        target[:, joint] = np.clip(path, middle[joint] - half[joint], middle[joint] + half[joint])
    return target, moving


def _marks(rng: np.random.Generator, start: float, time_s: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and places to pass, at a speed that the joint can follow."""
    times, places = [0.0], [start]
    while times[-1] < time_s[-1]:
        step = reach * rng.uniform(-1, 1)
        pause = max(rng.uniform(0.3, 1.2), 1.6 * abs(step) / _FASTEST_RAD_S)
        times.append(times[-1] + pause)
        places.append(float(np.clip(places[-1] + step, start - reach, start + reach)))
    return np.array(times), np.array(places)


def _waypoints(rng: np.random.Generator, start: float, time_s: np.ndarray, reach: float) -> np.ndarray:
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(*_marks(rng, start, time_s, reach))(time_s)


def _ramps(rng: np.random.Generator, start: float, time_s: np.ndarray, reach: float) -> np.ndarray:
    times, places = _marks(rng, start, time_s, reach)
    arrive = times[:-1] + rng.uniform(0.5, 1.0) * np.diff(times)
    order = np.argsort(np.concatenate([times, arrive]), kind="stable")
    knots, reached = np.concatenate([times, arrive])[order], np.concatenate([places, places[1:]])[order]
    return np.interp(time_s, knots, reached)


def _swing(rng: np.random.Generator, start: float, time_s: np.ndarray, reach: float) -> np.ndarray:
    path = np.full(len(time_s), start)
    for share in (0.7, 0.3):
        pulse = 2 * np.pi * rng.uniform(0.15, 1.2)
        size = share * min(reach, _FASTEST_RAD_S / pulse) * rng.uniform(0.5, 1.0)
        path += size * (np.sin(pulse * time_s + (phase := rng.uniform(0, 2 * np.pi))) - np.sin(phase))
    return path
