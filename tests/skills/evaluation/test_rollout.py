"""An evaluation's rollout: what acts when, shown by playing it again in MuJoCo alone."""

import copy
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.skills.evaluation.test_evaluate import beginning
from tests.skills.small_policies import untrained_policy

from haloid.motions.load import load_motion
from haloid.robots.files.model_hash import model_sha256
from haloid.skills.evaluation.evaluate import EvaluationConfig, evaluate
from haloid.skills.evaluation.rollout import rollout_of_evaluation
from haloid.skills.evaluation.runs import driven_by
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.mujoco_states import qpos_of, qvel_of
from haloid.trajectories.rollout import Rollout
from haloid.trajectories.rollout_file import read_rollout, write_rollout

CONFIG = EvaluationConfig(starts=3, threads=1, seed=5)


@pytest.fixture(scope="module")
def policy(robot, tmp_path_factory) -> DeployedPolicy:
    path = tmp_path_factory.mktemp("rollout") / "policy.onnx"
    export_onnx(untrained_policy(robot, [beginning(load_motion("squat"), 40)], ["squat"], "controller"), path)
    return DeployedPolicy(path)


@pytest.fixture(scope="module")
def exact(robot) -> TrackedRobot:
    """The robot with a contact solver that converges, whatever it started from."""
    model = copy.copy(robot.model)
    model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = 1e-14, 200, 50
    return replace(robot, model=model)


def saved(policy: DeployedPolicy, robot: TrackedRobot, config: EvaluationConfig, folder: Path) -> Rollout:
    evaluation = evaluate(policy, robot, config)
    rollout = rollout_of_evaluation(evaluation, policy, robot, "g1", observations=True)
    return read_rollout(write_rollout(rollout, folder / "rollouts"))


@pytest.mark.parametrize("delay_s", [0.0, 0.005])
def test_target_t_takes_the_state_of_row_t_to_row_t_plus_one(policy, exact, tmp_path: Path, delay_s: float):
    rollout = saved(policy, exact, replace(CONFIG, delay_s=delay_s), tmp_path)
    model = driven_by(policy, exact).model
    assert rollout.model_sha256 == model_sha256(model)
    assert (len(rollout.episodes), len(rollout), rollout.delay_s) == (3, 120, delay_s)
    data, late = mujoco.MjData(model), round(delay_s / model.opt.timestep)
    for number in range(3):
        states = rollout.episode(number)
        qpos, qvel, target = qpos_of(model, states), qvel_of(model, states), states.target_rad
        assert target is not None
        for row in range(1, len(states) - 1):
            data.qpos[:], data.qvel[:] = qpos[row], qvel[row]
            for sent in [target[row - 1]] * late + [target[row]] * (4 - late):
                data.ctrl[:] = sent
                mujoco.mj_step(model, data)
            np.testing.assert_allclose(data.qpos, qpos[row + 1], atol=1e-9)
            np.testing.assert_allclose(data.qvel, qvel[row + 1], atol=1e-7)


def test_actions_and_observations_stand_in_the_row_in_which_they_were_made(policy, exact, tmp_path: Path):
    """The file's own policy says the row's action to the row's observation, and the action means the row's target."""
    rollout = saved(policy, exact, replace(CONFIG, randomisation="nominal"), tmp_path)
    assert rollout.model_sha256 is None  # every episode has a robot of its own
    assert rollout.observation is not None
    frames = np.arange(1, 40)
    rows = np.arange(39)
    said = policy.actions(rollout.observation[rows], frames)
    np.testing.assert_allclose(rollout.action[rows], said, atol=1e-6)
    default, scale = (np.array(rollout.facts[name]) for name in ("default_joint_pos_rad", "action_scale_rad"))
    bias = default + scale * rollout.action[:40] - rollout.episode(0).target_rad
    assert 0.001 < np.abs(bias).max() <= 0.01
    np.testing.assert_allclose(np.ptp(bias, axis=0), 0.0, atol=1e-9)


def test_a_fall_is_told(robot, tmp_path: Path):
    path = tmp_path / "policy.onnx"
    export_onnx(untrained_policy(robot, [load_motion("stand")], ["stand"]), path)
    fallen = DeployedPolicy(path)
    evaluation = evaluate(fallen, robot, replace(CONFIG, push=1.0))
    rollout = rollout_of_evaluation(evaluation, fallen, robot, "g1", observations=False)
    for episode, run in zip(rollout.episodes, evaluation.runs, strict=True):
        assert episode.fell_row == episode.start + run.failed_row
    assert rollout.observation is None
