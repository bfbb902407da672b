"""A motion as one picture: poses from the side and from the front, and how feet and root move.

In: a `Motion` and its robot's model. Out: a matplotlib figure. No graphics card is needed: every shape of the robot's
model is projected and painted as the hull of its outline, far ones first. Left is blue and right is orange throughout.
"""

import matplotlib.colors
import mujoco
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from haloid.motions.surface import surface_of
from haloid.report.html.palette import INK, MUTED, PAPER, REFERENCE, SERIES
from haloid.report.pictures.shapes import outline_points
from haloid.report.plots import house_style
from haloid.trajectories.motion import Motion

POSES = 8
POSE_WIDTH_M = 0.95
"""Room of a pose in a strip."""
LEFT, RIGHT = SERIES[0], SERIES[1]
_SHELL, _DARK = "#e4e7ea", "#4a525a"
_TINT, _DARK_TINT = 0.42, 0.12
"""How much of its side's colour a shape takes."""


def motion_picture(motion: Motion, model: mujoco.MjModel, title: str, poses: int = POSES) -> Figure:
    """Two strips of poses over three plots."""
    rows = _telling_rows(motion, poses)
    shapes = _shapes(model)
    heading = _heading(motion.body_quat_wxyz[0, 0])
    with house_style():
        figure = Figure(figsize=(1.55 * poses, 8.6), layout="constrained", facecolor=PAPER)
        grid = figure.add_gridspec(3, 3, height_ratios=[1.5, 1.5, 1.0], width_ratios=[1.4, 1.4, 1.0])
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
        side, front = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
        forward, left = heading[:, 0], heading[:, 1]
        _strip(side, motion, rows, shapes, across=forward, towards_viewer=-left, title="from its right side")
        _strip(front, motion, rows, shapes, across=left, towards_viewer=forward, title="from the front")
        _sole_heights(figure.add_subplot(grid[2, 0]), motion, model, rows)
        _root_height(figure.add_subplot(grid[2, 1]), motion, rows)
        _path(figure.add_subplot(grid[2, 2]), motion, rows, heading)
    return figure


def _telling_rows(motion: Motion, poses: int) -> np.ndarray:
    """First and last frame, then always the frame least like those chosen, in pose and in time."""
    time = np.linspace(0, 1, len(motion.joint_pos_rad))[:, None]
    pose = np.column_stack([motion.joint_pos_rad, motion.body_pos_w_m[:, 0], 2 * motion.body_quat_wxyz[:, 0]])
    spread = np.linalg.norm(pose - pose[0], axis=1).max()
    frames = np.column_stack([pose, (1e-6 + spread) * time])
    chosen = [0, len(frames) - 1]
    while len(chosen) < poses:
        chosen.append(int(np.min([np.linalg.norm(frames - frames[row], axis=1) for row in chosen], axis=0).argmax()))
    return np.sort(chosen)


class _Shape:
    """Points on the surface of one geom, in its body's frame, and its colour."""

    def __init__(self, model: mujoco.MjModel, geom: int):
        self.body_row = int(model.geom_bodyid[geom]) - 1
        turn = Rotation.from_quat(model.geom_quat[geom], scalar_first=True)
        self.in_body_m = turn.apply(outline_points(model, geom)) + model.geom_pos[geom]
        material = model.geom_matid[geom]
        rgb = model.mat_rgba[material, :3] if material >= 0 else model.geom_rgba[geom, :3]
        is_dark = float(np.mean(rgb)) < 0.45
        name = model.body(self.body_row + 1).name
        tint = LEFT if "left" in name else RIGHT if "right" in name else None
        base = np.array(matplotlib.colors.to_rgb(_DARK if is_dark else _SHELL))
        share = 0.0 if tint is None else _DARK_TINT if is_dark else _TINT
        self.colour = (1 - share) * base + share * np.array(matplotlib.colors.to_rgb(tint or INK))


def _shapes(model: mujoco.MjModel) -> list[_Shape]:
    """What there is to see of the robot: shapes that do not collide, or all where there are none."""
    own = [geom for geom in range(model.ngeom) if model.geom_bodyid[geom] > 0]
    visual = [geom for geom in own if not model.geom_contype[geom] and not model.geom_conaffinity[geom]]
    return [_Shape(model, geom) for geom in visual or own]


def _heading(quat_wxyz: np.ndarray) -> np.ndarray:
    """(3, 3) columns: forward, left and up of a robot that stands as it begins."""
    x, y, _ = Rotation.from_quat(quat_wxyz, scalar_first=True).apply([1.0, 0.0, 0.0])
    length = max(np.hypot(x, y), 1e-9)
    return np.array([[x, -y, 0.0], [y, x, 0.0], [0.0, 0.0, length]]) / length


def _strip(
    axes: Axes,
    motion: Motion,
    rows: np.ndarray,
    shapes: list[_Shape],
    *,
    across: np.ndarray,
    towards_viewer: np.ndarray,
    title: str,
) -> None:
    for place, row in enumerate(rows):
        centre = place * POSE_WIDTH_M - motion.body_pos_w_m[row, 0] @ across
        polygons, depths, colours = [], [], []
        for shape in shapes:
            turn = Rotation.from_quat(motion.body_quat_wxyz[row, shape.body_row], scalar_first=True)
            points_w_m = turn.apply(shape.in_body_m) + motion.body_pos_w_m[row, shape.body_row]
            outline = _hull(np.column_stack([points_w_m @ across + centre, points_w_m[:, 2]]))
            if outline is not None:
                polygons.append(outline)
                depths.append(np.max(points_w_m @ towards_viewer))
                colours.append(shape.colour)
        order = np.argsort(depths)
        faces = np.array(colours)[order]
        axes.add_collection(
            PolyCollection(
                [polygons[k] for k in order],
                facecolors=[tuple(colour) for colour in faces],
                edgecolors=[tuple(0.72 * colour) for colour in faces],
                linewidths=0.5,
                zorder=2,
            )
        )
        label = f"{row / motion.rate_hz:.2f} s"
        axes.annotate(
            label, (place * POSE_WIDTH_M, 0), (0, -7), textcoords="offset points", ha="center", va="top", color=MUTED
        )
    axes.axhline(0, color=REFERENCE, linewidth=1.0, zorder=1)
    axes.set_xlim(-0.6 * POSE_WIDTH_M, (len(rows) - 0.4) * POSE_WIDTH_M)
    highest_m = float(motion.body_pos_w_m[rows, :, 2].max())
    lowest_m = float(min(motion.body_pos_w_m[rows, :, 2].min(), 0.0))
    axes.set_ylim(lowest_m - 0.12, highest_m + 0.28)
    axes.set_aspect("equal")
    axes.set_title(title)
    axes.set_axis_off()


def _hull(points: np.ndarray) -> np.ndarray | None:
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # seen edge on
        return None


def _sole_heights(axes: Axes, motion: Motion, model: mujoco.MjModel, rows: np.ndarray) -> None:
    surface = surface_of(model)
    points_w_m, time_s = surface.lowest_w_m(motion), np.arange(len(motion.body_pos_w_m)) / motion.rate_hz
    for foot in surface.foot_ids:
        name = model.body(foot).name
        colour = LEFT if "left" in name else RIGHT if "right" in name else INK
        axes.plot(time_s, 100 * points_w_m[:, surface.of(foot), 2].min(axis=1), color=colour)
    axes.axhline(0, color=REFERENCE, linewidth=1.0, zorder=1)
    axes.set_title("Lowest point of each sole (cm): left blue, right orange")
    _time_axis(axes, motion, rows)


def _root_height(axes: Axes, motion: Motion, rows: np.ndarray) -> None:
    time_s = np.arange(len(motion.body_pos_w_m)) / motion.rate_hz
    height_m = motion.body_pos_w_m[:, 0, 2]
    axes.plot(time_s, height_m, color=INK)
    middle_m, half_m = (height_m.max() + height_m.min()) / 2, max(np.ptp(height_m) / 2, 0.02)
    axes.set_ylim(middle_m - 1.15 * half_m, middle_m + 1.15 * half_m)
    axes.set_title(f"Height of {motion.body_names[0]} (m)")
    _time_axis(axes, motion, rows)


def _time_axis(axes: Axes, motion: Motion, rows: np.ndarray) -> None:
    for row in rows:
        axes.axvline(row / motion.rate_hz, color=REFERENCE, linewidth=0.6, alpha=0.4, zorder=0)
    axes.set_xlabel("time (s); the lines are the poses above")
    axes.margins(x=0.01)


def _path(axes: Axes, motion: Motion, rows: np.ndarray, heading: np.ndarray) -> None:
    along_m = (motion.body_pos_w_m[:, 0] - motion.body_pos_w_m[0, 0]) @ heading
    forward_m, left_m = along_m[:, 0], along_m[:, 1]
    axes.plot(-left_m, forward_m, color=INK)
    axes.plot(-left_m[rows], forward_m[rows], "o", color=INK, markersize=3)
    axes.plot(0, 0, "o", color=SERIES[2], markersize=6)
    half_m = max(np.ptp(left_m), np.ptp(forward_m), 0.2) * 0.6
    middle_x, middle_y = (-left_m.max() - left_m.min()) / 2, (forward_m.max() + forward_m.min()) / 2
    axes.set_xlim(middle_x - half_m, middle_x + half_m)
    axes.set_ylim(middle_y - half_m, middle_y + half_m)
    axes.set_aspect("equal")
    axes.set_title("From above (m); green: start")
    axes.set_xlabel("to its right")
    axes.set_ylabel("forward")
