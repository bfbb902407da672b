"""What a path holds is told by its content."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.lab.excitation import Excitation
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.files.write import write_recording
from haloid.trajectories.rollout_file import write_rollout
from haloid.view.open import kind_of, open_show
from tests.trajectories.rollouts import small_rollout

LEG = """<mujoco><worldbody><body><freejoint/><geom size=".1"/>
  <body><joint name="hip"/><geom size=".1"/><body><joint name="knee"/><geom size=".1"/></body></body>
</body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, _ = record(LabRobot(), Sensors(), Excitation(duration_s=3.0), seed=1, name="run")
    return write_recording(made, tmp_path_factory.mktemp("recording") / "run")


def test_kinds(recording: Path, tmp_path: Path):
    (tmp_path / "out" / "result").mkdir(parents=True)
    (tmp_path / "out" / "result" / "result.json").write_text("{}")
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "policy.pt").touch()
    (tmp_path / "clip.csv").write_text("0,0,0.8\n")
    np.savez(tmp_path / "rollout.npz", meta=np.array(json.dumps({"format": "haloid-rollout-1"})))
    np.savez(tmp_path / "motion.npz", fps=np.array([50]))
    assert kind_of(str(recording)) == ("recording", recording)
    assert kind_of(str(recording.with_suffix(".json")))[0] == "recording"
    assert kind_of(str(tmp_path / "out")) == ("identification", tmp_path / "out" / "result")
    assert kind_of(str(tmp_path / "out" / "result" / "result.json"))[0] == "identification"
    assert kind_of(str(tmp_path / "trained"))[0] == "policy"
    assert kind_of(str(tmp_path / "clip.csv"))[0] == "motion"
    assert kind_of(str(tmp_path / "rollout.npz"))[0] == "rollout"
    assert kind_of(str(tmp_path / "motion.npz"))[0] == "motion"
    assert kind_of("squat")[0] == "motion"


def test_what_cannot_be_shown_is_told(tmp_path: Path):
    with pytest.raises(HaloidError, match=r"cannot show .*: it is a folder without result\.json, policy\.onnx"):
        kind_of(str(tmp_path))
    with pytest.raises(HaloidError, match=r"cannot show sqat: there is no such file or folder, and no motion of that"):
        kind_of("sqat")
    (tmp_path / "patch.json").write_text('{"format": "haloid-patch-1"}')
    with pytest.raises(HaloidError, match="its format is haloid-patch-1"):
        kind_of(str(tmp_path / "patch.json"))


def test_an_array_that_declares_more_than_memory_is_told(tmp_path: Path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }"
    header = header.ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "big.npz", "w") as archive:
        for name in ("meta", "fps", "joint_pos", "body_pos_w", "body_quat_w"):
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(HaloidError, match=r"it declares 80,000,000,000,000 bytes in a file of 128"):
        open_show(str(tmp_path / "big.npz"))


def test_a_recording_moves_as_its_encoders_say(recording: Path):
    show = open_show(str(recording))
    knee = show.joint_names.index("left_knee_joint")
    address = show.model.joint("left_knee_joint").qposadr[0]
    np.testing.assert_array_equal(show.robots["measured"][:, address], show.curves_rad["measured"][:, knee])
    assert show.model.nq == 29, "clamped: no free joint"
    assert list(show.curves_rad) == ["measured", "target"]
    assert [show.row_at(time_s) for time_s in (-1.0, 0.0, 0.021, 0.04, 9.0)] == [0, 0, 1, 2, len(show.time_s) - 1]


def test_a_motion_goes_where_its_root_goes():
    show = open_show("walk")
    root = show.robots["reference"][:, :3]
    assert np.ptp(root[:, 0]) > 0.3
    assert show.liveliest_joint() in show.joint_names


def test_a_rollout_shows_all_its_episodes(tmp_path: Path):
    (tmp_path / "leg.xml").write_text(LEG)
    rollout = small_rollout()
    show = open_show(str(write_rollout(rollout, tmp_path / "run")), model=str(tmp_path / "leg.xml"))
    assert show.about[0] == "rollout of leg, 2 episodes (1 fell)"
    np.testing.assert_array_equal(show.robots["robot"][:, :3], rollout.trajectory.root_pos_w_m)
    assert list(show.curves_rad) == ["robot", "target"]
