"""Blind spots: what moves together is named together, what is known is not named."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.physics import Column, Physics
from haloid.identify.problem.priors import BasePrior, payload_prior
from haloid.identify.problem.unknowns import Unknowns, choose_columns
from haloid.identify.results.identifiability import base_blind_spots, payload_blind_spots, seen_directions, words_for
from haloid.identify.solvers.fit import Fit, FitSettings, fit


def fitted(tmp_path, patterns: tuple[str, ...], still: tuple[int, ...] = (), prior=payload_prior) -> Fit:
    """A run in which some joints are held still by stiff servos."""
    recording = blank(write_arm(tmp_path))
    target, kp = recording.target_rad.copy(), recording.kp.copy()
    target[:, list(still)], kp[list(still)] = 0.0, 2e4
    recording = replace(recording, target_rad=target, kp=kp, kd=np.sqrt(kp))
    simulator = simulator_of(recording)
    recording = played(recording, simulator, heavier_hand(simulator.nominal), noise_rad=1e-3)
    columns = choose_columns(simulator.nominal, patterns)
    unknowns = Unknowns(simulator.nominal, columns, prior(simulator.nominal, columns))
    return fit(AnalyticEngine(simulator), dataset_of(recording, simulator), unknowns, FitSettings())


def base_prior(physics: Physics, columns: list[Column]):
    return BasePrior().over(physics, columns)


def test_a_moving_hand_has_no_blind_spots(tmp_path):
    found = fitted(tmp_path, ("hand.mass", "hand.com"))
    assert payload_blind_spots(found, 4) == []
    assert seen_directions(found) == (4, 4)


def test_two_links_that_move_as_one_are_named_together(tmp_path):
    found = fitted(tmp_path, ("fore.mass", "fore.com", "hand.mass", "hand.com"), still=(2,))
    blind = payload_blind_spots(found, 8)
    pairs = {tuple(spot.parameters): spot.why for spot in blind if len(spot.parameters) == 2}
    assert ("fore.mass", "hand.mass") in pairs
    assert pairs["fore.mass", "hand.mass"] == (
        "fore mass and hand mass cannot be told apart in these recordings (correlation -1.00): "
        "only a weighted sum of them is known"
    )
    alone = {spot.parameters[0]: spot.why for spot in blind if len(spot.parameters) == 1}
    assert alone["hand.mass"].startswith("hand mass is known only to ± ") and alone["hand.mass"].endswith(" kg")
    assert alone["hand.com.z"].startswith("hand CoM z is known only to ± ") and alone["hand.com.z"].endswith(" m")
    assert seen_directions(found)[0] < 8


def test_only_the_payloads_columns_are_spoken_of(tmp_path):
    found = fitted(tmp_path, ("fore.mass", "fore.com", "hand.mass", "hand.com"), still=(2,))
    names = {name for spot in payload_blind_spots(found, 4) for name in spot.parameters}
    assert names and all(name.startswith("fore") for name in names)


def test_what_the_prior_holds_is_counted(tmp_path):
    """The base does not move, and on a still wrist the CoM along its axis weighs on nothing."""
    found = fitted(tmp_path, ("*.mass", "*.com", "*.damping"), prior=base_prior)
    spots = {spot.why: spot.parameters for spot in base_blind_spots(found)}
    masses = next(names for why, names in spots.items() if "link masses" in why)
    assert "base.mass" in masses and "hand.mass" not in masses
    (why,) = [why for why in spots if "CoM coordinates" in why]
    coms = spots[why]
    assert {"base.com.x", "base.com.y", "base.com.z"} <= set(coms) and "hand.com.x" not in coms
    assert (
        why == f"{len(coms)} of 12 CoM coordinates are no better known than before the recordings; the prior holds them"
    )
    seen, directions = seen_directions(found)
    assert directions == 19 and 5 < seen < 16


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Column("mass", "hand"), "hand mass"),
        (Column("com", "hand", "x"), "hand CoM x"),
        (Column("frictionloss", "wrist"), "wrist friction loss"),
        (Column("delay"), "delay"),
    ],
)
def test_columns_in_words(column, words):
    assert words_for(column) == words
