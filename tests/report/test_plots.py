import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.report import plots
from haloid.report.html.palette import REFERENCE, SERIES

TIME_S = np.linspace(0.0, 2.0, 40)
NAMES = [f"joint_{k}" for k in range(8)]
AMPLITUDE = np.array([0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4, 0.5])
ANGLES_RAD = AMPLITUDE * np.sin(3.0 * TIME_S)[:, None]


def titles(figure) -> list[str]:
    return [panel.axes[0].get_title(loc="left") for panel in figure.panels()]


def test_joint_curves_shows_the_six_that_move_the_most_in_their_order():
    figure = plots.joint_curves(TIME_S, NAMES, {"target": ANGLES_RAD, "measured": ANGLES_RAD}, "caption")
    assert titles(figure) == [f"joint_{k} (rad)" for k in (1, 3, 4, 5, 6, 7)]
    assert figure.legend == {"target": REFERENCE, "measured": SERIES[0]}


def test_joint_curves_draws_the_column_of_the_joint():
    curves = {"target": ANGLES_RAD, "measured": 0.9 * ANGLES_RAD}
    figure = plots.joint_curves(TIME_S, NAMES, curves, "caption", joints=["joint_3"])
    target, measured = figure.panels()[0].axes[0].lines
    np.testing.assert_array_equal(target.get_ydata(), ANGLES_RAD[:, 3])
    np.testing.assert_array_equal(measured.get_ydata(), 0.9 * ANGLES_RAD[:, 3])


def test_joint_curves_of_an_unknown_joint_names_the_known():
    with pytest.raises(HaloidError, match=r"There is no joint knee to plot\. Joints: joint_0, joint_1"):
        plots.joint_curves(TIME_S, NAMES, {"target": ANGLES_RAD}, "caption", joints=["knee"])


def test_body_paths_are_seen_from_the_side_and_from_the_front():
    path = np.column_stack([TIME_S, 2.0 * TIME_S, 3.0 * TIME_S])
    figure = plots.body_paths({"pelvis": path, "torso_link": path + 1.0}, "caption")
    side, front = (panel.axes[0].lines[0] for panel in figure.panels())
    np.testing.assert_array_equal(side.get_xydata(), path[:, [0, 2]])
    np.testing.assert_array_equal(front.get_xydata(), path[:, [1, 2]])
    assert list(figure.legend) == ["pelvis", "torso_link"]


def test_more_bodies_than_colours_can_be_drawn():
    path = np.zeros((3, 3))
    assert len(plots.body_paths({f"body_{k}": path for k in range(9)}, "caption").legend) == 9


def test_house_style_leaves_other_figures_alone():
    import matplotlib

    before = matplotlib.rcParams["font.size"]
    plots.body_paths({"pelvis": np.zeros((3, 3))}, "caption")
    assert matplotlib.rcParams["font.size"] == before
