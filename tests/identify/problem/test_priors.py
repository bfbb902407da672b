"""Priors around a data sheet, and the paper's regularisers by hand."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.identify.arm import ARM

from haloid.engines.physics import Physics
from haloid.identify.problem.priors import BasePrior, PaperRegulariser, as_wide_as_the_robot, payload_prior
from haloid.identify.problem.unknowns import choose_columns

PHYSICS = Physics.of_model(mujoco.MjModel.from_xml_string(ARM))


def test_widths_follow_the_robot():
    columns = choose_columns(PHYSICS, ("hand.*", "wrist.*", "delay"))
    prior = BasePrior().over(PHYSICS, columns)
    std = dict(zip([c.name for c in columns], 1 / np.sqrt(np.diag(prior.information)), strict=True))
    assert std == pytest.approx(
        {
            "hand.mass": 0.03 * 0.8,
            **{f"hand.com.{axis}": 0.005 for axis in "xyz"},
            **{f"hand.inertia.{part}": 0.2 * 0.0055 / 3 for part in ("xx", "yy", "zz", "xy", "xz", "yz")},
            "wrist.damping": 0.3,
            "wrist.frictionloss": 0.2,
            "wrist.armature": 0.1 * 0.02,
            "wrist.kp": 0.1,
            "wrist.kd": 0.1,
            "wrist.strength": 0.05,
            "wrist.bias": 0.01,
            "delay": 0.01,
        }
    )
    np.testing.assert_array_equal(prior.mean, PHYSICS.values(columns))


def test_a_payload_may_be_almost_anything():
    columns = choose_columns(PHYSICS, ("hand.mass", "hand.com"))
    prior = payload_prior(PHYSICS, columns)
    heavy = PHYSICS.values(columns) + np.array([12.0, 0.05, 0.05, 0.1])
    assert prior.cost(heavy) < 0.2


def test_the_papers_regulariser_by_hand():
    """Eq. 8 with λ_mass 2, λ_com 100, λ_damp 10: squared offsets, and φ of damping over its nominal value."""
    columns = choose_columns(PHYSICS, ("hand.mass", "hand.com", "*.damping"))
    regulariser = PaperRegulariser(mass_weight=2.0, com_weight=100.0, damping_weight=10.0)
    prior = regulariser.over(PHYSICS, columns)
    assert prior.cost(PHYSICS.values(columns)) == 0.0
    values = PHYSICS.values(columns) + np.array([0.5, 0.03, 0.0, -0.04, 0.0, 0.0, 0.0])
    values[4:] = 0.1 * np.array([0.5, 1.1, 1.5])  # ratios to the nominal 0.1
    assert prior.cost(values) == pytest.approx(2 * 0.5**2 + 100 * (0.03**2 + 0.04**2) + 10 * (0.3**2 + 0.3**2))


def test_friction_of_a_frictionless_model_is_boxed_by_its_value():
    columns = choose_columns(PHYSICS, ("wrist.frictionloss",))
    prior = PaperRegulariser(friction_weight=10.0).over(PHYSICS, columns)
    assert prior.cost(np.array([0.2])) == pytest.approx(10 * 0.2**2)
    rusty = replace(PHYSICS, frictionloss=np.full(3, 0.5))
    assert PaperRegulariser(friction_weight=10.0).over(rusty, columns).cost(np.array([0.7])) == pytest.approx(10 * 0.04)


def test_friction_is_as_wide_as_a_robot_that_rubs_everywhere():
    """Three joints with 8, 10 and 2 N·m where 0.2 was expected: the median, 40 widths, says so; damping stays."""
    columns = choose_columns(PHYSICS, ("*.frictionloss", "*.damping"))
    prior = BasePrior().over(PHYSICS, columns)
    friction = np.array([column.kind == "frictionloss" for column in columns])
    values = prior.mean.copy()
    values[friction] += [8.0, 10.0, 2.0]
    std = 1 / np.sqrt(np.diag(as_wide_as_the_robot(prior, columns, values, set()).information))
    np.testing.assert_allclose(std[friction], 10 * 1.4826 * 40 * 0.2)
    np.testing.assert_allclose(std[~friction], 0.3)
    settled = {column.name for column in columns if column.kind == "frictionloss"}
    np.testing.assert_array_equal(as_wide_as_the_robot(prior, columns, values, settled).information, prior.information)


def test_one_joint_that_jams_widens_nothing():
    columns = choose_columns(PHYSICS, ("*.frictionloss",))
    prior = BasePrior().over(PHYSICS, columns)
    jammed = prior.mean + np.array([0.1, 8.0, 0.1])
    np.testing.assert_array_equal(as_wide_as_the_robot(prior, columns, jammed, set()).information, prior.information)
