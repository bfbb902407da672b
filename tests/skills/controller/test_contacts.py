"""The support of a motion: hysteresis, ramps, and a foot that is lifted and put down."""

import mujoco
import numpy as np
import pytest
from tests.skills.controller.robots import robot_on_floor, standing_qpos

from haloid.errors import HaloidError
from haloid.skills.controller.contacts import ramped, sole_contacts, sole_spheres, with_hysteresis
from haloid.trajectories.mujoco_states import ModelStates


def test_hysteresis_holds_between_its_thresholds():
    begins = np.array([[0], [1], [0], [0], [0], [1]], dtype=bool)
    stays = np.array([[0], [1], [1], [0], [1], [1]], dtype=bool)
    assert with_hysteresis(begins, stays)[:, 0].tolist() == [False, True, True, False, False, True]


def test_ramps_lie_within_the_rest():
    resting = np.array([0, 1, 1, 1, 1, 1, 1, 1, 0], dtype=bool)[:, None]
    assert ramped(resting, 4)[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0]
    assert ramped(np.ones((3, 1), dtype=bool), 4)[:, 0].tolist() == [1, 1, 1]


def test_a_robot_that_is_lifted_leaves_the_floor_and_returns():
    model = robot_on_floor()
    qpos = np.tile(standing_qpos(model), (100, 1))
    qpos[30:70, 2] += 0.1 * np.sin(np.linspace(0, np.pi, 40))
    contacts = sole_contacts(model, ModelStates(0.02, qpos, np.zeros((100, model.nv))))
    assert contacts.weight.shape == (100, 8)
    assert contacts.resting[:29].all() and contacts.resting[72:].all()
    assert not contacts.resting[36:64].any()


def test_a_model_without_spheres_is_refused():
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>")
    with pytest.raises(HaloidError, match="no colliding spheres; the controller expects soles of spheres"):
        sole_spheres(model)
