"""Deliveries are what the benchmark says they are, and offsets are counted where and as it says."""

import mujoco
import numpy as np
import pytest

from haloid.bench.operator.delivery import COLUMNS, draw_delivery, hand_places, held_rows, outcome
from haloid.gap.crowd import BaseModels, payload_links
from haloid.gap.dataset.generate import arms_base
from haloid.gap.dataset.twin import MOST_SHARE, Twins
from haloid.lab.motors.wear import Wear
from haloid.robots.load import load_spec


@pytest.fixture(scope="module")
def path() -> np.ndarray:
    return draw_delivery(np.random.default_rng(3), Twins(arms_base(), Wear()), BaseModels(arms_base()), 3.0, 50.0)


def test_a_delivery_holds_twice_and_can_be_borne(path: np.ndarray):
    held = held_rows(len(path), 50.0)
    assert held.sum() == 40 and held[-1] and not held[:130].any()
    assert np.abs(np.diff(path, axis=0))[held[1:]].max() == 0
    assert np.abs(np.diff(path, axis=0)).max() * 50 < 2.5
    first, second = path[held][0], path[held][-1]
    assert np.abs(first - path[0]).max() > 0.3 and np.abs(second - first).max() > 0.3
    assert Twins(arms_base(), Wear()).torque_share(BaseModels(arms_base()), path, 3.0, 50.0) <= MOST_SHARE


def test_places_are_those_of_the_robots_own_file(path: np.ndarray):
    base = arms_base()
    few = path[::100]
    found = hand_places(base)(few[None])[0]
    model = load_spec(base.robot).compile()
    data = mujoco.MjData(model)
    left, right = payload_links(base.robot)
    for q_rad, mine in zip(few, found, strict=True):
        for name, value in zip(base.joint_names, q_rad, strict=True):
            data.joint(name).qpos[0] = value
        mujoco.mj_forward(model, data)
        apart = data.body(left).xipos - data.body(right).xipos  # wherever the pelvis is held
        np.testing.assert_allclose(mine[:3] - mine[3:], apart, atol=1e-9)
    assert np.ptp(found, axis=0).min() > 0.01


def test_offsets_are_judged_at_the_largest_payload_on_every_axis():
    payload = np.array([0.0, 3.0])
    offsets = {name: np.full((2, 6), 0.02) for name in COLUMNS}
    offsets["operator"] = np.array([[0.02] * 6, [0.004, 0.004, 0.01] * 2])
    found = outcome(payload, offsets)
    assert found.headline["operator_x_over_command"] == pytest.approx(0.2)
    met = {str(target): target.met for target in found.targets}
    operator = [words for words in met if "operator" in words]
    assert [met[words] for words in operator] == [True, True, False]
    assert found.rows[0] == {"payload_kg": 0.0, "command": "command", "x_cm": 2.0, "y_cm": 2.0, "z_cm": 2.0}
