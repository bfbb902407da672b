"""Skills, how well a motion was followed: the errors of the tracking literature and of HALO (Tables III and V).

In: what a run did and the frames it should have been in, row by row at the control rate; row 0 is the start. Out:
numbers by run. Means are over rows 1 … the last one that counts: at the start no policy has acted yet. Body positions
are origins of the tracked links, in the world unless stated otherwise.

| metric | unit | equation |
| --- | --- | --- |
| E_g-mpjpe | mm | mean over rows and bodies of ‖p − p̂‖ |
| E_mpjpe | mm | the same of p − p_root and p̂ − p̂_root (root: the pelvis; its position is taken off, not its rotation) |
| E_acc | mm/frame² | mean of ‖a − â‖, a = p[t+1] − 2p[t] + p[t−1]; at 50 Hz 1 mm/frame² is 2.5 m/s² |
| E_vel | m/s | mean over rows of ‖v − v̂‖ of the root's linear velocity |
| E_fpos | m | greatest difference of forward displacement from the start; forward is the reference's first heading |
| E_epos | m | horizontal difference of the displacement from the start, in the last frame |
| E_ang | ° | difference of the root's heading, in the last frame |

A run fails when its mean body distance exceeds 0.5 m. It then counts up to and including that row; what is measured in
the last frame does not exist for it (NaN).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloid.skills.task.reference import Poses
from haloid.trajectories.rotations import apply_inverse, heading, inverse, multiply

FAILURE_M = 0.5
"""Mean body distance over which a run has failed."""


@dataclass(frozen=True)
class RunMetrics:
    """Of one run; units in the module's table."""

    success: bool
    survival: float
    """Part of the motion before the failure; 1 for a success."""
    e_g_mpjpe_mm: float
    e_mpjpe_mm: float
    e_acc_mm_frame2: float
    e_vel_m_s: float
    e_fpos_m: float
    e_epos_m: float
    e_ang_deg: float


ERRORS = tuple(name for name in RunMetrics.__dataclass_fields__ if name.startswith("e_"))


@dataclass(frozen=True)
class Spread:
    """Of one error over runs."""

    runs: int
    mean: float
    std: float


def run_metrics(run: Poses, frames: Poses, failed_row: int | None) -> RunMetrics:
    """Of (rows, …) poses and the frames they should be in, at least two rows; `failed_row`, if any, is the last that
    counts."""
    steps = len(run) - 1
    counted = np.arange(counted_rows(len(run), failed_row))
    run, frames = run.at(counted), frames.at(counted)
    forward_m, left_m = displacement_error_m(run, frames).T
    end = failed_row is None
    return RunMetrics(
        success=end,
        survival=1.0 if failed_row is None else max(failed_row - 1, 0) / steps,
        e_g_mpjpe_mm=1e3 * float(mean_body_distance_m(run, frames)[1:].mean()),
        e_mpjpe_mm=1e3 * float(np.linalg.norm(_from_root(run) - _from_root(frames), axis=-1)[1:].mean()),
        e_acc_mm_frame2=1e3 * float(np.linalg.norm(_acceleration(run) - _acceleration(frames), axis=-1).mean()),
        e_vel_m_s=float(np.linalg.norm(run.body_lin_vel_w[1:, 0] - frames.body_lin_vel_w[1:, 0], axis=-1).mean()),
        e_fpos_m=float(np.abs(forward_m).max()),
        e_epos_m=float(np.hypot(forward_m[-1], left_m[-1])) if end else np.nan,
        e_ang_deg=float(np.degrees(heading_error_rad(run, frames)[-1])) if end else np.nan,
    )


def mean_body_distance_m(run: Poses, frames: Poses) -> np.ndarray:
    """(rows,) mean over the tracked bodies of their distance from the reference, in the world."""
    return np.linalg.norm(run.body_pos_w - frames.body_pos_w, axis=-1).mean(axis=-1)


def failure_row(run: Poses, frames: Poses) -> int | None:
    """The first row whose mean body distance is over 0.5 m."""
    over = np.flatnonzero(~(mean_body_distance_m(run, frames) <= FAILURE_M))
    return int(over[0]) if over.size else None


def counted_rows(rows: int, failed_row: int | None) -> int:
    """How many rows of a run count: all, or those up to its failure; one step at least."""
    return rows if failed_row is None else max(failed_row, 1) + 1


def displacement_error_m(run: Poses, frames: Poses) -> np.ndarray:
    """(rows, 2) forward and to the left: the root's way from its start minus the reference's from its own."""
    moved = (run.body_pos_w[:, 0] - run.body_pos_w[0, 0]) - (frames.body_pos_w[:, 0] - frames.body_pos_w[0, 0])
    return apply_inverse(heading(frames.body_quat_w[:1, 0]), moved)[:, :2]


def heading_error_rad(run: Poses, frames: Poses) -> np.ndarray:
    """(rows,) in [0, π], of the root."""
    turn = multiply(heading(run.body_quat_w[:, 0]), inverse(heading(frames.body_quat_w[:, 0])))
    return 2 * np.arctan2(np.abs(turn[:, 3]), np.abs(turn[:, 0]))


def spread(values: Sequence[float]) -> Spread | None:
    """Mean and standard deviation over runs; None without runs, or when one of them has no value: a run that failed
    is not silently left out of a mean."""
    if not len(values) or np.isnan(values).any():
        return None
    return Spread(len(values), float(np.mean(values)), float(np.std(values)))


def _from_root(poses: Poses) -> np.ndarray:
    return poses.body_pos_w - poses.body_pos_w[:, :1]


def _acceleration(poses: Poses) -> np.ndarray:
    """(rows − 2, bodies, 3) m/frame²; one row of nothing when a run is too short to have any."""
    if len(poses) < 3:
        return np.zeros((1, *poses.body_pos_w.shape[1:]))
    return np.diff(poses.body_pos_w.astype(float), n=2, axis=0)
