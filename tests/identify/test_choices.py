"""Whatever can be chosen to be identified is told in the end, with or without a payload among it."""

from pathlib import Path

import pytest
from tests.identify.arm import blank, heavier_hand, played, simulator_of, write_arm

from haloid.identify.results.answer import answer
from haloid.identify.results.files import contents_of
from haloid.identify.stages import Settings, identify
from haloid.report.identification import identification_sections, lead


@pytest.mark.parametrize(
    "parameters", [("*.kp", "*.kd"), ("mass", "com", "*.strength"), ("*.bias", "delay"), ("mass",)]
)
def test_every_choice_ends_in_an_answer(tmp_path: Path, parameters: tuple[str, ...]):
    recording = blank(write_arm(tmp_path))
    simulator = simulator_of(recording)
    recording = played(recording, simulator, heavier_hand(simulator.nominal), noise_rad=2e-4)
    settings = Settings(("hand",), stages="one", payload_parameters=parameters, fragments=6, rows=10)
    found = identify([], [recording], settings)
    told = answer(found)
    assert [one.link for one in told.payload] == (["hand"] if "mass" in parameters else [])
    assert ("delay" in told.globals) == ("delay" in parameters)
    assert contents_of(found, told, [], [recording]).document["payload"].keys() == {one.link for one in told.payload}
    assert lead(told) and identification_sections(found, told, [], [recording])
