"""Resets, pushes, adaptive sampling and physics are mjlab's: the same draws and failures give the same states."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjlab")
pytest.importorskip("mjbatch")

import torch
from mjlab.envs.mdp import events
from mjlab.tasks.tracking.config.g1.env_cfgs import unitree_g1_flat_tracking_env_cfg
from mjlab.tasks.tracking.mdp import commands
from tests.skills.mjlab_scene import ROBOTS, RobotState, states_near, tensor

from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.randomisation import PUSH_EVERY_S, RANDOMISATIONS
from haloid.skills.task.reference import reference_of
from haloid.skills.task.starts import AdaptiveSampling

pytestmark = pytest.mark.slow

TOLERANCE = 1e-4


class Drawn:
    """Uniform draws that both sides share, each in [-1, 1]: mjlab's `sample_uniform` and NumPy's generator in one."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self._draws = [random.uniform(-1, 1, size) for size in ((ROBOTS, 6), (ROBOTS, 6), (ROBOTS, 29))]

    def uniform(self, low: float, high: float, size: int | tuple[int, ...]) -> np.ndarray:
        if (low, high) == PUSH_EVERY_S:
            return np.full(size, low)
        draw = self._draws.pop(0)
        assert (low, high, size) == (-1, 1, draw.shape)
        return draw

    def sample_uniform(self, lower, upper, size, device):
        draw = tensor(self._draws.pop(0))
        assert tuple(size) == tuple(draw.shape)
        return lower + (upper - lower) * (draw + 1) / 2


@pytest.fixture
def environment(robot, motion) -> TrackingEnvironment:
    config = EnvironmentConfig(robots=ROBOTS, threads=1, randomisation=RANDOMISATIONS["none"])
    return TrackingEnvironment(robot, reference_of(robot, [motion]), config)


def test_a_reset_disturbs_a_frame_as_mjlabs_does(scene, environment, monkeypatch):
    frames = np.array([0, 7, 30, 31, 80, 120, 177, 178])
    environment.random = Drawn(seed=5)
    environment.reset(np.arange(ROBOTS), frames)

    monkeypatch.setattr(commands, "sample_uniform", Drawn(seed=5).sample_uniform)
    monkeypatch.setattr(scene.command, "_adaptive_sampling", lambda env_ids: None)
    scene.command.time_steps[:] = torch.as_tensor(frames)
    scene.command._resample_command(torch.arange(ROBOTS))

    qpos = scene.env.sim.data.qpos.clone()
    qpos[:, :3] -= scene.env.scene.env_origins
    np.testing.assert_allclose(environment.simulation.qpos.copy(), qpos, atol=TOLERANCE)
    np.testing.assert_allclose(environment.simulation.qvel.copy(), scene.env.sim.data.qvel, atol=TOLERANCE)


def test_a_push_is_mjlabs(scene, environment, motion, monkeypatch):
    """The same kick on the same tilted, moving robots."""
    environment.reset(np.arange(ROBOTS), np.arange(ROBOTS) * 20)
    state = states_near(motion, ROBOTS, 0.1, seed=6)
    state = replace(state, qpos=environment.simulation.qpos.copy(), qvel=environment.simulation.qvel.copy())
    scene.put(state)

    environment.random = Drawn(seed=7)
    environment._until_push[:] = 1
    environment._push()
    monkeypatch.setattr(events, "sample_uniform", Drawn(seed=7).sample_uniform)
    push = unitree_g1_flat_tracking_env_cfg().events["push_robot"]
    push.func(scene.env, None, **push.params)

    assert np.abs(environment.simulation.qvel.copy()[:, :6] - state.qvel[:, :6]).max() > 0.3
    np.testing.assert_allclose(environment.simulation.qvel.copy(), scene.env.sim.data.qvel, atol=TOLERANCE)
    assert push.interval_range_s == PUSH_EVERY_S


def test_adaptive_sampling_draws_with_mjlabs_probabilities(scene, robot, motion, monkeypatch):
    """Both see the same failures for many steps, and none at times; the probabilities agree all the way."""
    ours, command = AdaptiveSampling(reference_of(robot, [motion])), scene.command
    assert ours.bins == command.bin_count == 4
    command.bin_failed_count.zero_()
    drawn, multinomial = [], torch.multinomial
    monkeypatch.setattr(
        torch, "multinomial", lambda p, *args, **kw: drawn.append(p.clone()) or multinomial(p, *args, **kw)
    )
    random, everyone = np.random.default_rng(8), torch.arange(ROBOTS)
    terminated = scene.env.termination_manager._terminated_buf
    for step in range(300):
        frames = np.minimum(random.integers(0, 60, ROBOTS) + 20 * (step % 3), len(motion.joint_pos_rad) - 2)
        failed = random.random(ROBOTS) < 0.3 * (step % 5 > 0)
        command.time_steps[:], terminated[:] = torch.as_tensor(frames), torch.as_tensor(failed)
        command._adaptive_sampling(everyone)
        np.testing.assert_allclose(ours.probabilities, drawn[-1], atol=1e-5)
        command.time_steps.zero_()  # no robot reaches the motion's end
        command._update_command()
        if failed.any():
            ours.failed_at(frames[failed])
        ours.end_step()
    assert np.ptp(ours.probabilities) > 0.1
    command.bin_failed_count.zero_()
    terminated.zero_()


def test_without_contact_the_physics_is_mjlabs(scene, robot):
    """A robot in the air swings its joints after the same actions; what differs is single precision."""
    model = robot.model
    state = RobotState(
        qpos=np.tile(np.concatenate([[0, 0, 3, 1, 0, 0, 0], robot.default_joint_pos_rad]), (ROBOTS, 1)),
        qvel=np.zeros((ROBOTS, model.nv)),
        frame=np.zeros(ROBOTS, dtype=int),
        action=np.zeros((ROBOTS, 29)),
        last_action=np.zeros((ROBOTS, 29)),
        encoder_bias_rad=np.zeros((ROBOTS, 29)),
    )
    scene.put(state)
    actions = np.random.default_rng(9).uniform(-0.5, 0.5, (5, ROBOTS, 29))
    data = [mujoco.MjData(model) for _ in range(ROBOTS)]
    for row in range(ROBOTS):
        data[row].qpos[:] = state.qpos[row]
    env = scene.env
    for action in actions:
        env.action_manager.process_action(tensor(action))
        for _ in range(4):
            env.action_manager.apply_action()
            env.scene.write_data_to_sim()
            env.sim.step()
        for row in range(ROBOTS):
            data[row].ctrl[:] = robot.default_joint_pos_rad + robot.action_scale_rad * action[row]
            mujoco.mj_step(model, data[row], nstep=4)
    found = np.array([one.qpos for one in data])
    assert np.abs(found[:, 7:] - state.qpos[:, 7:]).max() > 0.05
    np.testing.assert_allclose(found[:, 7:], env.sim.data.qpos[:, 7:], atol=1e-3)
    np.testing.assert_allclose(np.array([one.qvel for one in data]), env.sim.data.qvel, atol=2e-2)
