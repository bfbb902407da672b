"""The tracking task is mjlab's: observations, rewards, terminations and the robot's numbers, on the same states."""

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjlab")

from mjlab.tasks.tracking.config.g1.env_cfgs import unitree_g1_flat_tracking_env_cfg
from tests.skills.mjlab_scene import ROBOTS, RobotState, states_near, tensor

from haloid.skills.task.observations import (
    NOISE,
    Sensed,
    actor_observation,
    actor_term_names,
    critic_observation,
    observation_terms,
)
from haloid.skills.task.reference import Poses, reference_of
from haloid.skills.task.rewards import WEIGHTS, reward_terms
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.terminations import termination_terms
from haloid.skills.task.terms import carried_along

pytestmark = pytest.mark.slow

TOLERANCE = 1e-4


class Ours:
    """What this package computes of the same states, with the sensors of its own model and MuJoCo C."""

    def __init__(self, robot: TrackedRobot, motion, state: RobotState) -> None:
        model, layout = robot.model, robot.description
        data, rows = mujoco.MjData(model), []
        for qpos, qvel in zip(state.qpos, state.qvel, strict=True):
            data.qpos[:], data.qvel[:] = qpos, qvel
            mujoco.mj_forward(model, data)
            rows.append(data.sensordata.copy())
        bodies = len(layout.tracked_links)
        widths = np.cumsum([3, 3, 3 * bodies, 4 * bodies, 3 * bodies])
        lin, ang, pos, quat, body_lin, body_ang = np.split(np.array(rows), widths, axis=1)
        poses = Poses(
            joint_pos=state.qpos[:, 7:],
            joint_vel=state.qvel[:, 6:],
            body_pos_w=pos.reshape(-1, bodies, 3),
            body_quat_w=quat.reshape(-1, bodies, 4),
            body_lin_vel_w=body_lin.reshape(-1, bodies, 3),
            body_ang_vel_w=body_ang.reshape(-1, bodies, 3),
        )
        frame = reference_of(robot, [motion]).frames.at(state.frame)
        anchor = layout.tracked_links.index(layout.anchor)
        sensed = Sensed(lin, ang, state.action, state.encoder_bias_rad)
        carried = carried_along(poses, frame, anchor)
        ends = np.array([layout.tracked_links.index(name) for name in layout.end_effectors])
        self.observations = observation_terms(poses, sensed, frame, robot.default_joint_pos_rad, anchor)
        self.rewards = reward_terms(
            poses, frame, carried, state.action, state.last_action, robot.soft_limits_rad, anchor
        )
        self.terminations = termination_terms(poses, frame, carried[0], anchor, ends)
        self.encoder_bias_rad = state.encoder_bias_rad


SPREADS = pytest.mark.parametrize("spread", [0.02, 0.1, 0.4])


@SPREADS
def test_the_observations_are_mjlabs(scene, robot, motion, spread):
    state = states_near(motion, ROBOTS, spread, seed=1)
    scene.put(state)
    ours = Ours(robot, motion, state)

    critic = scene.observation_terms("critic")
    assert list(ours.observations) == list(critic)
    for name, expected in critic.items():
        np.testing.assert_allclose(ours.observations[name], expected, atol=TOLERANCE, err_msg=name)
    np.testing.assert_allclose(
        critic_observation(ours.observations), np.concatenate(list(critic.values()), axis=1), atol=TOLERANCE
    )

    actor = scene.observation_terms("actor")
    found = actor_observation(ours.observations, ours.encoder_bias_rad, state_estimation=True, noise=None)
    np.testing.assert_allclose(found, np.concatenate(list(actor.values()), axis=1), atol=TOLERANCE)


def test_the_actors_terms_and_noise_are_mjlabs():
    for state_estimation in (True, False):
        terms = unitree_g1_flat_tracking_env_cfg(has_state_estimation=state_estimation).observations["actor"].terms
        assert actor_term_names(state_estimation) == tuple(terms)
        noise = {name: (term.noise.n_min, term.noise.n_max) for name, term in terms.items() if term.noise}
        assert noise == {name: (-half, half) for name, half in NOISE.items() if name in terms}


@SPREADS
def test_the_rewards_are_mjlabs_but_for_self_collision(scene, robot, motion, spread):
    state = states_near(motion, ROBOTS, spread, seed=2)
    scene.put(state)
    ours, expected = Ours(robot, motion, state).rewards, scene.reward_terms()

    assert [*ours, "self_collisions"] == list(expected)
    for name, values in ours.items():
        np.testing.assert_allclose(values, expected[name], rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
    if spread == 0.4:
        assert np.all(expected["joint_limit"] > 0), "the states should break soft limits, or the term is not compared"
    weights = {name: scene.env.reward_manager.get_term_cfg(name).weight for name in ours}
    assert weights == WEIGHTS


def test_the_terminations_are_mjlabs(scene, robot, motion):
    met = {}
    for spread in (0.02, 0.2, 0.5, 1.0):
        state = states_near(motion, ROBOTS, spread, seed=3)
        scene.put(state)
        ours, expected = Ours(robot, motion, state).terminations, scene.termination_terms()
        assert ["time_out", *ours] == list(expected)
        for name, ended in ours.items():
            np.testing.assert_array_equal(ended, expected[name], err_msg=name)
            met.setdefault(name, set()).update(ended.tolist())
    assert all(values == {True, False} for values in met.values()), met


def test_the_robot_is_mjlabs(scene, robot):
    theirs, data = scene.env.sim.mj_model, scene.robot.data
    dofs = [robot.model.joint(name).dofadr[0] for name in robot.joint_names]
    assert robot.joint_names == tuple(scene.robot.joint_names)
    np.testing.assert_allclose(robot.default_joint_pos_rad, data.default_joint_pos[0], atol=1e-6)
    np.testing.assert_allclose(robot.soft_limits_rad, data.soft_joint_pos_limits[0], atol=1e-6)
    for row, name in enumerate(robot.joint_names):
        actuator = theirs.actuator(f"robot/{name}")
        joint = theirs.joint(f"robot/{name}")
        np.testing.assert_allclose(robot.kp[row], actuator.gainprm[0], rtol=1e-6)
        np.testing.assert_allclose(robot.kd[row], -actuator.biasprm[2], rtol=1e-6)
        np.testing.assert_allclose(robot.effort_nm[row], actuator.forcerange[1], rtol=1e-6)
        np.testing.assert_allclose(robot.model.dof_armature[dofs[row]], joint.armature[0], rtol=1e-6)
        np.testing.assert_allclose(robot.model.dof_damping[dofs[row]], joint.damping[0], atol=1e-9)
        np.testing.assert_allclose(robot.model.dof_frictionloss[dofs[row]], joint.frictionloss[0], atol=1e-9)


def test_an_action_means_mjlabs_target(scene, robot, motion):
    state = states_near(motion, ROBOTS, 0.1, seed=4)
    scene.put(state)
    scene.env.action_manager.process_action(tensor(state.action))
    scene.env.action_manager.apply_action()
    target = robot.default_joint_pos_rad + robot.action_scale_rad * state.action - state.encoder_bias_rad
    np.testing.assert_allclose(target, scene.robot.data.joint_pos_target, atol=1e-5)


def test_the_metadata_of_a_policy_are_mjlabs(scene, robot, motion):
    """Every key that mjlab writes, with the same values to mjlab's three decimals."""
    from mjlab.rl.exporter_utils import get_base_metadata, list_to_csv_str
    from tests.skills.small_policies import untrained_policy

    from haloid.skills.policies.export import metadata_of

    ours = metadata_of(untrained_policy(robot, [motion], ["lively"], state_estimation=True))
    theirs = get_base_metadata(scene.env, "tests/run")
    assert set(theirs) | {"anchor_body_name", "body_names"} <= set(ours)
    for key, value in theirs.items():
        text = list_to_csv_str(value) if isinstance(value, list) else str(value)
        assert _rounded(ours[key]) == _rounded(text), key


def _rounded(text: str) -> list[list[str]]:
    """Numbers to three decimals, whatever they were written with; words as they are."""

    def read(word: str) -> str:
        try:
            return f"{float(word) + 0.0:.3f}"
        except ValueError:
            return word

    return [[read(part) for part in entry.split(";")] for entry in text.split(",")]
