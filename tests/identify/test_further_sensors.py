"""Measured torques and gyros as residuals: they tell what angles alone cannot, and their noise is found."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, heavier_hand, played, sensed, simulator_of, write_arm

from haloid.errors import HaloidError
from haloid.identify.results.answer import answer
from haloid.identify.results.files import result_document
from haloid.identify.results.read import answer_of
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification, identify
from haloid.recordings.recording import Recording
from haloid.report.screen import summary_lines

NOISE_RAD, TORQUE_NM, GYRO_RAD_S = 5e-4, 0.05, 0.01
WEAK = np.array([0.8, 0.9, 0.85])
"""Share of their torque that the motors give."""
UNSURE = Settings(
    payload_links=("hand",),
    payload_model="halo",
    base_parameters=("*.mass", "*.com", "*.inertia", "*.damping", "*.armature", "*.strength"),
    priors=("*.mass=0.5", "*.com=0.05", "*.inertia=0.01", "*.armature=0.02", "*.strength=0.3"),
    rows=12,
    fragments=12,
)
"""Neither the links nor the motors' strength are known: angles show their ratio only."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Recording, Recording]:
    """Unloaded, and with 1.2 kg at the hand, of an arm with weak motors."""
    recording = blank(write_arm(tmp_path_factory.mktemp("arm")))
    simulator = simulator_of(recording)
    weak = replace(simulator.nominal, strength=WEAK)
    made = []
    for seed, physics in enumerate((weak, heavier_hand(weak))):
        run = played(recording, simulator, physics, NOISE_RAD, seed)
        made.append(
            replace(
                sensed(run, simulator, physics, TORQUE_NM, GYRO_RAD_S),
                name=f"run {seed}",
                payload="none" if seed == 0 else "unknown",
            )
        )
    return made[0], made[1]


def payload(found: Identification) -> tuple[float, float]:
    """Mass of what was attached, and its standard deviation, kg."""
    mass = answer(found).payload[0].mass_kg
    return float(mass.value), float(mass.std)


@pytest.fixture(scope="module")
def by_angles(runs) -> Identification:
    return identify([runs[0]], [runs[1]], UNSURE)


@pytest.fixture(scope="module")
def by_torques(runs) -> Identification:
    return identify([runs[0]], [runs[1]], replace(UNSURE, residuals=("torque",)))


def test_torques_tell_masses_from_motors(by_angles, by_torques):
    (_, unsure_kg), (mass_kg, std_kg) = payload(by_angles), payload(by_torques)
    assert std_kg < 0.35 * unsure_kg
    assert abs(mass_kg - 1.2) < 4 * std_kg and std_kg < 0.06
    strength = by_torques.physics.strength
    std = by_torques.stage2.std[[c.kind == "strength" for c in by_torques.stage2.unknowns.columns]]
    assert np.all(np.abs(strength - WEAK) < 4 * std) and np.all(std < 0.02)


def test_the_noise_of_the_torques_is_found_and_told(by_torques, runs):
    told = answer(by_torques)
    assert list(told.sensor_noise) == ["torque"]
    np.testing.assert_allclose(list(told.sensor_noise["torque"].values()), TORQUE_NM, rtol=0.25)
    document = json.loads(json.dumps(result_document(by_torques, told, [runs[0]], [runs[1]])))
    assert answer_of(document).sensor_noise == told.sensor_noise
    assert any("torque: compared too, weighted by a noise of 0.0" in line for line in summary_lines(told))


def test_differences_of_rollouts_find_the_same(runs):
    settings = replace(
        UNSURE,
        stages="one",
        payload_parameters=("mass", "com", "*.strength"),
        residuals=("torque=0.05", "gyro"),
        rows=6,
    )
    found = [payload(identify([], [runs[1]], replace(settings, engine=e))) for e in ("analytic", "finite-difference")]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)
    assert abs(found[0][0] - 1.2) < 4 * found[0][1]


def test_a_gyro_narrows_what_angles_say(runs):
    simulator = simulator_of(runs[1])
    physics = heavier_hand(simulator.nominal)
    run = sensed(played(runs[1], simulator, physics, NOISE_RAD), simulator, physics, gyro_noise=GYRO_RAD_S)
    one = replace(UNSURE, stages="one")
    _, wide_kg = payload(identify([], [run], one))
    found = identify([], [run], replace(one, residuals=("gyro",)))
    np.testing.assert_allclose(list(answer(found).sensor_noise["gyro"].values()), GYRO_RAD_S, rtol=0.3)
    mass_kg, std_kg = payload(found)
    assert std_kg < 0.9 * wide_kg and abs(mass_kg - 1.2) < 4 * std_kg
    _, told_kg = payload(identify([], [run], replace(one, residuals=("gyro=0.1",))))
    assert std_kg < told_kg < 1.05 * wide_kg


def test_a_gyro_may_have_an_offset(runs):
    simulator = simulator_of(runs[1])
    physics = heavier_hand(simulator.nominal)
    run = sensed(played(runs[1], simulator, physics, NOISE_RAD), simulator, physics, gyro_noise=GYRO_RAD_S)
    off = replace(run, extra={name: values + 0.05 for name, values in run.extra.items()})
    settings = replace(UNSURE, stages="one", residuals=("gyro",))
    told = [answer(identify([], [one], settings)) for one in (run, off)]
    np.testing.assert_allclose(*([*one.sensor_noise["gyro"].values()] for one in told), rtol=1e-6)
    assert told[1].payload[0].mass_kg.value == pytest.approx(told[0].payload[0].mass_kg.value, rel=1e-6)


def test_words_for_sensors_that_are_not_there(runs):
    bare = replace(runs[1], tau_nm=None, extra={})
    one = replace(UNSURE, stages="one")
    with pytest.raises(HaloidError, match="has no measured torques; expected a tau:JOINT column of every joint"):
        identify([], [bare], replace(one, residuals=("torque",)))
    with pytest.raises(HaloidError, match="has no column gyro_x:LINK; expected gyro_x:LINK, gyro_y:LINK"):
        identify([], [bare], replace(one, residuals=("gyro",)))
    elsewhere = replace(bare, extra={f"gyro_{axis}:tail": np.zeros(len(bare.time_s)) for axis in "xyz"})
    with pytest.raises(HaloidError, match="has a gyro on 'tail', which the robot does not have"):
        identify([], [elsewhere], replace(one, residuals=("gyro",)))
    with pytest.raises(
        HaloidError, match="'torque=none' cannot be read; expected one of torque, gyro, or SENSOR=NOISE"
    ):
        replace(one, residuals=("torque=none",))
    with pytest.raises(HaloidError, match="expected --loss joints"):
        replace(one, residuals=("torque",), loss="cartesian")
