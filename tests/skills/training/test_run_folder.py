"""A training's folder: what is in it, how a training goes on, and what survives."""

import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.words import assert_words

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")
pytest.importorskip("tensorboard")

import torch
from tests.skills.one_robot import data_in, model_of
from tests.skills.small_training import differing_lines, short_stand, small_training

from haloid.errors import HaloidError
from haloid.skills.policies.policy import load_policy
from haloid.skills.task.randomisation import RANDOMISED_FIELDS
from haloid.skills.task.simulation import FASTEST
from haloid.skills.training import run_folder as module
from haloid.skills.training.checkpoint import load_checkpoint, save_checkpoint
from haloid.skills.training.learning import Iteration, Training
from haloid.skills.training.run_config import read_config
from haloid.skills.training.run_folder import last_policy, resume, train


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> str:
    return short_stand(tmp_path_factory.mktemp("motions"))


@pytest.fixture(scope="module")
def whole(stand, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of four iterations that nothing disturbed."""
    folder = tmp_path_factory.mktemp("trainings") / "whole"
    outcome = train(small_training(stand, checkpoint_every=2), folder)
    assert (outcome.iterations, outcome.finished, outcome.steps) == (4, True, 4 * 6 * 8)
    return folder


class StopError(Exception):
    pass


def stop_after(number: int):
    def stop(iteration: Iteration) -> None:
        if iteration.number == number:
            raise StopError

    return stop


def test_what_a_training_leaves(whole, stand):
    names = sorted(file.name for file in whole.iterdir())
    assert names == ["checkpoint.pt", "config.yaml", "metrics.jsonl", "policy.pt", "tensorboard"]
    records = [json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()]
    assert [record["iteration"] for record in records] == [1, 2, 3, 4]
    assert {"reward", "body_error_mm", "failures_per_s", "reward/motion_body_pos", "ends_per_s/anchor_pos"} <= set(
        records[0]
    )
    assert load_checkpoint(whole)["iteration"] == 4
    policy = load_policy(whole)
    assert (policy.facts.motions, policy.facts.run) == (("short-stand",), str(whole))


def test_tensorboard_reads_the_metrics(whole):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(whole / "tensorboard"))
    board.Reload()
    record = json.loads((whole / "metrics.jsonl").read_text().splitlines()[2])
    shown = board.Scalars("training/reward")
    assert [event.step for event in shown] == [1, 2, 3, 4]
    assert shown[2].value == pytest.approx(record["reward"], rel=1e-5)
    assert board.Scalars("speed/steps_per_s")[0].value > 0


def test_the_configuration_comes_back(whole, stand, tmp_path: Path):
    assert read_config(whole) == small_training(stand, checkpoint_every=2)
    config = small_training(stand, ppo=None, iterations=0, learn_arms=True, randomisation="wide")
    train(config, tmp_path / "other")
    assert read_config(tmp_path / "other") == config


@pytest.mark.parametrize("stopped_after", [1, 2, 3])
def test_a_stopped_training_goes_on_as_if_nothing_had_happened(whole, stand, tmp_path: Path, stopped_after):
    """Stopped at, or after, its checkpoint of iteration 2, or with the one of the beginning alone."""
    folder, numbers = tmp_path / "run", []
    with pytest.raises(StopError):
        train(small_training(stand, checkpoint_every=2), folder, on_iteration=stop_after(stopped_after))
    outcome = resume(folder, on_iteration=lambda iteration: numbers.append(iteration.number))
    assert numbers == ([1, 2, 3, 4] if stopped_after == 1 else [3, 4])
    assert outcome.finished
    assert differing_lines(folder, whole) == []
    found, expected = load_policy(folder), load_policy(whole)
    for name, value in expected.network.state_dict().items():
        assert torch.equal(found.network.state_dict()[name], value)


def test_how_often_it_is_stored_does_not_change_a_training(whole, stand, tmp_path: Path):
    train(small_training(stand, checkpoint_every=1), tmp_path / "run")
    assert differing_lines(tmp_path / "run", whole) == []


def test_books_ahead_of_their_checkpoint_are_cut(whole, stand, tmp_path: Path, monkeypatch):
    """The process ends after the books of iteration 4 were written and before its checkpoint was."""
    folder = tmp_path / "run"

    def fail_at_four(state: dict, where: Path) -> None:
        if state["iteration"] == 4:
            raise StopError
        save_checkpoint(state, where)

    with monkeypatch.context() as patched, pytest.raises(StopError):
        patched.setattr(module, "save_checkpoint", fail_at_four)
        train(small_training(stand, checkpoint_every=2), folder)
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 4
    assert load_checkpoint(folder)["iteration"] == 2
    resume(folder)
    assert differing_lines(folder, whole) == []


def test_a_torn_line_of_the_metrics_is_left_out(whole, stand, tmp_path: Path, caplog):
    """What the last whole checkpoint does not need is made anew; an older line that is damaged ends the table."""
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        train(small_training(stand, checkpoint_every=2), folder, on_iteration=stop_after(3))
    file = folder / "metrics.jsonl"
    file.write_text(file.read_text() + '{"iteration": 3, "rew')
    resume(folder)
    assert differing_lines(folder, whole) == []
    assert "a line is torn and what follows it is left out" in caplog.text
    file.write_bytes(file.read_bytes()[:-20] + b"\xff\x00")
    assert resume(folder).iterations == 4
    assert len(file.read_text().splitlines()) == 3


def killed_while_writing(folder: Path) -> None:
    """In a process of its own: half of a checkpoint, then SIGKILL."""
    import os
    import signal

    def half(path: Path, content: bytes) -> None:
        with path.open("wb") as stream:
            stream.write(content[: len(content) // 2])
            stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    Path.write_bytes = half  # pyright: ignore[reportAttributeAccessIssue]
    save_checkpoint({"iteration": 40}, folder)


def test_a_process_killed_while_it_writes_leaves_the_checkpoint_before(tmp_path: Path):
    save_checkpoint({"iteration": 20}, tmp_path)
    process = multiprocessing.get_context("fork").Process(target=killed_while_writing, args=(tmp_path,))
    process.start()
    process.join(30)
    assert process.exitcode == -9
    assert load_checkpoint(tmp_path) == {"iteration": 20}
    assert len(list(tmp_path.iterdir())) == 2  # the half one lies beside, under another name


def test_time_that_is_up_ends_a_training_that_can_go_on_further(stand, tmp_path: Path):
    folder = tmp_path / "run"
    outcome = train(small_training(stand), folder, minutes=0.0)
    assert (outcome.iterations, outcome.finished) == (0, False)
    outcome = resume(folder, iterations=2)
    assert (outcome.iterations, outcome.finished) == (2, True)
    assert resume(folder, iterations=3).iterations == 3


def test_a_folder_with_a_training_is_not_overwritten(whole, stand):
    with pytest.raises(HaloidError) as refusal:
        train(small_training(stand), whole)
    assert_words(str(refusal.value), "holds a training already", f"haloid train --resume {whole}")


def test_a_warm_start_takes_the_best_networks_of_a_folder(whole, stand, tmp_path: Path):
    train(small_training(stand, iterations=0, seed=9), tmp_path / "warm", warm_start=whole)
    found = load_checkpoint(tmp_path / "warm")["ppo"]["actor_state_dict"]
    for name, value in load_checkpoint(whole)["best"]["actor"].items():
        assert torch.equal(found[name], value)
    with pytest.raises(HaloidError, match="the warm start does not fit this task"):
        train(small_training(stand, learn_arms=True), tmp_path / "cold", warm_start=whole)
    assert not (tmp_path / "cold").exists()


def test_the_last_policy_is_that_of_the_last_iteration(whole):
    state, found = load_checkpoint(whole), last_policy(whole)
    assert torch.equal(found.network.layers[0].weight, state["ppo"]["actor_state_dict"]["mlp.0.weight"])
    assert not torch.equal(found.network.layers[0].weight, state["best"]["actor"]["mlp.0.weight"])


def test_a_diverged_simulation_is_kept_and_can_be_seen_again(stand, tmp_path: Path, monkeypatch):
    """The training goes on, and what was kept of the first one diverges in a single simulation."""
    step, folder = Training.step, tmp_path / "run"

    def spoiled(training: Training) -> Iteration:
        if training.iteration < 2:
            training.task.environment.simulation.qvel[training.iteration * 3, 10] = 1e5
        return step(training)

    monkeypatch.setattr(Training, "step", spoiled)
    assert train(small_training(stand), folder).finished
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [record["diverged"] for record in records] == [1.0, 2.0, 2.0, 2.0]
    assert sorted(file.name for file in (folder / "diverged").iterdir()) == ["1.npz", "2.npz"]

    import mujoco

    from haloid.skills.task.robot import tracked_robot

    kept = np.load(folder / "diverged" / "1.npz")
    template = tracked_robot("g1", timestep_s=0.02 / 3).model
    model = model_of(template, {name: kept[name] for name in RANDOMISED_FIELDS})
    data = data_in(model, kept["state_before"])
    data.ctrl[:] = kept["ctrl"]
    mujoco.mj_step(model, data, nstep=3)
    assert not (np.abs(data.qvel) < FASTEST).all()


def test_only_the_first_divergences_are_kept(tmp_path: Path):
    write = module._divergence_writer(tmp_path / "diverged")
    for number in range(12):
        write({"time_step": np.array(number)})
    assert len(list((tmp_path / "diverged").iterdir())) == 10
    assert np.load(tmp_path / "diverged" / "10.npz")["time_step"] == 9


def test_a_training_ends_with_the_trial_that_is_good_enough(stand, tmp_path):
    """Any trial is good enough for 0, and the first one is held before anything is learned."""
    outcome = train(small_training(stand, until=0.0), tmp_path / "run")
    assert (outcome.iterations, outcome.finished) == (1, True)
    assert read_config(tmp_path / "run").until == 0.0
    success = load_checkpoint(tmp_path / "run")["best"]["success"]
    assert outcome.success == success

    again = resume(tmp_path / "run")
    assert (again.iterations, again.steps, again.finished, again.success) == (1, 0, True, success)
    further = resume(tmp_path / "run", until=1.0)
    assert (further.iterations, further.finished) == (4 if success < 1.0 else 1, True)
