"""`haloid motions`: list, check, convert and preview, and what they say."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.motions.clips import g1, standing, swaying, write_csv

from haloid.cli import main as cli
from haloid.motions.load import load_motion


@pytest.fixture
def dance(tmp_path: Path) -> Path:
    return write_csv(swaying(g1(), frames=121, fps=60), tmp_path / "dance.csv")


def test_convert_writes_what_mjlab_loads(dance: Path, tmp_path: Path, capsys):
    out = tmp_path / "new" / "dance.npz"
    assert cli.main(["motions", "convert", str(dance), "-o", str(out), "--fps-in", "60", "--ground", "clip"]) == 0
    shown = capsys.readouterr().out
    assert "101 frames at 50 per second, 29 joints, 30 bodies" in shown
    assert f"wrote {out}" in shown.replace("\n", "")
    with np.load(out) as stored:
        assert stored["joint_pos"].shape == (101, 29)
        assert stored["body_quat_w"].shape == (101, 30, 4)
        assert list(stored["joint_names"])[3] == "left_knee_joint"
    again = load_motion(out)
    np.testing.assert_allclose(again.joint_pos_rad[-1], swaying(g1(), frames=121, fps=60).joint_pos_rad[-1], atol=1e-5)


def test_check_tells_good_from_bad_by_its_exit_status(tmp_path: Path, capsys):
    good = write_csv(standing(g1(), frames=60), tmp_path / "good.csv")
    assert cli.main(["motions", "check", str(good)]) == 0
    assert "60 frames at 30 per second, 0 errors, 0 warnings" in capsys.readouterr().out
    floating = standing(g1(), frames=60, height_m=0.9)
    bad = write_csv(floating, tmp_path / "bad.csv")
    assert cli.main(["motions", "check", str(good), str(bad)]) == 1
    output = capsys.readouterr()
    assert "the whole clip floats" in output.out
    assert "Convert with --ground clip" in output.out
    assert "1 of 2 motions with errors" in output.err
    broken = replace(floating, joint_pos_rad=np.full_like(floating.joint_pos_rad, np.nan))
    assert cli.main(["motions", "check", str(write_csv(broken, tmp_path / "nan.csv"))]) == 1
    assert "values that are not numbers" in capsys.readouterr().out


def test_check_goes_on_after_a_file_it_cannot_read(tmp_path: Path, capsys):
    good = write_csv(standing(g1(), frames=60), tmp_path / "good.csv")
    empty = tmp_path / "empty.npz"
    empty.write_bytes(b"")
    assert cli.main(["motions", "check", str(empty), str(tmp_path / "none.csv"), str(good)]) == 1
    output = capsys.readouterr()
    assert f"{empty}: the file is empty" in output.err
    assert "No motion" in output.err
    assert "60 frames at 30 per second, 0 errors" in output.out
    assert "2 of 3 motions with errors" in output.err


def test_check_without_a_motion_says_what_to_give(capsys):
    assert cli.main(["motions", "check"]) == 1
    assert "no motion to check. Give names (haloid motions list shows them) or files." in capsys.readouterr().err


def test_a_pickle_that_runs_something_is_refused(tmp_path: Path, capsys):
    class Evil:
        def __reduce__(self):
            return eval, (f"open({str(tmp_path / 'ran')!r}, 'w')",)

    (tmp_path / "evil.pkl").write_bytes(pickle.dumps({"root_pos": Evil()}))
    assert cli.main(["motions", "convert", str(tmp_path / "evil.pkl"), "-o", str(tmp_path / "out.npz")]) == 1
    assert "refused: the pickle wants to use builtins.eval" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.pkl"]


def test_preview_draws_a_picture(dance: Path, tmp_path: Path, capsys):
    out = tmp_path / "dance.png"
    assert cli.main(["motions", "preview", str(dance), "-o", str(out), "--poses", "3"]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert cli.main(["motions", "preview", str(dance), "-o", str(tmp_path / "dance.jpeg")]) == 1
    assert "is not a picture. Expected a file that ends in .png, .svg, .pdf" in capsys.readouterr().err


@pytest.mark.slow
def test_list_shows_own_motions_and_a_folders(dance: Path, capsys):
    assert cli.main(["motions", "list", str(dance.parent)]) == 0
    shown = capsys.readouterr().out
    for word in ("squat", "swallow", "roundhouse-kick", "dance.csv", "121", "not stated"):
        assert word in shown


def test_unknown_motions_and_help(capsys):
    assert cli.main(["motions", "convert", "sqat", "-o", "x.npz"]) == 1
    assert "Did you mean squat?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["motions", "check", "--help"])
    assert "haloid motions check squat dance.csv --fps-in 60" in capsys.readouterr().out


def test_check_names_the_joint_that_a_load_overloads(capsys):
    assert cli.main(["motions", "check", "swallow", "--payload-setting", "2"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 error, 1 warning" in shown
    assert "waist pitch" in shown
    assert "50 N·m" in shown
    assert "Convert with --feasible" in shown


def test_convert_feasible_mends_a_clip_or_says_why_not(tmp_path: Path, capsys):
    hanging = write_csv(standing(g1(), frames=60, height_m=1.2), tmp_path / "hanging.csv")
    out = tmp_path / "mended.npz"
    assert cli.main(["motions", "convert", str(hanging), "-o", str(out), "--feasible"]) == 0
    assert "feasible: pelvis moved by up to" in capsys.readouterr().out
    assert cli.main(["motions", "check", str(out)]) == 0
    capsys.readouterr()
    other = tmp_path / "jump.npz"
    assert cli.main(["motions", "convert", "yaw-jump", "-o", str(other), "--feasible", "--payload-setting", "2"]) == 1
    said = capsys.readouterr().err
    assert "yaw-jump cannot be made feasible" in said
    assert "left_wrist_pitch_joint more torque than the motor has" in said
    assert "Nothing was written" in said
    assert not other.exists()
