"""Facts and predicted intervals of known recordings, and the words of advice about them."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import ARM, JOINTS, blank, heavier_hand, lab_arm, lab_run, played, simulator_of, write_arm

from haloid.errors import HaloidError
from haloid.identify.inspection import precision
from haloid.identify.inspection.advice import advice, identify_options
from haloid.identify.inspection.inspect import inspect_recording
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.lab.aging import Aging
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.recording import Recording
from haloid.robots.servos import Gains

NOISE_RAD = 0.0005
SENSORS = Sensors(noise_rad=NOISE_RAD)
CARRIERS = ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
TURNTABLE = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="table">
      <inertial mass="2" pos="0.1 0 0.1" diaginertia="0.02 0.02 0.02"/>
      <joint name="turn" axis="0 0 1" range="-3 3" armature="0.02" damping="0.1" actuatorfrcrange="-60 60"/>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="turn"/></actuator>
</mujoco>
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> str:
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def arm_run(arm) -> Recording:
    return lab_run(arm, sensors=SENSORS)[0]


@pytest.fixture(scope="module")
def g1_run() -> Recording:
    return record(LabRobot(), SENSORS, Excitation(duration_s=6.0), seed=3, name="g1 run")[0]


def advised(recording: Recording, *links: str) -> str:
    return "\n".join(advice(inspect_recording(recording, links)))


def reported_std(recording: Recording, links: tuple[str, ...], fragments: int) -> np.ndarray:
    """What an identification in one stage says of the same fragments."""
    settings = Settings(links, stages="one", fragments=fragments, held_out=0.0)
    found = identify([], [replace(recording, payload="unknown")], settings).stage2
    return found.std[[column.kind in ("mass", "com") for column in found.unknowns.columns]]


@pytest.fixture(scope="module")
def loaded_g1_run() -> Recording:
    robot = LabRobot(loads=halo_setting(1))
    return record(robot, SENSORS, Excitation(duration_s=6.0), seed=3, name="loaded g1 run")[0]


@pytest.mark.parametrize("which", ["arm_run", "g1_run", "loaded_g1_run"])
def test_identification_reports_the_predicted_intervals(which: str, request):
    recording = request.getfixturevalue(which)
    inspection = inspect_recording(recording)
    found = inspection.precision
    assert found is not None and found.engine == "analytic"
    predicted = np.concatenate([[link.mass_std_kg, *link.com_std_m] for link in found.links])
    reported = reported_std(recording, inspection.payload_links, found.fragments)
    np.testing.assert_allclose(predicted, reported, rtol=0.2)
    assert found.misfit_rad == pytest.approx(NOISE_RAD, rel=0.15)


def test_a_few_fragments_stand_for_all(arm_run, monkeypatch):
    every = inspect_recording(arm_run).precision
    monkeypatch.setattr(precision, "_MOST_FRAGMENTS", 9)
    some = inspect_recording(arm_run).precision
    assert every is not None and some is not None and some.fragments == every.fragments == 18
    assert some.links[0].mass_std_kg == pytest.approx(every.links[0].mass_std_kg, rel=0.25)


@pytest.mark.parametrize(("noise_rad", "drop"), [(1e-4, 0.0), (5e-4, 0.0), (5e-4, 0.05), (2e-3, 0.0)])
def test_noise_is_that_of_the_encoders(noise_rad: float, drop: float):
    sensors = Sensors(noise_rad=noise_rad, drop_fraction=drop)
    recording, _ = record(LabRobot(), sensors, Excitation(duration_s=4.0), seed=5)
    assert inspect_recording(recording).noise_rad == pytest.approx(noise_rad, rel=0.15)


@pytest.mark.parametrize("amplitude", [1.0, 1e-3])
def test_quantised_encoders_have_the_noise_of_their_step(arm, amplitude: float):
    """The smaller motion crosses a step now and then, the larger one all the time: the noise is the same."""
    still = replace(blank(arm), kp=np.full(3, 400.0), kd=np.full(3, 20.0))
    assert still.target_rad is not None
    simulator = simulator_of(still)
    run = played(replace(still, target_rad=amplitude * still.target_rad), simulator, simulator.nominal)
    coarse = replace(run, q_rad=0.0015 * np.round(run.q_rad / 0.0015))
    inspection = inspect_recording(coarse)
    assert inspection.encoder_step_rad == pytest.approx(0.0015, rel=1e-6)
    assert inspection.noise_rad == pytest.approx(0.0015 / np.sqrt(12), rel=0.3)
    if amplitude == 1.0:
        found = inspection.precision
        assert found is not None and 1e-4 < found.links[0].mass_std_kg < 0.02


def test_the_facts_of_a_good_recording(g1_run):
    inspection = inspect_recording(g1_run)
    assert (inspection.payload_links, inspection.links_from) == (CARRIERS, "robot")
    assert (inspection.rows, inspection.gaps, inspection.lost_rows) == (300, 0, 0)
    assert inspection.duration_s == pytest.approx(6.0)
    assert inspection.rate_hz == pytest.approx(50.0)
    assert inspection.usable_share == 1.0
    assert tuple(joint.name for joint in inspection.joints) == g1_run.joint_names
    elbow = inspection.joints[g1_run.joint_names.index("left_elbow_joint")]
    angles = g1_run.q_rad[:, g1_run.joint_names.index("left_elbow_joint")]
    assert (elbow.low_rad, elbow.high_rad) == (angles.min(), angles.max())
    assert elbow.rms_rad == pytest.approx(angles.std(), rel=0.01)
    assert elbow.torque_share is not None and 0.05 < elbow.torque_share < 1
    assert advice(inspection) == []


def test_a_still_robot_is_told_to_move():
    still = Excitation(duration_s=6.0, leg_amplitude_rad=1e-4, waist_amplitude_rad=1e-4, arm_amplitude_rad=1e-4)
    recording, _ = record(LabRobot(), SENSORS, still, seed=4)
    said = advised(recording)
    assert "The robot hardly moves: no joint by 0.02 rad rms." in said
    assert "haloid excite designs one" in said
    assert "would be known only roughly (mass beyond ± 100 g or CoM beyond ± 10 mm)" in said


def test_one_still_joint_is_named(arm_run):
    q_rad = arm_run.q_rad.copy()
    q_rad[:, 1] = q_rad[0, 1]
    assert "elbow stands still (less than 2 mrad rms)" in advised(replace(arm_run, q_rad=q_rad))


def test_saturated_motors_are_named_and_their_rows_used(arm_run):
    stiff = replace(arm_run, kp=arm_run.kp * np.array([1.0, 60.0, 1.0]))
    inspection = inspect_recording(stiff)
    elbow = inspection.joints[1]
    assert elbow.saturated_share > 0.1 > inspection.joints[0].saturated_share
    assert inspection.usable_share == 1.0
    said = "\n".join(advice(inspection))
    assert f"elbow asks for all the motor's torque, elbow in {100 * elbow.saturated_share:.0f} % of the rows" in said
    assert "They are used, with the model's torque limits: see that these are the robot's" in said


def test_absurd_gains_are_questioned(arm_run):
    said = advised(replace(arm_run, kp=1000 * arm_run.kp))
    assert "times a motor's torque: are the gains (kp, kd) and their units right?" in said
    assert said.startswith("Robot and recording do not belong together: with any load")


def test_another_clamp_or_gain_set_is_noticed_and_wear_is_not(g1_run):
    for wrong in (replace(g1_run, clamp="pelvis"), replace(g1_run, kp=0.5 * g1_run.kp)):
        said = advised(wrong)
        assert said.startswith("Robot and recording do not belong together: with any load")
        assert "known only roughly" not in said
    worn, _ = record(LabRobot(aging=Aging(seed=3)), SENSORS, Excitation(duration_s=6.0), seed=3)
    assert advised(worn) == ""


def test_a_joint_at_its_stop_is_named(arm_run):
    q_rad = arm_run.q_rad.copy()
    q_rad[:40, 2] = 2.0
    said = advised(replace(arm_run, q_rad=q_rad))
    assert "wrist stood at the end of the joint's range, wrist in 10 % of the rows" in said


def test_gaps_are_counted(arm_run):
    keep = np.ones(len(arm_run.time_s), bool)
    keep[[50, 51, 52, 200, *range(300, 310)]] = False
    names = ("time_s", "q_rad", "target_rad")
    inspection = inspect_recording(replace(arm_run, **{name: getattr(arm_run, name)[keep] for name in names}))
    assert (inspection.gaps, inspection.lost_rows) == (3, 14)
    assert any(said.startswith("4 % of the rows were lost in 3 gaps") for said in advice(inspection))
    assert identify_options(inspection) == ["--allow-gaps"]


def test_a_short_recording_is_told_to_go_on(arm_run):
    short = replace(arm_run, **{name: getattr(arm_run, name)[:100] for name in ("time_s", "q_rad", "target_rad")})
    assert "It lasts only 2.0 s. Record at least 5 s" in advised(short)


def test_noisy_and_slow_readings_are_told_of(arm_run):
    noisy = arm_run.q_rad + 0.01 * np.random.default_rng(0).standard_normal(arm_run.q_rad.shape)
    inspection = inspect_recording(replace(arm_run, q_rad=noisy))
    assert inspection.noise_rad == pytest.approx(0.01, rel=0.15)
    assert f"The readings scatter by {1e3 * inspection.noise_rad:.2g} mrad." in "\n".join(advice(inspection))
    assert "25 rows per second are too few" in advised(replace(arm_run, time_s=2 * arm_run.time_s))


def test_torque_mode(arm):
    recording = blank(arm, actuation="torque")
    assert recording.tau_nm is not None
    simulator = simulator_of(recording)
    inspection = inspect_recording(played(recording, simulator, heavier_hand(simulator.nominal), NOISE_RAD))
    assert inspection.precision is not None
    assert "Torques are taken as applied" in "\n".join(advice(inspection))
    assert inspection.joints[0].torque_share == pytest.approx(np.abs(recording.tau_nm[:, 0]).max() / 60)


def test_from_the_pelvis_the_torso_is_known_only_roughly():
    recording, _ = record(LabRobot(clamp="pelvis"), SENSORS, Excitation(duration_s=6.0), seed=3)
    inspection = inspect_recording(recording)
    assert any(said.startswith("torso_link would be known only roughly") for said in advice(inspection))


@pytest.mark.slow
def test_double_support_is_predicted_with_its_floor():
    recording, _ = record(LabRobot(support="double"), SENSORS, Excitation(duration_s=5.0), seed=3)
    inspection = inspect_recording(recording, ("torso_link",))
    assert inspection.precision is not None and inspection.precision.engine == "analytic"
    assert 0 < inspection.precision.links[0].mass_std_kg < 0.2
    assert "The other foot rests on the floor, which carries part of the load" in "\n".join(advice(inspection))
    assert identify_options(inspection) == []


def test_a_fast_log_asks_for_its_own_step_and_longer_fragments(arm):
    recording, _ = record(replace(lab_arm(arm), timestep_s=0.002, control_dt_s=0.002), SENSORS, Excitation(6.0))
    inspection = inspect_recording(recording)
    assert inspection.precision is not None and inspection.precision.rows == 200
    assert identify_options(inspection)[:1] == ["--rows 200"]


def test_what_no_joint_feels_is_named(tmp_path):
    robot = write_arm(tmp_path, TURNTABLE)
    turntable = LabRobot(robot=robot, clamp=None, gains=Gains({"turn": 60.0}, {"turn": 3.0}))
    inspection = inspect_recording(record(turntable, SENSORS, Excitation(duration_s=6.0), seed=1)[0])
    assert inspection.precision is not None and "com.z" in inspection.precision.links[0].unseen
    assert "table.com.z" in "\n".join(advice(inspection))


def test_payload_links_are_the_last_bodies_of_a_chain(tmp_path, arm_run):
    hand = '<joint name="wrist" axis="0 1 0"/>'
    with_frame = write_arm(tmp_path, ARM.replace(hand, f'{hand}<body name="tool_frame" pos="0 0 -0.1"/>'))
    inspection = inspect_recording(replace(arm_run, robot=with_frame))
    assert (inspection.payload_links, inspection.links_from) == (("hand",), "leaves")
    assert tuple(joint.name for joint in inspection.joints) == JOINTS


def test_payload_links_must_exist_and_be_felt(arm_run):
    with pytest.raises(HaloidError, match="the robot has no link 'hnad'; the nearest are: hand"):
        inspect_recording(arm_run, ("hnad",))
    with pytest.raises(HaloidError, match="whose load no joint feels"):
        inspect_recording(arm_run, ("base",))
