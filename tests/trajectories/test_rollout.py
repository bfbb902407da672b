import numpy as np
import pytest
from tests.recordings.words import assert_words
from tests.trajectories.rollouts import ROWS, small_rollout

from haloid.trajectories.rollout import Episode, RolloutError


def test_an_episode_is_a_trajectory_of_its_own_rows():
    rollout = small_rollout()
    second = rollout.episode(1)
    assert len(rollout) == ROWS
    assert len(second) == 5
    np.testing.assert_array_equal(second.joint_pos_rad, rollout.trajectory.joint_pos_rad[7:])
    np.testing.assert_array_equal(second.target_rad, rollout.trajectory.target_rad[7:])
    assert second.joint_names == ("hip", "knee")


def nan_in_row_4() -> np.ndarray:
    values = np.zeros((ROWS, 2))
    values[4, 1] = np.nan
    return values


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rate_hz": 0.0}, ["rate_hz: 0", "a rate above 0"]),
        ({"joint_names": ("hip", "hip")}, ["joint_names: 2 names", "named once"]),
        ({"joint_vel_rad_s": None}, ["joint_vel_rad_s: missing", "(12, 2)"]),
        ({"target_rad": nan_in_row_4()}, ["target_rad: NaN or infinite in 1 rows, first in row 4", "finite"]),
        ({"action": np.zeros((3, 2))}, ["action: shape (3, 2)", "(12, any)"]),
        ({"joint_pos_rad": np.zeros((ROWS, 3))}, ["joint_pos_rad: shape (12, 3)", "(12, 2)"]),
        ({"torque_nm": np.zeros((ROWS, 2), complex)}, ["torque_nm", "complex128", "numbers"]),
        ({"foot_names": ("a", "b")}, ["foot_force_n: shape (12, 1, 3)", "(12, 2, 3)"]),
        ({"root_pos_w_m": None}, ["root_pos_w_m: missing"]),
        ({"root_quat_wxyz": np.full((ROWS, 4), 0.6)}, ["root_quat_wxyz: length 1.2 in row 0", "w first"]),
        ({"episodes": (Episode(0, 7),)}, ["episodes: they cover 7 rows", "all 12 rows"]),
        ({"episodes": (Episode(0, 11), Episode(11, 12))}, ["episode 1 has rows 11 until 12", "two rows"]),
        ({"episodes": (Episode(0, 7, fell_row=7), Episode(7, 12))}, ["episode 0 fell in row 7", "its own rows"]),
        ({"episodes": (Episode(0, ROWS),)}, ["time: -0.12 s between rows 6 and 7", "0.02 s within an episode"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_is_not_a_rollout_says_so(changes, words):
    with pytest.raises(RolloutError) as caught:
        small_rollout(**changes)
    assert_words(str(caught.value), *words)


def test_a_fixed_base_has_no_root():
    none = dict.fromkeys(("root_pos_w_m", "root_quat_wxyz", "root_lin_vel_w_m_s", "root_ang_vel_b_rad_s"))
    assert small_rollout(**none).trajectory.root_pos_w_m is None
