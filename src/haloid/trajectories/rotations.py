"""Arithmetic of rotations, whole batches at once: quaternions wxyz in the last axis, in the arrays' own precision."""

import numpy as np


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a ∘ b: first b, then a."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    product = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=np.result_type(a, b))
    product[..., 0] = aw * bw - ax * bx - ay * by - az * bz
    product[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    product[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    product[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return product


def inverse(quat: np.ndarray) -> np.ndarray:
    """Of a unit quaternion."""
    return quat * np.array([1, -1, -1, -1], dtype=quat.dtype)


def apply(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The vector, turned: v + 2w(u×v) + 2u×(u×v)."""
    w, u = quat[..., :1], quat[..., 1:]
    cross = 2 * _cross(u, vector)
    return vector + w * cross + _cross(u, cross)


def apply_inverse(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The vector, turned back: world axes to the body's own."""
    return apply(inverse(quat), vector)


def two_columns(quat: np.ndarray) -> np.ndarray:
    """(…, 6) the first two columns of the rotation matrix, row by row, as mjlab observes orientations."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    columns = np.empty((*quat.shape[:-1], 6), dtype=quat.dtype)
    columns[..., 0], columns[..., 1] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z)
    columns[..., 2], columns[..., 3] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z)
    columns[..., 4], columns[..., 5] = 2 * (x * z - w * y), 2 * (y * z + w * x)
    return columns


def angle_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(…) rad, the angle θ of the rotation from one unit quaternion to the other, in [0, π].

    They are 2·sin(θ/4) apart, or one and the other's opposite are; unlike arccos(a·b) it is exact for small angles.
    """
    apart, from_opposite = (np.einsum("...i,...i->...", gap, gap) for gap in (a - b, a + b))
    return 4 * np.arcsin(np.sqrt(np.minimum(apart, from_opposite)) / 2)


def heading(quat: np.ndarray) -> np.ndarray:
    """The rotation about the vertical alone: yaw of the roll-pitch-yaw angles."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    half = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) / 2
    turned = np.zeros_like(quat)
    turned[..., 0], turned[..., 3] = np.cos(half), np.sin(half)
    return turned


def from_roll_pitch_yaw(angles: np.ndarray) -> np.ndarray:
    """Rz(yaw)·Ry(pitch)·Rx(roll) of (…, 3) radians."""
    cr, cp, cy = np.moveaxis(np.cos(angles / 2), -1, 0)
    sr, sp, sy = np.moveaxis(np.sin(angles / 2), -1, 0)
    quat = [cy * cr * cp + sy * sr * sp, cy * sr * cp - sy * cr * sp]
    quat += [cy * cr * sp + sy * sr * cp, sy * cr * cp - cy * sr * sp]
    return np.stack(quat, axis=-1)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """np.cross without its checks, which cost more than the products here."""
    ax, ay, az = np.moveaxis(a, -1, 0)
    bx, by, bz = np.moveaxis(b, -1, 0)
    product = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=np.result_type(a, b))
    product[..., 0], product[..., 1], product[..., 2] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return product
