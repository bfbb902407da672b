"""An identification to look at: the calibrated robot follows the encoders, the payload is where the result says."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.view.small_result import small_result

from haloid.errors import HaloidError
from haloid.view.open import open_show


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_result(tmp_path_factory.mktemp("identified"))


def test_the_calibrated_robot_follows_the_encoders(folder: Path):
    show = open_show(str(folder))
    assert list(show.robots) == ["calibrated", "nominal"]
    assert show.ghost is not None and show.ghost[0] == "measured"
    off = {name: np.sqrt(np.mean((poses - show.ghost[1]) ** 2)) for name, poses in show.robots.items()}
    assert off["calibrated"] < 0.002
    assert off["nominal"] > 3 * off["calibrated"]
    assert show.about[1] == f"calibrated model: {1e3 * off['calibrated']:.1f} mrad rms from the encoders"


def test_the_payload_is_the_results(folder: Path):
    show = open_show(str(folder))
    (load,) = show.loads
    said = json.loads((folder / "result" / "result.json").read_text())["payload"]["torso_link"]
    assert (load.link, load.mass_kg) == ("torso_link", said["mass"]["value"])
    assert load.mass_kg == pytest.approx(6.0, abs=0.1)
    np.testing.assert_array_equal(load.com_in_link_m, said["com"]["value"])
    assert show.loaded == ("calibrated",)


def test_recordings_that_moved_are_asked_for(folder: Path, tmp_path: Path):
    shutil.copytree(folder / "result", tmp_path / "result")
    with pytest.raises(HaloidError, match=r"are no longer there \(.*loaded\.csv\)\. Give one with --recording"):
        open_show(str(tmp_path / "result"))
    assert open_show(str(tmp_path / "result"), recording=folder / "loaded.csv").loads
