"""The solver's coordinates: round trips, slopes, real bodies only, and parameters chosen by name."""

import re
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.identify.arm import ARM

from haloid.engines.physics import Physics
from haloid.identify.problem.unknowns import LOWER_BOUND, ParameterError, Prior, Unknowns, choose_columns
from haloid.robots.inertia import check_physical

PHYSICS = Physics.of_model(mujoco.MjModel.from_xml_string(ARM))
WHOLE_HAND = ("hand.mass", "hand.com", "hand.inertia")
MIXED = (*WHOLE_HAND, "fore.mass", "fore.com", "upper.mass", "base.com", "*.damping", "wrist.bias", "delay")
STEADY = settings(derandomize=True, deadline=None, max_examples=60)


def unknowns_of(*patterns: str, base: Physics = PHYSICS) -> Unknowns:
    columns = choose_columns(base, patterns)
    return Unknowns(base, columns, Prior.independent(base.values(columns), np.ones(len(columns))))


def names(*patterns: str) -> list[str]:
    return [column.name for column in choose_columns(PHYSICS, patterns)]


@STEADY
@given(st.integers(0, 2**20))
def test_coordinates_come_back(seed):
    unknowns = unknowns_of(*MIXED)
    z = unknowns.encode(PHYSICS.values(unknowns.columns)) + 0.05 * np.random.default_rng(seed).normal(
        size=len(unknowns)
    )
    z = np.maximum(z, unknowns.lower)
    np.testing.assert_allclose(unknowns.encode(unknowns.decode(z)), z, rtol=0, atol=1e-7)


def test_values_come_back():
    unknowns = unknowns_of(*MIXED)
    values = PHYSICS.values(unknowns.columns)
    np.testing.assert_allclose(unknowns.decode(unknowns.encode(values)), values, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        unknowns.physics(unknowns.encode(values)).inertia, PHYSICS.inertia, rtol=1e-12, atol=1e-18
    )


@STEADY
@given(st.lists(st.floats(-4, 4), min_size=10, max_size=10))
def test_any_pseudo_inertia_is_a_real_body(z):
    unknowns = unknowns_of(*WHOLE_HAND)
    hand = unknowns.physics(np.array(z)).link("hand")
    assert hand.mass_kg > 0
    check_physical("hand", hand)


@pytest.mark.parametrize("inertia", [np.diag([1e-3, 1e-3, 2e-3]), np.zeros((3, 3)), np.diag([1e-3, 1e-3, 3e-3])])
def test_flat_pointlike_and_impossible_inertias_become_the_nearest_real_one(inertia):
    hand = PHYSICS.link_index("hand")
    edge = replace(PHYSICS, inertia=np.where(np.arange(4)[:, None, None] == hand, inertia, PHYSICS.inertia))
    unknowns = unknowns_of(*WHOLE_HAND, base=edge)
    values = edge.values(unknowns.columns)
    found = unknowns.physics(unknowns.encode(values)).link("hand")
    check_physical("hand", found)
    np.testing.assert_allclose(found.com_in_link_m, values[1:4], rtol=1e-9)
    if inertia[2, 2] <= inertia[0, 0] + inertia[1, 1]:
        np.testing.assert_allclose(found.inertia_about_com, inertia, rtol=0, atol=1e-8)


@STEADY
@given(st.floats(-30, 30), st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_any_mass_is_positive(log_mass, moment):
    unknowns = unknowns_of("hand.mass", "hand.com")
    mass, *com = unknowns.decode(np.array([log_mass, *moment]))
    assert mass > 0
    np.testing.assert_allclose(mass * np.array(com), moment, rtol=1e-12, atol=1e-300)


@STEADY
@given(st.integers(0, 2**20))
def test_slopes_equal_differences(seed):
    unknowns = unknowns_of(*MIXED)
    z = unknowns.encode(PHYSICS.values(unknowns.columns)) + 0.1 * np.random.default_rng(seed).normal(size=len(unknowns))
    step = 1e-6
    nudges = step * np.eye(len(z))
    differences = np.array([(unknowns.decode(z + n) - unknowns.decode(z - n)) / (2 * step) for n in nudges]).T
    np.testing.assert_allclose(unknowns.slope(z), differences, rtol=1e-6, atol=1e-7)


def test_joint_values_start_at_their_lower_bounds():
    unknowns = unknowns_of("*.frictionloss", "*.damping", "delay", "hand.mass")
    values = PHYSICS.values(unknowns.columns)
    values[1:] = 0.0
    z = unknowns.encode(values)
    expected = [LOWER_BOUND.get(column.kind) for column in unknowns.columns[1:]]
    assert z[1:].tolist() == expected
    assert unknowns.lower.tolist() == [-np.inf, *expected]
    assert z[0] == np.log(0.8)


def test_a_body_keeps_some_of_its_spread():
    """A twentieth of the base's second moments: of a ball, a twentieth of its inertia."""
    ball = replace(PHYSICS, inertia=np.where(np.arange(4)[:, None, None] == 3, 4e-3 * np.eye(3), PHYSICS.inertia))
    unknowns = unknowns_of(*WHOLE_HAND, base=ball)
    values = ball.values(unknowns.columns)
    values[1:4] = 0.0
    values[4:7] = 1e-7
    inertia = unknowns.physics(unknowns.encode(values)).link("hand").inertia_about_com
    assert np.trace(inertia) > 0.03 * 3 * 4e-3
    assert np.isfinite(unknowns.lower).sum() == 3


def test_patterns_choose_by_name():
    assert names("hand.mass", "hand.com") == ["hand.mass", "hand.com.x", "hand.com.y", "hand.com.z"]
    assert names("*.mass") == ["base.mass", "upper.mass", "fore.mass", "hand.mass"]
    assert names("*.k[pd]") == [f"{joint}.{kind}" for kind in ("kp", "kd") for joint in ("shoulder", "elbow", "wrist")]
    assert names("delay", "wrist.*") == [
        f"wrist.{kind}" for kind in ("damping", "frictionloss", "armature", "kp", "kd", "strength", "bias")
    ] + ["delay"]
    assert names("hand.*")[4:] == [f"hand.inertia.{part}" for part in ("xx", "yy", "zz", "xy", "xz", "yz")]
    assert names() == []


def test_a_floor_has_parameters_where_there_is_one():
    columns = choose_columns(replace(PHYSICS, on_floor=True), ["floor_*"])
    assert [column.name for column in columns] == ["floor_height", "floor_friction", "floor_stiffness"]
    with pytest.raises(ParameterError, match=r"^the pattern 'floor_\*' matches no parameter"):
        names("floor_*")


def test_kinds_are_left_out_with_their_bounds():
    columns = choose_columns(PHYSICS, ["wrist.damping", "wrist.bias", "delay"])
    prior = Prior.independent(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))
    rest = Unknowns(PHYSICS, columns, prior, {0: (0.5, 1.5), 2: (0.0, 0.02)}).without(["damping"])
    assert [column.name for column in rest.columns] == ["wrist.bias", "delay"]
    assert rest.bounds == {1: (0.0, 0.02)}
    np.testing.assert_array_equal(rest.prior.mean, [2.0, 3.0])
    np.testing.assert_allclose(rest.prior.information, np.diag([25.0, 1 / 0.09]))


def test_a_pattern_without_a_parameter_is_refused_in_words():
    words = (
        "the pattern 'hnad.mass' matches no parameter; expected LINK.{mass,com,inertia}, "
        "JOINT.{damping,frictionloss,armature,kp,kd,strength,bias} or delay, with * as a wildcard; "
        "floor_height, floor_friction, floor_stiffness in double support. Did you mean hand.mass"
    )
    with pytest.raises(ParameterError, match=f"^{re.escape(words)}"):
        names("*.mass", "hnad.mass")


@pytest.mark.parametrize("patterns", [("hand.inertia",), ("hand.inertia", "hand.mass"), ("*.inertia", "*.com")])
def test_inertia_alone_is_refused_in_words(patterns):
    with pytest.raises(ParameterError, match=r"inertia was chosen without .*mass and .*com; .* so choose all three$"):
        names(*patterns)


def test_a_gaussian_prior_by_hand():
    prior = Prior(np.array([1.0, -2.0]), np.array([[4.0, 1.0], [1.0, 2.0]]))
    values = np.array([1.5, -1.0])  # offset (0.5, 1): ½ (4·0.25 + 2·0.5 + 2·1) = 2
    assert prior.cost(values) == pytest.approx(2.0)
    gradient, matrix = prior.linearise(values)
    assert gradient.tolist() == [3.0, 2.5]
    assert matrix.tolist() == [[4.0, 1.0], [1.0, 2.0]]
    assert np.diag(Prior.independent(values, np.array([0.5, 2.0])).information).tolist() == [4.0, 0.25]


def test_the_box_by_hand():
    """φ(α; 0.8, 1.2) of Eq. 9 with weight 10: 10·0.2² below, nothing inside, 10·0.3² above."""
    prior = Prior(np.zeros(3), np.zeros((3, 3)), np.full(3, 0.8), np.full(3, 1.2), np.full(3, 10.0))
    values = np.array([0.6, 1.0, 1.5])
    assert prior.cost(values) == pytest.approx(0.4 + 0.9)
    gradient, matrix = prior.linearise(values)
    np.testing.assert_allclose(gradient, [-4.0, 0.0, 6.0], rtol=0, atol=1e-12)
    assert np.diag(matrix).tolist() == [20.0, 0.0, 20.0]


@STEADY
@given(st.integers(0, 2**20))
def test_a_priors_gradient_equals_differences(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(4, 4))
    prior = Prior(
        rng.normal(size=4), factor @ factor.T, -rng.uniform(size=4), rng.uniform(size=4), 5 * rng.uniform(size=4)
    )
    values, step = rng.normal(size=4), 1e-6
    nudges = step * np.eye(4)
    differences = [(prior.cost(values + n) - prior.cost(values - n)) / (2 * step) for n in nudges]
    np.testing.assert_allclose(prior.linearise(values)[0], differences, rtol=1e-5, atol=1e-5)


def test_physics_outside_the_columns_stays():
    unknowns = unknowns_of("hand.mass")
    changed = unknowns.physics(np.array([np.log(3.0)]))
    assert changed.mass.tolist() == pytest.approx([3.0, 2.0, 1.4, 3.0])
    assert replace(changed, mass=PHYSICS.mass).com is PHYSICS.com
