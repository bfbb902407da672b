"""A payload's size as a prior: points and bodies by hand, and a Gaussian that holds near the solution."""

import mujoco
import numpy as np
from tests.identify.arm import ARM

from haloid.engines.physics import LINK_KINDS, Physics
from haloid.identify.problem.body import body_prior, inertia_information
from haloid.identify.problem.unknowns import choose_columns
from haloid.lab.loads import bar
from haloid.robots.inertia import LinkParameters, Payload, attach

BASE = Physics.of_model(mujoco.MjModel.from_xml_string(ARM))
COLUMNS = choose_columns(BASE, ("hand.mass", "hand.com", "hand.inertia"))
PLACE_M = np.array([0.05, 0.02, -0.15])


def with_hand(link: LinkParameters) -> Physics:
    inertia = [link.inertia_about_com["xyz".index(p[0]), "xyz".index(p[1])] for p in LINK_KINDS["inertia"]]
    return BASE.with_values(COLUMNS, np.array([link.mass_kg, *link.com_in_link_m, *inertia]))


def carrying(payload: Payload) -> Physics:
    return with_hand(attach(BASE.link("hand"), payload))


def test_a_point_is_what_is_expected():
    near = carrying(Payload(1.5, PLACE_M))
    prior = body_prior(BASE, near, COLUMNS, 0.5)
    assert prior.cost(near.values(COLUMNS)) < 0.01  # mass and CoM may be anything
    elsewhere = carrying(Payload(1.51, PLACE_M + np.array([0.004, -0.003, 0.002])))
    assert prior.cost(elsewhere.values(COLUMNS)) < 0.01  # and the inertia follows them


def test_a_long_bar_is_a_matter_of_size():
    turned = np.array([0.8, 0.3, 0.5, 0.1]) / np.linalg.norm([0.8, 0.3, 0.5, 0.1])
    near = carrying(bar(1.5, 0.5, 0.02, PLACE_M, turned))
    costs = [body_prior(BASE, near, COLUMNS, size_m).cost(near.values(COLUMNS)) for size_m in (0.05, 0.5)]
    assert costs[0] > 100 and costs[1] < 2


def test_only_the_inertia_is_told_by_size():
    near = carrying(Payload(1.5, PLACE_M))
    information = inertia_information(BASE, near, COLUMNS, 0.5)
    assert np.linalg.matrix_rank(information) == 6
    std = 1 / np.sqrt(np.diag(information)[4:])
    np.testing.assert_allclose(std, np.hypot(1.5 * 0.5**2 / 12, 0.2 * 0.0055 / 3), rtol=1e-9)


def test_what_weighs_nothing_keeps_its_links_inertia():
    prior = body_prior(BASE, BASE, COLUMNS, 0.5)
    np.testing.assert_allclose(prior.mean, BASE.values(COLUMNS), atol=1e-12)
    assert np.all(np.linalg.eigvalsh(prior.information) > 0)
