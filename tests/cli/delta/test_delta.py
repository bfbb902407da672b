"""`haloid delta`: from a policy of two motions to a delta model by PPO, and what is refused in words."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")

from tests.skills.small_training import short_stand, small_training

from haloid.cli import main as cli
from haloid.gap.delta.files import load_delta
from haloid.skills.training.run_folder import train
from haloid.trajectories.rollout_file import read_rollout


def delta(*words: object) -> int:
    return cli.main(["delta", *map(str, words), "--threads", "1"])


@pytest.mark.slow
def test_from_a_policy_of_two_motions_to_a_delta_model_by_ppo(tmp_path: Path, capsys):
    train(small_training("stand", motions=("stand", "wave"), iterations=1), tmp_path / "both")
    few = ("--clips", 3, "--seconds", 1.4, "-o", tmp_path / "real")
    assert delta("collect", "--policy", tmp_path / "both", "--stand-in", "twin", *few) == 0
    rollouts = {file.stem: read_rollout(file) for file in (tmp_path / "real").iterdir()}
    assert {name: rollout.facts["motion"] for name, rollout in rollouts.items()} == {
        "both-stand": "stand",
        "both-wave": "wave",
    }
    written = {file.name: file.read_bytes() for file in (tmp_path / "real").iterdir()}
    assert delta("collect", "--policy", tmp_path / "both", "--stand-in", "twin", *few) == 0  # it was done
    assert delta("collect", "--policy", tmp_path / "both", "--stand-in", "worn", *few, "--clips", 4) == 1
    assert "was collected with other settings: stand_in twin (now worn), clips 3 (now 4). Give another" in said(capsys)
    train(small_training("stand", motions=("stand", "wave"), iterations=1, seed=1), tmp_path / "new" / "both")
    assert delta("collect", "--policy", tmp_path / "new" / "both", "--stand-in", "twin", *few) == 1
    assert "both-stand.npz was collected with another policy than" in said(capsys)
    assert written == {file.name: file.read_bytes() for file in (tmp_path / "real").iterdir()}
    learned = ("train", "--rollouts", tmp_path / "real", "-o", tmp_path / "delta")
    assert delta(*learned, "--iterations", 1) == 1
    assert "--iterations and --minutes are for --method ppo; the method is fast" in said(capsys)
    assert delta(*learned, "--method", "ppo", "--iterations", 1) == 0
    assert "OpenLoop" in said(capsys)
    assert {file.name for file in (tmp_path / "delta").iterdir()} >= {"delta.onnx", "delta.pt", "joints.png"}
    assert not (tmp_path / "delta-training").exists()
    assert load_delta(tmp_path / "delta").facts.method == "ppo"


@pytest.mark.slow
def test_clips_that_are_too_short_are_refused(tmp_path: Path, capsys):
    train(small_training(short_stand(tmp_path), iterations=1), tmp_path / "short")
    assert delta("collect", "--policy", tmp_path / "short", "--clips", 6, "-o", tmp_path / "real") == 0
    learned = ("train", "--rollouts", tmp_path / "real", "-o", tmp_path / "delta")
    for method in ("ppo", "fast"):
        assert delta(*learned, "--method", method) == 1
        assert "no clip lasts 1 s before its fall, the length of a replay. Collect longer clips" in said(capsys)
    assert not (tmp_path / "delta").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("collect",), "no policy to drive the stand-in. Give one or more with --policy"),
        (("collect", "--policy", "none.onnx"), "none.onnx does not exist"),
        (("train",), "no rollout to learn from. Give files or folders with --rollouts"),
    ],
)
def test_what_is_missing_is_asked_for(words, message, tmp_path: Path, capsys):
    assert delta(*words, "-o", tmp_path / "out") == 1
    assert message in said(capsys)
    assert not (tmp_path / "out").exists()


def said(capsys: pytest.CaptureFixture) -> str:
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())
