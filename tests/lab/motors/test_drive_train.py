"""The drive train without wear is the ideal servo; worn ones differ from it, and from each other."""

import numpy as np
import pytest

from haloid.lab.motors.wear import Wear, worn_motors

KP, KD, EFFORT = np.array([100.0, 60.0]), np.array([4.0, 2.0]), np.array([40.0, 18.0])
NONE = Wear(
    coulomb_share=0,
    viscous_share=0,
    loss_at_limit=0,
    rub=0,
    stiffness_loss=0,
    backlash_rad=0,
    delay_s=0,
    battery_ohm=0,
    torque_drop_per_k=0,
)


def settle(wear: Wear | None, load_nm: float, seeds: tuple[int, ...] = (1,), seconds: float = 1.0) -> np.ndarray:
    """Where two joints of 0.3 kg·m² come to rest, whose target is 0.2 rad and which carry a load."""
    train = worn_motors(KP, KD, EFFORT, 0.001, wear=wear, seeds=seeds)
    q, dq, target = np.zeros((len(seeds), 2)), np.zeros((len(seeds), 2)), np.full((len(seeds), 2), 0.2)
    train.reset(target)
    for _ in range(round(seconds / 0.001)):
        dq = dq + 0.001 * (train.torque_nm(target, q, dq) - load_nm) / 0.3
        q = q + 0.001 * dq
    return q


def test_without_wear_it_is_a_servo():
    train = worn_motors(KP, KD, EFFORT, 0.001, wear=NONE)
    train.reset(np.zeros((1, 2)))
    torque = train.torque_nm(np.array([[0.1, 5.0]]), np.array([[0.05, 0.0]]), np.array([[0.2, 0.0]]))
    np.testing.assert_allclose(torque, [[100 * 0.05 - 4 * 0.2, 18.0]], atol=1e-6)
    np.testing.assert_allclose(settle(NONE, 5.0, seconds=3.0), [[0.2 - 5 / 100, 0.2 - 5 / 60]], atol=1e-4)


def test_a_worn_joint_hangs_lower_and_the_more_so_under_load():
    smooth = Wear(coulomb_share=0, rub=0)
    light, heavy = (settle(smooth, load, seconds=3.0) - settle(NONE, load, seconds=3.0) for load in (2.0, 8.0))
    assert (light < 0).all() and (heavy < 4 * light).all()


def test_a_seed_is_a_robot():
    both = settle(Wear(), 5.0, seeds=(1, 2))
    np.testing.assert_array_equal(settle(Wear(), 5.0, seeds=(1,))[0], both[0])
    assert np.abs(both[0] - both[1]).min() > 1e-4


@pytest.mark.parametrize("h_s", [0.001, 0.002])
def test_the_servo_of_a_light_joint_comes_to_rest(h_s: float):
    train = worn_motors(np.array([80.0]), np.array([1.0]), np.array([18.0]), h_s, seeds=(1,))
    q, dq, target = np.zeros((1, 1)), np.zeros((1, 1)), np.full((1, 1), 0.3)
    train.reset(target)
    for _ in range(round(3.0 / h_s)):
        dq = dq + h_s * train.torque_nm(target, q, dq) / 0.005
        q = q + h_s * dq
    assert abs(dq[0, 0]) < 0.02 and abs(q[0, 0] - 0.3) < 0.02
