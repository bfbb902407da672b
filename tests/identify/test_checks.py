"""What cannot be right is refused, word for word."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.identify.arm import blank, simulator_of, write_arm

from haloid.engines.physics import Column
from haloid.identify.checks import check_informative, check_inputs, check_links, check_unloaded
from haloid.identify.data.dataset import DataError
from haloid.identify.problem.unknowns import Prior
from haloid.robots.inertia import LinkError


@pytest.fixture
def loaded(tmp_path):
    return blank(write_arm(tmp_path))


def refused(words: str):
    return pytest.raises(DataError, match=f"^{re.escape(words)}$")


def test_good_inputs_pass(loaded):
    unloaded = replace(loaded, payload="none")
    check_inputs([unloaded], [loaded, loaded], "two", ["hand", "fore"])
    check_inputs([], [loaded], "one", ["hand"])


def test_inputs_that_are_missing(loaded):
    with refused("no loaded recording was given; give at least one with --loaded"):
        check_inputs([loaded], [], "two", ["hand"])
    with refused("no payload link was given; name the links that carry the load with --payload-links"):
        check_inputs([], [loaded], "one", [])
    with refused(
        "two stages need unloaded recordings to calibrate the robot with; give them with --unloaded, "
        "or use --stages one to start from the nominal robot"
    ):
        check_inputs([], [loaded], "two", ["hand"])


def test_a_link_named_twice(loaded):
    with refused("a payload link is named twice in hand, fore, hand"):
        check_inputs([], [loaded], "one", ["hand", "fore", "hand"])


def test_recordings_in_the_wrong_place(loaded):
    unloaded = replace(loaded, payload="none", name="bare")
    with refused(
        "arm run was given as unloaded but says payload 'unknown'; give it with --loaded, or, if the robot carried "
        'nothing, convert it with --payload none or set "payload": "none" in its json'
    ):
        check_inputs([loaded], [loaded], "two", ["hand"])
    with refused(
        "bare was given as loaded but says payload 'none'; "
        'give it with --unloaded, or set "payload": "unknown" in its json if the robot carried a load'
    ):
        check_inputs([unloaded], [unloaded], "two", ["hand"])


def test_a_recording_in_both_places(loaded):
    source = Path("/data/run.csv")
    both = replace(loaded, source=source)
    with refused("/data/run.csv was given both as loaded and as unloaded"):
        check_inputs([replace(both, payload="none")], [both], "two", ["hand"])


def test_links_that_cannot_carry(loaded):
    simulator = simulator_of(loaded)
    check_links(simulator, ["hand", "upper"])
    with refused("the payload link 'base' is the clamped link, whose load no joint feels; clamp another link"):
        check_links(simulator, ["hand", "base"])
    with pytest.raises(LinkError, match=r"^the robot has no link 'hnd'; the nearest are: hand"):
        check_links(simulator, ["hnd"])


def a_fit(columns: list[Column], values, std, prior_mean=None, prior_std=None, noise_rad=5e-4):
    values, std = np.array(values), np.array(std)
    mean = values if prior_mean is None else np.array(prior_mean)
    prior = Prior.independent(mean, np.ones(len(values)) if prior_std is None else np.array(prior_std))
    unknowns = SimpleNamespace(columns=columns, prior=prior)
    by_rows = SimpleNamespace(values=values)
    return SimpleNamespace(values=values, std=std, unknowns=unknowns, by_rows=by_rows, noise_rad=np.full(2, noise_rad))


def test_an_unloaded_robot_that_carries_something():
    columns = [Column("mass", "fore"), Column("mass", "hand"), Column("damping", "wrist")]
    told = a_fit(columns, [1.45, 1.6, 9.0], [0.1] * 3, [1.4, 0.8, 0.1], [0.042, 0.024, 0.3])
    with refused(
        "the unloaded recordings do not fit the unloaded robot: hand would weigh 1.60 kg instead of 0.80 kg (all links "
        "together +0.85 kg). Were loaded recordings given as unloaded, or is it another robot or gain set?"
    ):
        check_unloaded(told, 5e-4)
    check_unloaded(a_fit(columns, [1.45, 0.85, 9.0], [0.1] * 3, [1.4, 0.8, 0.1], [0.042, 0.024, 0.3]), 5e-4)


def test_an_unloaded_robot_whose_readings_no_model_explains():
    columns = [Column("mass", "hand")]
    fit = a_fit(columns, [0.8], [0.1], [0.8], [0.024], noise_rad=0.081)
    with refused(
        "the unloaded recordings do not fit the unloaded robot: the best model misses the readings by 81.0 mrad, and "
        "their noise is about 0.50 mrad. Were loaded recordings given as unloaded, or is it another robot, clamp or "
        "gain set?"
    ):
        check_unloaded(fit, 5e-4)
    check_unloaded(a_fit(columns, [0.8], [0.1], [0.8], [0.024], noise_rad=0.004), 5e-4)


def test_a_load_that_was_not_felt():
    columns = [Column("mass", "hand"), Column("mass", "fore"), Column("com", "hand", "x")]
    with refused(
        "the loaded recordings say almost nothing about the payload: even fore is known only to ± 2.0 kg. "
        "Move arms and waist more, record longer, or name fewer payload links"
    ):
        check_informative(a_fit(columns, [2.0, 1.0, 0.0], [5.0, 1.0, 0.1]), 3)
    check_informative(a_fit(columns, [2.0, 1.0, 0.0], [5.0, 0.4, 0.1]), 3)
