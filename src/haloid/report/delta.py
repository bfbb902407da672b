"""Pictures of delta models: how much of a correction every joint gets (ASAP's Fig. 13)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure as MatplotlibFigure

from haloid.report.html.palette import SERIES
from haloid.report.plots import SMALL_IN, house_style, new_plot


def delta_by_joint(joint_names: Sequence[str], delta_rad: np.ndarray) -> MatplotlibFigure:
    """Bars: the mean size of (N, n) corrections, the first joint on top."""
    names = [name.removesuffix("_joint").replace("_", " ") for name in joint_names]
    places = np.arange(len(names))[::-1]
    with house_style():
        figure, axes = new_plot((SMALL_IN[0] * 1.6, 0.19 * len(names) + 0.8))
        axes.barh(places, 1e3 * np.abs(delta_rad).mean(axis=0), color=SERIES[0])
        axes.set_title("Mean size of the delta action (mrad)")
        axes.set_yticks(places, names, fontsize=7)
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        axes.margins(y=0.01)
    return figure
