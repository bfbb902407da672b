import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.lab.loads import Load, RigidLoad, bar, box, halo_setting, put_on, sphere
from haloid.robots.inertia import Payload, read_links
from haloid.robots.load import load_spec

HANDS = ("left_wrist_yaw_link", "right_wrist_yaw_link")


@pytest.mark.parametrize(
    ("number", "torso_kg", "left_kg", "right_kg", "com_offset_m"),
    [(1, 6.0, 2.4, 2.0, [0.01, 0.02, 0.05]), (2, 9, 3.2, 2.8, [0.02, 0.04, 0.07]), (3, 12, 3.5, 3, [0.02, 0.04, 0.07])],
)
def test_halo_settings_are_those_of_table_2(number, torso_kg, left_kg, right_kg, com_offset_m):
    spec = load_spec("g1")
    before = read_links(spec)
    put_on(spec, halo_setting(number))
    after = read_links(spec)
    added_kg = {name: after[name].mass_kg - before[name].mass_kg for name in before}
    expected = dict.fromkeys(before, 0.0) | dict(
        zip(("torso_link", *HANDS), (torso_kg, left_kg, right_kg), strict=True)
    )
    assert added_kg == pytest.approx(expected, abs=1e-12)
    shift = after["torso_link"].com_in_link_m - before["torso_link"].com_in_link_m
    np.testing.assert_allclose(shift, com_offset_m, atol=1e-12)
    for name in ("torso_link", *HANDS):
        np.testing.assert_allclose(after[name].inertia_about_com, before[name].inertia_about_com, atol=1e-12)
    for name in HANDS:
        np.testing.assert_allclose(after[name].com_in_link_m, before[name].com_in_link_m, atol=1e-12)


def test_there_is_no_setting_4():
    with pytest.raises(HaloidError, match="no Perturbation Setting 4; expected 1, 2 or 3"):
        halo_setting(4)


def test_loads_on_one_link_add_up(pendulum):
    spec = load_spec(pendulum)
    put_on(spec, [Load("rod", 1.0, (0.1, 0.0, 0.0)), RigidLoad("rod", Payload(1.0, np.array([0.8, 0.0, 0.0])))])
    rod = read_links(spec)["rod"]
    assert rod.mass_kg == pytest.approx(4.0)
    np.testing.assert_allclose(rod.com_in_link_m, [(3 * 0.4 + 0.8) / 4, 0, 0], atol=1e-12)
    assert rod.inertia_about_com[1, 1] == pytest.approx(0.02 + 3 * 0.1**2 + 1 * 0.3**2)


def test_an_unknown_link_is_named(pendulum):
    with pytest.raises(HaloidError, match="no link 'rodd'; the nearest are: rod"):
        put_on(load_spec(pendulum), [Load("rodd", 1.0)])


def test_bodies_have_the_inertia_of_their_points():
    """A box, a ball and a bar filled with random points, turned and summed up."""
    rng, place_m = np.random.default_rng(0), np.array([0.1, -0.2, 0.05])
    quat = np.array([0.5, -0.1, 0.7, 0.4]) / np.linalg.norm([0.5, -0.1, 0.7, 0.4])
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, quat)
    unit = rng.uniform(-1, 1, (200_000, 3))
    in_ball, in_disc = unit[np.linalg.norm(unit, axis=1) < 1], unit[np.linalg.norm(unit[:, :2], axis=1) < 1]
    sides_m = np.array([0.1, 0.3, 0.2])
    bodies = (
        (box(2.0, sides_m, place_m, quat), unit * sides_m / 2),
        (sphere(2.0, 0.15, place_m), in_ball * 0.15),
        (bar(2.0, 0.6, 0.03, place_m, quat), in_disc * [0.03, 0.03, 0.3]),
    )
    for payload, points_m in bodies:
        turned = points_m @ rotation.reshape(3, 3).T
        second = 2.0 * turned.T @ turned / len(turned)
        expected = np.trace(second) * np.eye(3) - second
        np.testing.assert_allclose(payload.inertia_about_com, expected, atol=0.01 * np.trace(expected))
        np.testing.assert_array_equal(payload.com_in_link_m, place_m)
