"""Own motions are kept: made once, read the same, made anew when the file is damaged or nothing can be written."""

from pathlib import Path

import numpy as np
import pytest

from haloid.motions.own.kept import kept
from haloid.trajectories.trajectory import FloatingTrajectory


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return []


def _maker(made: list[int]):
    def make() -> FloatingTrajectory:
        made.append(1)
        rng = np.random.default_rng(3)
        return FloatingTrajectory(
            rate_hz=50.0,
            joint_names=("a", "b"),
            root_pos_w_m=rng.normal(size=(5, 3)),
            root_quat_wxyz=rng.normal(size=(5, 4)),
            joint_pos_rad=rng.normal(size=(5, 2)),
        )

    return make


def test_a_motion_is_made_once_and_read_back_to_the_last_bit(made: list[int]) -> None:
    first, second = kept("g1", "nod", _maker(made)), kept("g1", "nod", _maker(made))
    assert len(made) == 1
    assert (second.rate_hz, second.joint_names) == (50.0, ("a", "b"))
    for name in ("root_pos_w_m", "root_quat_wxyz", "joint_pos_rad"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_a_damaged_file_is_replaced(made: list[int], tmp_path: Path) -> None:
    kept("g1", "nod", _maker(made))
    (file,) = (tmp_path / "haloid" / "motions").glob("g1-nod-*.npz")
    file.write_bytes(b"not an archive")
    kept("g1", "nod", _maker(made))
    assert len(made) == 2
    assert kept("g1", "nod", _maker(made)).rate_hz == 50.0
    assert len(made) == 2


def test_without_a_place_to_keep_them_motions_are_made_every_time(
    made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    kept("g1", "nod", _maker(made))
    kept("g1", "nod", _maker(made))
    assert len(made) == 2
