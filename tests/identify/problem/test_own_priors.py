"""Priors and bounds in the user's own words, and what cannot be meant."""

import mujoco
import numpy as np
import pytest
from tests.identify.arm import ARM

from haloid.engines.physics import Physics
from haloid.identify.problem.own_priors import OwnPrior, parse_priors, with_own
from haloid.identify.problem.priors import BasePrior
from haloid.identify.problem.unknowns import ParameterError, Unknowns, choose_columns

PHYSICS = Physics.of_model(mujoco.MjModel.from_xml_string(ARM))


def test_a_later_prior_wins_and_bounds_hold():
    columns = choose_columns(PHYSICS, ("hand.mass", "*.kp", "*.frictionloss"))
    own = parse_priors(["*.kp=0.5", "elbow.kp=0.2:0.01:3", "elbow.frictionloss=4:-1:20", "hand.mass=0.3"])
    prior, bounds = with_own(BasePrior().over(PHYSICS, columns), columns, own)
    names = [column.name for column in columns]
    std = dict(zip(names, 1 / np.sqrt(np.diag(prior.information)), strict=True))
    assert std["shoulder.kp"] == pytest.approx(0.5) and std["elbow.kp"] == pytest.approx(0.2)
    assert std["hand.mass"] == pytest.approx(0.3) and std["wrist.frictionloss"] == pytest.approx(0.2)
    unknowns = Unknowns(PHYSICS, columns, prior, bounds)
    elbow, friction = names.index("elbow.kp"), names.index("elbow.frictionloss")
    assert (unknowns.lower[elbow], unknowns.upper[elbow]) == (0.01, 3.0)
    assert unknowns.lower[friction] == 0.0  # friction never drives
    values = PHYSICS.values(columns)
    values[elbow] = 7.0
    assert unknowns.decode(unknowns.encode(values))[elbow] == 3.0


@pytest.mark.parametrize("entry", ["*.kp", "=0.2", "*.kp=-1", "*.kp=0.1:2", "*.kp=0.1:2:1", "*.kp=much"])
def test_words_for_a_prior_that_cannot_be_read(entry: str):
    with pytest.raises(ParameterError, match="cannot be read; expected PATTERN=STD or PATTERN=STD:LOW:HIGH"):
        parse_priors([entry])


def test_words_for_priors_of_nothing_and_for_bounds_of_bodies():
    columns = choose_columns(PHYSICS, ("hand.mass", "wrist.damping"))
    prior = BasePrior().over(PHYSICS, columns)
    with pytest.raises(
        ParameterError, match=r"'wrist.kp' matches none of the parameters that are sought; expected one of"
    ):
        with_own(prior, columns, [OwnPrior("wrist.kp", 0.1)])
    with pytest.raises(ParameterError, match="has bounds, which masses, CoMs and inertias cannot have"):
        with_own(prior, columns, [OwnPrior("hand.mass", 0.1, 0.0, 2.0)])
