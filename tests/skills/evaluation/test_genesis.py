"""Another simulator under the same evaluation: first one that is MuJoCo itself, then Genesis where it is set up."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.recordings.words import assert_words
from tests.skills.evaluation.test_evaluate import beginning
from tests.skills.small_policies import untrained_policy

from haloid.cli import main as cli
from haloid.lab.genesis.process import VARIABLE, GenesisMissingError, genesis_python
from haloid.motions.load import load_motion
from haloid.skills.evaluation.evaluate import EvaluationConfig, evaluate
from haloid.skills.evaluation.genesis import GenesisSimulation
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.task.randomisation import RANDOMISATIONS, Randomisation
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.rollout_file import read_rollout

FRAMES = 40


class MujocoPlayer:
    """Answers as the player in the other process does, with MuJoCo's steps."""

    simulator = "mujoco in another place"

    def __init__(self, robot: TrackedRobot, robots: int) -> None:
        self._model = robot.model
        self._robots = [mujoco.MjData(robot.model) for _ in range(robots)]
        self.puts = 0

    def step(self, target_rad: np.ndarray, steps: int, put: tuple[np.ndarray, np.ndarray] | None = None):
        self.puts += put is not None
        for row, data in enumerate(self._robots):
            if put is not None:
                data.qpos[:], data.qvel[:] = put[0][row], put[1][row]
            data.ctrl[:] = target_rad[row]
            mujoco.mj_step(self._model, data, steps)
        return np.array([data.qpos for data in self._robots]), np.array([data.qvel for data in self._robots])


@pytest.fixture(scope="module")
def policy_file(robot, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("genesis") / "policy.onnx"
    export_onnx(untrained_policy(robot, [beginning(load_motion("squat"), FRAMES)], ["squat"], "controller"), path)
    return path


@pytest.mark.parametrize("push", [0.0, 0.3])
def test_the_same_physics_elsewhere_is_the_same_evaluation(robot, policy_file: Path, push: float, monkeypatch):
    config = EvaluationConfig(starts=2, threads=1, seed=5, push=push)
    if push:
        monkeypatch.setitem(RANDOMISATIONS, "none", Randomisation(push_every_s=(0.2, 0.4)))
    policy, players = DeployedPolicy(policy_file), []

    def simulate(robot: TrackedRobot, robots: int, threads: int) -> GenesisSimulation:
        players.append(MujocoPlayer(robot, robots))
        return GenesisSimulation(robot, robots, threads, players[0])  # type: ignore[arg-type]

    here, there = evaluate(policy, robot, config), evaluate(policy, robot, config, simulate=simulate)
    for one, other in zip(here.runs, there.runs, strict=True):
        np.testing.assert_allclose(one.qpos, other.qpos, atol=1e-6)
        np.testing.assert_allclose(one.torque_nm, other.torque_nm, atol=1e-2)
    if push:
        assert 1 < players[0].puts < FRAMES - 1
    else:
        assert players[0].puts == 1  # afterwards the player goes on from where it is


def test_words_for_what_genesis_does_not_do(policy_file: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "python"))
    words = ["evaluate", str(policy_file), "--simulator", "genesis"]
    assert cli.main([*words, "--randomisation", "wide"]) == 1
    assert_words(capsys.readouterr().err, "Genesis moves robots that are all the model")
    assert cli.main(words) == 1
    assert_words(capsys.readouterr().err, f"HALOID_GENESIS_PYTHON is {tmp_path / 'python'}, which is not a file")


@pytest.mark.slow
def test_a_controller_squats_in_genesis(policy_file: Path, tmp_path: Path, capsys):
    try:
        genesis_python()
    except GenesisMissingError as error:
        pytest.skip(f"needs Genesis: {error}")
    rollouts = tmp_path / "rollouts.npz"
    words = ["--simulator", "genesis", "--starts", "2", "--threads", "1", "--save-rollouts", str(rollouts)]
    assert cli.main(["evaluate", str(policy_file), *words]) == 0
    assert_words(capsys.readouterr().out, "squat on g1, in Genesis: 2 of 2 runs succeed")
    rollout = read_rollout(rollouts)
    assert rollout.simulator.startswith("genesis ")
    assert len(rollout.episodes) == 2
