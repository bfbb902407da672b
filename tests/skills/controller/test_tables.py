"""The whole controller: shapes, the sign of the feedback, and robots that stay up."""

import dataclasses

import mujoco
import numpy as np
import pytest
from tests.skills.controller.robots import clip, robot_on_floor, tracked_heights_and_distances_m

from haloid.errors import HaloidError
from haloid.robots.description import describe
from haloid.robots.load import load_spec, scalar_joints
from haloid.robots.servos import set_motors
from haloid.skills.controller.estimate import Noise
from haloid.skills.controller.tables import ControllerTables, controller_tables

G1 = describe("g1")


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return robot_on_floor()


@pytest.fixture(scope="module")
def standing(model) -> ControllerTables:
    return controller_tables(model, G1, clip("stand", 0, 101))


def test_shapes_and_names(model, standing):
    assert standing.target_rad.shape == (101, 29)
    assert standing.gain.shape == (101, 29, 93)
    assert standing.joint_names[0] == "left_hip_pitch_joint"
    assert np.isfinite(standing.gain).all() and np.abs(standing.gain).max() < 10


def test_a_robot_that_leans_forward_presses_its_toes_down(standing):
    """Torso pitched forward: the error of rotation about y is negative; the ankles must push the toes down (+)."""
    error = np.zeros(93)
    error[1], error[4] = -0.1, -0.5
    change = standing.gain[50] @ error
    assert change[standing.joint_names.index("left_ankle_pitch_joint")] > 0.02
    assert change[standing.joint_names.index("right_ankle_pitch_joint")] > 0.02


def test_standing_two_seconds_under_noise(model, standing):
    for seed in range(3):
        heights, distances = tracked_heights_and_distances_m(
            model, clip("stand", 0, 101), standing, noise=1.0, seed=seed
        )
        assert distances.max() < 0.05
        assert heights.min() > 0.7


def test_without_feedback_it_falls(model, standing):
    """The feedback is what keeps it up: else the test above could not fail."""
    motion = clip("stand", 0, 101)
    open_loop = dataclasses.replace(standing, gain=np.zeros_like(standing.gain))
    pushed = dataclasses.replace(open_loop, target_rad=open_loop.target_rad + 0.02)
    _, distances = tracked_heights_and_distances_m(model, motion, pushed, noise=0.0)
    assert distances.max() > 0.1


def test_a_squat_stays_within_five_centimetres(model):
    motion = clip("squat", 40, 190)
    assert np.ptp(motion.body_pos_w_m[:, 0, 2]) > 0.1
    _, distances = tracked_heights_and_distances_m(model, motion, controller_tables(model, G1, motion), noise=1.0)
    assert distances.max() < 0.05


def test_tables_of_the_loaded_robot_hold_the_load(model):
    """Five kilograms more on the torso: the knees' targets must carry half of it each, further bent."""
    heavy = mujoco.MjModel.__copy__(model)
    heavy.body_mass[heavy.body("torso_link").id] += 5.0
    mujoco.mj_setConst(heavy, mujoco.MjData(heavy))
    motion = clip("stand", 0, 10)
    light, loaded = controller_tables(model, G1, motion), controller_tables(heavy, G1, motion)
    assert loaded.forces.sole_force_w_n[5, :, 2].sum() - light.forces.sole_force_w_n[5, :, 2].sum() == pytest.approx(
        5 * 9.81, rel=1e-3
    )
    knee = light.joint_names.index("left_knee_joint")
    assert abs(loaded.forces.joint_torque_nm[5, knee]) > abs(light.forces.joint_torque_nm[5, knee]) + 1


def test_a_robot_whose_centre_of_mass_is_aside_stays_where_it_is_told(model):
    """The torso's is 3 cm in front of where the model has it: the controller that expects such things leans less."""
    other = mujoco.MjModel.__copy__(model)
    other.body_ipos[other.body("torso_link").id, 0] += 0.03
    mujoco.mj_setConst(other, mujoco.MjData(other))
    motion = clip("stand", 0, 101)
    last_m = []
    for noise in (Noise(), Noise(offset_nm=0.0)):
        tables = controller_tables(model, G1, motion, noise=noise)
        _, distances = tracked_heights_and_distances_m(other, motion, tables, noise=0.0)
        last_m.append(distances[-25:].mean())
    assert last_m[0] < 0.8 * last_m[1]


def test_a_robot_without_servos_is_refused():
    spec = load_spec("g1")
    set_motors(spec, scalar_joints(spec))
    with pytest.raises(HaloidError, match="needs a floating robot with one position servo"):
        controller_tables(spec.compile(), G1, clip("stand", 0, 10))
