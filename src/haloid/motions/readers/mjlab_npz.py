"""Motions, reading: the npz of haloid, mjlab and BeyondMimic.

In: arrays `fps`, `joint_pos`, `body_pos_w`, `body_quat_w` (wxyz), the first body being the root. Out: a trajectory.
haloid's files name their joints and bodies. mjlab's and BeyondMimic's do not, and have the same keys in different
orders: mjlab's are in the MJCF's, BeyondMimic's in Isaac Lab's, so the order must be given. The bodies' positions
tell which of the two it is: an order that contradicts them is refused.
"""

from pathlib import Path
from typing import get_args

import mujoco
import numpy as np

from haloid.motions.errors import MotionFileError
from haloid.motions.readers.joint_order import Order, names_of_columns
from haloid.recordings.errors import Origin
from haloid.recordings.files.npz_table import read_npz_arrays
from haloid.trajectories.mujoco_states import floating_root
from haloid.trajectories.trajectory import FloatingTrajectory

REQUIRED = ("fps", "joint_pos", "body_pos_w", "body_quat_w")
ORDER_TOLERANCE_M = 0.02
"""The mean distance of bodies up to which an order fits: models of the same robot differ by less."""
COMPARED_FRAMES = 20


def read_mjlab_npz(
    path: Path, model: mujoco.MjModel, order: Order | None = None, fps: float | None = None
) -> FloatingTrajectory:
    arrays = read_npz_arrays(path, Origin(str(path), str(path)))
    missing = [name for name in REQUIRED if name not in arrays]
    if missing:
        raise MotionFileError(
            path,
            found=f"no array {', '.join(missing)}; the file has {', '.join(arrays) or 'none'}",
            expected=f"a motion's npz with {', '.join(REQUIRED)}",
            next_step="Make one with haloid motions convert, or mjlab's csv_to_npz.",
        )
    joint_pos_rad, body_pos_w_m, body_quat_wxyz = (np.asarray(arrays[key], dtype=float) for key in REQUIRED[1:])
    _check_shapes(path, arrays["fps"], joint_pos_rad, body_pos_w_m, body_quat_wxyz)
    root_column, names = 0, _names_inside(path, arrays, joint_pos_rad.shape[1])
    if names is None:
        names = _names_by_order(path, model, order, joint_pos_rad, body_pos_w_m, body_quat_wxyz)
    elif "body_names" in arrays:
        root_name, body_names = model.body(floating_root(model)).name, list(map(str, arrays["body_names"]))
        root_column = body_names.index(root_name) if root_name in body_names else 0
    return FloatingTrajectory(
        rate_hz=float(np.ravel(arrays["fps"])[0]) if fps is None else fps,
        joint_names=names,
        root_pos_w_m=body_pos_w_m[:, root_column],
        root_quat_wxyz=body_quat_wxyz[:, root_column],
        joint_pos_rad=joint_pos_rad,
    )


def _check_shapes(path: Path, fps: np.ndarray, joints: np.ndarray, positions: np.ndarray, quats: np.ndarray) -> None:
    frames, bodies = len(joints) if joints.ndim else 0, positions.shape[1] if positions.ndim > 1 else 0
    fits = joints.ndim == 2 and positions.shape == (frames, bodies, 3) and quats.shape == (frames, bodies, 4)
    if not fits or bodies == 0 or fps.size != 1 or fps.dtype.kind not in "fiu" or not 0 < fps.item() < np.inf:
        shapes = f"joint_pos {joints.shape}, body_pos_w {positions.shape}, body_quat_w {quats.shape}"
        raise MotionFileError(
            path,
            found=f"fps {np.ravel(fps)[:3]}, {shapes}",
            expected="one fps above 0, and arrays of shape (T, joints), (T, bodies, 3) and (T, bodies, 4)",
            next_step="Write the file again with haloid motions convert.",
        )


def _names_inside(path: Path, arrays: dict[str, np.ndarray], count: int) -> tuple[str, ...] | None:
    if "joint_names" not in arrays:
        return None
    names = tuple(str(name) for name in np.ravel(arrays["joint_names"]))
    if len(names) != count or len(set(names)) != count:
        raise MotionFileError(
            path,
            found=f"{len(names)} joint_names ({len(set(names))} different) for {count} columns of joint_pos",
            expected="one name per column",
            next_step="Write the file again with haloid motions convert.",
        )
    return names


def _names_by_order(
    path: Path,
    model: mujoco.MjModel,
    order: Order | None,
    joint_pos_rad: np.ndarray,
    body_pos_w_m: np.ndarray,
    body_quat_wxyz: np.ndarray,
) -> tuple[str, ...]:
    """By the order given, if the bodies do not contradict it; without one, the error that asks for it."""
    by_order = {name: names_of_columns(joint_pos_rad.shape[1], model, name) for name in get_args(Order)}
    if by_order["mjcf"] is None:
        raise MotionFileError(
            path,
            found=f"{joint_pos_rad.shape[1]} joints without names",
            expected="29, 23 or as many as the robot has",
            next_step="Give the robot's model with --robot.",
        )
    errors_m = {
        name: _mean_body_distance_m(model, names, joint_pos_rad, body_pos_w_m, body_quat_wxyz)
        for name, names in by_order.items()
        if names is not None
    }
    fitting = [name for name, error_m in errors_m.items() if error_m < ORDER_TOLERANCE_M]
    hint = f" Its bodies fit the order {fitting[0]}: --order {fitting[0]}." if len(fitting) == 1 else ""
    if order is None:
        raise MotionFileError(
            path,
            found="the file does not name its joints",
            expected="the order they are in: mjcf (files of mjlab) or isaac (files of BeyondMimic)",
            next_step=f"Give it with --order.{hint}",
        )
    names = by_order[order]
    if names is None or (len(fitting) == 1 and fitting[0] != order):
        raise MotionFileError(
            path,
            found=f"in the order {order} the joints do not put the bodies where the file has them",
            expected="joints and bodies of the same pose",
            next_step=hint.strip() or "Give the robot's model with --robot.",
        )
    return names


def _mean_body_distance_m(
    model: mujoco.MjModel,
    names: tuple[str, ...],
    joint_pos_rad: np.ndarray,
    body_pos_w_m: np.ndarray,
    body_quat_wxyz: np.ndarray,
) -> float:
    """How far the file's bodies are from where its joints put the robot's, whatever the order of the bodies.

    Each body of the robot that a joint moves is compared with the nearest of the file's: the bodies
    are in an order of their own, and the right joints leave no distance at all.
    """
    known = [(column, model.joint(name)) for column, name in enumerate(names) if name in _joint_names(model)]
    root_id, data = floating_root(model), mujoco.MjData(model)
    start = model.jnt_qposadr[model.body_jntadr[root_id]]
    moved = [joint.bodyid[0] for _, joint in known]
    distances = []
    for row in np.linspace(0, len(joint_pos_rad) - 1, min(COMPARED_FRAMES, len(joint_pos_rad)), dtype=int):
        data.qpos[start : start + 3] = body_pos_w_m[row, 0]
        data.qpos[start + 3 : start + 7] = body_quat_wxyz[row, 0]
        for column, joint in known:
            data.qpos[joint.qposadr[0]] = joint_pos_rad[row, column]
        mujoco.mj_kinematics(model, data)
        between = np.linalg.norm(data.xpos[moved][:, None] - body_pos_w_m[row][None], axis=2)
        distances.append(between.min(axis=1).mean())
    return float(np.mean(distances))


def _joint_names(model: mujoco.MjModel) -> set[str]:
    return {model.joint(row).name for row in range(model.njnt)}
