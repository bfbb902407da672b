"""Link parameters against MuJoCo's own composition of bodies and geoms, and against clouds of point masses."""

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.random_trees import mjcf, tree_plan, tree_plans

from haloid.robots.clamp import clamp
from haloid.robots.inertia import (
    LinkError,
    LinkParameters,
    Payload,
    attach,
    check_physical,
    detach,
    find_link,
    perturb,
    principal_axes,
    read_links,
    write_links,
)
from haloid.robots.load import load_spec

seeds = st.integers(0, 2**20)
deterministic = settings(derandomize=True, deadline=None, max_examples=30)


def random_link(rng) -> LinkParameters:
    """Of eight point masses, so it belongs to a real body."""
    return of_points(rng.uniform(0.1, 1.0, 8), rng.normal(size=(8, 3)) * 0.1)


def of_points(masses: np.ndarray, points: np.ndarray) -> LinkParameters:
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return LinkParameters(masses.sum(), com, inertia)


def assert_links_equal(found: LinkParameters, expected: LinkParameters, atol: float = 1e-12) -> None:
    assert found.mass_kg == pytest.approx(expected.mass_kg, rel=0, abs=atol)
    np.testing.assert_allclose(found.com_in_link_m, expected.com_in_link_m, rtol=0, atol=atol)
    np.testing.assert_allclose(found.inertia_about_com, expected.inertia_about_com, rtol=0, atol=atol)


def accelerations(model: mujoco.MjModel, rng) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0 + rng.uniform(-0.5, 0.5, model.nq)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    return data.qacc_smooth.copy()


@given(seed=seeds)
@deterministic
def test_a_written_link_has_the_kinetic_energy_of_its_points(seed):
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1.0, 8), rng.normal(size=(8, 3))
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="cloud")
    body.add_freejoint()
    body.add_geom(size=[0.1, 0, 0])
    write_links(spec, {"cloud": of_points(masses, points)})
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qvel[:] = rng.normal(size=6)
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_energyVel(model, data)
    speeds = data.qvel[:3] + np.cross(data.qvel[3:], points)
    assert data.energy[1] == pytest.approx(0.5 * masses @ np.sum(speeds**2, axis=1), rel=1e-12)


@given(seed=seeds)
@deterministic
def test_attached_points_are_part_of_the_cloud(seed):
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1.0, 9), rng.normal(size=(9, 3)) * 0.2
    link, load = of_points(masses[:4], points[:4]), of_points(masses[4:8], points[4:8])
    loaded = attach(link, Payload(load.mass_kg, load.com_in_link_m, load.inertia_about_com))
    assert_links_equal(attach(loaded, Payload(masses[8], points[8])), of_points(masses, points))
    found = detach(loaded, link)
    mass, com = found.mass_kg, found.com_in_link_m
    assert mass == pytest.approx(load.mass_kg, abs=1e-12)
    np.testing.assert_allclose(com, load.com_in_link_m, rtol=0, atol=1e-12)


def test_detaching_nothing_has_no_centre_of_mass():
    link = random_link(np.random.default_rng(0))
    found = detach(link, link)
    mass, com = found.mass_kg, found.com_in_link_m
    assert mass == 0 and np.all(np.isnan(com))


def test_attached_payload_moves_as_a_welded_body_of_mujoco():
    payload = Payload(3.0, np.array([0.05, -0.1, 0.2]), np.diag([0.02, 0.03, 0.04]))
    attached, welded = load_spec("g1"), load_spec("g1")
    write_links(attached, {"torso_link": attach(read_links(attached)["torso_link"], payload)})
    box = welded.body("torso_link").add_body(name="box", pos=payload.com_in_link_m, explicitinertial=True)
    box.mass, box.ipos, box.inertia = 3.0, [0, 0, 0], [0.02, 0.03, 0.04]
    found, expected = (
        accelerations(clamp(spec, "left_ankle_roll_link").compile(), np.random.default_rng(1))
        for spec in (attached, welded)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_geoms_of_known_inertia_compose_as_mujoco_composes_them():
    """A box and a ball with textbook inertias, m/3·(b² + c²) and 2/5·m·r²."""
    text = """<mujoco><worldbody><body name="part">
      <geom type="box" size=".1 .2 .3" pos=".1 0 .2" mass="2"/><geom type="sphere" size=".15" pos="0 -.3 0" mass="1.5"/>
    </body></worldbody></mujoco>"""
    box = LinkParameters(2.0, [0.1, 0, 0.2], 2 / 3 * np.diag([0.13, 0.1, 0.05]))
    ball = Payload(1.5, np.array([0, -0.3, 0]), 0.4 * 1.5 * 0.15**2 * np.eye(3))
    assert_links_equal(
        read_links(mujoco.MjSpec.from_string(text))["part"], attach(box, ball), atol=1e-8
    )  # MuJoCo's own precision


def test_perturbing_keeps_the_inertia_about_the_centre_of_mass():
    link = random_link(np.random.default_rng(0))
    moved = perturb(link, 1.5, [0.01, -0.02, 0.03])
    assert moved.mass_kg == link.mass_kg + 1.5
    np.testing.assert_array_equal(moved.com_in_link_m, link.com_in_link_m + np.array([0.01, -0.02, 0.03]))
    np.testing.assert_array_equal(moved.inertia_about_com, link.inertia_about_com)
    assert_links_equal(
        perturb(link, 1.5), LinkParameters(link.mass_kg + 1.5, link.com_in_link_m, link.inertia_about_com)
    )


def floating_tree(plan) -> mujoco.MjSpec:
    """Without the ball of the room, which is a simple body."""
    spec = mujoco.MjSpec.from_string(mjcf(plan, couplings=False))
    for key in list(spec.keys):
        spec.delete(key)
    spec.delete(spec.body("ball"))
    return spec


@given(plan=tree_plans())
@deterministic
def test_reading_gives_back_what_was_written(plan):
    rng = np.random.default_rng(plan.seed)
    links = {link: random_link(rng) for link in plan.links}
    spec = floating_tree(plan)
    model = spec.compile()
    write_links(spec, links)
    write_links(model, links)
    for source in (spec, spec.compile(), model):
        read = read_links(source)
        assert set(read) == {*plan.links, "shelf", "goal"}
        for link, expected in links.items():
            assert_links_equal(read[link], expected)
            assert_links_equal(read_links(source)[link], expected)


@given(plan=tree_plans())
@deterministic
def test_reading_and_writing_changes_nothing(plan):
    spec = floating_tree(plan)
    links = read_links(spec)
    model = spec.compile()
    write_links(model, links)
    for link, parameters in read_links(model).items():
        assert_links_equal(parameters, links[link])
    assert_same_dynamics(model, spec.compile())


@given(plan=tree_plans())
@deterministic
def test_writing_to_a_model_is_writing_to_its_spec_and_compiling(plan):
    rng = np.random.default_rng(plan.seed)
    links = {link: random_link(rng) for link in plan.links if rng.integers(2)}
    spec = floating_tree(plan)
    model = spec.compile()
    write_links(model, links)
    write_links(spec, links)
    assert_same_dynamics(model, spec.compile())


def assert_same_dynamics(found: mujoco.MjModel, expected: mujoco.MjModel) -> None:
    for field in ("dof_invweight0", "dof_M0", "body_invweight0", "body_subtreemass"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-9, atol=1e-12)
    state = np.random.default_rng(5).uniform(-0.5, 0.5, found.nq + found.nv)
    accelerations = []
    for model in (found, expected):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = model.qpos0 + state[: model.nq], state[model.nq :]
        mujoco.mj_forward(model, data)
        accelerations.append(data.qacc_smooth.copy())
    np.testing.assert_allclose(*accelerations, rtol=0, atol=1e-9 * np.abs(accelerations[0]).max())


PART = """
<mujoco>
  <compiler {compiler}/>
  <worldbody>
    <body name="arm">
      <joint name="turn" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01" {turned}/>
      <geom type="box" size=".1 .2 .3" mass="3"/>
      <body name="hand" pos="0 0 .2"><geom size=".1"/></body>
    </body>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0"/><joint name="wheel" axis="0 0 1"/><geom size=".1"/>
    </body>
  </worldbody>
</mujoco>"""
KINDS = {"plain": ("", ""), "turned": ("", 'euler="10 20 30"'), "axisangle": ("", 'axisangle="1 2 3 40"'),
         "geoms": ('inertiafromgeom="true"', ""), "total": ('settotalmass="7"', "")}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_survives_what_compiling_derives(kind):
    compiler, turned = KINDS[kind]
    spec = mujoco.MjSpec.from_string(PART.format(compiler=compiler, turned=turned))
    links = read_links(spec) | {"arm": random_link(np.random.default_rng(0))}
    write_links(spec, {"arm": links["arm"]})
    for link, found in read_links(spec).items():
        assert_links_equal(found, links[link])


def test_a_simple_body_of_two_joints_takes_new_values_only_in_the_spec():
    """MuJoCo stores no off-diagonal mass for it: written to the model, the values would be silently wrong."""
    spec = mujoco.MjSpec.from_string(PART.format(compiler="", turned=""))
    model = spec.compile()
    assert model.body("cart").simple[0] == 1
    link = random_link(np.random.default_rng(0))
    assert words(write_links, model, {"cart": link}) == (
        "link 'cart': MuJoCo compiled it as a simple body, whose mass matrix has no room for another centre of mass or "
        "inertia; write to the MjSpec, or set simple = 0 on its body before compiling"
    )
    spec.body("cart").simple = 0
    model = spec.compile()
    write_links(model, {"cart": link})
    write_links(spec, {"cart": link})
    assert_same_dynamics(model, spec.compile())


@given(seed=seeds)
@deterministic
def test_principal_axes_give_the_inertia_back(seed):
    inertia = random_link(np.random.default_rng(seed)).inertia_about_com
    principal, quat = principal_axes(inertia)
    assert principal[0] >= principal[1] >= principal[2] >= 0
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, quat)
    rotation = rotation.reshape(3, 3)
    np.testing.assert_allclose(rotation @ np.diag(principal) @ rotation.T, inertia, rtol=0, atol=1e-14)


def words(function, *arguments) -> str:
    with pytest.raises(LinkError) as caught:
        function(*arguments)
    return str(caught.value)


def test_words_for_parameters_no_body_can_have():
    def refused(mass, inertia, com=(0, 0, 0)):
        return words(check_physical, "hand", LinkParameters(mass, com, np.asarray(inertia)))

    assert refused(-0.25, np.eye(3)) == "link 'hand': the mass would be -0.25 kg; a mass must not be negative"
    assert refused(1, np.diag([1.0, 1.0, 3.0])) == (
        "link 'hand': principal inertias 1, 1, 3 kg·m² violate the triangle inequality "
        "(the two smaller must add up to at least the largest)"
    )
    assert refused(1, np.diag([-0.5, 1, 1])) == "link 'hand': the principal inertia -0.5 kg·m² is negative"
    assert refused(1, [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]) == "link 'hand': the inertia matrix is not symmetric"
    assert refused(1, np.eye(3), (0, np.nan, 0)).startswith("link 'hand': mass, CoM and inertia must be finite numbers")
    check_physical("plate", LinkParameters(1, np.zeros(3), np.diag([1.0, 1.0, 2.0])))
    check_physical("point", LinkParameters(0, np.zeros(3), np.zeros((3, 3))))


@pytest.mark.parametrize("source", [load_spec("g1"), load_spec("g1").compile()], ids=["spec", "model"])
def test_nothing_is_written_when_one_link_is_refused(source):
    before = read_links(source)
    links = {"torso_link": perturb(before["torso_link"], 1.0), "pelvis": perturb(before["pelvis"], -100.0)}
    assert words(write_links, source, links).startswith("link 'pelvis': the mass would be -")
    assert_links_equal(read_links(source)["torso_link"], before["torso_link"])
    links = {"torso_link": perturb(before["torso_link"], 1.0), "torso": before["pelvis"]}
    assert words(write_links, source, links) == "the robot has no link 'torso'; the nearest are: torso_link"
    assert_links_equal(read_links(source)["torso_link"], before["torso_link"])


def test_words_for_links_that_do_not_exist_or_weigh_nothing():
    model = load_spec("g1").compile()
    assert words(find_link, model, "left_wrist").startswith(
        "the robot has no link 'left_wrist'; the nearest are: left_"
    )
    assert words(find_link, model, "world").startswith("the robot has no link 'world'; the nearest are: ")
    link = random_link(np.random.default_rng(0))
    assert words(attach, link, Payload(-link.mass_kg, np.zeros(3))) == (
        "link and payload together would weigh 0 kg; expected a positive mass"
    )


def test_a_tree_and_its_clamped_twin_have_the_same_links():
    spec = mujoco.MjSpec.from_string(mjcf(tree_plan(11)))
    original = read_links(spec)
    for link, parameters in read_links(clamp(spec, "link3")).items():
        assert_links_equal(parameters, original[link])
