"""Delta, how targets move the simulator: f about recorded states and actions, by batched differences.

In: real data, rows, the simulator. Out: for each row, in tangent coordinates (nv of pose, nv of velocity; the root's
place in world axes, its turn in its own axes, as MuJoCo's `mj_differentiatePos` has them),

    gap = f(s, a) ⊖ s',      B = ∂f/∂a,

s, s' recorded in the row and the next, a the recorded target: told a + Δ, the simulator is off by gap + B·Δ to first
order. Every column of B is one more control step of the whole batch in MuJoCo's C code. (∂f/∂s is of little use: near
feet on a stiff floor its products over a second grow beyond 10⁵.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haloid.gap.replays.data import RealData
from haloid.gap.replays.simulator import Simulator, States
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.rotations import inverse, multiply

TARGET_STEP = 0.02
"""rad"""
BATCH = 512
DIVERGED = 1e4
"""No difference of sound simulations is as large; NaN is not below it either."""


@dataclass(frozen=True)
class Linearised:
    rows: np.ndarray
    """(N,) of the real data."""
    gap: np.ndarray
    """(N, 2 nv)"""
    b: np.ndarray
    """(N, 2 nv, joints)"""


def linearise(
    robot: TrackedRobot,
    data: RealData,
    rows: np.ndarray,
    *,
    joints: np.ndarray,
    threads: int = 0,
    say: Callable[[str], None] = lambda detail: None,
) -> Linearised:
    """About the transitions that begin in `rows`; B has a column for each of `joints`. Rows from which the simulator
    diverges are left out."""
    simulator = Simulator(robot, min(BATCH, len(rows)), threads)
    states = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows])
    target_rad, nv = data.target_rad[rows], robot.model.nv
    base = simulator.after(states, target_rad)
    gap = difference(*base, data.qpos[rows + 1], data.qvel[rows + 1])
    b = np.empty((len(rows), 2 * nv, len(joints)), dtype=np.float32)
    for column, joint in enumerate(joints):
        say(f"column {column + 1} of {len(joints)}")
        told = target_rad.copy()
        told[:, joint] += TARGET_STEP
        b[:, :, column] = difference(*simulator.after(states, told), *base) / TARGET_STEP
    parts = [gap, b.reshape(len(rows), -1)]
    sound = np.all([(np.abs(part) < DIVERGED).all(axis=1) for part in parts], axis=0)
    return Linearised(rows[sound], gap[sound].astype(np.float32), b[sound])


def difference(qpos: np.ndarray, qvel: np.ndarray, from_qpos: np.ndarray, from_qvel: np.ndarray) -> np.ndarray:
    """(N, 2 nv) one state minus another, in tangent coordinates at the other."""
    turn = multiply(inverse(from_qpos[:, 3:7]), qpos[:, 3:7])
    turn = np.where(turn[:, :1] < 0, -turn, turn)
    sine = np.linalg.norm(turn[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(sine, turn[:, :1])
    rotation = np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0) * turn[:, 1:]
    place, joints = qpos[:, :3] - from_qpos[:, :3], qpos[:, 7:] - from_qpos[:, 7:]
    return np.concatenate([place, rotation, joints, qvel - from_qvel], axis=1)
