"""Whole recordings played on a model: the files of a result do what was identified, servos and delay included."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.identify.arm import ARM, blank, played, simulator_of, write_arm

from haloid.errors import HaloidError
from haloid.identify.replay import replay, replay_nominal, rms, steps_of_row
from haloid.identify.results.answer import answer
from haloid.identify.results.files import contents_of, write_result
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification, identify
from haloid.recordings.recording import Recording
from haloid.robots.drives import own_gains
from haloid.robots.load import load_spec
from haloid.robots.open_model import open_model
from haloid.robots.patch import patched_spec, read_patch

SERVOS = ("*.kp", "*.kd", "*.strength", "*.bias", "*.frictionloss", "*.damping", "*.armature", "delay")


@pytest.fixture(scope="module")
def worn(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A run of the small arm with weak, late and biased servos, from rest at zero."""
    recording = blank(write_arm(tmp_path_factory.mktemp("arm")))
    simulator = simulator_of(recording)
    n = simulator.nominal
    worn = replace(n, kp=n.kp * 0.8, bias=n.bias + 0.02, frictionloss=n.frictionloss + 0.1, delay=0.0123)
    return _from_rest(played(recording, simulator, worn, noise_rad=2e-4))


def _from_rest(recording: Recording) -> Recording:
    q = recording.q_rad.copy()
    q[0] = 0.0
    return replace(recording, q_rad=q, dq_rad_s=None)


def _write(folder: Path, found: Identification, unloaded: list[Recording], loaded: list[Recording]) -> None:
    contents = contents_of(found, answer(found), unloaded, loaded)
    write_result(folder, contents, patched_spec(partial(load_spec, loaded[0].robot), contents.patch))


@pytest.mark.parametrize("name", ["calibrated.xml", "patch.json", "."])
def test_files_play_what_was_identified(worn: Recording, result: tuple, name: str):
    folder, found = result
    at_rest = replace(worn, dq_rad_s=np.zeros_like(worn.q_rad))
    expected = played(at_rest, found.simulator, found.physics)
    (one,) = replay(folder / name, [at_rest])
    np.testing.assert_allclose(one.played_rad, expected.q_rad, rtol=0, atol=2e-7)
    (nominal,) = replay_nominal([at_rest])
    assert rms(one.error_rad) < 1e-3 < 0.1 * rms(nominal.error_rad)


@pytest.fixture(scope="module")
def result(worn: Recording, tmp_path_factory: pytest.TempPathFactory):
    settings = Settings(("hand",), base_parameters=SERVOS, fragments=10, rows=12)
    found = identify([replace(worn, payload="none")], [worn], settings)
    folder = tmp_path_factory.mktemp("result")
    _write(folder, found, [worn], [worn])
    return folder, found


def test_the_urdf_is_driven_by_the_recordings_gains(worn: Recording, result: tuple):
    (one,) = replay(result[0] / "calibrated.urdf", [worn])
    assert rms(one.error_rad) < 0.1


def test_identified_servos_stand_in_the_patch(result: tuple):
    patch = read_patch(result[0] / "patch.json")
    assert patch.servos == "identified" and patch.simulation["timestep"] == 0.005
    assert patch.joints["elbow"]["delay"] == pytest.approx(0.0123, abs=1e-3)
    assert patch.joints["elbow"]["kp"] == pytest.approx(0.8 * 40, rel=0.1)


def test_recorded_gains_leave_the_robots_own_to_be_found(tmp_path: Path):
    """Gains nobody identified are written, for replays, and the robot's own stay known, for policies."""
    text = ARM.replace("<motor", '<position kp="7" kv="0.5"')
    recording = blank(write_arm(tmp_path, text))
    recording = _from_rest(played(recording, simulator_of(recording), simulator_of(recording).nominal, 2e-4))
    settings = Settings(("hand",), stages="one", fragments=6, rows=10)
    found = identify([], [recording], settings)
    _write(tmp_path, found, [], [recording])
    spec = open_model(tmp_path)
    assert spec.actuator("elbow").gainprm[0] == 40
    own = own_gains(spec)
    assert own is not None and own.kp == dict.fromkeys(("shoulder", "elbow", "wrist"), 7.0)
    assert read_patch(tmp_path / "patch.json").without_recorded_servos().joints == {}


def test_a_model_of_another_robot_is_told(worn: Recording):
    with pytest.raises(HaloidError, match="moves the joint 'shoulder', which the model does not have"):
        replay(load_spec("so101"), [worn])


@pytest.mark.parametrize(
    ("row_s", "own_s", "expected"),
    [(0.02, 0.005, (4, 0.005)), (0.02006, 0.005, (4, 0.005)), (0.012, 0.005, (3, 0.004))],
)
def test_the_models_own_step_is_kept_where_it_divides_a_row(row_s: float, own_s: float, expected: tuple):
    assert steps_of_row(row_s, own_s) == pytest.approx(expected)
