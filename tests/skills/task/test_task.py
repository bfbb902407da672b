"""The task: robot, motions, action mode and randomisation as the configuration says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mjbatch")
pytest.importorskip("rsl_rl")

from tests.skills.small_training import short_stand

from haloid.errors import HaloidError
from haloid.motions.load import load_motion
from haloid.robots.description import describe
from haloid.skills.controller.design import Design
from haloid.skills.controller.estimate import Noise
from haloid.skills.controller.linear_feedback import FeedbackWeights
from haloid.skills.controller.tables import controller_tables
from haloid.skills.policies.actions import ControllerActions, FeedforwardActions, MjlabActions
from haloid.skills.task import task as task_module
from haloid.skills.task.robot import tracked_robot
from haloid.skills.task.task import TaskConfig, build_task
from haloid.skills.training.trial import Trial


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> str:
    return short_stand(tmp_path_factory.mktemp("motions"))


def test_the_feedforward_mode_corrects_legs_and_waist_of_the_training_model(stand):
    task = build_task(TaskConfig((stand,), robots=4, threads=1))
    assert isinstance(task.actions, FeedforwardActions)
    assert task.actions.outputs == 15
    reached = task.actions.reach.abs().sum(dim=0).numpy() > 0
    arms = [any(part in name for part in ("shoulder", "elbow", "wrist")) for name in task.robot.joint_names]
    assert reached.tolist() == np.logical_not(arms).tolist()
    assert task.reference.names == ("short-stand",)
    assert task.robot.model.opt.timestep == pytest.approx(0.02 / 3)
    assert len(task.actions.target) == len(task.reference) == 30

    with_arms = build_task(TaskConfig((stand,), robots=4, threads=1, learn_arms=True, state_estimation=True, history=1))
    assert with_arms.actions.outputs == 29
    assert with_arms.environment.observations()[0].shape == (4, 160)


def test_the_controller_alone_stands_in_the_training_environment(stand):
    """A network that says nothing: half a second later the robots are where the reference is."""
    import torch

    task = build_task(TaskConfig((stand,), actions="controller", robots=4, threads=1, randomisation="none"))
    environment = task.environment
    environment.difficulty.reset = environment.difficulty.push = environment.difficulty.noise = 0.0
    environment.reset(np.arange(4), np.zeros(4, dtype=int))
    for _ in range(29):
        observed = torch.from_numpy(environment.observations()[0])
        action = task.actions(observed, torch.from_numpy(environment.time_step), torch.zeros(4, 29))
        step = environment.step(action.numpy())
        assert not step.terminated.any()
        assert step.body_error_m.max() < 0.02
    assert step.timed_out.all()


def test_several_motions_and_mjlabs_mode(stand):
    task = build_task(TaskConfig((stand, stand), actions="mjlab", robots=4, threads=1, substeps=4))
    assert isinstance(task.actions, MjlabActions)
    assert (task.actions.outputs, len(task.reference)) == (29, 60)
    assert task.robot.model.opt.timestep == 0.005
    both = build_task(TaskConfig((stand, stand), actions="controller", robots=4, threads=1))
    assert isinstance(both.actions, ControllerActions)
    assert len(both.actions.target) == len(both.actions.gain) == 60


def test_impossible_settings_are_refused(stand, tmp_path: Path):
    with pytest.raises(HaloidError, match="--substeps is 0; expected a number from 1 to 20"):
        build_task(TaskConfig((stand,), substeps=0))
    with pytest.raises(HaloidError, match="No motion 'skwat'"):
        build_task(TaskConfig(("skwat",)))
    with pytest.raises(HaloidError, match="a search is for designs of the controller"):
        TaskConfig((stand,), search=5)
    with pytest.raises(HaloidError, match="no motion to track"):
        build_task(TaskConfig(()))


def test_the_controller_is_the_best_in_trials_and_the_first_that_never_falls_ends_them(stand, monkeypatch):
    designs = [Design(assumed=Noise(tip_rad=tip_rad)) for tip_rad in (0.01, 0.02, 0.03)]
    designs.append(Design(FeedbackWeights(com_m=0.02)))
    model, motion = tracked_robot("g1").model, load_motion(stand)
    gains = [controller_tables(model, describe("g1"), motion, one.weights, one.assumed).gain for one in designs]
    monkeypatch.setattr(task_module, "DESIGNS", designs)
    for successes, best in (((0.3, 0.9, 0.5, 0.8), 1), ((0.3, 0.9, 1.0), 2), ((0.3, 0.9, 0.5, 0.95), 3)):
        trials = [Trial(success, survival=0.9, body_error_m=0.05) for success in successes]
        monkeypatch.setattr(task_module, "try_out", lambda *_, trials=trials: trials.pop(0))
        config = TaskConfig((stand,), actions="controller", robots=4, threads=1, randomisation="none")
        task = build_task(config)
        assert isinstance(task.actions, ControllerActions)
        np.testing.assert_allclose(task.actions.gain.numpy(), gains[best], atol=1e-4 * np.abs(gains[best]).max())
        assert not trials


def test_a_search_tries_other_designs_and_keeps_the_best(stand, monkeypatch):
    """The usual design succeeds in its trial; on rougher robots it scores 0.1, and three others 0.0, 0.9 and 0.2."""
    config = TaskConfig((stand,), actions="controller", robots=4, threads=1, randomisation="none")
    usual = build_task(config).actions
    asked: list[int] = []

    def try_out(*args):
        asked.append(args[-1])
        return Trial((1.0, 0.1, 0.0, 0.9, 0.2)[len(asked) - 1], survival=0.0, body_error_m=0.0)

    monkeypatch.setattr(task_module, "try_out", try_out)
    told: list[str] = []
    found = build_task(replace(config, search=3), tell=told.append).actions
    assert isinstance(found, ControllerActions) and isinstance(usual, ControllerActions)
    assert asked == [48, 96, 96, 96, 96]
    assert [words.split(",")[0] for words in told] == ["design 1 of 3", "design 2 of 3", "design 3 of 3"]
    assert not np.allclose(found.gain, usual.gain, rtol=1e-3)
