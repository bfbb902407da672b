"""The report of an identification of a real, small run."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from haloid.errors import HaloidError
from haloid.identify.results.answer import Answer, answer
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification, identify
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Figure, KeyNumbers, Note, Picture, Section, Table
from haloid.report import identification_plots as plots
from haloid.report.html.page import render
from haloid.report.identification import identification_sections, lead
from haloid.report.quantities import KnownRobot, Quantity, by_link, payload_quantities, with_error_bar

LINKS = ("torso_link", "left_wrist_yaw_link")


@pytest.fixture(scope="module")
def runs():
    sensors, shaken = Sensors(noise_rad=5e-4), Excitation(duration_s=3.0)
    bare = record(LabRobot(), sensors, shaken, seed=1, name="bare")
    return bare, record(LabRobot(loads=halo_setting(1)[:2]), sensors, shaken, seed=2, name="loaded")


@pytest.fixture(scope="module")
def two(runs) -> tuple[Identification, Answer]:
    settings = Settings(LINKS, fragments=4, rows=8, base_parameters=("*.damping", "*.frictionloss", "*.mass"))
    found = identify([runs[0][0]], [runs[1][0]], settings)
    return found, answer(found)


@pytest.fixture(scope="module")
def one(runs) -> tuple[Identification, Answer]:
    found = identify([], [runs[1][0]], Settings(LINKS, stages="one", fragments=4, rows=8))
    return found, answer(found)


def sections_of(runs, result, known: bool) -> list[Section]:
    truth = KnownRobot(bare=runs[0][1], loaded=runs[1][1]) if known else None
    unloaded = [runs[0][0]] if result[0].stage1 is not None else []
    return identification_sections(*result, unloaded, [runs[1][0]], truth)


def parts(sections: list[Section], kind: type) -> list:
    return [part for section in sections for part in section.parts if isinstance(part, kind)]


def test_lead_is_the_answer_in_one_sentence(two):
    pattern = r"The robot carries \d\.\d+ ± 0\.\d+ kg at torso_link and 2\.\d+ ± 0\.\d+ kg at left_wrist_yaw_link "
    assert re.match(pattern + r"\(± is half of the 95 % interval\)\.$", lead(two[1]))


def test_lead_doubts_residuals_that_are_not_white(two):
    doubtful = replace(two[1], lag1=0.7)
    assert lead(doubtful).endswith("The model does not explain the recordings, so these error bars are too small.")


def test_sections_of_two_stages(runs, two):
    sections = sections_of(runs, two, known=True)
    assert [section.title for section in sections] == [
        "The robot and its load",
        "The payload",
        "Prediction, before and after",
        "The search",
        "The robot itself",
        "What the data cannot see",
        "How it was done",
    ]
    (table, *_) = parts(sections[:2], Table)
    assert table.columns == ["", "identified", "95 %", "nominal", "truth", "inside"]
    assert [row[0] for row in table.rows if not row[1]] == list(LINKS)


def test_one_stage_leaves_out_what_is_not_there(runs, one):
    sections = sections_of(runs, one, known=False)
    assert "The robot itself" not in [section.title for section in sections]
    assert "truth" not in parts(sections, Table)[0].columns
    assert all("truth" not in figure.legend for figure in parts(sections, Figure))
    assert parts(sections, Note)[0].text.startswith("One stage: the robot without its load was taken for its data she")


def test_the_page_is_drawn_whole(runs, two):
    page = render("title", lead(two[1]), sections_of(runs, two, known=True))
    sections = sections_of(runs, two, known=True)
    (picture,) = parts(sections, Picture)
    assert page.count("<svg") == sum(len(f.panels()) for f in parts(sections, Figure)) + len(picture.views)
    assert page.index("data:image/png") < page.index("payload at torso_link"), "the robot is above the numbers"
    for words in ("payload at torso_link", "levenberg", "bare", "loaded", "mujoco 3.11", "prediction error"):
        assert words in page.lower()


def test_key_numbers_lead_with_the_payload(runs, two):
    masses, others = parts(sections_of(runs, two, known=False), KeyNumbers)
    assert [label for label, _, _ in masses.numbers] == [f"payload at {link}" for link in LINKS]
    assert [label for label, _, _ in others.numbers] == ["prediction error", "encoder noise", "time"]


def test_truth_of_the_payload_is_what_was_added(runs, two):
    quantities = payload_quantities(two[1], KnownRobot(bare=runs[0][1], loaded=runs[1][1]))
    truth = {(q.link, q.name): q.truth for q in quantities}
    assert truth["torso_link", "payload"] == pytest.approx(6.0)
    assert truth["torso_link", "mass"] == pytest.approx(13.818)
    assert truth["left_wrist_yaw_link", "payload CoM x"] == pytest.approx(70.8244)  # in the link's own CoM


def test_digits_follow_the_error_bar():
    quantity = Quantity("torso_link", "mass", "kg", 13.7871, 0.0627, nominal=7.818, truth=13.7)
    assert [quantity.text(x) for x in (quantity.value, quantity.nominal, None)] == ["13.79", "7.82", "–"]
    assert quantity.interval_text() == "13.66 to 13.91"
    assert quantity.inside
    assert not Quantity("torso_link", "mass", "kg", 13.7871, 0.01, truth=13.7).inside
    assert with_error_bar(183.2, 12.3) == "183 ± 12"


def test_by_link_puts_quantities_under_their_link():
    quantities = [Quantity(link, "mass", "kg", 1.0, 0.1) for link in ("a", "b")]
    table = by_link(["", "value"], quantities, lambda q: [q.text(q.value)], "note")
    assert table.rows == [["a", ""], ["  mass (kg)", "1.00"], ["b", ""], ["  mass (kg)", "1.00"]]


def test_intervals_are_drawn_to_95_percent_and_bounds_hollow():
    value, std = np.array([1.0, 2.0, 0.0]), np.array([0.1, 0.2, 0.0])
    figure = plots.values_by_name([plots.Values("kg", ["a", "b", "c"], value, std, np.zeros(3))], "caption")
    axes = figure.panels()[0].axes[0]
    (bars,) = axes.containers[0].lines[2]
    ends = [segment[:, 0] for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.804, 1.196], [1.608, 2.392]], atol=1e-4)
    hollow = [
        line for line in axes.lines if line.get_marker() == "o" and line.get_markerfacecolor() != line.get_color()
    ]
    np.testing.assert_array_equal(hollow[0].get_xydata(), [[0.0, 2.0]])


def test_convergence_names_its_phases(runs, two):
    search = [section for section in sections_of(runs, two, known=False) if section.title == "The search"]
    caption = parts(search, Figure)[0].caption
    assert re.search(r"1( to \d+)?: 1 of 8 steps; \d+( to \d+)?: 4 of 8 steps; \d+( to \d+)?: all 8 steps;", caption)


def test_the_robot_is_drawn_with_its_loads(runs, two):
    (picture,) = parts(sections_of(runs, two, known=False), Picture)
    assert re.match(
        r"A: \d\.\d+ ± 0\.\d+ kg at torso_link; B: 2\.\d+ ± 0\.\d+ kg at left_wrist_yaw_link\. ", picture.caption
    )
    assert [view.title for view in picture.views] == ["from the front", "from its right"]
    for view in picture.views:
        image = np.asarray(Image.open(io.BytesIO(view.png)).convert("RGBA")).astype(int)
        seen = image[..., 3] > 200
        assert 0.08 < seen.mean() < 0.6, "a robot on a transparent ground"
        assert not seen[:, 0].any() and not seen[:, -1].any() and not seen[0].any() and not seen[-1].any(), "all of it"
        for mark in view.marks:
            x, y = (round(place) for place in mark.points_at_px)
            around = image[y - 9 : y + 10, x - 9 : x + 10]
            assert (around[..., 0] - around[..., 1]).mean() > 40, "orange and pink where the load is"
    (front_torso, front_hand), _ = (view.marks for view in picture.views)
    assert front_hand.points_at_px[0] > front_torso.points_at_px[0], (
        "its left hand is on the right, seen from the front"
    )


def test_a_section_that_fails_names_itself_and_the_others_stand(runs, two, monkeypatch: pytest.MonkeyPatch):
    def broken(*args) -> None:
        raise HaloidError("the robot has no shapes to draw; give its links geoms")

    monkeypatch.setattr("haloid.report.pictures.carrying_robot.carrying_robot", broken)
    sections = sections_of(runs, two, known=False)
    assert [section.title for section in sections][:2] == ["The robot and its load", "The payload"]
    assert sections[0].parts == [
        Note(
            "This section could not be made: the robot has no shapes to draw; give its links geoms. The other sections "
            "and the numbers in result.json do not depend on it."
        )
    ]
    assert parts(sections, KeyNumbers)
