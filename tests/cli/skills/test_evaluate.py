"""`haloid evaluate`: table, json, page and film, from an ONNX file or a training's folder."""

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.recordings.words import assert_words
from tests.skills.evaluation.test_evaluate import beginning
from tests.skills.small_policies import untrained_policy

from haloid.cli import main as cli
from haloid.motions.load import load_motion
from haloid.skills.policies.policy import save_policy
from haloid.skills.task.robot import tracked_robot

FEW = ["--starts", "3", "--threads", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("evaluate") / "squat"
    squat = beginning(load_motion("squat"), 60)
    save_policy(untrained_policy(tracked_robot(), [squat], ["squat"], "controller"), path / "policy.pt")
    assert cli.main(["export", str(path)]) == 0
    return path


def test_a_policy_is_measured_and_the_numbers_are_written(folder: Path, tmp_path: Path, capsys):
    out, film = tmp_path / "out", tmp_path / "film.mp4"
    pytest.importorskip("imageio_ffmpeg")
    rollouts = tmp_path / "rollouts.npz"
    words = ["-o", str(out), "--video", str(film), "--save-rollouts", str(rollouts)]
    assert cli.main(["evaluate", str(folder), *FEW, *words]) == 0
    shown = capsys.readouterr().out
    assert_words(shown, "squat on g1: 3 of 3 runs succeed, survival 100 %", "E_g-mpjpe (mm)", "all runs", "successful")
    assert_words(shown.replace("\n", ""), f"wrote {out / 'evaluation.html'}", f"wrote {film}")
    document = json.loads((out / "evaluation.json").read_text())
    assert document["successes"] == document["runs"] == 3
    assert 1 < document["errors"]["e_g_mpjpe_mm"]["all"]["mean"] < 30
    assert document["settings"]["starts"] == 3
    assert len(document["use_by_joint"]) == 29
    page = (out / "evaluation.html").read_text()
    assert_words(page, "3 of 3 runs on g1 succeed", "Mean body distance", "left ankle roll", "<svg")
    assert film.read_bytes()[4:8] == b"ftyp"
    assert cli.main(["rollouts", "check", str(rollouts)]) == 0
    assert_words(capsys.readouterr().out, "3 episodes (0 fell), 180 rows at 50 Hz", "floating base")


def test_a_load_it_was_not_made_for_makes_it_worse(folder: Path, tmp_path: Path, capsys):
    errors = []
    for extra in ([], ["--payload-setting", "1"]):
        assert cli.main(["evaluate", str(folder), *FEW, *extra, "-o", str(tmp_path / "out")]) == 0
        document = json.loads((tmp_path / "out" / "evaluation.json").read_text())
        errors.append(document["errors"]["e_mpjpe_mm"]["all"]["mean"])
    assert errors[1] > 2 * errors[0]
    assert_words(capsys.readouterr().out, "squat on g1 with HALO's Perturbation Setting 1")


def test_an_older_onnx_file_does_not_stand_in_for_a_newer_policy(folder: Path, tmp_path: Path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    (run / "policy.pt").write_bytes((folder / "policy.pt").read_bytes())
    (run / "policy.onnx").write_text("left over from before")
    os.utime(run / "policy.onnx", (1, 1))
    assert cli.main(["evaluate", str(run), *FEW]) == 0
    os.utime(run / "policy.pt", (0, 0))
    assert cli.main(["evaluate", str(run), *FEW]) == 1
    assert_words(capsys.readouterr().err, "its content is not ONNX")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--motion", "walk"], "it does not follow «walk». Choose one of its motions: squat"),
        (["--delay", "0.5"], "a delay of 0.5 s; expected at most one control step, 0.02 s"),
        (["--starts", "0"], "0 starts; expected at least 1"),
        (["--save-observations"], "give --save-rollouts NAME.npz as well"),
        (["--video", "film.gif"], "film.gif is not a video. Expected a file that ends in .mp4"),
    ],
)
def test_settings_that_make_no_sense_are_refused(folder: Path, words, said, capsys):
    assert cli.main(["evaluate", str(folder), *FEW, *words]) == 1
    assert_words(capsys.readouterr().err.replace("\n", " "), said)


def test_a_policy_that_is_not_there(tmp_path: Path, capsys):
    assert cli.main(["evaluate", str(tmp_path / "nothing")]) == 1
    assert_words(
        capsys.readouterr().err, "does not exist. Give a policy.onnx, a policy.pt, or the folder of a training"
    )
