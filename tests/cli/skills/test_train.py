"""`haloid train`: what it writes and says, and that a training survives kill -9."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest
import yaml

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")

from tests.recordings.words import assert_words
from tests.skills.small_training import differing_lines, short_stand

from haloid.cli import main as cli
from haloid.cli.skills.train import Config, _plan, _teller, _training_config
from haloid.errors import HaloidError
from haloid.skills.training.checkpoint import load_checkpoint
from haloid.skills.training.learning import Iteration
from haloid.skills.training.ppo import PpoConfig
from haloid.skills.training.run_config import read_config


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> str:
    return short_stand(tmp_path_factory.mktemp("motions"))


def test_a_training_from_the_command_line(stand, tmp_path: Path, capsys):
    """Two iterations, then on to nothing more: a finished training is not begun again."""
    out = tmp_path / "run"
    assert cli.main(["train", "--motion", stand, "-o", str(out), "--robots", "8", "--iterations", "2"]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert_words(shown, "2 iterations, 512 steps in", f"wrote {out / 'policy.onnx'}")
    assert (out / "policy.onnx").stat().st_size > 10_000
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 2
    assert cli.main(["train", "--motion", stand, "-o", str(out)]) == 1
    assert_words(capsys.readouterr().err.replace("\n", " "), "holds a training already", "haloid train --resume")
    assert cli.main(["train", "--resume", str(out)]) == 0
    assert_words(capsys.readouterr().out, "2 iterations, 0 steps in")


def test_options_become_the_trainings_settings():
    config = Config(motion=("walk",), out=Path("out"), learn_arms=True, iterations=7, checkpoint_every=3, seed=4)
    made = _training_config(replace(config, randomisation="wide", difficulty=0.5, robots=64, actions="mjlab"))
    assert (made.iterations, made.checkpoint_every, made.difficulty) == (7, 3, 0.5)
    task = made.task
    assert (task.motions, task.model, task.actions, task.randomisation) == (("walk",), "g1", "mjlab", "wide")
    assert (task.learn_arms, task.robots, task.seed, task.state_estimation) == (True, 64, 4, False)


def test_progress_tells_how_it_goes_and_how_long_it_takes(monkeypatch):
    clock, said = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    metrics = {"reward": 4.256, "body_error_mm": 31.4, "failures_per_s": 0.123, "level": 0.48}

    def say(detail: str, *, done: float, value: float) -> None:
        said.append((detail, round(done, 3), value))

    tell = _teller(say, None, 10)
    clock[0] += 300.0  # what comes before learning does not count
    for number in (5, 6):  # of a training that was resumed after its fourth
        clock[0] += 60.0
        tell(Iteration(number, metrics, {"all": 60.0}, 12288))
    words = "iteration 6: reward 4.26, error 31 mm, failures 0.12/s, level 0.48, 205 steps/s, 4.0 min left"
    assert said[1] == (words, 0.333, 4.256)
    tell = _teller(say, 2.5, 1000)
    clock[0] += 60.0
    tell(Iteration(1, metrics, {"all": 60.0}, 12288))
    assert_words(said[2][0], "1.5 min left")
    assert said[2][1] == 0.4


def test_the_first_words_come_before_anything_is_loaded():
    words = _plan(Config(motion=("squat",), minutes=10))
    assert re.match(r"loads PyTorch .*, then learns for 10 min at most, until about \d\d:\d\d$", words)
    assert "the time left is shown after the first iteration" in _plan(Config(motion=("squat",)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a motion and a folder"),
        (["-o", "x"], "give a motion and a folder"),
        (["--motion", "squat"], "give a motion and a folder"),
        (["--resume", "x", "--motion", "squat"], "--resume goes on with a training and its own settings"),
        (["--motion", "squat", "-o", "x", "--clamp", "pelvis", "--backend", "mjlab"], "is trained on the CPU"),
    ],
)
def test_wrong_usage_is_told(words, message, capsys):
    assert cli.main(["train", *words]) == 2
    assert_words(capsys.readouterr().err.replace("\n", " "), message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "nowhere"], "nowhere holds no training: it has no config.yaml"),
        (["--motion", "squat", "-o", "x", "--robots", "0"], "--robots is 0; expected a number from 1 to 1e+06"),
        (
            ["--motion", "squat", "-o", "x", "--iterations", "-1"],
            "--iterations is -1; expected a number from 0 to 1e+07",
        ),
        (["--config", "nothing.yaml"], "nothing.yaml does not hold the settings of a run: the system says"),
    ],
)
def test_values_that_cannot_be_are_told(words, message, capsys):
    assert cli.main(["train", *words]) == 1
    assert_words(capsys.readouterr().err.replace("\n", " "), message)


@pytest.fixture(scope="module")
def begun(stand, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of no iteration on a model file that was named from its folder."""
    from haloid.robots.files.write_mjcf import write_mjcf
    from haloid.robots.load import load_spec

    folder = tmp_path_factory.mktemp("begun")
    write_mjcf(load_spec("g1"), folder / "robot.xml")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        words = ["--motion", stand, "--model", "robot.xml", "-o", "run", "--robots", "8", "--iterations", "0"]
        assert cli.main(["train", *words]) == 0
    return folder


@pytest.fixture
def run(begun: Path, tmp_path: Path) -> Path:
    """A copy of the training that a test may change."""
    shutil.copytree(begun / "run", tmp_path / "run")
    return tmp_path / "run"


def test_options_beside_resume_are_honoured_or_refused_by_name(run: Path, capsys):
    assert cli.main(["train", "--resume", str(run), "--iterations", "1"]) == 0
    assert_words(capsys.readouterr().out, "1 iteration, ")
    assert read_config(run).iterations == 1
    assert cli.main(["train", "--resume", str(run), "--robots", "4", "--seed", "3", "--iterations", "2"]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert_words(said, "--robots, --seed: --resume goes on with a training and its own settings, which differ")
    assert_words(said, "What may change: --minutes, --iterations, --until, --model")
    assert cli.main(["train", "--resume", str(run), "--robots", "8"]) == 0  # as it is


def test_a_training_goes_on_from_another_directory_with_the_same_model(begun: Path, run: Path, monkeypatch, capsys):
    monkeypatch.chdir(run.parent)
    assert cli.main(["train", "--resume", "run"]) == 0
    moved = run.parent / "moved.xml"
    shutil.copy(begun / "robot.xml", moved)
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(text.replace(str(begun / "robot.xml"), "/gone/robot.xml"))
    assert cli.main(["train", "--resume", "run"]) == 1
    assert_words(capsys.readouterr().err, "was trained on /gone/robot.xml, which is no longer there", "--model FILE")
    assert cli.main(["train", "--resume", "run", "--model", "moved.xml"]) == 0
    assert read_config(run).task.model == str(moved)
    moved.write_text(moved.read_text() + "<!-- heavier -->")
    assert cli.main(["train", "--resume", "run"]) == 1
    assert_words(capsys.readouterr().err, "is not the model that", "its content has changed", "--warm-start")


def test_a_training_is_repeated_from_its_config(begun: Path, tmp_path: Path):
    """Every option is in it, or is a place; options beside it win, and what is no option stays as it was."""
    file = begun / "run" / "config.yaml"
    values = yaml.safe_load(file.read_text())
    names = {"motion": "motions", "delay": "delay_s"}
    options = {names.get(field.name, field.name) for field in fields(Config)}
    assert options - set(values) - set(values["task"]) == {"out", "resume", "config"}
    values["ppo"] = {"hidden": [16, 16], "steps": 6}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(values))
    words = ["--config", str(tmp_path / "mine.yaml"), "-o", str(tmp_path / "again"), "--seed", "4"]
    assert cli.main(["train", *words]) == 0
    first, again = read_config(begun / "run"), read_config(tmp_path / "again")
    assert again.ppo == PpoConfig(hidden=(16, 16), steps=6)
    assert replace(again, ppo=None, task=replace(again.task, seed=0)) == first
    assert again.task.seed == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task: !!python/object:os.system {}", "could not determine a constructor for the tag"),
        ("task: {motions: [squat], wheels: 4}\nppo: null", "got an unexpected keyword argument 'wheels'"),
        ("iterations: 3", "it lacks 'task'"),
        ("task: 3\nppo: null", "does not hold the settings of a run"),
        ("command: identify", "it was written by haloid identify. Expected the config.yaml that haloid train wrote"),
    ],
)
def test_settings_that_are_damaged_are_told(run: Path, text: str, message: str, capsys):
    (run / "config.yaml").write_text(text)
    assert cli.main(["train", "--resume", str(run)]) == 1
    assert_words(capsys.readouterr().err.replace("\n", " "), message)


def haloid_train(*words: str) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "haloid", "train", *words], env=environment, stdout=subprocess.PIPE)


@pytest.mark.slow
def test_a_training_killed_with_sigkill_goes_on_as_if_nothing_had_happened(stand, tmp_path: Path):
    """Books line by line, bit by bit, as those of a training that nobody killed; and the same policy in the end."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    words = ["--motion", stand, "--robots", "16", "--iterations", "10", "--checkpoint-every", "2", "--seed", "5"]
    assert haloid_train(*words, "-o", str(whole)).wait(300) == 0

    process = haloid_train(*words, "-o", str(killed))
    wait_for_checkpoint(killed, 2)
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    assert not (killed / "policy.onnx").exists()
    stopped_at = load_checkpoint(killed)["iteration"]
    assert 2 <= stopped_at < 10

    resumed = haloid_train("--resume", str(killed))
    assert resumed.wait(300) == 0
    lines = (whole / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == list(range(1, 11))
    assert differing_lines(killed, whole) == []
    assert read_config(killed) == read_config(whole)
    one, other = (load_checkpoint(folder)["ppo"]["actor_state_dict"] for folder in (whole, killed))
    assert all((one[name] == other[name]).all() for name in one)


def wait_for_checkpoint(folder: Path, iteration: int) -> None:
    """Reads the checkpoint again and again while it is replaced; it is sound at every moment."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            if load_checkpoint(folder)["iteration"] >= iteration:
                return
        except HaloidError as error:
            assert "it has no checkpoint.pt" in str(error)
        time.sleep(0.02)
    raise TimeoutError
