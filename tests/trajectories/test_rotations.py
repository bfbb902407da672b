"""Rotations of batches, against scipy's."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haloid.trajectories import rotations


@pytest.fixture
def turns() -> tuple[Rotation, Rotation]:
    return Rotation.random(200, np.random.default_rng(1)), Rotation.random(200, np.random.default_rng(2))


def quats(rotation: Rotation) -> np.ndarray:
    return rotation.as_quat(scalar_first=True)


def assert_same_rotation(quat: np.ndarray, expected: Rotation) -> None:
    difference = Rotation.from_quat(quat, scalar_first=True) * expected.inv()
    np.testing.assert_allclose(difference.magnitude(), 0.0, atol=1e-7)


def test_products_inverses_and_turned_vectors(turns):
    a, b = turns
    vectors = np.random.default_rng(3).normal(size=(200, 3))
    assert_same_rotation(rotations.multiply(quats(a), quats(b)), a * b)
    assert_same_rotation(rotations.inverse(quats(a)), a.inv())
    np.testing.assert_allclose(rotations.apply(quats(a), vectors), a.apply(vectors), atol=1e-12)
    np.testing.assert_allclose(rotations.apply_inverse(quats(a), vectors), a.inv().apply(vectors), atol=1e-12)


def test_two_columns_are_the_matrix_without_its_last_column(turns):
    matrices = turns[0].as_matrix()
    np.testing.assert_allclose(rotations.two_columns(quats(turns[0])), matrices[:, :, :2].reshape(-1, 6), atol=1e-12)


def test_the_angle_between_is_the_shorter_way(turns):
    a, b = turns
    expected = (a * b.inv()).magnitude()
    np.testing.assert_allclose(rotations.angle_between(quats(a), quats(b)), expected, atol=1e-7)
    np.testing.assert_allclose(rotations.angle_between(quats(a), -quats(b)), expected, atol=1e-7)


def test_heading_is_the_yaw_of_roll_pitch_yaw(turns):
    yaw = turns[0].as_euler("xyz")[:, 2:]  # lower case: about fixed axes, so Rz·Ry·Rx
    assert_same_rotation(rotations.heading(quats(turns[0])), Rotation.from_euler("z", yaw))


def test_roll_pitch_yaw():
    angles = np.random.default_rng(4).uniform(-3, 3, (200, 3))
    assert_same_rotation(rotations.from_roll_pitch_yaw(angles), Rotation.from_euler("xyz", angles))


def test_axes_of_bodies_broadcast_and_single_precision_stays(turns):
    one, many = quats(turns[0])[:5, None].astype(np.float32), quats(turns[1])[:70].reshape(5, 14, 4).astype(np.float32)
    product = rotations.multiply(one, many)
    assert product.shape == (5, 14, 4)
    assert product.dtype == rotations.two_columns(product).dtype == rotations.inverse(product).dtype == np.float32
    np.testing.assert_array_equal(product[3, 7], rotations.multiply(one[3, 0], many[3, 7]))
