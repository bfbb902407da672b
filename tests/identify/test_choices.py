"""Whatever can be chosen ends in an answer, its files and its report: every parameter, every setting, both drives."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.identify.arm import blank, heavier_hand, played, simulator_of, write_arm

from haloid.engines import ENGINES
from haloid.engines.physics import FLOOR_KINDS
from haloid.identify.problem.unknowns import ParameterError
from haloid.identify.results.answer import Answer, answer
from haloid.identify.results.files import contents_of
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.recordings.recording import Recording
from haloid.report.identification import identification_sections, lead

SETTINGS = Settings(("hand",), stages="one", fragments=6, rows=10)


def run_of(folder: Path, payload: str = "unknown", actuation: str = "position") -> Recording:
    recording = replace(blank(write_arm(folder), actuation=actuation, rows=250), payload=payload)
    simulator = simulator_of(recording)
    physics = simulator.nominal if payload == "none" else heavier_hand(simulator.nominal)
    return played(recording, simulator, physics, noise_rad=2e-4)


def told(unloaded: list[Recording], loaded: list[Recording], settings: Settings) -> Answer:
    found = identify(unloaded, loaded, settings)
    told = answer(found)
    assert np.all(np.isfinite(found.stage2.values)) and np.all(found.stage2.std > 0)
    document = contents_of(found, told, unloaded, loaded).document
    assert document["payload"].keys() == {one.link for one in told.payload}
    json.dumps(document, allow_nan=False)
    assert lead(told) and identification_sections(found, told, unloaded, loaded)
    return told


@pytest.mark.parametrize(
    "parameters",
    [
        ("mass",),
        ("com",),
        ("mass", "com", "inertia"),
        ("mass", "com", "*.strength"),
        ("*.kp", "*.kd"),
        ("*.damping", "*.frictionloss", "*.armature"),
        ("*.bias", "delay"),
    ],
)
def test_every_parameter(tmp_path: Path, parameters: tuple[str, ...]):
    found = told([], [run_of(tmp_path)], replace(SETTINGS, payload_parameters=parameters))
    assert [one.link for one in found.payload] == (["hand"] if {"mass", "com"} & {*parameters} else [])
    assert ("delay" in found.globals) == ("delay" in parameters)


@pytest.mark.parametrize(
    "chosen",
    [
        {"payload_model": "halo"},
        {"base": "frozen"},
        {"base_parameters": ("*.kp", "*.bias", "delay"), "priors": ("*.kp=0.2:0.1:3",)},
        {"regulariser": "paper"},
        {"loss": "cartesian", "upper_weight": 3.0},
        {"solver": "gd", "iterations": 3},
        {"friction_impedance": 0.99, "robust": 2.0, "noise_rad": 3e-4, "held_out": 0.0},
    ],
    ids=lambda chosen: " ".join(chosen),
)
def test_every_setting_of_two_stages(tmp_path: Path, chosen: dict):
    settings = replace(SETTINGS, stages="two", **chosen)
    assert [one.link for one in told([run_of(tmp_path, "none")], [run_of(tmp_path)], settings).payload] == ["hand"]


@pytest.mark.parametrize("engine", [*sorted({*ENGINES} - {"mjx"}), pytest.param("mjx", marks=pytest.mark.slow)])
def test_every_engine(tmp_path: Path, engine: str):
    if engine == "mjx":
        pytest.importorskip("jax")
        pytest.importorskip("mujoco.mjx")
    chosen = replace(SETTINGS, engine=engine, fragments=2, payload_parameters=("mass", "com"), iterations=3)
    assert [one.link for one in told([], [run_of(tmp_path)], chosen).payload] == ["hand"]


@pytest.mark.parametrize("parameter", FLOOR_KINDS)
def test_no_parameter_of_a_floor_that_is_not_there(tmp_path: Path, parameter: str):
    settings = replace(SETTINGS, stages="two", base_parameters=("*.mass", parameter))
    with pytest.raises(ParameterError, match=f"'{parameter}' matches no parameter"):
        told([run_of(tmp_path, "none")], [run_of(tmp_path)], settings)


def test_cma_in_one_stage(tmp_path: Path):
    pytest.importorskip("cma")
    found = told([], [run_of(tmp_path)], replace(SETTINGS, solver="cma", iterations=3, payload_model="halo"))
    assert found.payload[0].link == "hand"


def test_torques_as_commands(tmp_path: Path):
    runs = [run_of(tmp_path, payload, "torque") for payload in ("none", "unknown")]
    assert told(runs[:1], runs[1:], replace(SETTINGS, stages="two")).payload[0].link == "hand"
