"""A result in Python: its numbers, its model, and the same again from its files."""

import json
import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.recordings.words import assert_words

import haloid


@pytest.fixture
def loaded(result: haloid.Result, user_folder: Path) -> haloid.Result:
    return haloid.load_result(user_folder / "out" / "result")


def test_numbers_have_error_bars(result: haloid.Result):
    for link, load_kg in (("torso_link", 6.0), ("left_wrist_yaw_link", 2.4), ("right_wrist_yaw_link", 2.0)):
        mass = result.payload[link].mass_kg
        assert isinstance(mass.value, float) and isinstance(mass.std, float)
        assert abs(mass.value - load_kg) < 4 * mass.std < 0.5
        assert mass.interval95 == pytest.approx([mass.value - 1.96 * mass.std, mass.value + 1.96 * mass.std], rel=1e-4)
        assert result.payload[link].com_in_link_m.value.shape == (3,)
    assert result.fit["rms_rad_heldout"] < 0.1 * result.fit["rms_rad_nominal"]
    assert result.converged and result.robot == "g1"


def test_a_saved_result_comes_back(result: haloid.Result, loaded: haloid.Result):
    assert repr(loaded) == repr(result)
    assert loaded.payload.keys() == result.payload.keys()
    for link, kinds in result.links.items():
        for kind, estimate in kinds.items():
            for part in ("value", "std", "nominal", "interval95"):
                np.testing.assert_array_equal(
                    getattr(loaded.links[link][kind], part), getattr(estimate, part), err_msg=f"{link} {kind} {part}"
                )
    assert loaded.fit == result.fit
    assert loaded.blind_spots == result.blind_spots
    assert loaded.contents.document == result.contents.document
    assert loaded.contents.config == result.contents.config


def test_its_model_is_the_identified_robot(result: haloid.Result, loaded: haloid.Result):
    for model in (result.model(), loaded.model()):
        for link, kinds in result.links.items():
            assert model.body(link).mass[0] == pytest.approx(kinds["mass"].value, rel=1e-9)
        mujoco.mj_step(model, mujoco.MjData(model))
    live, read = result.model(), loaded.model()
    for name in ("body_mass", "body_ipos", "body_inertia", "dof_damping", "dof_frictionloss", "dof_armature"):
        np.testing.assert_allclose(getattr(read, name), getattr(live, name), rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_loaded_result_can_be_saved_elsewhere(loaded: haloid.Result, tmp_path: Path):
    loaded.save(tmp_path / "copy")
    again = haloid.load_result(tmp_path / "copy" / "result.json")
    assert repr(again) == repr(loaded)
    assert again.contents.config == loaded.contents.config
    assert again.report_html == loaded.report_html
    np.testing.assert_allclose(again.model().body_mass, loaded.model().body_mass, rtol=1e-12)


def test_the_words_in_a_terminal(result: haloid.Result):
    lines = repr(result).splitlines()
    assert_words(lines[0], "The robot carries", "kg at torso_link", "kg at right_wrist_yaw_link")
    assert_words(repr(result), "± is half of the 95 % interval", "mrad rms on held-out data")
    assert max(map(len, lines[1:-1])) <= 80


def test_the_page_in_a_notebook_has_table_and_pictures(result: haloid.Result, loaded: haloid.Result):
    page = result._repr_html_()
    assert page.startswith('<iframe srcdoc="') and page.endswith("</iframe>")
    assert page.count("&lt;section&gt;") == 3
    assert_words(page, "payload (kg)", "&lt;svg", "Prediction, before and after")
    assert "The search" not in page
    assert loaded._repr_html_() == page


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "result.json").unlink(), "the system says «no such file or directory»"),
        (lambda folder: (folder / "result.json").write_text("{"), "it is not JSON"),
        (lambda folder: (folder / "result.json").write_text("{}"), 'its "format" is null and not "haloid-result-1"'),
        (lambda folder: change(folder, "fit", None), "an entry is missing or damaged"),
        (lambda folder: (folder / "config.yaml").write_text("a: !!python/tuple [1]"), "could not determine a constr"),
        (lambda folder: (folder / "patch.json").unlink(), "patch.json is not a usable patch"),
    ],
)
def test_damaged_files_are_told(result: haloid.Result, user_folder: Path, tmp_path: Path, spoil, message: str):
    folder = tmp_path / "result"
    shutil.copytree(user_folder / "out" / "result", folder)
    spoil(folder)
    with pytest.raises(haloid.HaloidError) as refusal:
        haloid.load_result(folder)
    assert_words(str(refusal.value), message)


def change(folder: Path, key: str, value: object) -> None:
    document = json.loads((folder / "result.json").read_text()) | {key: value}
    (folder / "result.json").write_text(json.dumps(document))
