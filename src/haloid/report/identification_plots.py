"""The plots of an identification: what was found, how well it predicts, how the search went.

Nominal is grey, identified blue, the truth (where a simulated robot has one) an orange tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.ticker import LogLocator, MaxNLocator, MultipleLocator, NullFormatter, NullLocator

from haloid.identify.results.answer import NORMAL_95, Validation
from haloid.identify.solvers.fit import Trace
from haloid.report.html.palette import COLOURS, INK, PAPER, REFERENCE, SERIES
from haloid.report.html.parts import Figure
from haloid.report.plots import SMALL_IN, house_style, new_plot
from haloid.report.quantities import Quantity

IDENTIFIED, TRUTH, NOMINAL = SERIES[0], SERIES[1], REFERENCE
_PANEL = COLOURS["panel"].light
_PANEL_WIDTH_IN = 3.8
_ROW_IN = 0.215
"""Height of a line in a plot of many named lines."""
_SHORT_NAME = 18
_SHOWN_JOINTS = 6


@dataclass(frozen=True)
class Values:
    """One panel of named values; arrays are in the order of `names`."""

    title: str
    names: Sequence[str]
    value: np.ndarray
    std: np.ndarray
    """0: the value is at its bound, and the data says no more than that."""
    nominal: np.ndarray
    truth: np.ndarray | None = None


def found_changes(quantities: Sequence[Quantity]) -> list[Figure]:
    """Masses of the payload links, and their CoMs, link by link, as changes from nominal."""
    rows = [q for q in quantities if np.isfinite(q.nominal)]
    masses, coms = [q for q in rows if q.unit == "kg"], [q for q in rows if q.unit == "mm"]
    figures = []
    if masses:
        panel = _change_panel("mass: change from nominal (kg)", masses, [q.link for q in masses])
        figures.append(values_by_name([panel], "Masses of the payload links, load included."))
    if coms:
        panels = [
            _change_panel(f"{link} (mm)", found, [q.name for q in found]) for link, found in _each_link(coms).items()
        ]
        caption = "Their centres of mass, load included: change from nominal in the link's frame."
        figure = values_by_name(panels, caption)
        figures.append(replace(figure, legend={}) if masses else figure)  # one legend is enough for both
    return figures


def _change_panel(title: str, rows: Sequence[Quantity], names: Sequence[str]) -> Values:
    value, std, nominal = (np.array([getattr(q, key) for q in rows]) for key in ("value", "std", "nominal"))
    truth = None if rows[0].truth is None else np.array([q.truth for q in rows], float) - nominal
    return Values(title, names, value - nominal, std, np.zeros(len(rows)), truth)


def against_truth(quantities: Sequence[Quantity]) -> Figure:
    """Estimate − truth in standard deviations, one panel per link; the band holds 95 %."""
    rows = [q for q in quantities if q.truth is not None]
    errors = {link: np.array([(q.value - (q.truth or 0.0)) / q.std for q in r]) for link, r in _each_link(rows).items()}
    reach = max(3.5, 1.1 * max(float(np.abs(error).max()) for error in errors.values()))
    panels = []
    with house_style():
        for link, error in errors.items():
            figure, axes = _lines(link, [q.name for q in rows if q.link == link])
            axes.axvspan(-NORMAL_95, NORMAL_95, color=_PANEL, zorder=0)
            axes.axvline(0.0, color=TRUTH, linewidth=1.3, zorder=1)
            axes.plot(error, np.arange(len(error)), "o", color=IDENTIFIED, markersize=5)
            axes.set_xlim(-reach, reach)
            axes.xaxis.set_major_locator(MultipleLocator(2 if reach < 8 else 10))
            axes.grid(visible=False)
            panels.append(figure)
    inside = sum(q.inside for q in rows)
    caption = (
        "Estimate − truth, in standard deviations of the estimate. The band is the 95 % interval: "
        f"{inside} of {len(rows)} are inside."
    )
    return Figure(panels, caption, {"identified": IDENTIFIED, "truth": TRUTH})


def prediction(validation: Validation, joints: Sequence[str]) -> Figure:
    """Read and predicted angles on the held-out fragment of median nominal error, where nominal errs the most."""
    by_fragment = np.sqrt(np.mean(validation.nominal_rad**2, axis=(1, 2)))
    chosen = int(np.argsort(by_fragment)[len(by_fragment) // 2])
    read = validation.fragments.readings[chosen]
    by_joint = np.sqrt(np.mean(validation.nominal_rad[chosen] ** 2, axis=0))
    shown = sorted(int(i) for i in np.argsort(by_joint)[::-1][:_SHOWN_JOINTS])
    time_s = validation.fragments.control_dt_s * np.arange(len(read))
    panels = []
    with house_style():
        for joint in shown:
            figure, axes = new_plot(SMALL_IN)
            axes.plot(time_s, (read + validation.nominal_rad[chosen])[:, joint], color=NOMINAL, linewidth=2.0)
            axes.plot(time_s, (read + validation.identified_rad[chosen])[:, joint], color=IDENTIFIED)
            axes.plot(time_s, read[:, joint], "o", color=INK, markersize=2.2)
            axes.set_title(f"{_plain(joints[joint])} (rad)")
            axes.set_xlabel("time (s)")
            axes.margins(x=0.02)
            axes.xaxis.set_major_locator(MaxNLocator(5))
            axes.yaxis.set_major_locator(MaxNLocator(4))
            panels.append(figure)
    caption = (
        f"A fragment of {time_s[-1]:.2g} s, the one of median nominal error; the {len(shown)} joints that the nominal "
        "model predicts worst. Only the initial state is fitted to it, separately for each model."
    )
    return Figure(panels, caption, {"encoder": INK, "identified model": IDENTIFIED, "nominal model": NOMINAL})


def error_by_joint(validation: Validation, joints: Sequence[str]) -> Figure:
    """Rms of predicted − read, nominal and identified, one line per joint, on a logarithmic axis."""
    nominal, identified = (
        1e3 * np.sqrt(np.mean(r**2, axis=(0, 1))) for r in (validation.nominal_rad, validation.identified_rad)
    )
    low, high = 0.8 * min(nominal.min(), identified.min()), 1.25 * max(nominal.max(), identified.max())
    panels = []
    with house_style():
        for part in halves(np.arange(len(joints))):
            figure, axes = _lines("rms of predicted − read (mrad)", [joints[int(i)] for i in part])
            rows = np.arange(len(part))
            axes.hlines(rows, identified[part], nominal[part], color=NOMINAL, linewidth=1.0)
            axes.plot(nominal[part], rows, "o", color=NOMINAL, markersize=4.5)
            axes.plot(identified[part], rows, "o", color=IDENTIFIED, markersize=4.5)
            axes.set_xscale("log")
            axes.set_xlim(low, high)
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0,)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_locator(NullLocator())
            panels.append(figure)
    caption = "How far predictions are from the encoders on data the fit has not seen."
    return Figure(panels, caption, {"identified model": IDENTIFIED, "nominal model": NOMINAL})


def values_by_name(panels: Sequence[Values], caption: str) -> Figure:
    """Values with 95 % intervals, a grey tick at nominal; hollow where a value is at its bound."""
    legend = {"identified, 95 % interval": IDENTIFIED, "nominal": NOMINAL}
    plots = []
    with house_style():
        for panel in panels:
            figure, axes = _lines(panel.title, panel.names)
            rows, known = np.arange(len(panel.names)), panel.std > 0
            axes.vlines(panel.nominal, rows - 0.5, rows + 0.5, color=NOMINAL, linewidth=1.3)
            bars = NORMAL_95 * panel.std[known]
            axes.errorbar(panel.value[known], rows[known], xerr=bars, fmt="o", color=IDENTIFIED, markersize=4)
            axes.plot(panel.value[~known], rows[~known], "o", color=IDENTIFIED, markersize=4, markerfacecolor=PAPER)
            if panel.truth is not None:
                axes.plot(panel.truth, rows, "|", color=TRUTH, markersize=9, markeredgewidth=2.0, zorder=3)
                legend["truth"] = TRUTH
            axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            plots.append(figure)
    return Figure(plots, caption, legend)


def convergence(
    trace: Trace,
    columns: Sequence[int],
    links: Sequence[str],
    base_kg: np.ndarray,
    std_kg: np.ndarray,
    truth_kg: np.ndarray | None,
) -> Figure:
    """Masses on the payload links after every step, and how far they are from the last in standard deviations."""
    free = [colour for colour in SERIES if colour != TRUTH]
    colours = dict(zip(links, (free[k % len(free)] for k in range(len(links))), strict=True))
    masses = np.array([np.zeros(len(columns)), *(values[list(columns)] - base_kg for _, _, values in trace)])
    steps = np.arange(len(masses))
    panels = []
    with house_style():
        for label in ("payload (kg)", "distance to the end (standard deviations)"):
            figure, axes = new_plot((_PANEL_WIDTH_IN, 2.5))
            _shade_phases(axes, trace)
            for k, colour in enumerate(colours.values()):
                if label.startswith("payload"):
                    axes.plot(steps, masses[:, k], ".-", color=colour)
                    if truth_kg is not None:
                        axes.axhline(truth_kg[k], color=colour, linewidth=0.8, linestyle=(0, (1, 2)))
                else:
                    distance = np.abs(masses[:-1, k] - masses[-1, k]) / std_kg[k]
                    axes.semilogy(steps[:-1], np.maximum(distance, 1e-3), ".-", color=colour)
            if not label.startswith("payload"):
                axes.axhline(1.0, color=NOMINAL, linewidth=1.0)
                axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_title(label)
            axes.set_xlabel("iteration")
            axes.set_xlim(0, len(trace) + 0.2)
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            panels.append(figure)
    dotted = " Dotted: the truth." if truth_kg is not None else ""
    caption = f"Stage 2, step by step. The shades are its phases: {_phases_in_words(trace)}.{dotted}"
    return Figure(panels, caption, colours)


def _phases(trace: Trace) -> list[tuple[str, int, int]]:
    """Name, first and last iteration of each phase, numbered throughout."""
    edges = [0]
    names = []
    for name, steps in groupby(phase for phase, _, _ in trace):
        names.append(name)
        edges.append(edges[-1] + len(list(steps)))
    return [(name, first + 1, last) for name, (first, last) in zip(names, pairwise(edges), strict=True)]


def _phases_in_words(trace: Trace) -> str:
    def span(first: int, last: int) -> str:
        return str(first) if first == last else f"{first} to {last}"

    return "; ".join(f"{span(first, last)}: {name}" for name, first, last in _phases(trace))


def _shade_phases(axes: Axes, trace: Trace) -> None:
    for number, (_, first, last) in enumerate(_phases(trace)):
        if number % 2 == 0:
            axes.axvspan(first - 1, last, color=_PANEL, zorder=0)


def _lines(title: str, names: Sequence[str]) -> tuple[MatplotlibFigure, Axes]:
    """Axes with one line per name, from the top."""
    width = SMALL_IN[0] if max(map(len, names)) < _SHORT_NAME else _PANEL_WIDTH_IN
    figure, axes = new_plot((width, 0.6 + _ROW_IN * len(names)))
    axes.set_yticks(np.arange(len(names)), [_plain(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.spines.left.set_visible(False)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    figure.suptitle(_plain(title), x=0.0, ha="left", fontsize=9, fontweight="bold")
    return figure, axes


def halves(rows: np.ndarray) -> list[np.ndarray]:
    """Many lines in two columns, few in one."""
    return [rows] if len(rows) < 10 else [rows[: (len(rows) + 1) // 2], rows[(len(rows) + 1) // 2 :]]


def _each_link(rows: Sequence[Quantity]) -> dict[str, list[Quantity]]:
    return {link: list(found) for link, found in groupby(rows, key=lambda q: q.link)}


def _plain(name: str) -> str:
    """A name as it is: a dollar sign begins no formula."""
    return name.replace("$", r"\$")
