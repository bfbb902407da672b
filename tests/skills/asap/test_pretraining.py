"""ASAP's pre-training: Table I by hand, what the policy sees, the curriculum, Table VI's ranges, late servos."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")

from tests.recordings.words import assert_words
from tests.skills.small_training import short_stand

from haloid.cli.skills.train import Config, parse
from haloid.errors import HaloidError
from haloid.skills.asap.pretraining import LOOSEST, WEIGHTS, PretrainingTerms, pretraining_terms
from haloid.skills.evaluation.evaluate import EvaluationConfig, evaluate
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.randomisation import RANDOMISATIONS, narrowed
from haloid.skills.task.reference import Poses, reference_of
from haloid.skills.task.robot import tracked_robot
from haloid.skills.task.task import TaskConfig
from haloid.skills.task.terms import Moment
from haloid.skills.task.transforms import each_late
from haloid.skills.training.curriculum import Curriculum
from haloid.skills.training.learning import Training, TrainingConfig
from haloid.skills.training.run_folder import finish, train
from haloid.trajectories.rotations import from_roll_pitch_yaw, multiply

ROBOTS = 300
TASK = TaskConfig(
    motions=("stand",), preset="asap", actions="mjlab", randomisation="asap", history=5, robots=4, threads=1
)


@pytest.fixture(scope="module")
def terms(robot) -> PretrainingTerms:
    return pretraining_terms(robot)


@pytest.fixture
def standing(robot, motion) -> Moment:
    """In the frame where it should be, still."""
    frame = reference_of(robot, [motion]).frames.at(np.array([0]))
    still = replace(frame, body_lin_vel_w=0 * frame.body_lin_vel_w)
    none = np.zeros((1, 29))
    return Moment(still, still, none, none, none)


def environment_of(robot, motion, robots: int = ROBOTS, seed: int = 1, **settings) -> TrackingEnvironment:
    config = EnvironmentConfig(
        robots=robots, seed=seed, threads=1, phase=True, history=5, randomisation=RANDOMISATIONS["asap"], **settings
    )
    return TrackingEnvironment(robot, reference_of(robot, [motion]), config)


def changed_feet(poses: Poses, terms: PretrainingTerms, **values: np.ndarray) -> Poses:
    """With other `body_…` values of the feet, (feet, …)."""
    arrays = {name: getattr(poses, name).copy() for name in values}
    for name, array in arrays.items():
        array[:, terms.rows.feet] = values[name]
    return replace(poses, **arrays)


def test_a_robot_that_is_where_it_should_be_gets_all_of_the_task_rewards(standing, terms):
    found = terms(standing, 1.0)
    assert set(found.reward_terms) == set(WEIGHTS)
    assert sum(term[0] for name, term in found.reward_terms.items() if WEIGHTS[name] > 0) == pytest.approx(
        1.5 + 1.6 + 2.1 + 3 * 0.5 + 0.75 + 0.5
    )
    assert not any(ends.any() for ends in found.termination_terms.values())


def test_penalties_by_hand(standing, terms, robot):
    """Feet tilted by 0.1 rad and then turned by 0.3 rad about the vertical, sliding at 0.2 m/s and 0.1 m/s."""
    turned = from_roll_pitch_yaw(np.array([[0.1, 0.0, 0.3], [0.0, -0.1, -0.3]]))
    root = np.tile(np.array([1.0, 0, 0, 0]), (1, standing.robot.body_quat_w.shape[1], 1))
    sliding = np.array([[0.2, 0, 0], [0, 0.1, 0]])
    poses = changed_feet(
        replace(standing.robot, body_quat_w=root),
        terms,
        body_quat_w=turned,
        body_lin_vel_w=sliding,
        body_pos_w=np.array([0.0, 0.0, 0.03]),  # of the ankles, whose soles are 35 mm below
    )
    poses = replace(poses, joint_pos=robot.soft_limits_rad[None, :, 1] + 0.01)
    torque_nm = np.zeros((1, 29))
    torque_nm[0, :2] = -1.0, 0.9
    torque_nm *= robot.effort_nm
    action, last = np.full((1, 29), 0.5), np.full((1, 29), 0.3)
    found = terms.reward_terms(Moment(poses, standing.frame, action, last, torque_nm), np.array([True]))
    first, second = robot.effort_nm[:2]
    by_hand = {
        "joint_limits": 29 * 0.01,
        "torque_limits": 0.175 * first + 0.075 * second,
        "torques": first**2 + (0.9 * second) ** 2,
        "action_rate": 29 * 0.2**2,
        "feet_orientation": 2 * np.sin(0.1),
        "feet_heading": 2 * 0.3,
        "slippage": 0.2 + 0.1,
        "termination": 1.0,
    }
    for name, value in by_hand.items():
        assert found[name][0] == pytest.approx(value, rel=1e-5), name
        assert WEIGHTS[name] < 0
    higher = replace(poses, body_pos_w=poses.body_pos_w + np.array([0, 0, 0.05]))
    assert terms.reward_terms(replace(standing, robot=higher), np.array([False]))["slippage"][0] == 0.0


def test_tracking_terms_by_hand(standing, terms):
    """All bodies 0.1 m away and turned by 0.2 rad."""
    away = standing.robot.body_pos_w + np.array([0.1, 0, 0])
    turned = multiply(from_roll_pitch_yaw(np.array([0.0, 0.0, 0.2])), standing.robot.body_quat_w.astype(float))
    moved = replace(standing.robot, body_pos_w=away, body_quat_w=turned)
    found = terms(replace(standing, robot=moved), 1.0).reward_terms
    assert found["body_pos"][0] == pytest.approx(0.5 * np.exp(-0.01 / 0.1) + np.exp(-0.01 / 0.03), rel=1e-5)
    assert found["three_points"][0] == pytest.approx(1.6 * np.exp(-0.01 / 0.03), rel=1e-5)
    assert found["feet"][0] == pytest.approx(2.1 * np.exp(-0.01 / 0.03), rel=1e-5)
    assert found["body_rot"][0] == pytest.approx(0.5 * np.exp(-0.04), rel=1e-4)


def test_the_curriculum_goes_from_one_and_a_half_metres_to_thirty_centimetres(standing, terms):
    training = Training(TrainingConfig(TASK, iterations=1, threads=1))
    for level, limit_m, penalties in ((0.0, 1.5, 0.1), (0.5, 0.9, 0.55), (1.0, 0.3, 1.0)):
        slack = replace(training.curriculum, level=level).difficulty.termination
        for metres, fails in ((limit_m - 0.01, False), (limit_m + 0.01, True)):
            pos = standing.robot.body_pos_w.copy()
            pos[:, -1, 1] += metres
            moment = replace(standing, robot=replace(standing.robot, body_pos_w=pos), action=np.ones((1, 29)))
            found = terms(moment, slack)
            assert found.termination_terms["far"][0] == fails, (level, metres)
            assert found.reward_terms["termination"][0] == (-200.0 if fails else 0.0)
        assert found.reward_terms["action_rate"][0] == pytest.approx(-0.5 * 29 * penalties)
    assert training.curriculum.difficulty.reset == 0.0  # episodes start in the reference's own states
    assert Curriculum(level=0.0).difficulty.termination < LOOSEST


def test_the_policy_sees_the_phase_and_itself_and_not_where_it_is(robot, motion):
    environment = environment_of(robot, motion, robots=4)
    environment.difficulty = replace(environment.difficulty, noise=0.0)
    environment.reset(np.arange(4), np.array([0, 10, 20, 30]))
    state, (actor, critic) = environment.state(), environment.observations()
    assert actor.shape == (4, 1 + 5 * (3 + 3 + 3 * 29))
    assert actor[:, 0] == pytest.approx(np.array([1, 11, 21, 31]) / (len(environment.reference) - 1))
    environment.load_state(state)
    environment.simulation.qpos[:, :2] += 0.3
    environment.simulation.qvel[:, :3] += 0.2
    environment.simulation.sense()
    moved_actor, moved_critic = environment.observations()
    np.testing.assert_allclose(moved_actor, actor, atol=1e-6)
    assert np.abs(moved_critic - critic).max() > 0.1
    root = Rotation.from_quat(environment.simulation.qpos[:, 3:7], scalar_first=True)
    down = np.repeat(root.inv().apply([0.0, 0.0, -1.0])[:, None], 5, axis=1)  # five readings, all of the first state
    np.testing.assert_allclose(actor[:, 1:16].reshape(4, 5, 3), down, atol=1e-5)


def test_robots_fill_the_ranges_of_table_vi(robot, motion):
    environment = environment_of(robot, motion)
    batch, model = environment.simulation.batch, robot.model
    feet = [model.body(name).id for name in robot.description.feet.values()]
    friction = batch.expand("geom_friction")[:, np.isin(model.geom_bodyid, feet), 0]
    gain, bias = batch.expand("actuator_gainprm")[:, :, 0], batch.expand("actuator_biasprm")[:, :, 1]
    assert environment.delay_s is not None
    for drawn, low, high in (
        (friction, 0.2, 1.1),
        (gain / model.actuator_gainprm[:, 0], 0.925, 1.05),
        (environment.delay_s, 0.02, 0.04),
    ):
        assert low <= drawn.min() < low + 0.03 * (high - low)
        assert high - 0.03 * (high - low) < drawn.max() <= high
    np.testing.assert_array_equal(bias, -gain)
    assert (batch.expand("body_mass") == model.body_mass).all()
    halved = narrowed(RANDOMISATIONS["asap"], 0.5)
    assert halved.delay_s == pytest.approx((0.025, 0.035))
    assert halved.kp_ratio == pytest.approx((0.95625, 1.01875))
    assert halved.push_every_s == (10.0, 10.0)


def test_pushes_come_every_ten_seconds_and_are_level(robot, motion):
    environment = environment_of(robot, motion)
    assert environment._until_push.tolist() == [500] * ROBOTS
    environment._until_push[:] = 1
    before = environment.simulation.qvel.copy()
    environment._push()
    kick = environment.simulation.qvel - before
    assert 0.48 < np.abs(kick[:, :2]).max() <= 0.5
    assert np.abs(kick[:, 2:]).max() == 0.0


def test_late_targets_arrive_one_to_two_control_steps_later():
    """Four physics steps of 5 ms: after 20 ms, 30 ms and 40 ms, and a delay between two physics steps."""
    sent_rad = np.array([[[1.0], [2.0]]] * 4)
    command = each_late(sent_rad, np.array([0.02, 0.03, 0.04, 0.0262]), 4, 0.005)
    held = np.concatenate([target_rad for target_rad, steps in command for _ in range(steps)], axis=1)
    assert held.tolist() == [[2, 2, 2, 2], [1, 1, 2, 2], [1, 1, 1, 1], [1, 2, 2, 2]]


def test_servos_of_the_environment_are_late_and_stronger_or_weaker(robot, motion):
    """Of a robot with 40 ms: what is sent in the first step arrives in the third, with the robot's own gains."""
    environment = environment_of(robot, motion, robots=2)
    environment.difficulty = replace(environment.difficulty, push=0.0, termination=1e9)
    environment.delay_s = np.array([0.02, 0.04])
    environment.reset(np.arange(2), np.array([0, 0]))
    start_rad = environment.simulation.qpos[:, 7:].copy()
    actions = np.random.default_rng(0).normal(size=(3, 2, 29)).astype(np.float32) * 0.1
    sent_rad = robot.default_joint_pos_rad + robot.action_scale_rad * actions
    expected = [(start_rad[0], start_rad[1]), (sent_rad[0, 0], start_rad[1]), (sent_rad[1, 0], sent_rad[0, 1])]
    for action, held_rad in zip(actions, expected, strict=True):
        environment.step(action)
        np.testing.assert_allclose(environment.simulation.ctrl, np.stack(held_rad), atol=1e-6)
    qpos, qvel = environment.simulation.qpos[:, 7:], environment.simulation.qvel[:, 6:]
    gain = environment.simulation.batch.expand("actuator_gainprm")[:, :, 0]
    servo = gain * (environment.simulation.ctrl - qpos) + robot.model.actuator_biasprm[:, 2] * qvel
    expected_nm = np.clip(servo, -robot.effort_nm, robot.effort_nm)
    np.testing.assert_allclose(environment.torques_nm(), expected_nm, atol=1e-9)


def test_a_stored_state_of_late_robots_goes_on_exactly(robot, motion):
    actions = np.random.default_rng(4).normal(size=(12, 8, 29)).astype(np.float32)
    first, second = (environment_of(robot, motion, robots=8) for _ in range(2))
    for row in range(6):
        first.step(actions[row])
        second.step(actions[-row])
    second.load_state(first.state())
    for row in range(6, 12):
        one, other = first.step(actions[row]), second.step(actions[row])
        np.testing.assert_array_equal(one.reward, other.reward)
    np.testing.assert_array_equal(first.state()["physics"], second.state()["physics"])


def test_the_preset_brings_its_options_and_those_beside_it_win():
    asked = parse(["--motion", "squat", "-o", "out", "--preset", "asap", "--history", "4"])
    assert isinstance(asked, Config)
    assert (asked.preset, asked.actions, asked.randomisation, asked.history) == ("asap", "mjlab", "asap", 4)
    plain = parse(["--motion", "squat", "-o", "out"])
    assert isinstance(plain, Config)
    assert (plain.preset, plain.actions, plain.randomisation) == ("mjlab", "feedforward", "nominal")


def test_what_does_not_go_with_the_preset_is_refused(capsys):
    assert parse(["--motion", "squat", "-o", "out", "--preset", "asap", "--backend", "mjlab"]) == 2
    assert_words(
        capsys.readouterr().err,
        "ASAP's pre-training and its randomisation are on the CPU; leave out --backend mjlab, or them",
    )
    with pytest.raises(
        HaloidError, match="Expected one motion, no state estimation and no controller; found squat, wa"
    ):
        replace(TASK, motions=("squat", "walk"))


@pytest.mark.slow
def test_a_policy_of_the_preset_is_trained_exported_and_run(tmp_path: Path):
    task = replace(TASK, motions=(short_stand(tmp_path),))
    outcome = train(TrainingConfig(task, iterations=1, threads=1), tmp_path / "run")
    policy = DeployedPolicy(finish(outcome))
    assert policy.facts.phase
    assert policy.facts.history == 5
    found = evaluate(policy, tracked_robot(), EvaluationConfig(starts=2, threads=1, noise=0.0, disturbance=0.0))
    seen = found.runs[0].observation
    assert seen[:, 0] == pytest.approx(np.minimum(np.arange(1, len(seen) + 1) / (len(seen) - 1), 1.0), abs=1e-6)
