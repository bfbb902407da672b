"""Pictures of delta models."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from haloid.report.delta import delta_by_joint


def test_bars_are_the_mean_sizes_of_the_corrections_by_joint():
    figure = delta_by_joint(("left_knee_joint", "waist_yaw_joint"), np.array([[0.01, -0.02], [-0.03, 0.0]]))
    (axes,) = figure.axes
    names = {tick: text.get_text() for tick, text in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)}
    bars = {names[round(bar.get_center()[1])]: bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)}
    assert bars == {"left knee": pytest.approx(20.0), "waist yaw": pytest.approx(10.0)}
