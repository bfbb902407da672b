"""Curves of one joint beside the robot, with a mark that follows the time."""

from collections.abc import Mapping

import numpy as np
import viser
import viser.uplot

MOST_POINTS = 500
COLOURS = {  # each is seen on a light page and on a dark one
    "measured": "#4aa8e8",
    "calibrated": "#009e73",
    "nominal": "#e69f00",
    "target": "#8b949d",
    "reference": "#8b949d",
    "policy": "#009e73",
}
OTHER_COLOUR = "#cc79a7"
MARK = "#d55e00"
HEIGHT_PX = 190


class Plot:
    """One chart; `show` puts curves of the same names into it, `mark` moves the mark."""

    def __init__(self, gui: viser.GuiApi, title: str, time_s: np.ndarray, curves: Mapping[str, np.ndarray]) -> None:
        self._rows = np.unique(np.linspace(0, len(time_s) - 1, min(len(time_s), MOST_POINTS)).round().astype(int))
        self._time_s = time_s[self._rows]
        self._marked = 0
        self._curves = self._thinned(curves)
        self._handle = gui.add_uplot(
            self._data(),
            (
                viser.uplot.Series(label="time (s)"),
                *(viser.uplot.Series(label=name, stroke=COLOURS.get(name, OTHER_COLOUR), width=1.5) for name in curves),
                viser.uplot.Series(label="now", stroke=MARK, width=2, points={"show": True, "size": 9, "fill": MARK}),
            ),
            title=title,
            scales={"x": viser.uplot.Scale(time=False)},
            height=HEIGHT_PX,
        )

    def show(self, title: str, curves: Mapping[str, np.ndarray]) -> None:
        self._curves = self._thinned(curves)
        self._handle.title = title
        self._handle.data = self._data()

    def mark(self, time_s: float) -> None:
        marked = int(np.argmin(np.abs(self._time_s - time_s)))
        if marked != self._marked:
            self._marked = marked
            self._handle.data = self._data()

    def _thinned(self, curves: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(curve, float)[self._rows] for curve in curves.values()]

    def _data(self) -> tuple[np.ndarray, ...]:
        now = np.full(len(self._time_s), np.nan)
        now[self._marked] = self._curves[0][self._marked]
        return (self._time_s, *self._curves, now)
