"""Pictures of a robot without a graphics card: its shapes as shaded facets, drawn from far to near.

In: a compiled model, its qpos, a camera, perhaps loads. Out: an image. MuJoCo's own renderer needs OpenGL, which many
servers lack; this one needs only Pillow, and gives the same picture on every machine. Shapes are convex, so their
facets that face away are left out; the others are sorted by distance (painter's algorithm).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from haloid.errors import HaloidError
from haloid.report.pictures.loads import Ellipsoid, Load
from haloid.report.pictures.shapes import outline_points, unit_ball

SIZE_PX = (960, 544)
"""Multiples of 16, as video codecs want them."""
OVERSAMPLING = 2
"""Facets have hard edges; drawn larger and averaged they are smooth."""
_GROUND, _LINE, _SHADOW, _INK = (238, 240, 243), (214, 219, 224), (203, 208, 214), (28, 33, 38)
_GHOST = (0, 114, 178)
_GHOST_OPACITY = 0.32
LOAD_COLOUR, DOUBT_COLOUR = np.array([0.90, 0.42, 0.0]), np.array([0.80, 0.20, 0.55])
_LOAD_OPACITY, _DOUBT_OPACITY = 0.72, 0.85
_DARKEST = 0.24
_THINNEST_M = 1e-4
"""A region without extent, of a parameter that was not sought, is drawn as a disc or a dot."""
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


@dataclass(frozen=True)
class _Facets:
    """Triangles of many convex shapes, each in the frame of its body."""

    points_in_body_m: np.ndarray
    """(F, 3, 3)"""
    normals_in_body: np.ndarray
    """(F, 3) outward."""
    body: np.ndarray
    """(F,)"""
    colour: np.ndarray
    """(F, 3) from 0 to 1."""


class RobotScene:
    """One robot's facets and those of what it carries, ready to be drawn in many poses.

    A load is drawn over the robot, so that it is seen inside a torso too, and over it the region that holds its centre
    of mass with 95 % probability, `enlarged` this many times.
    """

    def __init__(self, model: mujoco.MjModel, loads: Sequence[Load] = (), enlarged: float = 1.0) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        shapes = [(int(model.geom_bodyid[geom]), _geom_in_body(model, geom)) for geom in shown_geoms(model)]
        self._corners = shapes
        colours = [colour_of(model, geom) for geom in shown_geoms(model)]
        self._robot = _facets_of(shapes, colours)
        places = [model.body(load.link).id for load in loads]
        bodies = [(body, _ellipsoid_points(load.shape)) for body, load in zip(places, loads, strict=True)]
        doubts = [(body, _ellipsoid_points(load.doubt(enlarged))) for body, load in zip(places, loads, strict=True)]
        self._loads = _facets_of(bodies, [LOAD_COLOUR] * len(bodies)) if bodies else None
        self._doubts = _facets_of(doubts, [DOUBT_COLOUR] * len(doubts)) if doubts else None

    def draw(
        self,
        qpos: np.ndarray,
        camera: Camera,
        ghost_qpos: np.ndarray | None = None,
        text: str = "",
        size_px: tuple[int, int] = SIZE_PX,
    ) -> Image.Image:
        """The robot on a floor, and another pose of it as a ghost behind."""
        size = (size_px[0] * OVERSAMPLING, size_px[1] * OVERSAMPLING)
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
        self._paint(canvas, self._robot, camera, size)
        image = self._with_loads(image, camera, size)
        if text:
            font = ImageFont.load_default(size=17 * OVERSAMPLING)
            ImageDraw.Draw(image).multiline_text((20 * OVERSAMPLING, 16 * OVERSAMPLING), text, fill=_INK, font=font)
        return image.reduce(OVERSAMPLING)

    def cut_out(self, qpos: np.ndarray, camera: Camera, size_px: tuple[int, int]) -> Image.Image:
        """The robot and its loads alone on a transparent ground, its darkest parts lightened to show on a dark page."""
        size = (size_px[0] * OVERSAMPLING, size_px[1] * OVERSAMPLING)
        image = Image.new("RGBA", size, (0, 0, 0, 0))
        self._pose(qpos)
        lighter = replace(self._robot, colour=_DARKEST + (1 - _DARKEST) * self._robot.colour)
        self._paint(ImageDraw.Draw(image), lighter, camera, size)
        return self._with_loads(image, camera, size).reduce(OVERSAMPLING)

    def place_w_m(self, qpos: np.ndarray, load: Load) -> np.ndarray:
        """(3,) where the centre of a load is in this pose."""
        self._pose(qpos)
        body = self._model.body(load.link).id
        return self._data.xmat[body].reshape(3, 3) @ load.com_in_link_m + self._data.xpos[body]

    def extent_w_m(self, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(3,) lowest and highest coordinates of the robot's shapes in this pose."""
        self._pose(qpos)
        turned = [p @ self._data.xmat[body].reshape(3, 3).T + self._data.xpos[body] for body, p in self._corners]
        points_w = np.concatenate(turned)
        return points_w.min(axis=0), points_w.max(axis=0)

    def _pose(self, qpos: np.ndarray) -> None:
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)

    def _with_loads(self, image: Image.Image, camera: Camera, size: tuple[int, int]) -> Image.Image:
        for facets, opacity in ((self._loads, _LOAD_OPACITY), (self._doubts, _DOUBT_OPACITY)):
            if facets is not None:
                layer = Image.new("RGBA", size, (0, 0, 0, 0))
                self._paint(ImageDraw.Draw(layer), facets, camera, size)
                layer.putalpha(layer.getchannel("A").point(lambda alpha, share=opacity: alpha * share))
                image = Image.alpha_composite(image.convert("RGBA"), layer).convert(image.mode)
        return image

    def _paint(self, canvas: ImageDraw.ImageDraw, facets: _Facets, camera: Camera, size: tuple[int, int]) -> None:
        """Shaded facets, far ones first."""
        turn = self._data.xmat[facets.body].reshape(-1, 3, 3)
        points_w = np.einsum("fij,fpj->fpi", turn, facets.points_in_body_m) + self._data.xpos[facets.body][:, None]
        normals_w = np.einsum("fij,fj->fi", turn, facets.normals_in_body)
        towards_camera = camera.axes[0] - points_w.mean(axis=1)
        faces = np.flatnonzero(np.einsum("fi,fi->f", normals_w, towards_camera) > 0)
        pixels, depth = camera.project(points_w[faces], size)
        shade = 0.8 + 0.45 * np.clip(normals_w[faces] @ _LIGHT_W, -0.6, 1.0)
        colours = (255 * np.clip(facets.colour[faces] * shade[:, None], 0, 1)).astype(int)
        for face in np.argsort(-depth.mean(axis=1)):
            canvas.polygon(pixels[face].ravel().tolist(), fill=tuple(colours[face].tolist()))

    def _outlines(self, camera: Camera, size: tuple[int, int], *, on_floor: bool = False) -> Iterator[list[float]]:
        """Every shape as one polygon in the picture: itself, or the shadow it throws."""
        for body, corners in self._corners:
            points_w = corners @ self._data.xmat[body].reshape(3, 3).T + self._data.xpos[body]
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


def _facets_of(shapes: Sequence[tuple[int, np.ndarray]], colours: Sequence[np.ndarray]) -> _Facets:
    """The hulls of points in the frames of their bodies."""
    hulls = [ConvexHull(points) for _, points in shapes]
    counts = [len(hull.simplices) for hull in hulls]
    return _Facets(
        points_in_body_m=np.concatenate(
            [points[hull.simplices] for (_, points), hull in zip(shapes, hulls, strict=True)]
        ),
        normals_in_body=np.concatenate([hull.equations[:, :3] for hull in hulls]),
        body=np.repeat([body for body, _ in shapes], counts),
        colour=np.repeat(np.array(colours), counts, axis=0),
    )


def _geom_in_body(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """(n, 3) points whose hull is the geom."""
    turn = Rotation.from_quat(model.geom_quat[geom], scalar_first=True)
    return turn.apply(outline_points(model, geom, _AROUND)) + model.geom_pos[geom]


def _ellipsoid_points(ellipsoid: Ellipsoid) -> np.ndarray:
    half_axes_m = np.maximum(ellipsoid.half_axes_m, _THINNEST_M)
    return (unit_ball(2 * _AROUND) * half_axes_m) @ ellipsoid.axes.T + ellipsoid.centre_m


def shown_geoms(model: mujoco.MjModel) -> list[int]:
    """What there is to see of a robot: all its shapes but those of MuJoCo's groups for collisions, 3 and up."""
    geoms = [geom for geom in range(model.ngeom) if model.geom_bodyid[geom] > 0]
    shown = [geom for geom in geoms if model.geom_group[geom] < 3] or geoms
    if not shown:
        raise HaloidError("the robot has no shapes to draw; give its links geoms")
    return shown


def colour_of(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """(3,) from 0 to 1."""
    material = model.geom_matid[geom]
    return model.mat_rgba[material, :3] if material >= 0 else model.geom_rgba[geom, :3]
