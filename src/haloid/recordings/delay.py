"""Command delay: what a servo sees of the recorded targets, step by step of the simulation.

In: rows of inputs, each held until the next row. Out: one row per simulation step. The lab robot applies these inputs
and the identification models them, so both mean the same thing by "delay".
"""

from typing import Literal

import numpy as np

from haloid.errors import HaloidError


def substeps_per_row(control_dt_s: float, timestep_s: float) -> int:
    """How many simulation steps one control period takes; it must be a whole number."""
    substeps = round(control_dt_s / timestep_s)
    if substeps < 1 or abs(substeps * timestep_s - control_dt_s) > 1e-6 * control_dt_s:
        raise HaloidError(
            f"a control period of {control_dt_s:g} s is {control_dt_s / timestep_s:g} simulation steps of "
            f"{timestep_s:g} s; expected a whole number. Choose a timestep that divides the control period, "
            f"such as {control_dt_s / max(substeps, 1):g} s"
        )
    return substeps


def delayed_inputs(inputs: np.ndarray, delay_s: float, control_dt_s: float, timestep_s: float) -> np.ndarray:
    """Inputs `(T, n)` per control row, `delay_s` late, as `(T * substeps, n)` per simulation step.

    The input signal u(t) holds row k over [t_k, t_k+1) and the first row before the start. A step over
    [t, t + h] applies the mean of u(s - delay) over it: a delay of (m + f)·h, 0 <= f < 1, is
    (1 - f)·u[j - m] + f·u[j - m - 1], continuous and piecewise linear in the delay. A negative delay is a log that
    reports late what had already acted, as filtered currents do; the last row is held after the end.
    """
    held = np.repeat(inputs, substeps_per_row(control_dt_s, timestep_s), axis=0)
    whole_steps = int(np.floor(delay_s / timestep_s))
    fraction = delay_s / timestep_s - whole_steps
    newer = np.arange(len(held)) - whole_steps
    older = newer - 1
    newer, older = (np.clip(rows, 0, len(held) - 1) for rows in (newer, older))
    return (1.0 - fraction) * held[newer] + fraction * held[older]


def held_mean(edges_s: np.ndarray, time_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mean between successive edges of the signal that holds `values[i]` from `time_s[i]` on, the first one before."""
    integral = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(values[:-1] * np.diff(time_s)[:, None], axis=0)])
    last = _held_index(edges_s, time_s, side="right")
    up_to = integral[last] + values[last] * (edges_s - time_s[last])[:, None]
    mean = np.diff(up_to, axis=0) / np.diff(edges_s)[:, None]
    unchanged = last[1:] == last[:-1]
    mean[unchanged] = values[last[:-1][unchanged]]
    return mean


def held_mean_slope(edges_s: np.ndarray, time_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Derivative of `held_mean` by a delay of the signal: what it loses at the end less what it gains at the start."""
    just_before = values[_held_index(edges_s, time_s, side="left")]
    return -np.diff(just_before, axis=0) / np.diff(edges_s)[:, None]


def _held_index(edges_s: np.ndarray, time_s: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    return np.clip(np.searchsorted(time_s, edges_s, side=side) - 1, 0, len(time_s) - 1)
