import json
from dataclasses import replace

import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.lab.aging import Aging
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import design, record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import write_truth
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording
from haloid.recordings.reconstruction.reconstruct import reconstruct
from haloid.robots.inertia import read_links

LEFT, RIGHT = "left_ankle_roll_link", "right_ankle_roll_link"
SHORT = Excitation(duration_s=4.0)
LOADED = LabRobot(loads=halo_setting(1), aging=Aging(seed=2, strength_fraction=0.02))
SENSORS = Sensors(noise_rad=0.0005, bias_rad=0.01, delay_s=0.003)


def test_a_seed_is_a_run():
    first, _ = record(LOADED, SENSORS, SHORT, seed=7)
    again, _ = record(replace(LOADED), SENSORS, SHORT, seed=7)
    other, _ = record(LOADED, SENSORS, SHORT, seed=8)
    np.testing.assert_array_equal(first.q_rad, again.q_rad)
    np.testing.assert_array_equal(first.target_rad, again.target_rad)
    assert np.abs(first.q_rad - other.q_rad).max() > 0.05


@pytest.mark.parametrize("clamp", [LEFT, RIGHT, "pelvis"])
@pytest.mark.parametrize("setting", [0, 3])
def test_the_robot_holds_and_works(clamp, setting):
    robot = LabRobot(clamp=clamp, loads=halo_setting(setting) if setting else (), aging=Aging(seed=4))
    recording, truth = record(robot, Sensors(noise_rad=0.0005), seed=1)
    assert recording.q_rad.shape == (500, 29)
    assert truth.playback.tracking_max_rad.max() < 0.05
    assert truth.playback.saturated_fraction.max() < 0.02
    assert truth.playback.self_collisions == ()
    moved = dict(zip(recording.joint_names, np.ptp(recording.q_rad, axis=0), strict=True))
    assert min(angle for name, angle in moved.items() if "shoulder" in name or "elbow" in name) > 0.2
    assert max(angle for name, angle in moved.items() if "hip" in name or "knee" in name) < 0.1


@pytest.mark.parametrize(("clamp", "free_foot"), [(LEFT, RIGHT), (RIGHT, LEFT)])
def test_the_free_foot_stays_put_in_double_support(clamp, free_foot):
    robot = LabRobot(clamp=clamp, support="double", loads=halo_setting(1), aging=Aging(seed=4))
    recording, truth = record(robot, Sensors(quantise=False), seed=1)
    assert recording.support == "double"
    assert np.ptp(reconstruct(recording).path_of(free_foot), axis=0).max() < 0.006
    assert truth.playback.saturated_fraction.max() < 0.03


def test_the_recording_is_read_back_as_it_was(tmp_path):
    recording, _ = record(LOADED, replace(SENSORS, measure_velocity=True), SHORT, seed=1, name="loaded")
    back = read_recording(write_recording(recording, tmp_path / "loaded"))
    for field in ("joint_names", "clamp", "support", "robot", "payload", "actuation"):
        assert getattr(back, field) == getattr(recording, field)
    for field in ("time_s", "q_rad", "dq_rad_s", "target_rad", "kp", "kd"):
        np.testing.assert_array_equal(getattr(back, field), getattr(recording, field))
    assert recording.payload == "unknown"


def test_nothing_of_the_truth_is_in_the_recording(tmp_path):
    """Two robots that differ in everything but the seed's waves tell the same story in their json."""
    new = LabRobot()
    texts = []
    for name, robot in (("a", LOADED), ("b", replace(new, loads=halo_setting(3)))):
        recording, truth = record(robot, SENSORS, SHORT, name=name)
        write_recording(recording, tmp_path / name)
        write_truth(truth, tmp_path / f"{name}.truth.json")
        texts.append((tmp_path / f"{name}.json").read_text())
    assert texts[0] == texts[1]
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == (tmp_path / "b.csv").read_text().splitlines()[0]
    assert recording.extra == {}


def test_the_truth_file_holds_what_is_to_be_found(tmp_path):
    _, truth = record(LOADED, SENSORS, SHORT)
    write_truth(truth, tmp_path / "run.truth.json")
    written = json.loads((tmp_path / "run.truth.json").read_text())
    links = read_links(LOADED.built.model)
    assert written["format"] == "haloid-truth-1"
    assert {name: link["mass_kg"] for name, link in written["links"].items()} == pytest.approx(
        {name: link.mass_kg for name, link in links.items()}
    )
    assert 13.818 - 0.4 < written["links"]["torso_link"]["mass_kg"] < 13.818 + 0.4
    assert written["delay_s"] == 0.003
    assert set(written["frictionloss_nm"]) == set(written["encoder_bias_rad"]) == set(LOADED.built.joint_names)
    np.testing.assert_allclose(list(written["strength"].values()), LOADED.built.strength)


def test_dropped_rows_keep_their_time_and_target():
    whole, _ = record(LOADED, Sensors(), SHORT, seed=1)
    some, _ = record(LOADED, Sensors(drop_fraction=0.1), SHORT, seed=1)
    assert len(some.time_s) < len(whole.time_s)
    rows = np.round(some.time_s / 0.02).astype(int)
    assert whole.target_rad is not None and some.target_rad is not None
    np.testing.assert_array_equal(some.target_rad, whole.target_rad[rows])
    np.testing.assert_array_equal(some.q_rad, whole.q_rad[rows])


def test_any_reference_can_be_played():
    reference = design(LOADED, SHORT, seed=3)
    by_reference, _ = record(LOADED, SENSORS, reference, seed=3)
    by_seed, _ = record(LOADED, SENSORS, SHORT, seed=3)
    np.testing.assert_array_equal(by_reference.q_rad, by_seed.q_rad)
    with pytest.raises(HaloidError, match="the reference is for the joints knee; expected those of the robot"):
        record(LOADED, SENSORS, replace(reference, joint_names=("knee",)))


def test_a_robot_that_falls_is_not_recorded():
    with pytest.raises(HaloidError, match=r"the robot fell: \w+_joint was 0.5\d rad off.*\(now mjlab\)"):
        record(LabRobot(gains="mjlab"), SENSORS)


def test_a_floating_robot_needs_a_clamp():
    with pytest.raises(HaloidError, match=r"35 degrees of freedom but 29 actuated joints \(g1, clamp None\)"):
        record(LabRobot(clamp=None))
