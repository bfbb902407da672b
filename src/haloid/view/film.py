"""A show as a film, mp4 or gif, drawn without a graphics card."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image
from scipy.ndimage import uniform_filter1d

from haloid.errors import HaloidError
from haloid.extras import install_command
from haloid.outputs import atomic_file
from haloid.report.pictures.loads import enlargement
from haloid.report.pictures.robot_scene import SIZE_PX, Camera, RobotScene
from haloid.view.show import Show

MP4_FRAMES_PER_S = 25
GIF_FRAMES_PER_S = 10
GIF_SIZE_PX = (480, 272)
GIF_COLOURS = 64
FILMS = (".mp4", ".gif")
SMOOTHING_S = 1.0
"""The camera follows the robot this slowly, or every step would shake it."""


def write_film(show: Show, path: Path, say: Callable[[str], None] = lambda detail: None) -> None:
    """Write the film, whole or not at all."""
    check_film(path)
    with atomic_file(path) as beside:
        if path.suffix.lower() == ".gif":
            _write_gif(show, beside, say)
        else:
            _write_mp4(show, beside, say)


def check_film(path: Path) -> None:
    """Raise unless a film could be written, before any work is done."""
    if path.suffix.lower() == ".mp4" and find_spec("imageio_ffmpeg") is None:
        raise HaloidError(
            f"an mp4 needs the package imageio-ffmpeg: {install_command('view')}; a gif (--export NAME.gif) needs none"
        )


def _write_mp4(show: Show, file: Path, say: Callable[[str], None]) -> None:
    from imageio_ffmpeg import write_frames

    film = write_frames(str(file), SIZE_PX, fps=MP4_FRAMES_PER_S, quality=7, output_params=["-f", "mp4"])
    film.send(None)
    try:
        for image in _frames(show, MP4_FRAMES_PER_S, SIZE_PX, say):
            film.send(np.asarray(image).tobytes())
    except OSError as error:
        raise HaloidError(f"ffmpeg ended while it wrote the film: {error}. Is there room on the disk?") from error
    finally:
        film.close()


def _write_gif(show: Show, file: Path, say: Callable[[str], None]) -> None:
    frames = list(_frames(show, GIF_FRAMES_PER_S, GIF_SIZE_PX, say))
    palette = frames[0].quantize(GIF_COLOURS)
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    every_ms = round(1000 / GIF_FRAMES_PER_S)
    flat[0].save(file, "GIF", save_all=True, append_images=flat[1:], duration=every_ms, loop=0, optimize=True)


def _frames(
    show: Show, frames_per_s: float, size_px: tuple[int, int], say: Callable[[str], None]
) -> Iterator[Image.Image]:
    loads = list(show.loads) if show.first_robot in show.loaded else []
    scene = RobotScene(show.model, loads, enlargement(loads))
    poses = show.robots[show.first_robot]
    ghost = None if show.ghost is None else show.ghost[1]
    middle_m = _middles(show)
    times_s = np.arange(0.0, show.duration_s + 1e-9, 1 / frames_per_s)
    for time_s in times_s:
        row = show.row_at(float(time_s))
        text = f"{show.title}\n{show.first_robot}, {time_s:.1f} s" if size_px == SIZE_PX else ""
        yield scene.draw(poses[row], Camera(middle_m[row]), None if ghost is None else ghost[row], text, size_px)
        say(f"second {time_s:.0f} of {times_s[-1]:.0f}")


def _middles(show: Show) -> np.ndarray:
    """(T, 3) where the camera looks: the robot's root, smoothly, at half its first height."""
    data, rows = mujoco.MjData(show.model), len(show.time_s)
    middles = np.empty((rows, 3))
    for row, qpos in enumerate(show.robots[show.first_robot]):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(show.model, data)
        low, high = data.xpos[1:].min(axis=0), data.xpos[1:].max(axis=0)
        middles[row] = (low + high) / 2
    middles[:, 2] = middles[0, 2]
    window = max(round(SMOOTHING_S / float(np.median(np.diff(show.time_s)))), 1) if rows > 1 else 1
    return uniform_filter1d(middles, window, axis=0, mode="nearest")
