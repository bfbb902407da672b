"""What each of the three methods knows of the load."""

import json
from pathlib import Path

import numpy as np
import pytest

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.skills import payload_methods
from haloid.bench.skills.payload_methods import methods, true_robot
from haloid.lab.loads import halo_setting
from haloid.robots.inertia import read_links
from haloid.robots.patch import Patch, read_patch, write_patch


def silent(_: str) -> None: ...


def as_patch(document: dict | None, folder: Path) -> Patch:
    """A method's patch, as a training reads it."""
    path = folder / "read-back.json"
    path.write_text(json.dumps(document))
    return read_patch(path)


def test_wide_randomisation_knows_nothing_of_the_load(folder):
    wdr = methods(folder, silent)["wdr"]
    assert (wdr.name, wdr.randomisation, wdr.patch) == ("wdr", "wide", None)


def test_halo_trains_on_all_that_was_found(folder, found, tmp_path: Path):
    halo = methods(folder, silent)["halo"]
    assert (halo.name, halo.randomisation) == ("halo", "nominal")
    patch = as_patch(halo.patch, tmp_path)
    assert patch.joints == found.joints
    assert set(patch.links) == set(found.links)
    for name, link in found.links.items():
        assert patch.links[name].mass_kg == link.mass_kg
        np.testing.assert_array_equal(patch.links[name].com_in_link_m, link.com_in_link_m)
        np.testing.assert_array_equal(patch.links[name].inertia_about_com, link.inertia_about_com)


def test_calibrated_mass_knows_the_masses_that_were_found_and_nothing_else(folder, found, nominal, tmp_path: Path):
    cm = methods(folder, silent)["cm"]
    assert (cm.name, cm.randomisation) == ("cm", "nominal")
    patch = as_patch(cm.patch, tmp_path)
    assert patch.joints == {}
    assert set(patch.links) == set(PAYLOAD_LINKS)
    for name, link in patch.links.items():
        assert link.mass_kg == found.links[name].mass_kg
        np.testing.assert_array_equal(link.com_in_link_m, nominal[name].com_in_link_m)
        np.testing.assert_array_equal(link.inertia_about_com, nominal[name].inertia_about_com)


def test_the_identification_is_done_once_a_folder(folder, found, tmp_path: Path, monkeypatch):
    done = []

    def identified(say: object, *, worn: bool, setting: int) -> Patch:
        done.append((worn, setting))
        return found

    monkeypatch.setattr(payload_methods, "_identified", identified)
    methods(folder, silent)
    assert not done, "its patch.json is there"
    first, again = (methods(tmp_path / "new" / "sweep", silent) for _ in range(2))
    assert done == [(False, 1)]
    assert first == again == methods(folder, silent)
    assert methods(tmp_path / "new" / "sweep", silent, worn=True) == first
    assert methods(tmp_path / "new" / "sweep", silent, worn=True, setting=2) == first
    assert done == [(False, 1), (True, 1), (True, 2)], "each robot is identified by itself"


@pytest.mark.parametrize("setting", [1, 2])
def test_policies_are_judged_on_the_robot_with_its_load(nominal, setting):
    true = read_links(true_robot(setting=setting).model)
    added = {name: true[name].mass_kg - nominal[name].mass_kg for name in nominal}
    loads = {load.link: load.mass_kg for load in halo_setting(setting)}
    assert set(loads) == set(PAYLOAD_LINKS)
    for name, mass_kg in added.items():
        assert mass_kg == pytest.approx(loads.get(name, 0.0), abs=1e-9)


def test_the_worn_robot_differs_in_links_joints_motors_and_floor(nominal):
    worn, new = true_robot(worn=True), true_robot()
    assert np.ptp(worn.strength) > 0.03
    assert new.strength == 1.0
    pelvis = read_links(worn.model)["pelvis"]
    assert 0.001 < abs(pelvis.mass_kg / nominal["pelvis"].mass_kg - 1) < 0.05
    assert (worn.model.dof_damping[6:] >= new.model.dof_damping[6:]).all()
    assert worn.model.dof_frictionloss[6:].max() > 0.1
    sole = worn.model.geom_contype > 0
    assert (worn.model.geom_friction[sole, 0] == 0.6).all()
    assert (worn.model.geom_solref[sole, 0] == 0.03).all()


@pytest.mark.slow
def test_the_load_is_found_from_recordings_alone(monkeypatch, nominal, tmp_path: Path):
    """With one recording each instead of three: the masses within 3 % of the loads, the torso's centre within 3 mm."""
    monkeypatch.setattr(payload_methods, "RUNS", 1)
    said = []
    patch = payload_methods._identified(said.append, worn=False, setting=1)
    assert said == ["recording the unloaded robot", "recording the loaded robot", "identifying"]
    true = read_links(true_robot().model)
    for load in halo_setting(1):
        name = load.link
        assert patch.links[name].mass_kg == pytest.approx(true[name].mass_kg, abs=0.03 * load.mass_kg)
        assert abs(patch.links[name].mass_kg - nominal[name].mass_kg) > 0.9 * load.mass_kg
    distance_m = np.linalg.norm(patch.links["torso_link"].com_in_link_m - true["torso_link"].com_in_link_m)
    assert distance_m < 0.003
    write_patch(patch, tmp_path / "patch.json")
