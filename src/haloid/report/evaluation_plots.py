"""The plots of an evaluation: error over time, feet, use of torques and joint ranges."""

from collections.abc import Callable

import numpy as np

from haloid.report.html.palette import REFERENCE, SERIES
from haloid.report.html.parts import Figure
from haloid.report.plots import REFERENCE_WIDTH, SMALL_IN, WIDE_IN, house_style, new_plot
from haloid.skills.evaluation.evaluate import Evaluation
from haloid.skills.evaluation.metrics import FAILURE_M, counted_rows
from haloid.skills.evaluation.runs import Run
from haloid.skills.task.reference import CONTROL_HZ

MIDDLE, BAND, FAILED = SERIES[0], SERIES[5], SERIES[1]
_LEAST_HEIGHT_CM = 2.0
"""Of a plot of heights, so that a foot that stands still looks still."""


def error_over_time(evaluation: Evaluation) -> Figure:
    """Median and spread of the mean body distance over the runs that still count at each frame."""
    error_mm = 1e3 * _by_frame(evaluation, evaluation.body_error_m)
    time_s = np.arange(error_mm.shape[1]) / CONTROL_HZ
    with house_style():
        figure, axes = new_plot(WIDE_IN)
        seen = np.flatnonzero(np.isfinite(error_mm).any(axis=0))
        low, middle, high = np.nanquantile(error_mm[:, seen], [0.1, 0.5, 0.9], axis=0)
        axes.fill_between(time_s[seen], low, high, color=BAND, alpha=0.35, linewidth=0)
        axes.plot(time_s[seen], np.nanmax(error_mm[:, seen], axis=0), color=REFERENCE, linewidth=0.9)
        axes.plot(time_s[seen], middle, color=MIDDLE)
        for run in evaluation.runs:
            if run.failed_row is not None:
                axes.plot((run.first_frame + run.failed_row) / CONTROL_HZ, 1e3 * FAILURE_M, "x", color=FAILED)
        axes.set_title("Mean body distance from the reference (mm)")
        axes.set_xlabel("time in the motion (s)")
        axes.set_ylim(bottom=0)
        axes.margins(x=0.01)
    caption = "Median of the runs that have not failed so far, the middle 80 % of them, and the worst."
    legend = {"median": MIDDLE, "middle 80 %": BAND, "worst": REFERENCE}
    if evaluation.success_rate < 1:
        legend["failure"] = FAILED
    return Figure(figure, caption, legend=legend)


def foot_heights(evaluation: Evaluation) -> Figure:
    """Height of each ankle's link: the reference's and the median run's, with its spread."""
    plots = []
    time_s = np.arange(len(evaluation.reference)) / CONTROL_HZ
    with house_style():
        for foot in evaluation.description.feet.values():
            row = evaluation.description.tracked_links.index(foot)
            height_cm = 100 * _by_frame(evaluation, lambda run, row=row: run.poses.body_pos_w[:, row, 2])
            seen = np.flatnonzero(np.isfinite(height_cm).any(axis=0))
            low, middle, high = np.nanquantile(height_cm[:, seen], [0.1, 0.5, 0.9], axis=0)
            figure, axes = new_plot((SMALL_IN[0] * 1.3, SMALL_IN[1] * 1.2))
            reference_cm = 100 * evaluation.reference.frames.body_pos_w[:, row, 2]
            axes.plot(time_s, reference_cm, color=REFERENCE, linewidth=REFERENCE_WIDTH)
            axes.fill_between(time_s[seen], low, high, color=BAND, alpha=0.35, linewidth=0)
            axes.plot(time_s[seen], middle, color=MIDDLE)
            axes.set_title(f"{foot.removesuffix('_link').replace('_', ' ')} (cm)")
            axes.set_xlabel("time in the motion (s)")
            axes.margins(x=0.01)
            bottom, top = axes.get_ylim()
            middle_cm, half_cm = (bottom + top) / 2, max((top - bottom) / 2, _LEAST_HEIGHT_CM / 2)
            axes.set_ylim(middle_cm - half_cm, middle_cm + half_cm)
            plots.append(figure)
    caption = "Height of the ankles' links over the floor, runs that have not failed so far."
    return Figure(plots, caption, legend={"reference": REFERENCE, "median": MIDDLE, "middle 80 %": BAND})


def use_by_joint(evaluation: Evaluation) -> Figure:
    """Bars: rms over peak torque, and peak use of the range."""
    names = [name.removesuffix("_joint").replace("_", " ") for name in evaluation.joint_names]
    places = np.arange(len(names))[::-1]
    plots = []
    with house_style():
        size_in = (SMALL_IN[0] * 1.3, 0.19 * len(names) + 0.8)
        figure, axes = new_plot(size_in)
        axes.barh(places, 100 * evaluation.torque_peak_use, color=BAND)
        axes.barh(places, 100 * evaluation.torque_rms_use, color=MIDDLE, height=0.45)
        axes.set_title("Torque (% of the limit)")
        plots.append((figure, axes))
        figure, axes = new_plot(size_in)
        axes.barh(places, 100 * evaluation.range_peak_use, color=BAND)
        axes.set_title("Joint range (% of half)")
        plots.append((figure, axes))
        for _, axes in plots:
            axes.set_yticks(places, names, fontsize=7)
            axes.axvline(100, color=FAILED, linewidth=1.0)
            axes.grid(visible=True, axis="x")
            axes.grid(visible=False, axis="y")
            axes.margins(y=0.01)
    caption = "Greatest and rms torque, and greatest use of the range, of every joint."
    return Figure([figure for figure, _ in plots], caption, legend={"peak": BAND, "rms": MIDDLE, "limit": FAILED})


def _by_frame(evaluation: Evaluation, values: Callable[[Run], np.ndarray]) -> np.ndarray:
    """(runs, frames) of a quantity of runs, at the frames of the motion; NaN where a run does not count."""
    table = np.full((len(evaluation.runs), len(evaluation.reference)), np.nan)
    for row, run in enumerate(evaluation.runs):
        count = counted_rows(len(run.poses), run.failed_row)
        table[row, run.first_frame : run.first_frame + count] = values(run)[:count]
    return table
