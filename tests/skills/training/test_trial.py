"""Trials: the controller alone stands, a network that pulls the legs away falls, and a trial changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("mjbatch")
pytest.importorskip("rsl_rl")

from haloid.skills.task.task import TaskConfig, build_task  # noqa: E402
from haloid.skills.training.trial import GENTLE, trial  # noqa: E402

QUIET = replace(GENTLE, noise=0.2)


@pytest.fixture(scope="module")
def bent():
    return build_task(TaskConfig(motions=("stand",), robots=4, threads=1))


@pytest.fixture(scope="module")
def task():
    return build_task(TaskConfig(motions=("stand",), actions="controller", robots=4, noise=0.2, threads=1))


def test_the_controller_alone_stands(task) -> None:
    found = trial(task.environment, QUIET, task.actions, lambda observed: torch.zeros(len(observed), 29))
    assert (found.success, found.survival) == (1.0, 1.0)
    assert found.body_error_m < 0.03
    assert found.score == pytest.approx(2.0 - found.body_error_m)


def test_a_network_that_bends_the_knees_to_the_utmost_falls(bent) -> None:
    def collapse(observed):
        output = torch.zeros(len(observed), 15)
        output[:, [3, 9]] = 20.0
        return output

    found = trial(bent.environment, QUIET, bent.actions, collapse)
    assert found.success == 0.0
    assert found.survival < 0.5


def test_a_trial_repeats_itself_and_leaves_the_training_alone(task) -> None:
    before = task.environment.state()
    zero = lambda observed: torch.zeros(len(observed), 29)  # noqa: E731
    assert trial(task.environment, QUIET, task.actions, zero) == trial(task.environment, QUIET, task.actions, zero)
    after = task.environment.state()
    np.testing.assert_array_equal(before["physics"], after["physics"])
    assert before["random"] == after["random"]
