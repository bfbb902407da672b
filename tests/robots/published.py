"""This package's own model of a robot against the published figures."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from haloid.robots.load import load_spec

ROBOTS = Path(__file__).parents[3] / "shared/data/robots"


def published_text(file: str) -> str:
    """Skips the test where the file is absent."""
    if not (ROBOTS / file).is_file():
        pytest.skip(f"the published robot is not here: {ROBOTS / file}")
    return (ROBOTS / file).read_text(encoding="utf-8")


def published_model(file: str) -> mujoco.MjModel:
    """Skips the test where the file is absent."""
    published_text(file)
    return load_spec(ROBOTS / file).compile()


def body_names(model: mujoco.MjModel) -> list[str]:
    return [model.body(i).name for i in range(model.nbody)]


def joint_names(model: mujoco.MjModel) -> list[str]:
    return [model.joint(i).name for i in range(model.njnt)]


def inertia_in_link(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Full (3, 3) rotational inertia about the centre of mass, in the link's axes."""
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.body_iquat[body])
    rotation = rotation.reshape(3, 3)
    return rotation @ np.diag(model.body_inertia[body]) @ rotation.T


def contacts(model: mujoco.MjModel, data: mujoco.MjData) -> set[frozenset[str]]:
    return {frozenset((model.geom(c.geom1).name, model.geom(c.geom2).name)) for c in data.contact}


def assert_same_inertials(ours: mujoco.MjModel, published: mujoco.MjModel) -> None:
    """Of every link of ours; a link only the published model has must weigh nothing."""
    assert set(body_names(ours)) <= set(body_names(published))
    for name in body_names(published):
        theirs = published.body(name).id
        if name not in body_names(ours):
            assert published.body_mass[theirs] == 0.0, name
            continue
        mine = ours.body(name).id
        np.testing.assert_allclose(ours.body_mass[mine], published.body_mass[theirs], rtol=0, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(ours.body_ipos[mine], published.body_ipos[theirs], rtol=0, atol=1e-9, err_msg=name)
        found, expected = inertia_in_link(ours, mine), inertia_in_link(published, theirs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=name)


def assert_same_joints(ours: mujoco.MjModel, published: mujoco.MjModel) -> None:
    assert joint_names(ours) == joint_names(published)
    np.testing.assert_array_equal(ours.jnt_type, published.jnt_type)
    np.testing.assert_array_equal(ours.jnt_limited, published.jnt_limited)
    for field in ("jnt_axis", "jnt_range", "jnt_pos", "jnt_actfrcrange"):
        np.testing.assert_allclose(getattr(ours, field), getattr(published, field), rtol=0, atol=1e-12, err_msg=field)


def assert_same_kinematics(ours: mujoco.MjModel, published: mujoco.MjModel, own_sites: tuple[str, ...] = ()) -> None:
    """Poses of links, centres of mass and sites, but for `own_sites`, at 20 random configurations."""
    rng = np.random.default_rng(0)
    data = {model: mujoco.MjData(model) for model in (ours, published)}
    sites = [ours.site(i).name for i in range(ours.nsite) if ours.site(i).name not in own_sites]
    assert set(sites) <= {published.site(i).name for i in range(published.nsite)}
    for _ in range(20):
        qpos = rng.uniform(-3, 3, ours.nq)
        for model in data:
            data[model].qpos[:] = qpos
            mujoco.mj_normalizeQuat(model, data[model].qpos)
            mujoco.mj_kinematics(model, data[model])
        for name in body_names(ours):
            mine, theirs = data[ours].body(name), data[published].body(name)
            for field in ("xpos", "xmat", "xipos"):
                np.testing.assert_allclose(getattr(mine, field), getattr(theirs, field), rtol=0, atol=1e-9)
        for name in sites:
            mine, theirs = data[ours].site(name), data[published].site(name)
            np.testing.assert_allclose(mine.xpos, theirs.xpos, rtol=0, atol=1e-9)
            np.testing.assert_allclose(mine.xmat, theirs.xmat, rtol=0, atol=1e-9)
