"""The house style of plots, and the plots that more than one report shows. Arrays come with their names.

A reference (a target, a nominal model) is grey; what the plot is about is in colour. Legends are the page's, not
the plots': small plots have no room for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.ticker import MaxNLocator

from haloid.errors import HaloidError
from haloid.report.html.palette import INK, MUTED, REFERENCE, RULE, SERIES
from haloid.report.html.parts import Figure

SMALL_IN = (2.9, 1.65)
"""Width and height of one of several plots side by side: at its own size on a phone."""
WIDE_IN = (5.6, 3.0)
"""Width and height of a plot that stands alone."""
REFERENCE_WIDTH = 2.8
"""In points: a reference shows on both sides of a curve that follows it closely."""

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": REFERENCE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=SERIES),
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "text.color": INK,
    "xtick.color": REFERENCE,
    "ytick.color": REFERENCE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Make figures in this block in the style of the reports."""
    with matplotlib.rc_context(STYLE):
        yield


def new_plot(size_in: tuple[float, float] = WIDE_IN) -> tuple[MatplotlibFigure, Axes]:
    """One figure with one pair of axes; call it inside `house_style`."""
    figure = MatplotlibFigure(figsize=size_in, layout="constrained")
    return figure, figure.add_subplot()


def joint_curves(
    time_s: np.ndarray,
    joint_names: Sequence[str],
    curves_rad: Mapping[str, np.ndarray],
    caption: str,
    joints: Sequence[str] | None = None,
) -> Figure:
    """One small plot per joint, e.g. of target and measured angle.

    Args:
        curves_rad: by name, each (T, n) in the order of `joint_names`; the first is the reference.
        joints: the joints to show; None: the six that move the most in the last of the curves.
    """
    shown = _most_moving(joint_names, list(curves_rad.values())[-1], 6) if joints is None else joints
    colours = dict(zip(curves_rad, (REFERENCE, *SERIES), strict=False))
    plots = []
    with house_style():
        for joint in shown:
            column = _column(joint_names, joint)
            figure, axes = new_plot(SMALL_IN)
            for name, angles_rad in curves_rad.items():
                width = REFERENCE_WIDTH if colours[name] == REFERENCE else None
                axes.plot(time_s, angles_rad[:, column], color=colours[name], linewidth=width)
            axes.set_title(f"{_plain(joint)} (rad)")
            axes.set_xlabel("time (s)")
            axes.margins(x=0.01)
            axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            axes.yaxis.set_major_locator(MaxNLocator(4))
            plots.append(figure)
    return Figure(plots, caption, legend=colours)


def body_paths(paths_w_m: Mapping[str, np.ndarray], caption: str) -> Figure:
    """The paths of bodies in the world, from the side (x, z) and from the front (y, z); a dot marks the start.

    Args:
        paths_w_m: by the body's name, (T, 3) positions.
    """
    colours = dict(zip(paths_w_m, _repeated(SERIES, len(paths_w_m)), strict=True))
    plots = []
    with house_style():
        for title, axis in (("from the side", 0), ("from the front", 1)):
            figure, axes = new_plot((SMALL_IN[0] * 1.3, 3.2))
            for name, path in paths_w_m.items():
                axes.plot(path[:, axis], path[:, 2], color=colours[name])
                axes.plot(path[:1, axis], path[:1, 2], "o", color=colours[name], markersize=4)
            axes.set_title(title)
            axes.set_xlabel(f"{'xy'[axis]} (m)")
            axes.set_ylabel("z (m)")
            axes.set_aspect("equal", adjustable="datalim")
            axes.grid(visible=True, axis="both")
            plots.append(figure)
    return Figure(plots, caption, legend=colours)


def _most_moving(joint_names: Sequence[str], angles_rad: np.ndarray, count: int) -> list[str]:
    """The `count` joints of the widest range, in their own order."""
    widest = np.argsort(np.ptp(angles_rad, axis=0))[::-1][:count]
    return [joint_names[int(column)] for column in sorted(widest)]


def _column(joint_names: Sequence[str], joint: str) -> int:
    if joint not in joint_names:
        raise HaloidError(f"There is no joint {joint} to plot. Joints: {', '.join(joint_names)}.")
    return list(joint_names).index(joint)


def _repeated(colours: Sequence[str], count: int) -> list[str]:
    return [colours[k % len(colours)] for k in range(count)]


def _plain(name: str) -> str:
    """A name as it is: a dollar sign begins no formula."""
    return name.replace("$", r"\$")
