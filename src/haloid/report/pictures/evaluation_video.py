"""A film of one run of an evaluation: the robot, and the reference as a ghost.

In: an evaluation and the robot it was made on. Out: an mp4. The run shown is the one in the middle by its error, so
that it is neither the best nor the worst; the caption says which it is and how it ended.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.extras import install_command
from haloid.outputs import atomic_file
from haloid.report.pictures.robot_scene import SIZE_PX, Camera, RobotScene
from haloid.skills.evaluation.evaluate import Evaluation
from haloid.skills.evaluation.metrics import FAILURE_M
from haloid.skills.evaluation.runs import frames_of
from haloid.skills.task.reference import CONTROL_HZ

FRAMES_PER_S = 25
AFTER_FAILURE_S = 0.5
"""A film ends soon after a failure: nothing but the soles touches the floor, so a fall goes on below it."""
SMOOTHING_S = 0.6
"""The camera follows the root this slowly, or every step would shake it."""


def typical_run(evaluation: Evaluation) -> int:
    """The run in the middle when sorted by failure, then by global body error."""
    order = sorted(
        range(len(evaluation.runs)),
        key=lambda row: (-evaluation.metrics[row].survival, evaluation.metrics[row].e_g_mpjpe_mm),
    )
    return order[len(order) // 2]


def check_video(path: Path) -> None:
    """Raise unless a video could be written there, before any work is done."""
    if path.suffix.lower() != ".mp4":
        raise HaloidError(f"{path} is not a video. Expected a file that ends in .mp4")
    if find_spec("imageio_ffmpeg") is None:
        raise HaloidError(f"a video needs the package imageio-ffmpeg: {install_command('learn')}")


def write_video(
    evaluation: Evaluation,
    model: mujoco.MjModel,
    path: Path,
    say: Callable[[str], None] = lambda detail: None,
) -> None:
    """Film the typical run, whole or not at all."""
    check_video(path)
    from imageio_ffmpeg import write_frames

    number = typical_run(evaluation)
    run = evaluation.runs[number]
    reference = frames_of(evaluation.reference, run)
    ghost = np.concatenate([reference.body_pos_w[:, 0], reference.body_quat_w[:, 0], reference.joint_pos], axis=1)
    error_m, scene = evaluation.body_error_m(run), RobotScene(model)
    stride = round(CONTROL_HZ / FRAMES_PER_S)
    centre = _smooth(reference.body_pos_w[:, 0])
    end = len(run.poses) if run.failed_row is None else run.failed_row + round(AFTER_FAILURE_S * CONTROL_HZ)
    rows = range(0, min(end, len(run.poses)), stride)
    with atomic_file(path) as beside:
        film = write_frames(str(beside), SIZE_PX, fps=FRAMES_PER_S, quality=7, output_params=["-f", "mp4"])
        film.send(None)
        try:
            for row in rows:
                state = "" if run.failed_row is None or row < run.failed_row else f"   failed (over {FAILURE_M} m)"
                text = f"{evaluation.motion}, run {number + 1} of {len(evaluation.runs)}\n"
                text += f"{row / CONTROL_HZ:.2f} s   {1e3 * error_m[row]:.0f} mm{state}"
                image = scene.draw(run.qpos[row], Camera(np.append(centre[row, :2], 0.68)), ghost[row], text)
                film.send(np.asarray(image).tobytes())
                say(f"second {row / CONTROL_HZ:.0f} of {rows[-1] / CONTROL_HZ:.0f}")
        except OSError as error:
            raise HaloidError(f"ffmpeg ended while it wrote {path}: {error}. Is there room on the disk?") from error
        finally:
            film.close()


def _smooth(path_m: np.ndarray) -> np.ndarray:
    """A centred moving average; the ends are held."""
    half = round(SMOOTHING_S * CONTROL_HZ / 2)
    padded = np.concatenate([path_m[:1].repeat(half, axis=0), path_m, path_m[-1:].repeat(half, axis=0)])
    kernel = np.ones(2 * half + 1) / (2 * half + 1)
    return np.stack([np.convolve(padded[:, axis], kernel, mode="valid") for axis in range(3)], axis=1)
