"""`haloid train`: what it writes and says, and that a training survives kill -9."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")

from tests.recordings.words import assert_words
from tests.skills.small_training import differing_lines, short_stand

from haloid.cli import main as cli
from haloid.cli.train import Config, _teller, _training_config
from haloid.errors import HaloidError
from haloid.skills.checkpoint import load_checkpoint
from haloid.skills.train import read_config
from haloid.skills.training import Iteration


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> str:
    return short_stand(tmp_path_factory.mktemp("motions"))


def test_a_training_from_the_command_line(stand, tmp_path: Path, capsys):
    """Two iterations, then on to nothing more: a finished training is not begun again."""
    out = tmp_path / "run"
    assert cli.main(["train", "--motion", stand, "-o", str(out), "--robots", "8", "--iterations", "2"]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert_words(shown, "2 iterations, 384 steps in", f"wrote {out / 'policy.onnx'}")
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
    metrics = {"reward": 4.256, "body_error_mm": 31.4, "failures_a_s": 0.123, "level": 0.48}
    tell = _teller(said.append, None, 10)
    for number in (5, 6):  # of a training that was resumed after its fourth
        clock[0] += 60.0
        tell(Iteration(number, metrics, {"all": 2.0}, 12288))
    assert said[1] == (
        "iteration 6: reward 4.26, error 31 mm, failures 0.12/s, level 0.48, 6,144 steps/s, 4.0 min left"
    )
    tell = _teller(said.append, 2.5, 1000)
    clock[0] += 60.0
    tell(Iteration(1, metrics, {"all": 2.0}, 12288))
    assert_words(said[2], "1.5 min left")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "x"], "give a motion and a folder"),
        (["--motion", "squat"], "give a motion and a folder"),
        (["--resume", "x", "--motion", "squat"], "--resume goes on with a training and its own settings"),
        (["--resume", "nowhere"], "nowhere holds no training: it has no config.yaml"),
    ],
)
def test_wrong_usage_is_told(words, message, capsys):
    assert cli.main(["train", *words]) == 1
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
