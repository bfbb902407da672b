"""Damaged files of every format: read, or refused with one clear error, and never anything else."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.motions.clips import g1, swaying, write_csv

from haloid.errors import HaloidError
from haloid.motions.load import read_frames, require_usable
from haloid.trajectories.motion import motion_of
from haloid.trajectories.motion_export import write_motion

MODEL = g1()
FRAMES = swaying(MODEL, frames=5)
GMR = {
    "fps": 30.0,
    "root_pos": FRAMES.root_pos_w_m,
    "root_rot": FRAMES.root_quat_wxyz,
    "dof_pos": FRAMES.joint_pos_rad,
}


def _whole(suffix: str, folder: Path) -> bytes:
    path = folder / f"whole{suffix}"
    if suffix == ".csv":
        return write_csv(FRAMES, path).read_bytes()
    if suffix == ".npz":
        return write_motion(motion_of(FRAMES, MODEL), path).read_bytes()
    return pickle.dumps(GMR)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".csv", ".npz", ".pkl"])
def test_damaged_files_are_the_users_to_mend(suffix: str, tmp_path: Path):
    whole, random = _whole(suffix, tmp_path), np.random.default_rng(7)
    path, refused = tmp_path / f"damaged{suffix}", 0
    for trial in range(300):
        data = bytearray(whole)
        if trial % 3 == 0:
            del data[random.integers(len(data)) :]
        for place in random.integers(max(len(data), 1), size=random.integers(0, 6)):
            data[place : place + 1] = random.bytes(1)
        path.write_bytes(data)
        try:
            require_usable(path, read_frames(path, MODEL))
        except HaloidError as error:
            refused += 1
            assert path.name in str(error)
    assert refused > 50
