"""mjlab's G1 with identified parameters: what was identified is simulated, all else is mjlab's."""

import pickle
from functools import partial

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjlab")

from mjlab.asset_zoo.robots import get_g1_robot_cfg
from mjlab.entity.entity import Entity

from haloid.robots.files.write_mjcf import write_mjcf
from haloid.robots.inertia import perturb, read_links
from haloid.robots.load import load_spec
from haloid.robots.patch import Patch, apply_patch, patched_spec, write_patch
from haloid.skills.mjlab_backend.robot import g1_spec, identified_spec_fn, robot_cfg

pytestmark = pytest.mark.slow


def compiled(cfg) -> mujoco.MjModel:
    return Entity(cfg).spec.compile()


def assert_same(found: mujoco.MjModel, expected: mujoco.MjModel) -> None:
    for name in ("body_mass", "body_ipos", "body_inertia", "dof_armature", "dof_damping", "dof_frictionloss"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-12, err_msg=name)
    for name in ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "geom_friction", "key_qpos"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.fixture(scope="module")
def patch() -> Patch:
    torso = perturb(read_links(load_spec("g1"))["torso_link"], 6.0, (0.01, 0.02, 0.05))
    knee = {"damping": 0.3, "frictionloss": 0.2, "armature": 0.03}
    return Patch("g1", {"torso_link": torso}, {"left_knee_joint": knee})


def test_without_an_identification_it_is_mjlabs_own_robot():
    assert_same(compiled(robot_cfg(g1_spec)), compiled(get_g1_robot_cfg()))


def test_a_patch_reaches_the_simulated_robot_armature_included(patch, tmp_path):
    write_patch(patch, tmp_path / "patch.json")
    model, own = compiled(robot_cfg(identified_spec_fn(tmp_path / "patch.json"))), compiled(get_g1_robot_cfg())

    torso, knee = model.body("torso_link"), model.joint("left_knee_joint")
    assert torso.mass[0] == pytest.approx(own.body("torso_link").mass[0] + 6.0)
    np.testing.assert_allclose(torso.ipos, np.add(own.body("torso_link").ipos, [0.01, 0.02, 0.05]))
    assert (knee.damping[0], knee.frictionloss[0], knee.armature[0]) == (0.3, 0.2, 0.03)
    right = model.joint("right_knee_joint")
    assert right.armature[0] == pytest.approx(own.joint("right_knee_joint").armature[0])
    np.testing.assert_array_equal(model.actuator_gainprm, own.actuator_gainprm)
    np.testing.assert_array_equal(model.actuator_biasprm, own.actuator_biasprm)


def test_a_calibrated_model_is_the_same_robot_as_its_patch(patch, tmp_path):
    spec = load_spec("g1")
    apply_patch(spec, patch)
    write_mjcf(spec, tmp_path / "calibrated.xml")
    by_model = compiled(robot_cfg(identified_spec_fn(tmp_path / "calibrated.xml")))
    assert_same(by_model, compiled(robot_cfg(partial(patched_spec, g1_spec, patch))))


def test_the_robot_can_be_sent_to_the_processes_of_several_gpus(patch, tmp_path):
    write_patch(patch, tmp_path / "patch.json")
    cfg = robot_cfg(identified_spec_fn(tmp_path / "patch.json"))
    (tmp_path / "patch.json").unlink()
    assert_same(compiled(pickle.loads(pickle.dumps(cfg))), compiled(cfg))
