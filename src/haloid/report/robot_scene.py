"""Pictures of a robot without a graphics card: its shapes as shaded facets, drawn from far to near.

In: a compiled model, its qpos, a camera. Out: an image. MuJoCo's own renderer needs OpenGL, which many a server lacks;
this one needs Pillow alone, and gives the same picture on every machine. Shapes are convex, so their facets that face
away are left out; the others are sorted by distance (painter's algorithm).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.spatial import ConvexHull

from haloid.errors import HaloidError
from haloid.report.shapes import outline_points

SIZE_PX = (960, 544)
"""Multiples of 16, as video codecs want them."""
OVERSAMPLING = 2
"""Facets have hard edges; drawn larger and averaged they are smooth."""
_GROUND, _LINE, _SHADOW, _INK = (238, 240, 243), (214, 219, 224), (203, 208, 214), (28, 33, 38)
_GHOST = (0, 114, 178)
_GHOST_OPACITY = 0.32
_LIGHT_W = np.array([0.6, -0.25, 0.76]) / np.linalg.norm([0.6, -0.25, 0.76])
_GRID_M = 0.5
_GRID_REACH_M = 6.0
_AROUND = 12
"""Facets around a round shape."""


@dataclass(frozen=True)
class Camera:
    """Looks at a point from a distance; azimuth 0 looks along +x, elevation is positive from above."""

    at_w_m: np.ndarray
    distance_m: float = 3.0
    azimuth_deg: float = 130.0
    elevation_deg: float = 12.0
    field_of_view_deg: float = 34.0
    """Vertical."""

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Where it is, and its right, up and forward in the world."""
        azimuth, elevation = np.radians([self.azimuth_deg, self.elevation_deg])
        forward = np.array(
            [np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), -np.sin(elevation)]
        )
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        return self.at_w_m - self.distance_m * forward, right, np.cross(right, forward), forward

    def project(self, points_w_m: np.ndarray, size_px: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """(…, 2) pixels and (…) depth of points."""
        place, right, up, forward = self.axes
        offset = points_w_m - place
        depth = np.maximum(offset @ forward, 1e-3)
        focal = size_px[1] / 2 / np.tan(np.radians(self.field_of_view_deg) / 2)
        x = size_px[0] / 2 + focal * (offset @ right) / depth
        y = size_px[1] / 2 - focal * (offset @ up) / depth
        return np.stack([x, y], axis=-1), depth


class RobotScene:
    """One robot's facets, ready to be drawn in many poses."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        geoms = [geom for geom in range(model.ngeom) if model.geom_bodyid[geom] > 0]
        shown = [geom for geom in geoms if model.geom_group[geom] < 3] or geoms  # 3 and up: MuJoCo's collision shapes
        if not shown:
            raise HaloidError("the robot has no shapes to draw; give its links geoms")
        facets = [_facets(model, geom) for geom in shown]
        self._points_in_geom_m = np.concatenate([points for points, _ in facets])
        self._normals_in_geom = np.concatenate([normals for _, normals in facets])
        self._geom = np.repeat(shown, [len(points) for points, _ in facets])
        self._corners = [np.unique(points.reshape(-1, 3), axis=0) for points, _ in facets]
        self._shown = shown
        self._colour = np.array([_colour(model, geom) for geom in shown]).repeat([len(p) for p, _ in facets], axis=0)

    def draw(
        self, qpos: np.ndarray, camera: Camera, ghost_qpos: np.ndarray | None = None, text: str = ""
    ) -> Image.Image:
        """The robot on a floor, and another pose of it as a ghost behind."""
        size = (SIZE_PX[0] * OVERSAMPLING, SIZE_PX[1] * OVERSAMPLING)
        image = Image.new("RGB", size, _GROUND)
        canvas = ImageDraw.Draw(image)
        _floor(canvas, camera, size)
        if ghost_qpos is not None:
            layer = image.copy()
            self._pose(ghost_qpos)
            for outline in self._outlines(camera, size):
                ImageDraw.Draw(layer).polygon(outline, fill=_GHOST)
            image = Image.blend(image, layer, _GHOST_OPACITY)
            canvas = ImageDraw.Draw(image)
        self._pose(qpos)
        for outline in self._outlines(camera, size, on_floor=True):
            canvas.polygon(outline, fill=_SHADOW)
        self._paint(canvas, camera, size)
        if text:
            font = ImageFont.load_default(size=17 * OVERSAMPLING)
            canvas.multiline_text((20 * OVERSAMPLING, 16 * OVERSAMPLING), text, fill=_INK, font=font)
        return image.reduce(OVERSAMPLING)

    def _pose(self, qpos: np.ndarray) -> None:
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)

    def _paint(self, canvas: ImageDraw.ImageDraw, camera: Camera, size: tuple[int, int]) -> None:
        """Shaded facets, far ones first."""
        turn = self._data.geom_xmat[self._geom].reshape(-1, 3, 3)
        points_w = np.einsum("fij,fpj->fpi", turn, self._points_in_geom_m) + self._data.geom_xpos[self._geom][:, None]
        normals_w = np.einsum("fij,fj->fi", turn, self._normals_in_geom)
        towards_camera = camera.axes[0] - points_w.mean(axis=1)
        faces = np.flatnonzero(np.einsum("fi,fi->f", normals_w, towards_camera) > 0)
        pixels, depth = camera.project(points_w[faces], size)
        shade = 0.8 + 0.45 * np.clip(normals_w[faces] @ _LIGHT_W, -0.6, 1.0)
        colours = (255 * np.clip(self._colour[faces] * shade[:, None], 0, 1)).astype(int)
        for face in np.argsort(-depth.mean(axis=1)):
            canvas.polygon(pixels[face].ravel().tolist(), fill=tuple(colours[face].tolist()))

    def _outlines(self, camera: Camera, size: tuple[int, int], *, on_floor: bool = False) -> Iterator[list[float]]:
        """Every shape as one polygon in the picture: itself, or the shadow it throws."""
        for geom, corners in zip(self._shown, self._corners, strict=True):
            points_w = corners @ self._data.geom_xmat[geom].reshape(3, 3).T + self._data.geom_xpos[geom]
            if on_floor:
                points_w = points_w - points_w[:, 2:] / _LIGHT_W[2] * _LIGHT_W
            pixels = camera.project(points_w, size)[0]
            yield pixels[ConvexHull(pixels, qhull_options="QJ").vertices].ravel().tolist()


def _floor(canvas: ImageDraw.ImageDraw, camera: Camera, size: tuple[int, int]) -> None:
    """A grid that stays where it is while the camera moves along."""
    middle = np.round(camera.at_w_m[:2] / _GRID_M) * _GRID_M
    ticks = np.arange(-_GRID_REACH_M, _GRID_REACH_M + _GRID_M / 2, _GRID_M)
    place, _, _, forward = camera.axes
    for along in (0, 1):
        for tick in ticks:
            steps = np.linspace(-_GRID_REACH_M, _GRID_REACH_M, 49)
            line = np.zeros((len(steps), 3))
            line[:, along], line[:, 1 - along] = middle[along] + steps, middle[1 - along] + tick
            line = line[(line - place) @ forward > 0.2]  # nothing behind the camera
            if len(line) > 1:
                canvas.line(camera.project(line, size)[0].ravel().tolist(), fill=_LINE, width=OVERSAMPLING)


def _facets(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, np.ndarray]:
    """(facets, 3, 3) corners and (facets, 3) outward normals of the geom's convex hull, in its own frame."""
    points = outline_points(model, geom, _AROUND)
    hull = ConvexHull(points)
    return points[hull.simplices], hull.equations[:, :3]


def _colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    material = model.geom_matid[geom]
    return model.mat_rgba[material, :3] if material >= 0 else model.geom_rgba[geom, :3]
