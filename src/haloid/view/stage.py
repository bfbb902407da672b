"""A robot in viser's scene: its shapes once, then any number of poses, its load, and a ghost beside it."""

from collections.abc import Sequence

import mujoco
import numpy as np
import viser

from haloid.report.pictures.loads import Load
from haloid.view.shapes import Triangles, body_shapes, ellipsoid_triangles

GHOST_RGB, LOAD_RGB, DOUBT_RGB = (74, 168, 232), (230, 90, 0), (204, 51, 140)
GHOST_OPACITY, LOAD_OPACITY, DOUBT_OPACITY = 0.35, 0.7, None
GRID_RGB = (150, 155, 160)
"""Seen on white and on a dark page."""

BESIDE_M = -0.9
"""Where a ghost stands beside its robot, along y."""
GHOST_PLACES = ("beside", "in the same place", "hidden")


class StagedRobot:
    """One robot under a node of its own."""

    def __init__(self, scene: viser.SceneApi, name: str, model: mujoco.MjModel, *, ghost: bool = False) -> None:
        self._scene, self._name, self._model, self._data = scene, name, model, mujoco.MjData(model)
        self.root = scene.add_frame(f"/{name}", show_axes=False)
        shapes = body_shapes(model)
        self._bodies = {body: scene.add_frame(self._node(body), show_axes=False) for body in range(1, model.nbody)}
        for body, triangles in shapes.items():
            for number, shape in enumerate(triangles):
                rgb, opacity = (GHOST_RGB, GHOST_OPACITY) if ghost else (shape.rgb, None)
                self._add(f"{self._node(body)}/shape{number}", shape, rgb, opacity)

    def pose(self, qpos: np.ndarray) -> None:
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        for body, frame in self._bodies.items():
            frame.position = self._data.xpos[body]
            frame.wxyz = self._data.xquat[body]

    def add_loads(self, loads: Sequence[Load], enlarged: float) -> list[viser.MeshHandle | viser.LabelHandle]:
        """The loads, the regions of their centres of mass, and labels that are seen through the robot too."""
        handles: list[viser.MeshHandle | viser.LabelHandle] = []
        for load in loads:
            node = self._node(self._model.body(load.link).id)
            shape, doubt = (
                ellipsoid_triangles(load.shape, LOAD_RGB),
                ellipsoid_triangles(load.doubt(enlarged), DOUBT_RGB),
            )
            handles.append(self._add(f"{node}/load", shape, LOAD_RGB, LOAD_OPACITY))
            handles.append(self._add(f"{node}/doubt", doubt, DOUBT_RGB, DOUBT_OPACITY))
            text = f"{load.mass_kg:.2f} kg"
            handles.append(self._scene.add_label(f"{node}/label", text, position=load.com_in_link_m))
        return handles

    def _node(self, body: int) -> str:
        return f"/{self._name}/body{body}"

    def _add(self, node: str, shape: Triangles, rgb: tuple[int, int, int], opacity: float | None) -> viser.MeshHandle:
        return self._scene.add_mesh_simple(
            node,
            shape.vertices_m.astype(np.float32),
            shape.faces.astype(np.uint32),
            color=rgb,
            opacity=opacity,
            flat_shading=False,
        )


def set_up(server: viser.ViserServer, model: mujoco.MjModel, qpos: np.ndarray, *, ghost: bool) -> None:
    """Floor, light and a camera that has the whole robot in view, and the ghost beside it."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    low, high = data.xpos[1:].min(axis=0), data.xpos[1:].max(axis=0)
    middle, height = (low + high) / 2, float(max(high[2] - low[2], 0.5))
    server.scene.set_up_direction("+z")
    server.scene.configure_environment_map(hdri=None)
    server.scene.add_light_ambient("/light/ambient", intensity=1.0)
    server.scene.add_light_hemisphere(
        "/light/sky", sky_color=(255, 255, 255), ground_color=(150, 150, 150), intensity=1.5
    )
    server.scene.add_grid(
        "/floor",
        cell_size=0.5,
        cell_color=GRID_RGB,
        cell_thickness=0.5,
        section_size=1.0,
        section_color=GRID_RGB,
        infinite_grid=True,
        fade_distance=15.0,
    )
    server.initial_camera.up = (0.0, 0.0, 1.0)
    # the panel covers the right of the window
    _aim(server.initial_camera, middle + height * np.array([0.0, 0.12 if ghost else 0.3, 0.0]), height)

    @server.on_client_connect
    def _(client: viser.ClientHandle) -> None:
        if client.camera.aspect < 1:  # a phone, whose panel covers the lower half
            below = np.array([0.0, BESIDE_M / 2 if ghost else 0.0, -0.75 * height])
            _aim(client.camera, middle + below, 1.5 * height)


def _aim(camera: viser.CameraHandle | viser.InitialCameraConfig, at_m: np.ndarray, height_m: float) -> None:
    """From the front and a little from its right, as far away as so much height needs."""
    camera.position = at_m + height_m * np.array([2.1, -0.4, 0.35])
    camera.look_at = at_m


def place_choice(gui: viser.GuiApi, ghost: StagedRobot, label: str) -> None:
    """Where the ghost is, for the reader to choose; beside the robot at first."""
    place = gui.add_dropdown(label, GHOST_PLACES)
    ghost.root.position = (0.0, BESIDE_M, 0.0)

    @place.on_update
    def _(event: viser.GuiEvent) -> None:
        ghost.root.visible = place.value != "hidden"
        ghost.root.position = (0.0, BESIDE_M if place.value == "beside" else 0.0, 0.0)
