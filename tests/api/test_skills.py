"""Policies in Python: which model they are trained and measured on, and what is left where nothing comes of it."""

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")

from tests.skills.small_training import short_stand

import haloid
from haloid.api.skills import _free_folder
from haloid.cli.skills import evaluate as evaluate_command
from haloid.cli.skills import train as train_command
from haloid.skills.training.run_config import read_config


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> str:
    return short_stand(tmp_path_factory.mktemp("motions"))


def test_a_policy_is_trained_on_a_result_and_measured(stand: str, result: haloid.Result, tmp_path: Path):
    """The training keeps the result's model, and a robot that carries what was found is the one that it knows."""
    out = tmp_path / "run"
    policy = haloid.train(stand, model=result, out=out, iterations=0, robots=4)
    assert policy.path == out / "policy.onnx"
    config = read_config(out)
    assert config.task.model == str(out / "model.xml")
    found = haloid.load_robot(config.task.model).compile().body("torso_link").mass[0]
    assert found == pytest.approx(result.links["torso_link"]["mass"].value, rel=1e-9)
    on_result = haloid.evaluate(policy, model=result, starts=2, threads=1)
    on_payload = haloid.evaluate(out, payload=result.payload, starts=2, threads=1)
    bare = haloid.evaluate(out / "policy.pt", starts=2, threads=1)
    errors = [one.error("e_mpjpe_mm").mean for one in (on_result, on_payload, bare)]
    assert on_result.success_rate == 1.0
    assert errors[1] == pytest.approx(errors[0], rel=0.2)
    assert errors[2] > 1.5 * max(errors[:2])
    assert repr(on_result) == "Evaluation('short-stand', 2 of 2 runs succeed)"


def test_nothing_is_left_of_a_training_that_cannot_begin(result: haloid.Result, tmp_path: Path):
    with pytest.raises(haloid.HaloidError, match="No motion 'skwat'"):
        haloid.train("skwat", model=result, out=tmp_path / "run")
    with pytest.raises(haloid.HaloidError, match="--robots is 0; expected a number from 1 to"):
        haloid.train("squat", model=result, out=tmp_path / "run", robots=0)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_taken_are_not_used_again(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _free_folder(["clips/walk.npz"]) == Path("out/walk")
    (tmp_path / "out" / "walk").mkdir(parents=True)
    (tmp_path / "out" / "walk-2").mkdir()
    assert _free_folder(["walk"]) == Path("out/walk-3")


def test_functions_and_commands_agree_on_every_setting():
    renamed = {"delay": "delay_s", "config": "", "resume": "", "backend": "", "gpu_ids": ""}
    of_train = {name: each.default for name, each in inspect.signature(haloid.train).parameters.items()}
    for field in fields(train_command.Config):
        name = renamed.get(field.name, field.name)
        if name not in ("", "motion"):
            assert of_train[name] == field.default, name
    renamed = {"delay": "delay_s", "random_starts": "", "payload_setting": "", "policy": ""}
    of_evaluate = {name: each.default for name, each in inspect.signature(haloid.evaluate).parameters.items()}
    for field in fields(evaluate_command.Config):
        name = renamed.get(field.name, field.name)
        if name and name not in ("out", "video", "save_rollouts", "save_observations"):
            assert of_evaluate[name] == field.default, name
