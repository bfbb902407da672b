"""ASAP's and GMR's pickles: keys, conventions, and real ones against what they state themselves."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.motions.clips import G1_JOINTS, G1_JOINTS_23, REAL_MOTIONS, g1, swaying
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.motions.load import load_motion, read_frames
from haloid.motions.readers.restricted_pickle import read_plain_pickle
from haloid.trajectories.motion import motion_of

FRAMES = swaying(g1())
XYZW = FRAMES.root_quat_wxyz[:, [1, 2, 3, 0]]
GMR = {
    "fps": 30,
    "root_pos": FRAMES.root_pos_w_m,
    "root_rot": XYZW,
    "dof_pos": FRAMES.joint_pos_rad,
    "local_body_pos": None,
    "link_body_list": None,
}
ASAP = {"root_trans_offset": FRAMES.root_pos_w_m, "root_rot": XYZW, "dof": FRAMES.joint_pos_rad[:, :23], "fps": 30}
needs_data = pytest.mark.skipif(not REAL_MOTIONS.is_dir(), reason="needs ../shared/data/motions")


def _file(tmp_path, content):
    path = tmp_path / "clip.pkl"
    path.write_bytes(pickle.dumps(content))
    return path


def test_gmr(tmp_path):
    motion = load_motion(_file(tmp_path, GMR), fps=30)
    np.testing.assert_allclose(motion.body_pos_w_m, motion_of(FRAMES).body_pos_w_m, atol=1e-12)


def test_asap_has_23_joints_under_the_clips_name(tmp_path):
    columns = [G1_JOINTS.index(name) for name in G1_JOINTS_23]
    clip = ASAP | {"dof": FRAMES.joint_pos_rad[:, columns, None]}
    motion = load_motion(_file(tmp_path, {"0-squat": clip}), fps=30)
    np.testing.assert_array_equal(motion.joint_pos_rad[:, columns], FRAMES.joint_pos_rad[:, columns])
    assert np.abs(np.delete(motion.joint_pos_rad, columns, axis=1)).max() == 0
    np.testing.assert_allclose(motion.body_quat_wxyz[:, 0], FRAMES.root_quat_wxyz, atol=1e-12)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"a": ASAP, "b": ASAP}, ["2 clips (a, b …)", "Save each"]),
        ({"pose": 1, "trans": 2}, ["no motion in the pickle, which holds pose, trans", "ASAP's root_trans_offset"]),
        ([1, 2], ["which holds a list"]),
        (GMR | {"dof_pos": FRAMES.joint_pos_rad[:, :20]}, ["dof_pos (90, 20)", "(T, 29) or (T, 23)"]),
        (GMR | {"fps": None}, ["no rate", "--fps-in"]),
        (GMR | {"root_pos": "somewhere"}, ["root_pos is a str"]),
    ],
)
def test_pickles_that_are_no_motions(tmp_path, content, words):
    with pytest.raises(HaloidError) as refused:
        load_motion(_file(tmp_path, content))
    assert_words(str(refused.value), "clip.pkl", *words)


@needs_data
@pytest.mark.parametrize("name", ["walk_002", "walk_005", "walk_007"])
def test_gmrs_own_body_positions_are_those_of_its_joints(name: str):
    """The file states where bodies are in the root's frame: an oracle for order, signs and model."""
    path, model = REAL_MOTIONS / "twist2" / f"{name}.pkl", g1()
    content = read_plain_pickle(path.read_bytes(), name)
    motion = motion_of(read_frames(path, model), model)
    shared = [body for body in content["link_body_list"] if body in motion.body_names]
    assert len(shared) > 20
    turn = Rotation.from_quat(motion.body_quat_wxyz[:, 0], scalar_first=True).inv()
    for body in shared:
        away_m = motion.body_pos_w_m[:, motion.body_names.index(body)] - motion.body_pos_w_m[:, 0]
        stated_m = content["local_body_pos"][:, content["link_body_list"].index(body)]
        np.testing.assert_allclose(turn.apply(away_m), stated_m, atol=2e-3, err_msg=body)


@needs_data
def test_all_of_asaps_clips_stand_upright_on_two_legs():
    model = g1()
    for path in sorted((REAL_MOTIONS / "asap").glob("*.pkl")):
        frames = read_frames(path, model)
        motion = motion_of(frames, model)
        feet = [motion.body_names.index(f"{side}_ankle_roll_link") for side in ("left", "right")]
        head = motion.body_names.index("torso_link")
        assert frames.rate_hz == 30
        assert (motion.body_pos_w_m[:, head, 2] > motion.body_pos_w_m[:, 0, 2] - 0.1).all(), path
        assert 0.0 < motion.body_pos_w_m[0, feet, 2].min() < 0.25, path
