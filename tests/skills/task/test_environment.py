"""Many robots at once: each does what MuJoCo does with one, starts where it should and ends when it should."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjbatch")

from tests.skills.one_robot import data_in, fields_of, model_of, stepped
from tests.skills.task.test_reference import cut

from haloid.errors import HaloidError
from haloid.skills.task.environment import (
    EPISODE_STEPS,
    EnvironmentConfig,
    TrackingEnvironment,
)
from haloid.skills.task.randomisation import PUSH_EVERY_S, RANDOMISATIONS
from haloid.skills.task.reference import reference_of
from haloid.skills.task.starts import POSE_RANGE, VELOCITY_RANGE
from haloid.skills.task.terms import Moment, Verdict
from haloid.skills.task.transforms import Command, Delay, Now

ROBOTS = 8
SAME = EnvironmentConfig(robots=ROBOTS, threads=2, randomisation=RANDOMISATIONS["none"])
EVERYONE = np.arange(ROBOTS)


class Highest:
    """Draws the upper end of every range."""

    def uniform(self, low: float, high: float, size: int | tuple[int, ...]) -> np.ndarray:
        return np.full(size, float(high))


@pytest.fixture
def calm(robot, motion) -> TrackingEnvironment:
    """Robots that are all the same and start in frames exactly; nobody pushes them, and sensors have no noise."""
    return calmed(TrackingEnvironment(robot, reference_of(robot, [motion]), SAME))


def calmed(environment: TrackingEnvironment) -> TrackingEnvironment:
    environment.difficulty = replace(environment.difficulty, reset=0.0, push=0.0, noise=0.0)
    return environment


def some_action(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ROBOTS, 29)).astype(np.float32)


@pytest.mark.parametrize("delayed_steps", [0, 1, 3, 4])
def test_each_robot_moves_as_mujoco_moves_it_and_late_targets_come_late(robot, motion, delayed_steps):
    """Robots of different bodies, bit by bit: delay × 5 ms with the old target, the rest of 20 ms with the new."""
    config = replace(SAME, randomisation=RANDOMISATIONS["wide"], transforms=(Delay(delayed_steps * 0.005),))
    environment = TrackingEnvironment(robot, reference_of(robot, [motion]), config)
    environment.difficulty = replace(environment.difficulty, push=0.0, termination=1e9)
    default, scale = robot.default_joint_pos_rad.astype(np.float32), robot.action_scale_rad.astype(np.float32)
    old = environment.simulation.qpos.copy()[:, 7:]  # after a reset the servos hold the pose
    for seed in (1, 2):
        before = environment.state()["physics"]
        environment.step(some_action(seed))
        after = environment.state()["physics"]
        new = (default + scale * some_action(seed) - environment.encoder_bias).astype(float)
        for row in (0, 5):
            model = model_of(robot.model, fields_of(environment, row))
            targets = [old[row]] * delayed_steps + [new[row]] * (4 - delayed_steps)
            expected = data_in(model, stepped(model, before[row], targets))
            found = data_in(model, after[row])
            assert found.time == expected.time > 0.0
            np.testing.assert_array_equal(found.qpos, expected.qpos)
            np.testing.assert_array_equal(found.qvel, expected.qvel)
            np.testing.assert_array_equal(found.ctrl, new[row])
        old = new


def test_a_reset_without_disturbance_puts_the_robot_into_its_frame_and_shows_the_next(calm, robot, motion):
    frames = np.array([0, 7, 30, 31, 80, 120, 177, 178])
    calm.reset(EVERYONE, frames)
    for row, frame in enumerate(frames):
        data = data_in(robot.model, calm.state()["physics"][row])
        mujoco.mj_forward(robot.model, data)
        np.testing.assert_allclose(data.qpos[7:], motion.joint_pos_rad[frame], atol=1e-6)
        np.testing.assert_allclose(data.qvel[6:], motion.joint_vel_rad_s[frame], atol=1e-5)
        bodies, names = robot.body_ids, [motion.body_names.index(name) for name in robot.description.tracked_links]
        np.testing.assert_allclose(data.xpos[bodies], motion.body_pos_w_m[frame, names], atol=1e-6)
        velocity = np.zeros(6)
        for body, name in zip(bodies, names, strict=True):
            mujoco.mj_objectVelocity(robot.model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            np.testing.assert_allclose(velocity[3:], motion.body_lin_vel_w_m_s[frame, name], atol=1e-5)
            np.testing.assert_allclose(velocity[:3], motion.body_ang_vel_w_rad_s[frame, name], atol=1e-5)
    actor, _ = calm.observations()
    np.testing.assert_allclose(actor[:, :29], motion.joint_pos_rad[frames + 1], atol=1e-6)
    np.testing.assert_allclose(actor[:, 29:58], motion.joint_vel_rad_s[frames + 1], atol=1e-5)


def test_a_disturbed_reset_is_off_by_no_more_than_its_ranges(robot, motion):
    environment = TrackingEnvironment(robot, reference_of(robot, [motion]), replace(SAME, robots=200, threads=1))
    environment.difficulty.reset = 0.5
    environment.reset(np.arange(200), np.full(200, 20))
    root, qpos = motion.body_pos_w_m[20, 0], environment.simulation.qpos.copy()
    off = np.abs(qpos[:, :3] - root).max(axis=0)
    assert np.all(off <= 0.5 * POSE_RANGE[:3] + 1e-6)
    assert np.all(off >= 0.45 * POSE_RANGE[:3])
    joints = np.abs(qpos[:, 7:] - motion.joint_pos_rad[20])
    assert 0.045 < joints.max() <= 0.05 + 1e-6
    assert np.all(qpos[:, 7:] <= robot.soft_limits_rad[:, 1] + 1e-6)


def test_what_is_judged_is_the_state_after_the_step_against_the_frame_that_was_shown(calm, robot, motion):
    """The error a step tells is that of MuJoCo's own kinematics in the state that the step led to."""
    calm.reset(EVERYONE, np.arange(ROBOTS) * 20)
    step = calm.step(some_action())
    assert calm.time_step.tolist() == (np.arange(ROBOTS) * 20 + 2).tolist()
    names = [motion.body_names.index(name) for name in robot.description.tracked_links]
    for row in range(ROBOTS):
        data = data_in(robot.model, calm.state()["physics"][row])
        mujoco.mj_forward(robot.model, data)
        wanted = motion.body_pos_w_m[row * 20 + 1, names]
        error = np.linalg.norm(data.xpos[robot.body_ids] - wanted, axis=1).mean()
        assert step.body_error_m[row] == pytest.approx(error, abs=1e-6)
        anchor = robot.description.tracked_links.index(robot.description.anchor)
        root_error = np.sum((data.xpos[robot.body_ids[anchor]] - wanted[anchor]) ** 2)
        assert step.reward_terms["motion_global_root_pos"][row] == pytest.approx(0.5 * np.exp(-root_error / 0.09))
    assert step.reward_terms["action_rate_l2"] == pytest.approx(-0.1 * np.sum(some_action() ** 2, axis=1), rel=1e-5)
    assert step.reward == pytest.approx(sum(step.reward_terms.values()) * 0.02, rel=1e-5)


def test_pushes_are_velocities_in_the_worlds_axes(calm, robot):
    """Two worlds that differ in a push of known size; tilted robots, whose own axes are not the world's."""
    calm.reset(EVERYONE, np.arange(ROBOTS) * 20)
    calm.step(some_action())
    start, random, after = calm.state() | {"until_push": np.array([1, 2] * 4)}, calm.random, []
    for push in (0.0, 0.5):
        calm.random = random
        calm.load_state(start)
        calm.difficulty.push = push
        calm.random = Highest()  # pyright: ignore[reportAttributeAccessIssue]
        calm.step(some_action(2))
        after.append(calm.simulation.state.copy())
    for row in range(ROBOTS):
        velocity = np.zeros((2, 6))
        for world in range(2):
            data = data_in(robot.model, after[world][row])
            mujoco.mj_forward(robot.model, data)
            mujoco.mj_objectVelocity(robot.model, data, mujoco.mjtObj.mjOBJ_XBODY, 1, velocity[world], 0)
        kick = np.concatenate([velocity[1, 3:] - velocity[0, 3:], velocity[1, :3] - velocity[0, :3]])
        pushed = row % 2 == 0
        np.testing.assert_allclose(kick, 0.5 * VELOCITY_RANGE if pushed else 0.0, atol=1e-9)
    assert calm._until_push.tolist() == [round(PUSH_EVERY_S[1] * 50), 1] * 4


def test_an_episode_ends_with_its_motion_and_after_ten_seconds(calm):
    assert EPISODE_STEPS * 0.02 == 10.0
    calm.reset(EVERYONE, np.array([10, 20, 30, 40, 50, 60, 175, 176]))
    calm.load_state(calm.state() | {"episode_step": np.array([0, 0, 0, 0, 0, 497, 0, 0])})
    ended = []
    for _ in range(4):
        step = calm.step(np.zeros((ROBOTS, 29)))
        assert not step.terminated.any()
        ended.append(np.flatnonzero(step.timed_out).tolist())
    assert ended == [[], [], [5, 7], [6]]
    assert calm.episode_step.tolist() == [4, 4, 4, 4, 4, 1, 0, 1]


def test_motions_never_run_into_each_other(robot, motion):
    """Unless its episode ends, a robot goes on to the next frame of the same motion."""
    reference = reference_of(robot, [cut(motion, 0, 4), cut(motion, 50, 57), cut(motion, 100, 103)])
    environment = calmed(TrackingEnvironment(robot, reference, SAME))
    environment.reset(EVERYONE)
    seen = set()
    for _ in range(60):
        before = environment.time_step.copy()
        step = environment.step(np.zeros((ROBOTS, 29)))
        assert np.array_equal(step.timed_out, np.isin(before, [3, 10, 13]) & ~step.terminated)
        kept = ~(step.timed_out | step.terminated)
        np.testing.assert_array_equal(environment.time_step[kept], before[kept] + 1)
        np.testing.assert_array_equal(environment.episode_step[~kept], 0)
        np.testing.assert_array_equal(environment.action[~kept], 0.0)
        seen |= set(environment.time_step.tolist())
    assert seen == set(range(14)) - {0, 4, 11}


def test_without_restart_robots_stay_in_the_last_frame(robot, motion):
    config = replace(SAME, restart=False)
    environment = calmed(TrackingEnvironment(robot, reference_of(robot, [cut(motion, 0, 5)]), config))
    environment.reset(EVERYONE, np.full(ROBOTS, 1))
    for expected in (3, 4, 4, 4):
        environment.step(np.zeros((ROBOTS, 29)))
        assert environment.time_step.tolist() == [expected] * ROBOTS


def test_a_stored_state_goes_on_exactly_in_another_environment(robot, motion):
    """With noise, pushes, failures and restarts; the other has lived another life before."""
    config = replace(SAME, robots=16, seed=3, randomisation=RANDOMISATIONS["wide"], transforms=(Delay(0.01),))
    random = np.random.default_rng(4)
    actions = random.normal(size=(40, 16, 29)).astype(np.float32)
    first, second = (TrackingEnvironment(robot, reference_of(robot, [motion]), config) for _ in range(2))
    for row in range(10):
        first.step(actions[row])
        second.step(actions[-row])
    second.load_state(first.state())
    ended = 0
    for row in range(10, 40):
        one, other = first.step(actions[row]), second.step(actions[row])
        np.testing.assert_array_equal(one.reward, other.reward)
        for mine, theirs in zip(first.observations(), second.observations(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        ended += int(one.terminated.sum())
    assert ended > 3
    np.testing.assert_array_equal(first.state()["physics"], second.state()["physics"])
    np.testing.assert_array_equal(first.sampling.failure_level, second.sampling.failure_level)


def test_an_actions_array_stays_the_callers(calm):
    """A reset clears the environment's memory of an action, not the array that the learner still needs."""
    action = np.full((ROBOTS, 29), 50.0, dtype=np.float32)
    ended = False
    while not ended:
        ended = bool(calm.step(action).terminated.any())
    assert (action == 50.0).all()
    assert (calm.action == 0.0).any()


def test_targets_in_place_of_actions_do_the_same(robot, motion):
    """Actions that are whole numbers of 1/8 and what they stand for, bit by bit; rewards included."""
    config = replace(SAME, randomisation=RANDOMISATIONS["wide"])
    by_action, by_target = (TrackingEnvironment(robot, reference_of(robot, [motion]), config) for _ in range(2))
    default, scale = robot.default_joint_pos_rad.astype(np.float32), robot.action_scale_rad.astype(np.float32)
    for seed in (1, 2, 3):
        action = np.round(8 * some_action(seed)) / 8
        one, other = by_action.step(action), by_target.step_targets(default + scale * action)
        np.testing.assert_array_equal(by_action.simulation.state, by_target.simulation.state)
        np.testing.assert_allclose(by_target.action, by_action.action, atol=1e-5)
        np.testing.assert_allclose(one.reward, other.reward, atol=1e-5)


class HalfWay:
    """Takes every target half way to where the joint is, and remembers what it saw."""

    def __init__(self) -> None:
        self.steps: list[list[int]] = []

    def __call__(self, command: Command, now: Now) -> Command:
        self.steps.append(now.episode_step.tolist())
        return [((target_rad + now.qpos[:, 7:]) / 2, steps) for target_rad, steps in command]


def test_a_transform_stands_between_the_targets_and_the_servos(robot, motion):
    """One class, in a chain with a delay: the servos hold the old target first, then the changed one."""
    half_way = HalfWay()
    config = replace(SAME, transforms=(half_way, Delay(0.005)))
    environment = calmed(TrackingEnvironment(robot, reference_of(robot, [motion]), config))
    environment.reset(EVERYONE, np.arange(ROBOTS) * 20)
    before, old = environment.state()["physics"], environment.simulation.ctrl.copy()
    target = old + 0.1
    environment.step_targets(target)
    new = (target + old) / 2  # after a reset the servos hold the joints where they are
    for row in (0, 5):
        expected = stepped(model_of(robot.model, {}), before[row], [old[row], *[new[row]] * 3])
        np.testing.assert_array_equal(environment.simulation.state[row], expected)
    environment.step_targets(target)
    assert half_way.steps == [[0] * ROBOTS, [1] * ROBOTS]


def test_a_task_may_bring_its_own_terms(robot, motion):
    """Rewards and ends are what the terms say; falling out of the finite numbers ends an episode all the same."""

    def low_root_ends(moment: Moment, slack: float) -> Verdict:
        height = moment.robot.body_pos_w[:, 0, 2]
        return Verdict({"height": 3.0 * height}, {"low": height < 0.5 * slack})

    environment = TrackingEnvironment(robot, reference_of(robot, [motion]), SAME, terms=low_root_ends)
    environment.difficulty = replace(environment.difficulty, reset=0.0, push=0.0, termination=10.0)
    environment.reset(EVERYONE, np.arange(ROBOTS))
    step = environment.step(np.zeros((ROBOTS, 29)))
    assert set(step.reward_terms) == {"height"}
    assert set(step.termination_terms) == {"low", "diverged"}
    assert step.terminated.all()
    np.testing.assert_allclose(step.reward, 0.02 * step.reward_terms["height"], rtol=1e-6)


def test_a_delay_of_more_than_a_step_is_refused():
    with pytest.raises(HaloidError, match=r"a delay of 0\.05 s; expected at most one control step, 0\.02 s"):
        Delay(0.05)
