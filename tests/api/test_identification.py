"""`haloid.identify`: what cannot be is refused with the words of the command."""

from pathlib import Path
from typing import Any

import pytest
from tests.recordings.words import assert_words

import haloid


@pytest.fixture(scope="module")
def loaded(user_folder: Path) -> list:
    return haloid.read(user_folder / "logs" / "loaded-1.csv")


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("held_out", 0.7, "--held-out is 0.7; expected a number from 0 to 0.5"),
        ("held_out", "most", "--held-out is 'most'; expected a number from 0 to 0.5"),
        ("timestep_s", float("nan"), "--timestep is nan; expected a number from 1e-05 to 0.1"),
        ("rows", 7.5, "--rows is 7.5; expected a whole number from 3 to 1000"),
        ("noise_rad", -1, "--noise is -1; expected a number from 1e-09 to 1"),
        ("iterations", True, "--iterations is True; expected a number from 1 to 1e+06"),
        ("seed", -1, "--seed is -1; expected a number from 0 to 4.29497e+09"),
        ("engine", "guess", "--engine is 'guess'; expected 'analytic' or 'finite-difference"),
        ("stages", "three", "--stages is 'three'; expected 'two' or 'one'"),
        ("payload_parameters", [1], "--payload-parameters is (1,); expected a tuple of names"),
    ],
)
def test_values_that_cannot_be(loaded: list, setting: str, value: Any, message: str):
    with pytest.raises(haloid.HaloidError) as refusal:
        haloid.identify([], loaded, "torso_link", **{"stages": "one", setting: value})
    assert_words(str(refusal.value), message)


def test_names_of_files_are_not_recordings():
    with pytest.raises(haloid.HaloidError, match=r"Read them first: haloid.read\('logs/loaded-\*.csv'\)"):
        haloid.identify([], ["logs/loaded-1.csv"], "torso_link", stages="one")  # pyright: ignore[reportArgumentType]


def test_two_stages_need_unloaded_recordings(loaded: list):
    with pytest.raises(haloid.HaloidError, match="two stages need unloaded recordings"):
        haloid.identify([], loaded, "torso_link")


@pytest.mark.slow
def test_two_stages(user_folder: Path, loaded: list):
    unloaded = haloid.read(user_folder / "logs" / "unloaded-1.csv")
    told: list[str] = []

    def report(stage: str):
        return lambda phase, iteration, cost, masses: told.append(stage)

    settings: dict[str, Any] = {"base_parameters": ["*.damping", "pelvis.mass"], "fragments": 4, "rows": 8}
    result = haloid.identify(unloaded[0], loaded, "torso_link", **settings, report=report)
    assert set(told) == {"stage 1", "stage 2"}
    assert result.joints["left_knee_joint"]["damping"].std > 0
    assert result.contents.config["base_parameters"] == ["*.damping", "pelvis.mass"]
