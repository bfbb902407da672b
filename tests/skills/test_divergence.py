"""Simulations that leave the finite numbers: told, kept for later, started anew, and no harm to the others."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjbatch")

from tests.skills.one_robot import data_in, model_of

from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.randomisation import RANDOMISATIONS, RANDOMISED_FIELDS
from haloid.skills.task.reference import reference_of
from haloid.skills.task.simulation import FASTEST
from haloid.skills.task.transforms import Delay

ROBOTS, SICK = 8, 3
HEALTHY = np.arange(ROBOTS) != SICK


@pytest.fixture
def environment(robot, motion) -> TrackingEnvironment:
    ranges = RANDOMISATIONS["wide"]
    config = EnvironmentConfig(robots=ROBOTS, seed=2, threads=2, randomisation=ranges, transforms=(Delay(0.005),))
    made = TrackingEnvironment(robot, reference_of(robot, [motion]), config)
    made.difficulty = replace(made.difficulty, push=0.0, termination=1e9)
    return made


def spoil(environment: TrackingEnvironment, how: str) -> None:
    if how == "nan position":
        environment.simulation.qpos[SICK, 12] = np.nan
    elif how == "nan velocity":
        environment.simulation.qvel[SICK, 4] = np.nan
    elif how == "fast":
        environment.simulation.qvel[SICK, 10] = 1e5
    else:  # MuJoCo itself refuses to step this one
        environment.simulation.qvel[SICK] = 990.0 * (-1.0) ** np.arange(35)
        environment.simulation.qpos[SICK, 2] = -0.5


@pytest.mark.parametrize("how", ["nan position", "nan velocity", "fast", "refused"])
def test_a_diverged_robot_starts_anew_and_the_others_do_not_notice(environment, how):
    state, told = environment.state(), []
    healthy = environment.step(np.zeros((ROBOTS, 29)))
    expected = environment.state()["physics"]

    environment.load_state(state)
    environment.on_diverged = told.append
    spoil(environment, how)
    step = environment.step(np.zeros((ROBOTS, 29)))

    assert (environment.diverged, len(told)) == (1, 1)
    assert step.termination_terms["diverged"].tolist() == (~HEALTHY).tolist()
    assert step.terminated.tolist() == (~HEALTHY).tolist()
    assert np.isfinite(step.reward).all()
    np.testing.assert_array_equal(step.reward[HEALTHY], healthy.reward[HEALTHY])
    np.testing.assert_array_equal(environment.state()["physics"][HEALTHY], expected[HEALTHY])
    assert environment.episode_step.tolist() == HEALTHY.astype(int).tolist()
    for _ in range(3):
        step = environment.step(np.zeros((ROBOTS, 29)))
        assert not step.terminated.any()
    assert environment.diverged == 1
    assert np.isfinite(environment.state()["physics"]).all()
    assert all(np.isfinite(observed).all() for observed in environment.observations())


@pytest.mark.parametrize("how", ["fast", "refused"])
def test_what_is_kept_diverges_again_in_one_simulation(environment, robot, how):
    told: list[dict[str, np.ndarray]] = []
    environment.on_diverged = told.append
    spoil(environment, how)
    environment.step(np.zeros((ROBOTS, 29)))
    kept = told[0]

    model = model_of(robot.model, {name: kept[name] for name in RANDOMISED_FIELDS})
    data = data_in(model, kept["state_before"])
    assert np.isfinite(data.qpos).all()
    try:
        mujoco.mj_step(model, data)  # the delay
        data.ctrl[:] = kept["ctrl"]
        mujoco.mj_step(model, data, nstep=3)
        diverged = not np.isfinite(data.qpos).all() or not (np.abs(data.qvel) < FASTEST).all()
    except mujoco.FatalError:  # MuJoCo itself refuses to go on
        diverged = True
    assert diverged
    expected = robot.default_joint_pos_rad - environment.encoder_bias[SICK]
    np.testing.assert_allclose(kept["ctrl"], expected, atol=1e-6)


def test_errors_that_are_no_divergence_are_not_hidden(environment, monkeypatch):
    monkeypatch.setattr(environment.simulation, "batch", Broken(environment.simulation.batch))
    with pytest.raises(RuntimeError, match="no more threads"):
        environment.step(np.zeros((ROBOTS, 29)))


class Broken:
    """A batch that fails after all simulations went on."""

    def __init__(self, batch) -> None:
        self._batch = batch

    def step(self, nstep: int) -> None:
        self._batch.step(nstep=nstep)
        raise RuntimeError("no more threads")
