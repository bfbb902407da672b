"""Parameters that are known are found in rollouts: a heavier hand, a weaker servo, a joint that rubs."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mjbatch")

from tests.gap.delta.known_gap import recorded_with

from haloid.gap.delta.networks import joint_terms
from haloid.gap.sysid.grid import grid_search
from haloid.gap.sysid.parameters import Parameters, links_of, no_change, with_parameters
from haloid.gap.sysid.rollouts import errors_mm, identify_rollouts


@pytest.fixture(scope="module")
def truth(robot) -> Parameters:
    own = no_change(robot).own.copy()
    own[robot.joint_names.index("left_knee_joint"), 0] = np.log(0.9)
    own[robot.joint_names.index("right_elbow_joint"), 3] = 0.4
    return Parameters(own, np.array([0.0, 0.6, 0.0]), np.zeros(3))


@pytest.fixture(scope="module")
def data(robot, truth):
    return recorded_with(joint_terms(robot), with_parameters(robot, truth))


def test_known_parameters_are_found(robot, truth, data):
    assert links_of(robot)[1] == "left_wrist_yaw_link"
    found = identify_rollouts(robot, data, windows=16, passes=1, threads=1)
    knee, elbow = (robot.joint_names.index(name) for name in ("left_knee_joint", "right_elbow_joint"))
    assert found.own[knee, 0] == pytest.approx(np.log(0.9), abs=0.03)
    assert found.own[elbow, 3] == pytest.approx(0.4, abs=0.25)
    assert found.masses_kg[1] == pytest.approx(0.6, abs=0.15)
    firsts = data.windows(10, stride=5)[:12]
    before, after, exact = errors_mm(robot, [no_change(robot), found, truth], data, firsts, 10, 1)
    assert exact < 0.01
    assert after < 0.3 * before


def test_the_grid_takes_the_nearest_of_its_points(robot, data):
    found = grid_search(robot, data, windows=6, threads=1)
    assert found.own[robot.joint_names.index("left_knee_joint"), 0] == pytest.approx(np.log(0.95))
    assert not found.own[:, 2:].any()


def test_no_change_is_the_model(robot):
    same = with_parameters(robot, no_change(robot)).model
    assert np.array_equal(same.actuator_gainprm, robot.model.actuator_gainprm)
    assert np.array_equal(same.body_mass, robot.model.body_mass)
