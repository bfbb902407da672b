"""Recordings in Python: read by name or pattern, looked at, and made in the lab."""

from pathlib import Path

import pytest
from tests.recordings.words import assert_words

import haloid


def test_patterns_and_names_give_recordings_in_order(user_folder: Path):
    logs = user_folder / "logs"
    assert [run.name for run in haloid.read(logs / "loaded-?.csv")] == ["loaded-1", "loaded-2"]
    assert [run.name for run in haloid.read([logs / "still.csv", str(logs / "un*.csv")])] == ["still", "unloaded-1"]


def test_a_pattern_without_a_match_is_told(user_folder: Path):
    with pytest.raises(haloid.HaloidError, match=r"loaded-\*.mcap matches no file"):
        haloid.read(user_folder / "logs" / "loaded-*.mcap")


def test_an_inspection_is_words_in_a_terminal_and_a_page_in_a_notebook(user_folder: Path):
    inspected = haloid.inspect(user_folder / "logs" / "still.csv", ["torso_link"])
    assert inspected.facts.payload_links == ("torso_link",)
    assert_words(repr(inspected), "robot   g1, all its 29 joints", "95 % interval of", f"- {inspected.advice[0]}")
    assert_words(inspected._repr_html_(), "What to do better", "&lt;svg")


def test_the_lab_writes_what_it_records(tmp_path: Path):
    load = {"torso_link": (4.0, (0.0, 0.0, 0.2))}
    made = haloid.record(tmp_path / "box", payload=load, runs=2, duration_s=2.0, seed=5)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == [f"box-{run}.{kind}" for run in (1, 2) for kind in ("csv", "json", "truth.json")]
    assert [run.name for run in made] == ["box-1", "box-2"]
    (other,) = haloid.record(payload=load, duration_s=2.0, seed=6)
    assert (other.q_rad == made[1].q_rad).all()


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (4, "HALO has no Perturbation Setting 4; expected 1, 2 or 3"),
        ("heavy", "the payload is 'heavy'; expected HALO's Perturbation Setting 1, 2 or 3"),
        ({"torso_link": 4.0}, "the payload of torso_link is 4.0; expected"),
        ({"torso_link": (4.0, (0.0, 0.2))}, "the payload of torso_link is (4.0, (0.0, 0.2)); expected"),
        ({"torso": (4.0, (0.0, 0.0, 0.2))}, "the robot has no link 'torso'; the nearest are: torso_link"),
    ],
)
def test_payloads_that_cannot_be(payload, message: str):
    with pytest.raises(haloid.HaloidError) as refusal:
        haloid.record(payload=payload, duration_s=2.0)
    assert_words(str(refusal.value), message)


def test_a_result_tells_what_to_put_on_a_robot(result: haloid.Result):
    """Masses and centres of mass of the robot with the payload that was found are those of the loaded links."""
    from haloid.api.payloads import loads_of
    from haloid.lab.loads import put_on
    from haloid.robots.load import load_spec

    spec = load_spec("g1")
    put_on(spec, loads_of(result.payload))
    model = spec.compile()
    for link, kinds in result.links.items():
        assert model.body(link).mass[0] == pytest.approx(kinds["mass"].value, rel=1e-9)
        assert model.body(link).ipos == pytest.approx(kinds["com"].value, abs=1e-9)
