"""A real arm's logs: they convert, and replayed on the arm's model they are off by what is known of them."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from haloid.recordings.errors import RecordingError
from haloid.recordings.logs.convert import LogOptions, read_log

DATA = Path(__file__).parents[4] / "shared" / "data"
ARM = DATA / "robots" / "robotstudio_so101" / "so101_nomesh.xml"
RMS_RAD = {
    "chirp_sweep": (0.066, 0.081, 0.080, 0.063, 0.064, 0.070),
    "wave_motion": (0.010, 0.026, 0.077, 0.006, 0.042, 0.004),
    "step_response": (0.008, 0.042, 0.056, 0.017, 0.014, 0.005),
}
SUBSTEPS = 4

TWO_JOINTS = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody><body><joint name="a" range="-3 3"/><geom size=".1"/><body><joint name="b" range="-3 3"/><geom size=".1"/>
  </body></body></worldbody>
  <actuator><position joint="a" kp="10" kv="1"/><position joint="b" kp="20" kv="2"/></actuator>
</mujoco>
"""


@pytest.mark.skipif(not ARM.is_file(), reason="../shared/data is absent")
@pytest.mark.parametrize("run", RMS_RAD)
def test_real_logs_replay(run: str):
    options = LogOptions(robot=str(ARM), gains="model", payload="none")
    recording = read_log(DATA / "logs" / "so101" / run, options)
    assert recording.target_rad is not None and recording.kp is not None
    assert recording.kp == pytest.approx(998.22)
    model = mujoco.MjModel.from_xml_path(str(ARM))
    model.opt.timestep = recording.control_dt_s / SUBSTEPS
    data = mujoco.MjData(model)
    data.qpos[:] = recording.q_rad[0]
    replayed = np.zeros_like(recording.q_rad)
    for row, target in enumerate(recording.target_rad):
        replayed[row] = data.qpos
        data.ctrl[:] = target
        mujoco.mj_step(model, data, SUBSTEPS)
    rms_rad = np.sqrt(np.mean((replayed - recording.q_rad) ** 2, axis=0))
    np.testing.assert_allclose(rms_rad[:5], RMS_RAD[run][:5], atol=1e-3)
    low_rad, high_rad = model.joint("gripper").range  # the known figure is of numbers from 0 to 1, not of radians
    assert rms_rad[5] == pytest.approx((high_rad - low_rad) * RMS_RAD[run][5], rel=0.15, abs=1.2e-3)
    assert f"gripper: 0 to 1 taken for its range, {low_rad:.3g} to {high_rad:.3g} rad" in recording.note
    assert recording.least_noise_rad[0] == pytest.approx(2 * np.pi / 4096 / np.sqrt(12), rel=1e-3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "arm.xml").write_text(TWO_JOINTS)
    times = [20_000.0 * row for row in range(60)]
    control = [f'CONTROL,{t},"[{np.sin(1e-6 * t)}, 0.5]"' for t in times]
    state = [f'STATE_MOTOR,{t},"[{np.sin(1e-6 * t)}, {0.4 + 1e-8 * t}]","[0, 0]","[0, 0]"' for t in times]
    (tmp_path / "control.csv").write_text("\n".join(["type,timestamp,positions", *control]))
    (tmp_path / "state_motor.csv").write_text("\n".join(["type,timestamp,positions,velocities,torques", *state]))
    return tmp_path


def test_a_folder_and_its_faults(folder: Path):
    options = LogOptions(robot=str(folder / "arm.xml"), gains="model")
    recording = read_log(folder, options)
    assert recording.joint_names == ("a", "b")
    assert recording.kd is not None and recording.kd.tolist() == [1.0, 2.0]
    np.testing.assert_allclose(recording.time_s, 0.02 * np.arange(60), atol=1e-9)
    with pytest.raises(RecordingError, match=r"the log has no gains, and none were named.*Give --gains .*\(model\)"):
        read_log(folder, LogOptions(robot=str(folder / "arm.xml")))
    text = (folder / "control.csv").read_text()
    (folder / "control.csv").write_text(text[:-5])
    with pytest.raises(RecordingError, match=r"control.csv: line 61: the row cannot be read"):
        read_log(folder, options)
    (folder / "control.csv").unlink()
    with pytest.raises(RecordingError, match=r"there is state_motor.csv but no control.csv: the log has no commands"):
        read_log(folder, options)


def test_a_gripper_is_logged_as_a_share_of_its_range(tmp_path: Path):
    (tmp_path / "arm.xml").write_text(TWO_JOINTS.replace('"b" range="-3 3"', '"gripper" range="-0.5 1.5"').replace(
        'joint="b"', 'joint="gripper"'))  # fmt: skip
    half = "[0.1, 0.5]"
    rows = [f'X,{20000 * i},"{half}"' for i in range(60)]
    (tmp_path / "control.csv").write_text("\n".join(["type,timestamp,positions", *rows]) + "\n")
    rows = [f'X,{20000 * i},"{half}","[0.0, 0.25]","{half}"' for i in range(60)]
    (tmp_path / "state_motor.csv").write_text("\n".join(["type,timestamp,positions,velocities,torques", *rows]) + "\n")
    recording = read_log(tmp_path, LogOptions(robot=str(tmp_path / "arm.xml"), gains="model"))
    assert recording.target_rad is not None and recording.dq_rad_s is not None
    assert recording.target_rad[0] == pytest.approx([0.1, 0.5]) and recording.q_rad[0] == pytest.approx([0.1, 0.5])
    assert recording.dq_rad_s[0] == pytest.approx([0.0, 0.5])
