"""Two stages, from recordings to a payload: known truth found again, whatever solves, drives and differentiates."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import SHAKE, blank, heavier_hand, lab_arm, lab_run, played, simulator_of, write_arm

from haloid.engines.physics import INERTIA_AT
from haloid.identify.data.dataset import DataError
from haloid.identify.problem.unknowns import ParameterError
from haloid.identify.results.answer import answer
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification, identify
from haloid.lab.aging import Aging
from haloid.lab.excitation import Excitation
from haloid.lab.loads import Load, RigidLoad, halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import Truth
from haloid.recordings.recording import Recording
from haloid.robots.floor import FLOOR
from haloid.robots.inertia import Payload, detach

LOAD = Load("hand", 1.2, (0.02, 0.03, -0.04))
NOISY = Sensors(noise_rad=5e-4, quantise=False)
SMALL = Settings(payload_links=("hand",), payload_model="halo", rows=12, fragments=10)
AS_ITS_PRIOR = Aging(mass_fraction=0.03 * 3**0.5, com_m=0.005 * 3**0.5, armature_fraction=0.1 * 3**0.5)
"""Uniform offsets of the prior's standard deviations."""


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> str:
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def aged(arm) -> tuple[Recording, Recording, Truth]:
    """An unloaded and a loaded run of one aged arm, with noise."""
    aging = replace(AS_ITS_PRIOR, seed=1)
    unloaded, _ = lab_run(arm, aging=aging, sensors=NOISY, seed=10)
    loaded, truth = lab_run(arm, aging=aging, loads=(LOAD,), sensors=NOISY, seed=11)
    return unloaded, loaded, truth


@pytest.fixture(scope="module")
def ideal(arm) -> tuple[Recording, Truth]:
    """A loaded run of the nominal arm without noise."""
    return lab_run(arm, loads=(LOAD,), seed=12)


def hand_errors(found: Identification, truth: Truth) -> np.ndarray:
    """Mass (kg) and CoM (m) of the loaded hand, identified less true."""
    hand, true = found.physics.link("hand"), truth.links["hand"]
    return np.array([hand.mass_kg - true.mass_kg, *(hand.com_in_link_m - true.com_in_link_m)])


def test_two_stages_beat_one(aged):
    unloaded, loaded, truth = aged
    two = identify([unloaded], [loaded], SMALL)
    one = identify([], [loaded], replace(SMALL, stages="one"))
    assert one.stage1 is None and two.stage1 is not None
    assert np.all(np.abs(hand_errors(two, truth)) < 4 * two.stage2.std[:4])
    assert two.doubts == () and "no model explains the readings of" in one.doubts[0]
    assert np.linalg.norm(hand_errors(two, truth)[1:]) < 0.3 * np.linalg.norm(hand_errors(one, truth)[1:])
    rms = {name: answer(found).rms_rad["heldout"] for name, found in (("two", two), ("one", one))}
    assert rms["two"] < 7e-4 < 5 * rms["two"] < rms["one"]


def test_stage_1_calibrates_all_that_moves(aged):
    unloaded, loaded, truth = aged
    found = identify([unloaded], [loaded], SMALL)
    names = [column.name for column in found.stage1.unknowns.columns]
    assert len(names) == 3 * 4 + 3 * 3 and not any(name.startswith("base.") for name in names)
    joints = {"damping": truth.damping, "frictionloss": truth.frictionloss_nm, "armature": truth.armature}
    for kind, true in joints.items():
        at = [names.index(f"{joint}.{kind}") for joint in truth.joint_names]
        assert np.all(np.abs(found.stage1.values[at] - true) < 4 * found.stage1.std[at] + 1e-3)


def test_stage_1s_uncertainty_is_in_the_error_bars(aged):
    """With the base frozen where stage 1 put it, the same data would claim several times too much."""
    unloaded, loaded, _ = aged
    found = identify([unloaded], [loaded], SMALL)
    frozen = np.sqrt(np.diag(np.linalg.inv(found.stage2.information[:4, :4])))
    assert found.stage2.std[0] > 3 * frozen[0]


@pytest.mark.slow
def test_error_bars_hold_over_aged_robots(arm):
    """95 % intervals of the loaded link and of the payload itself, over robots drawn from the prior."""
    ratios = []
    for seed in range(24):
        aging = replace(AS_ITS_PRIOR, seed=seed)
        unloaded, bare = lab_run(arm, aging=aging, sensors=NOISY, seed=2 * seed)
        loaded, truth = lab_run(arm, aging=aging, loads=(LOAD,), sensors=NOISY, seed=2 * seed + 1)
        told = answer(identify([unloaded], [loaded], replace(SMALL, held_out=0.0, fragments=8)))
        link, true = told.links["hand"], truth.links["hand"]
        carried = detach(true, bare.links["hand"])
        mass_kg, com_m = carried.mass_kg, carried.com_in_link_m
        ratios.append(
            np.concatenate(
                [
                    [(link["mass"].value - true.mass_kg) / link["mass"].std],
                    (link["com"].value - true.com_in_link_m) / link["com"].std,
                    [(told.payload[0].mass_kg.value - mass_kg) / told.payload[0].mass_kg.std],
                    (told.payload[0].com_in_link_m.value - com_m) / told.payload[0].com_in_link_m.std,
                ]
            )
        )
    inside = np.mean(np.abs(ratios) < 1.96, axis=0)
    assert np.all(inside >= 0.85), inside
    assert 0.9 <= np.mean(inside) < 1.0
    assert 0.75 < np.std(ratios) < 1.2


def test_one_run_is_every_run(aged):
    unloaded, loaded, _ = aged
    one, two = (identify([unloaded], [loaded], SMALL) for _ in range(2))
    np.testing.assert_array_equal(one.stage2.values, two.stage2.values)
    np.testing.assert_array_equal(one.stage2.covariance, two.stage2.covariance)


def test_differences_find_the_same(aged):
    unloaded, loaded, _ = aged
    exact, differenced = (
        identify([unloaded], [loaded], replace(SMALL, engine=engine)) for engine in ("analytic", "finite-difference")
    )
    assert np.all(np.abs(exact.stage2.values - differenced.stage2.values)[:4] < 0.2 * exact.stage2.std[:4])
    np.testing.assert_allclose(exact.stage2.std[:4], differenced.stage2.std[:4], rtol=0.05)


@pytest.mark.parametrize(("solver", "iterations"), [("gd", 100), ("cma", 30)])
def test_the_papers_solvers_approach_the_same_answer(arm, solver, iterations):
    if solver == "cma":
        pytest.importorskip("cma")
    loaded, truth = lab_run(arm, loads=(Load("hand", 1.2),), seed=13)
    few = replace(SMALL, stages="one", fragments=4, rows=8, payload_parameters=("mass",))
    found = identify([], [loaded], replace(few, solver=solver, iterations=iterations))
    assert abs(hand_errors(found, truth)[0]) < 0.03  # the states are taken as measured, so not to rounding
    assert len(found.stage2.trace) == found.stage2.iterations <= iterations


def test_the_papers_solvers_take_two_stages(aged):
    unloaded, loaded, _ = aged
    found = identify([unloaded], [loaded], replace(SMALL, solver="gd", iterations=60, fragments=4, rows=8))
    assert (found.stage1.iterations, found.stage2.iterations) == (60, 60)
    assert found.physics.link("hand").mass_kg > found.nominal.link("hand").mass_kg + 0.2
    assert len(found.stage2.std) == 21 and np.all(np.isfinite(found.stage2.std))


def test_the_cartesian_loss_finds_the_load(ideal):
    loaded, truth = ideal
    found = identify([], [loaded], replace(SMALL, stages="one", loss="cartesian", upper_weight=2.0))
    assert np.abs(hand_errors(found, truth)).max() < 1e-5
    assert found.stage2.noise_rad is None


def test_the_cartesian_loss_takes_two_stages_and_noise(aged):
    unloaded, loaded, truth = aged
    found = identify([unloaded], [loaded], replace(SMALL, loss="cartesian"))
    assert np.abs(hand_errors(found, truth))[0] < 0.1
    assert np.abs(hand_errors(found, truth))[1:].max() < 0.015  # no body's position tells the angle of the wrist


def test_the_papers_regulariser_works(aged):
    unloaded, loaded, truth = aged
    found = identify([unloaded], [loaded], replace(SMALL, regulariser="paper"))
    assert np.abs(hand_errors(found, truth))[0] < 0.2
    assert np.abs(hand_errors(found, truth))[1:].max() < 0.01


def test_a_joint_that_never_moves_takes_the_papers_regulariser(arm, aged):
    """Its friction is within the box and moves nothing: no prior and no data."""
    unloaded, loaded, _ = aged
    still = [
        replace(run, q_rad=run.q_rad * [1, 1, 0], target_rad=run.target_rad * [1, 1, 0]) for run in (unloaded, loaded)
    ]
    found = identify(
        [still[0]], [still[1]], replace(SMALL, regulariser="paper", base_parameters=("*.frictionloss",), iterations=3)
    )
    assert np.all(np.isfinite(found.stage2.values))


TURNED = np.array([[0.02, 0.003, -0.002], [0.003, 0.03, 0.001], [-0.002, 0.001, 0.025]])
BODY = RigidLoad("hand", Payload(1.5, np.array([0.03, 0.02, -0.1]), TURNED))


def test_a_payloads_inertia_is_found(arm):
    loaded, truth = lab_run(arm, loads=(BODY,), seed=5)
    found = identify([], [loaded], replace(SMALL, stages="one", payload_model="body"))
    assert np.abs(hand_errors(found, truth)).max() < 1e-4
    inertia = found.physics.link("hand").inertia_about_com
    np.testing.assert_allclose(inertia, truth.links["hand"].inertia_about_com, rtol=0, atol=1e-4)
    told = answer(found).links["hand"]["inertia"]
    np.testing.assert_allclose(told.value, inertia[INERTIA_AT])
    carried = answer(found).payload[0].inertia_about_com
    np.testing.assert_allclose(carried.value, TURNED[INERTIA_AT], rtol=0, atol=1e-4)


def test_a_body_is_found_in_two_stages_where_halos_model_is_not_right(arm):
    aging = replace(AS_ITS_PRIOR, seed=1)
    unloaded, bare = lab_run(arm, aging=aging, sensors=NOISY, seed=10)
    loaded, truth = lab_run(arm, aging=aging, loads=(BODY,), sensors=NOISY, seed=11)
    carried = detach(truth.links["hand"], bare.links["hand"])
    errors, dragged = {}, {}
    for model in ("body", "halo"):
        found = identify([unloaded], [loaded], replace(SMALL, payload_model=model))
        dragged[model] = any("moved the robot itself away" in doubt for doubt in found.doubts)
        told = answer(found).payload[0]
        offset = [told.mass_kg.value - carried.mass_kg, *(told.com_in_link_m.value - carried.com_in_link_m)]
        errors[model] = np.abs(offset) / [told.mass_kg.std, *told.com_in_link_m.std]
        if model == "body":
            inertia = told.inertia_about_com
            assert np.all(np.abs(inertia.value - TURNED[INERTIA_AT]) < 4 * inertia.std)
    assert errors["body"].max() < 4 and not dragged["body"]
    assert dragged["halo"]  # and its error bars are wide for it


def test_torques_instead_of_targets(arm):
    recording = blank(arm, actuation="torque")
    simulator = simulator_of(recording)
    true = heavier_hand(simulator.nominal)
    bare = replace(played(recording, simulator, simulator.nominal, 5e-4, seed=1), payload="none")
    found = identify([bare], [played(recording, simulator, true, 5e-4, seed=2)], SMALL)
    columns = found.stage2.unknowns.columns[:4]
    assert np.all(np.abs(found.stage2.values[:4] - true.values(columns)) < 4 * found.stage2.std[:4])
    assert found.stage2.std[0] < 0.1


@pytest.mark.parametrize(
    "sensors",
    [
        replace(NOISY, drop_fraction=0.02),
        replace(NOISY, measure_velocity=True, velocity_noise_rad_s=0.02),
        replace(NOISY, bias_rad=0.01, delay_s=0.006),
    ],
    ids=["gaps", "measured velocities", "bias and delay"],
)
def test_sensors_of_all_kinds(arm, sensors):
    loaded, truth = lab_run(arm, loads=(LOAD,), sensors=sensors, seed=3)
    bare, _ = lab_run(arm, sensors=sensors, seed=4)
    extra = ("*.bias", "delay") if sensors.bias_rad else ()
    settings = replace(SMALL, base_parameters=("*.mass", "*.com", *extra))
    found = identify([bare], [loaded], settings)
    assert np.all(np.abs(hand_errors(found, truth)) < 4 * found.stage2.std[:4])
    if extra:
        told = answer(found)
        assert abs(told.globals["delay"].value - 0.006) < 4 * told.globals["delay"].std + 1e-5
        bias = [told.joints[joint]["bias"] for joint in truth.joint_names]
        for estimate, true in zip(bias, truth.encoder_bias_rad, strict=True):
            assert abs(estimate.value - true) < 4 * estimate.std


def test_more_recordings_know_more(arm, aged):
    unloaded, loaded, _ = aged
    aging = replace(AS_ITS_PRIOR, seed=1)
    more = [lab_run(arm, aging=aging, loads=(LOAD,), sensors=NOISY, seed=seed)[0] for seed in (21, 22)]
    one = identify([unloaded], [loaded], SMALL)
    three = identify([unloaded], [loaded, *more], SMALL)
    assert three.loaded.fragments.count == 3 * one.loaded.fragments.count
    assert np.all(three.stage2.std[:4] < one.stage2.std[:4])
    assert answer(three).payload[0].mass_kg.std < 0.8 * answer(one).payload[0].mass_kg.std


def test_parameters_by_name(ideal):
    loaded, _ = ideal
    settings = replace(SMALL, stages="one", payload_parameters=("mass", "wrist.damping"))
    found = identify([], [loaded], settings)
    assert [column.name for column in found.stage2.unknowns.columns] == ["hand.mass", "wrist.damping"]
    with pytest.raises(ParameterError, match=r"^the pattern 'hand\.weight' matches no parameter"):
        identify([], [loaded], replace(settings, payload_parameters=("weight",)))


def test_a_loaded_robot_given_as_unloaded_is_noticed(aged):
    unloaded, loaded, _ = aged
    words = "the unloaded recordings do not fit the unloaded robot: "
    with pytest.raises(DataError, match=f"^{re.escape(words)}"):
        identify([replace(loaded, payload="none")], [replace(unloaded, payload="unknown")], SMALL)


@pytest.mark.parametrize("timestep_s", [0.002, 0.005])
def test_perfect_data_is_fitted_exactly_and_as_quickly_as_noisy_data(arm, timestep_s):
    """Of a robot without friction, which the fit must be free to find."""
    runs, settings = {}, replace(SMALL, timestep_s=timestep_s)
    for name, sensors in (("clean", Sensors(quantise=False)), ("noisy", NOISY)):
        robots = [replace(lab_arm(arm, loads), timestep_s=timestep_s) for loads in ((), (LOAD,))]
        (bare, without), (loaded, truth) = (record(robot, sensors, SHAKE, seed=7) for robot in robots)
        runs[name] = identify([bare], [loaded], settings)
    found = runs["clean"]
    assert np.all(found.stage1.physics.frictionloss < 1e-5)
    np.testing.assert_allclose(hand_errors(found, truth), 0.0, atol=1e-6)
    told, carried = answer(found).payload[0], detach(truth.links["hand"], without.links["hand"])
    assert abs(told.mass_kg.value - carried.mass_kg) < 1e-6
    assert np.abs(told.com_in_link_m.value - carried.com_in_link_m).max() < 1e-6
    iterations = {name: run.stage1.iterations + run.stage2.iterations for name, run in runs.items()}
    assert iterations["clean"] <= 1.5 * iterations["noisy"]


def test_progress_is_told_by_stage(aged):
    unloaded, loaded, _ = aged
    told = []
    found = identify([unloaded], [loaded], SMALL, lambda stage: lambda phase, *rest: told.append((stage, phase)))
    assert list(dict.fromkeys(stage for stage, _ in told)) == ["stage 1", "stage 2"]
    assert len(told) == found.stage1.iterations + found.stage2.iterations
    assert set(found.stage_seconds) == {"stage 1", "stage 2"}
    assert sum(found.stage_seconds.values()) == pytest.approx(found.seconds)


G1_LINKS = ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")


@pytest.mark.slow
def test_the_g1_in_two_stages():
    aging = Aging(seed=3)
    sensors = Sensors(noise_rad=5e-4)
    unloaded, _ = record(LabRobot(aging=aging), sensors, seed=1)
    loaded, truth = record(LabRobot(aging=aging, loads=halo_setting(1)), sensors, seed=2)
    found = identify([unloaded], [loaded], Settings(payload_links=G1_LINKS, fragments=6, rows=10))
    told = answer(found)
    for link in G1_LINKS:
        true, estimate = truth.links[link], told.links[link]
        assert abs(estimate["mass"].value - true.mass_kg) < 4 * estimate["mass"].std
        assert np.all(np.abs(estimate["com"].value - true.com_in_link_m) < 4 * estimate["com"].std)
    assert told.links["torso_link"]["mass"].std < 0.5
    assert max(told.links[link]["mass"].std for link in G1_LINKS[1:]) < 0.05


@pytest.mark.slow
def test_the_g1_on_both_feet():
    """Without noise the load is found to a gram and a tenth of a millimetre, across contacts that come and go."""
    robot = LabRobot(support="double", loads=halo_setting(1))
    loaded, truth = record(robot, Sensors(quantise=False), seed=1)
    found = identify([], [loaded], Settings(G1_LINKS, payload_model="halo", stages="one", fragments=10, held_out=0.0))
    for link in G1_LINKS:
        true, estimate = truth.links[link], found.physics.link(link)
        assert abs(estimate.mass_kg - true.mass_kg) < 1e-3
        np.testing.assert_allclose(estimate.com_in_link_m, true.com_in_link_m, rtol=0, atol=1e-4)
    assert found.contact is not None
    assert found.contact.fragments + found.contact.left_out == 10
    assert 0 < found.contact.switching <= found.contact.fragments


@pytest.mark.slow
def test_a_floor_that_lies_higher_is_found_and_does_not_spoil_the_load():
    recordings = []
    for loads in ((), halo_setting(1)):
        robot = LabRobot(support="double", loads=loads)
        robot.built.model.geom(FLOOR).pos[2] += 0.0005
        recordings.append(
            record(robot, Sensors(noise_rad=5e-4), Excitation(duration_s=4.0), seed=1 + len(recordings))[0]
        )
    settings = Settings(G1_LINKS, payload_model="halo", base_parameters=("floor_height",), fragments=8, held_out=0.0)
    told = answer(identify(recordings[:1], recordings[1:], settings))
    assert told.globals["floor_height"].value == pytest.approx(0.0005, abs=1e-4)
    masses_kg = {load.link: load.mass_kg for load in halo_setting(1)}
    for one in told.payload:
        assert abs(one.mass_kg.value - masses_kg[one.link]) < 4 * one.mass_kg.std
