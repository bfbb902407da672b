"""The files of a result hold the dynamics that were identified."""

import json
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest

from haloid.engines.fragments import cut
from haloid.identify.results.answer import Answer, answer
from haloid.identify.results.files import contents_of, robot_patch, write_result
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification, identify
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.inertia import read_links
from haloid.robots.load import load_spec
from haloid.robots.patch import patched_spec, read_patch
from haloid.robots.servos import set_servos

LINKS = ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
ROWS, START = 25, 40
BASE = ("*.damping", "*.frictionloss", "*.armature", "pelvis.mass", "pelvis.com")

Result = tuple[Path, Identification, Answer, Recording]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    sensors, shaken = Sensors(noise_rad=5e-4), Excitation(duration_s=3.0)
    unloaded, _ = record(LabRobot(), sensors, shaken, seed=1, name="unloaded")
    loaded, _ = record(LabRobot(loads=halo_setting(1)), sensors, shaken, seed=2, name="loaded")
    settings = Settings(LINKS, base_parameters=BASE, fragments=4, rows=8)
    found = identify([unloaded], [loaded], settings)
    found_answer = answer(found)
    folder = tmp_path_factory.mktemp("result")
    contents = contents_of(found, found_answer, [unloaded], [loaded])
    write_result(folder, contents, patched_spec(partial(load_spec, "g1"), contents.patch))
    return folder, found, found_answer, loaded


def rolled_out(spec: mujoco.MjSpec, recording: Recording) -> np.ndarray:
    """(ROWS + 1, n) joint angles of a robot's file, clamped and driven as the recording says, by plain MuJoCo."""
    assert recording.kp is not None and recording.kd is not None and recording.target_rad is not None
    kp, kd = (dict(zip(recording.joint_names, map(float, g), strict=True)) for g in (recording.kp, recording.kd))
    set_servos(spec, kp, kd)
    model = clamp(spec, recording.clamp, recording.clamp_pose).compile()
    model.opt.timestep, model.opt.integrator = 0.005, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.tolerance, model.opt.ls_tolerance, model.opt.ls_iterations = 1e-12, 1e-6, 50
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    data = mujoco.MjData(model)
    columns = [recording.joint_names.index(model.joint(int(j)).name) for j in model.dof_jntid]
    of_actuator = [recording.joint_names.index(model.joint(int(j)).name) for j in model.actuator_trnid[:, 0]]
    data.qpos[:] = recording.q_rad[START, columns]
    rows = [data.qpos.copy()]
    for row in range(ROWS):
        data.ctrl[:] = recording.target_rad[START + row, of_actuator]
        mujoco.mj_step(model, data, round(recording.control_dt_s / 0.005))
        rows.append(data.qpos.copy())
    return np.array(rows)


def test_calibrated_robot_moves_as_identified(result: Result):
    folder, found, _, recording = result
    simulator = found.simulator
    fragments = cut([recording], [np.array([START])], ROWS, simulator.dof_joints, 0.005)
    q0 = fragments.readings[:, 0]
    (expected,) = simulator.readings([found.physics], fragments, q0[None], np.zeros((1, *q0.shape)))
    moved = rolled_out(mujoco.MjSpec.from_file(str(folder / "calibrated.xml")), recording)
    np.testing.assert_allclose(moved, expected[0], rtol=0, atol=1e-9)
    (nominal,) = simulator.readings([found.nominal], fragments, q0[None], np.zeros((1, *q0.shape)))
    assert np.abs(nominal[0] - moved).max() > 1e-2


def test_patch_makes_the_same_robot(result: Result):
    folder, found, _, recording = result
    patch = read_patch(folder / "patch.json")
    assert patch.links.keys() == {*LINKS, "pelvis"}
    assert patch.links.keys() == robot_patch(found, "g1").links.keys()
    patched = patched_spec(lambda: load_spec("g1"), patch)
    calibrated = mujoco.MjSpec.from_file(str(folder / "calibrated.xml"))
    np.testing.assert_allclose(rolled_out(patched, recording), rolled_out(calibrated, recording), rtol=0, atol=1e-9)


def test_calibrated_robot_has_the_identified_links(result: Result):
    folder, found, answer, _ = result
    links = read_links(mujoco.MjModel.from_xml_path(str(folder / "calibrated.xml")))
    for name, link in links.items():
        identified = found.physics.link(name)
        assert link.mass_kg == pytest.approx(identified.mass_kg, rel=1e-12)
        np.testing.assert_allclose(link.com_in_link_m, identified.com_in_link_m, atol=1e-12)
    torso = json.loads((folder / "result.json").read_text())["links"]["torso_link"]
    assert torso["mass"]["value"] == links["torso_link"].mass_kg
    assert torso["mass"]["std"] == float(answer.links["torso_link"]["mass"].std) > 0


def test_files_hold_no_absolute_path(result: Result):
    folder = result[0]
    for name in ("result.json", "calibrated.xml", "calibrated.urdf", "patch.json", "config.yaml"):
        assert str(folder.parent) not in (folder / name).read_text()
