"""Reading csv and npz: values land where they belong, and files that are not understood say why."""

import numpy as np
import pytest
from tests.motions.clips import REAL_MOTIONS, g1, swaying, write_csv
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.motions.load import load_motion
from haloid.motions.readers.joint_order import breadth_first
from haloid.trajectories.motion import motion_of
from haloid.trajectories.motion_export import write_motion


def _written_without_names(motion, path, joint_order):
    columns = [motion.joint_names.index(name) for name in joint_order]
    np.savez(
        path,
        fps=np.array([motion.rate_hz]),
        joint_pos=motion.joint_pos_rad[:, columns],
        body_pos_w=motion.body_pos_w_m,
        body_quat_w=motion.body_quat_wxyz,
    )
    return path


def test_csv_is_xyzw_in_sdk_order(tmp_path):
    frames = swaying(g1())
    motion = load_motion(write_csv(frames, tmp_path / "sway.csv"), fps=30)
    truth = motion_of(frames)
    assert motion.rate_hz == 30
    np.testing.assert_allclose(motion.joint_pos_rad, frames.joint_pos_rad, atol=1e-8)
    np.testing.assert_allclose(motion.body_pos_w_m, truth.body_pos_w_m, atol=1e-7)
    np.testing.assert_allclose(motion.body_ang_vel_w_rad_s, truth.body_ang_vel_w_rad_s, atol=1e-5)


def test_the_rate_of_a_csv_is_30_unless_given(tmp_path):
    path = write_csv(swaying(g1(), frames=121), tmp_path / "sway.csv")
    assert len(load_motion(path).joint_pos_rad) == 201
    assert len(load_motion(path, fps_in=60).joint_pos_rad) == 101


def test_own_npz_comes_back_by_name(tmp_path):
    truth = motion_of(swaying(g1(), fps=50))
    motion = load_motion(write_motion(truth, tmp_path / "sway.npz"))
    assert motion.joint_names == truth.joint_names
    np.testing.assert_allclose(motion.joint_pos_rad, truth.joint_pos_rad, atol=1e-6)
    np.testing.assert_allclose(motion.body_lin_vel_w_m_s, truth.body_lin_vel_w_m_s, atol=1e-4)
    with np.load(tmp_path / "sway.npz") as stored:
        arrays = dict(stored)
    shuffled = np.random.default_rng(1).permutation(29)
    arrays |= {key: arrays[key][:, shuffled] for key in ("joint_pos", "joint_vel")}
    np.savez(tmp_path / "shuffled.npz", **(arrays | {"joint_names": arrays["joint_names"][shuffled]}))
    np.testing.assert_array_equal(load_motion(tmp_path / "shuffled.npz").joint_pos_rad, motion.joint_pos_rad)


def test_npz_without_names_asks_for_the_order_and_refuses_the_wrong_one(tmp_path):
    model = g1()
    truth = motion_of(swaying(model, fps=50), model)
    isaac = _written_without_names(truth, tmp_path / "isaac.npz", breadth_first(model, truth.joint_names))
    np.testing.assert_allclose(load_motion(isaac, order="isaac").joint_pos_rad, truth.joint_pos_rad, atol=1e-12)
    with pytest.raises(HaloidError) as refused:
        load_motion(isaac)
    assert_words(str(refused.value), "does not name its joints", "Its bodies fit the order isaac: --order isaac")
    with pytest.raises(HaloidError) as refused:
        load_motion(isaac, order="mjcf")
    assert str(refused.value) == (
        f"{isaac}: in the order mjcf the joints do not put the bodies where the file has them. "
        "Expected joints and bodies of the same pose. Its bodies fit the order isaac: --order isaac."
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", ["the file is empty", "one frame per line"]),
        ("a.csv", "time,q:left_knee_joint\n0,0\n", ["line 1 is not a row of numbers", "haloid reconstruct"]),
        ("a.csv", ",".join("0" * 37) + "\n", ["37 columns", "36: root xyz"]),
        ("a.csv", ",".join("0" * 36) + "\n0,0\n", ["line 2 has 2 columns, line 1 has 36"]),
        ("a.txt", "hello", ["the content is not that of a motion", "an npz of haloid"]),
        ("a.npz", "hello", ["the content is not that of a motion"]),
    ],
)
def test_files_that_are_no_motions(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(HaloidError) as refused:
        load_motion(tmp_path / name)
    assert_words(str(refused.value), name, *words)


def test_npz_of_something_else(tmp_path):
    np.savez(tmp_path / "other.npz", fps=50, joint_pos=np.zeros((5, 29)))
    with pytest.raises(HaloidError, match="no array body_pos_w, body_quat_w; the file has fps, joint_pos"):
        load_motion(tmp_path / "other.npz")
    flat = {"joint_pos": np.zeros(5), "body_pos_w": np.zeros((5, 30, 3)), "body_quat_w": np.zeros((5, 30, 4))}
    np.savez(tmp_path / "flat.npz", fps=50, **flat)
    with pytest.raises(HaloidError, match=r"joint_pos \(5,\)"):
        load_motion(tmp_path / "flat.npz")


def test_frames_that_are_no_numbers(tmp_path):
    frames = swaying(g1())
    frames.joint_pos_rad[6, 3] = np.nan
    with pytest.raises(HaloidError, match=r"1 of 90 frames hold values that are not numbers .* the first at 0.20 s"):
        load_motion(write_csv(frames, tmp_path / "sway.csv"))


def test_unknown_names_are_guessed(tmp_path):
    with pytest.raises(HaloidError, match=r"No motion 'sqat': .* Did you mean squat"):
        load_motion("sqat")
    (tmp_path / "dance.csv").write_text("")
    with pytest.raises(HaloidError, match=r"Did you mean .*dance\.csv"):
        load_motion(tmp_path / "dence.csv")


@pytest.mark.skipif(not REAL_MOTIONS.is_dir(), reason="needs ../shared/data/motions")
def test_a_real_clip_is_the_same_as_csv_and_as_npz():
    csv = load_motion(REAL_MOTIONS / "g1-moves" / "B_HandsUp.csv", fps_in=60, fps=60)
    npz = load_motion(REAL_MOTIONS / "g1-moves" / "B_HandsUp.npz", order="mjcf", fps=60)
    frames = len(npz.joint_pos_rad)
    np.testing.assert_allclose(csv.joint_pos_rad[:frames], npz.joint_pos_rad, atol=1e-5)
    with np.load(REAL_MOTIONS / "g1-moves" / "B_HandsUp.npz") as stored:
        np.testing.assert_allclose(npz.body_pos_w_m, stored["body_pos_w"], atol=1e-4)
        np.testing.assert_allclose(npz.body_lin_vel_w_m_s[1:-1], stored["body_lin_vel_w"][1:-1], atol=0.01)
