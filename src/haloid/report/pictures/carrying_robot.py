"""The robot and what it carries, from the front and from its side, as a fraction of a report.

In: a loaded recording and the payload that was found. Out: a `Picture` with the robot in the recording's first pose,
each load where it was found, and the region that holds its centre of mass with 95 % probability.
"""

import io
from collections.abc import Sequence

import numpy as np

from haloid.identify.results.answer import PayloadEstimate
from haloid.recordings.recording import Recording
from haloid.report.html.palette import SERIES
from haloid.report.html.parts import Mark, Picture, View
from haloid.report.pictures.loads import DENSITY_KG_M3, Load, enlargement, loads_of
from haloid.report.pictures.robot_scene import Camera, RobotScene
from haloid.report.quantities import with_error_bar
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec

SIZE_PX = (440, 600)
AZIMUTHS_DEG = {"from the front": 180.0, "from its right": 90.0}
LOAD, DOUBT = SERIES[1], SERIES[3]
_DISTANCE_M = 8.0
_MARGIN = 1.16
"""Of the picture, over the robot's height or width."""
_BADGE_AWAY_PX = 64.0


def carrying_robot(recording: Recording, payload: Sequence[PayloadEstimate]) -> Picture:
    model = clamp(load_spec(recording.robot), recording.clamp, recording.clamp_pose).compile()
    qpos = model.qpos0.copy()
    qpos[[model.joint(name).qposadr[0] for name in recording.joint_names]] = recording.q_rad[0]
    loads = loads_of(payload)
    times = enlargement(loads)
    scene = RobotScene(model, loads, times)
    views = [_view(scene, qpos, _camera(scene, qpos, azimuth), loads, title) for title, azimuth in AZIMUTHS_DEG.items()]
    region = "95 % region of its centre of mass" + (f", enlarged {times} times" if times > 1 else "")
    return Picture(views, _caption(recording, loads), {"payload": LOAD, region: DOUBT} if loads else {})


def _caption(recording: Recording, loads: Sequence[Load]) -> str:
    if not loads:
        return f"The robot at the beginning of {recording.name}. No payload with a weight and a place was found."
    named = [
        f"{_letter(k)}: {with_error_bar(load.mass_kg, load.half95_kg)} kg at {load.link}"
        for k, load in enumerate(loads)
    ]
    drawn = (
        ""
        if any(load.inertia_about_com is not None for load in loads)
        else (f" A payload is drawn as a steel ball of its mass ({DENSITY_KG_M3:.0f} kg/m³).")
    )
    return f"{'; '.join(named)}. The robot is in the first pose of {recording.name}.{drawn}"


def _camera(scene: RobotScene, qpos: np.ndarray, azimuth_deg: float) -> Camera:
    """Far away, with all of the robot in view; the same for every azimuth."""
    low, high = scene.extent_w_m(qpos)
    half_m = _MARGIN * max(high[2] - low[2], (high - low)[:2].max() * SIZE_PX[1] / SIZE_PX[0]) / 2
    field_deg = float(np.degrees(2 * np.arctan(half_m / _DISTANCE_M)))
    return Camera((low + high) / 2, _DISTANCE_M, azimuth_deg, 4.0, field_deg)


def _view(scene: RobotScene, qpos: np.ndarray, camera: Camera, loads: Sequence[Load], title: str) -> View:
    file = io.BytesIO()
    scene.cut_out(qpos, camera, SIZE_PX).save(file, "PNG", optimize=True)
    marks = []
    for number, load in enumerate(loads):
        (x, y), _ = camera.project(scene.place_w_m(qpos, load), SIZE_PX)
        outwards = 1.0 if x >= SIZE_PX[0] / 2 else -1.0
        marks.append(
            Mark(_letter(number), (float(x), float(y)), (float(x + outwards * _BADGE_AWAY_PX), float(y) - 26.0))
        )
    return View(title, file.getvalue(), SIZE_PX, _apart(marks))


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """Letters that would cover each other are moved down, one below the other."""
    placed: list[Mark] = []
    for mark in marks:
        x, y = mark.at_px
        while any(abs(x - other.at_px[0]) < 28 and abs(y - other.at_px[1]) < 28 for other in placed):
            y += 30.0
        placed.append(Mark(mark.letter, mark.points_at_px, (x, y)))
    return placed


def _letter(number: int) -> str:
    return chr(ord("A") + number % 26)
