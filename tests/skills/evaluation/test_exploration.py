"""The exploration policy: a clamped robot in training, and its policy in the loop with the lab robot."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjbatch")
pytest.importorskip("onnxruntime")

import torch
from tests.skills.small_policies import untrained_policy

from haloid.errors import HaloidError
from haloid.lab.closed_loop import Senses
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.motions.load import load_motion
from haloid.motions.own.exploration import excitation
from haloid.motions.own.keyframes import Stand
from haloid.robots.description import describe
from haloid.robots.load import load_spec
from haloid.robots.servos import Gains
from haloid.skills.controller.contacts import SoleContacts, sole_contacts, sole_spheres
from haloid.skills.controller.inverse_dynamics import put_in_the_middle, reference_forces
from haloid.skills.evaluation.exploration import lab_policy
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.task.clamped import Clamp, clamp_of_motion
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.randomisation import RANDOMISATIONS, middle_of
from haloid.skills.task.reference import Reference, reference_of
from haloid.skills.task.robot import TrackedRobot, tracked_robot
from haloid.trajectories.motion import Motion, motion_of
from haloid.trajectories.mujoco_states import states_of

LEFT, IMU = "left_ankle_roll_link", "imu_in_pelvis"


@pytest.fixture(scope="module")
def motion() -> Motion:
    return motion_of(excitation(Stand(describe("g1"), load_spec("g1").compile()), duration_s=3.0))


@pytest.fixture(scope="module")
def clamp(motion) -> Clamp:
    return clamp_of_motion(LEFT, motion)


@pytest.fixture(scope="module")
def robot(clamp) -> TrackedRobot:
    return tracked_robot("g1", clamp=clamp)


@pytest.fixture(scope="module")
def policy(robot, motion, tmp_path_factory) -> DeployedPolicy:
    """The model-based controller alone."""
    path = tmp_path_factory.mktemp("explore") / "policy.onnx"
    export_onnx(untrained_policy(robot, [motion], ["excitation"], "controller"), path)
    return DeployedPolicy(path)


def lab_robot(policy: DeployedPolicy) -> LabRobot:
    facts = policy.facts
    kp, kd = (dict(zip(facts.joint_names, gain.tolist(), strict=True)) for gain in (facts.kp, facts.kd))
    return LabRobot(support="double", gains=Gains(kp, kd))


def environment(robot: TrackedRobot, reference: Reference, **difficulty: float) -> TrackingEnvironment:
    config = EnvironmentConfig(robots=16, threads=1, randomisation=RANDOMISATIONS["wide"], restart=False)
    world = TrackingEnvironment(robot, reference, config)
    world.difficulty = Difficulty(**difficulty)
    return world


def test_the_excitation_stands_on_two_still_flat_feet(motion):
    for foot in (LEFT, "right_ankle_roll_link"):
        row = motion.body_names.index(foot)
        assert np.ptp(motion.body_pos_w_m[:, row], axis=0).max() < 1e-6
        np.testing.assert_allclose(np.abs(motion.body_quat_wxyz[:, row, 0]), 1.0, atol=1e-6)
    model = tracked_robot("g1").model
    contacts = sole_contacts(model, states_of(model, motion.trajectory))
    assert contacts.resting.all() and not contacts.held.any()
    moved = np.ptp(motion.joint_pos_rad, axis=0)
    assert np.median(moved[12:]) > 0.3


def test_a_clamped_foot_stays_whatever_happens(robot, motion, clamp):
    world = environment(robot, reference_of(robot, [motion]), reset=1.0, push=1.0)
    foot = robot.description.tracked_links.index(LEFT)

    def off() -> tuple[float, float]:
        poses = world.poses()
        turn = np.abs(poses.body_quat_w[:, foot] @ clamp.quat_wxyz)
        return float(np.abs(poses.body_pos_w[:, foot] - clamp.pos_w_m).max()), float(
            2 * np.arccos(turn.min().clip(0, 1))
        )

    world.reset(np.arange(16), np.zeros(16, dtype=int))
    assert off()[0] < 1e-5 and off()[1] < 2e-3
    spread = np.ptp(world.poses().body_pos_w[:, 0], axis=0)
    assert spread.max() > 0.01  # starts differ all the same
    for _ in range(60):
        world.step(np.random.default_rng(0).normal(size=(16, 29)))
        assert off()[0] < 0.02 and off()[1] < 0.1


def test_a_clamp_bears_what_a_standing_foot_cannot(robot, motion):
    """The whole weight held up by one clamped foot far from under it: by hand, force and moment of statics."""
    model = robot.model
    states = states_of(model, motion.trajectory)
    spheres = sole_spheres(model)
    held = model.geom_bodyid[spheres] == model.body(LEFT).id
    only_clamp = SoleContacts(spheres, np.tile(held * 1.0, (len(states), 1)), np.tile(held, (len(states), 1)), held)
    forces = reference_forces(model, replace(states, qvel=0 * states.qvel), only_clamp)
    force = forces.sole_force_w_n[1]
    np.testing.assert_allclose(force.sum(axis=0), [0, 0, 9.81 * model.body_mass.sum()], atol=1.0)
    data = mujoco.MjData(model)
    put_in_the_middle(model, data, states, 1)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    soles_w_m = data.geom_xpos[spheres] - [0, 0, 1] * model.geom_size[spheres, :1]
    moment_nm = np.cross(soles_w_m - data.subtree_com[0], force).sum(axis=0)
    np.testing.assert_allclose(moment_nm, 0.0, atol=1.0)
    assert force[held, 2].min() < -50.0


def test_the_middle_of_table_1():
    robot = tracked_robot("g1")
    middle = middle_of(robot, RANDOMISATIONS["wide"])
    added_kg = middle.body_mass - robot.model.body_mass
    by_link = {robot.model.body(int(row)).name: float(added_kg[row]) for row in np.flatnonzero(added_kg)}
    assert by_link == pytest.approx({"torso_link": 5.0, "left_wrist_yaw_link": 2.5, "right_wrist_yaw_link": 2.5})
    np.testing.assert_array_equal(middle.body_ipos, robot.model.body_ipos)
    assert middle.body_subtreemass[1] == pytest.approx(robot.model.body_subtreemass[1] + 10.0)


def test_motions_that_move_the_foot_are_refused(motion):
    with pytest.raises(
        HaloidError, match=f"{LEFT} is to be clamped and the motion moves it by .* expected at most 0.005"
    ):
        clamp_of_motion(LEFT, load_motion("walk"))
    with pytest.raises(HaloidError, match="the motion does not say where 'left_foot' is; clamp one of: pelvis"):
        clamp_of_motion("left_foot", motion)


def test_the_lab_shows_the_policy_what_training_does(policy, robot, motion):
    """The same state in both simulators gives the same action, to the precision of their single-precision numbers."""
    reference = reference_of(robot, [motion])
    world = TrackingEnvironment(robot, reference, EnvironmentConfig(robots=1, threads=1, restart=False))
    world.encoder_bias[:] = 0.0
    world.difficulty = Difficulty(reset=1.0, push=0.0, noise=0.0)
    world.reset(np.array([0]), np.array([60]))
    observation, _ = world.observations()
    expected = policy.targets_rad(policy.actions(observation, world.time_step))[0]
    poses, anchor = world.poses(), robot.description.tracked_links.index("torso_link")
    drive = lab_policy(policy, robot.joint_names, LEFT, IMU).start()
    found = drive(
        Senses(60, poses.joint_pos[0], poses.joint_vel[0], poses.body_quat_w[0, anchor], world.sensed().imu_ang_vel[0])
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_lab_records_it_and_every_run_begins_anew(policy):
    robot = lab_robot(policy)
    explore = lab_policy(policy, robot.built.joint_names, robot.clamp, IMU)
    sensors = Sensors(noise_rad=0.0005, bias_rad=0.005)
    first, truth = record(robot, sensors, explore, seed=1)
    again, _ = record(robot, sensors, explore, seed=1)
    np.testing.assert_array_equal(first.q_rad, again.q_rad)
    assert truth.playback.tracking_max_rad.max() < 0.15
    assert first.support == "double" and len(first.time_s) == 150
    assert first.kp is not None
    np.testing.assert_allclose(first.kp, policy.facts.kp)


def test_policies_that_do_not_fit_are_refused(policy, motion, tmp_path: Path):
    names = policy.facts.joint_names
    with pytest.raises(HaloidError, match=f"with {LEFT} clamped and the robot is clamped at right_ankle_roll_link"):
        lab_policy(policy, names, "right_ankle_roll_link", IMU)
    free = tmp_path / "free.onnx"
    export_onnx(untrained_policy(tracked_robot("g1"), [motion], ["excitation"]), free)
    with pytest.raises(
        HaloidError, match="was trained without a clamp and the robot is clamped at left_ankle_roll_link"
    ):
        lab_policy(DeployedPolicy(free), names, LEFT, IMU)
    seeing = tmp_path / "seeing.onnx"
    clamped = tracked_robot("g1", clamp=clamp_of_motion(LEFT, motion))
    export_onnx(untrained_policy(clamped, [motion], ["excitation"], state_estimation=True), seeing)
    with pytest.raises(
        HaloidError, match="sees its place and its linear velocity, which the lab robot does not measure"
    ):
        lab_policy(DeployedPolicy(seeing), names, LEFT, IMU)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
