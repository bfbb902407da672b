"""Films: as long as the show, and something moves in them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from haloid.view.film import GIF_FRAMES_PER_S, write_film
from haloid.view.open import open_show
from haloid.view.show import Show


@pytest.fixture(scope="module")
def second_of_squat() -> Show:
    show = open_show("squat")
    rows = slice(50, 101)
    return replace(show, time_s=show.time_s[:51], robots={name: q[rows] for name, q in show.robots.items()})


def test_a_gif_lasts_as_long_as_its_show(second_of_squat: Show, tmp_path: Path):
    write_film(second_of_squat, tmp_path / "squat.gif")
    with Image.open(tmp_path / "squat.gif") as film:
        frames = [np.asarray(film.convert("RGB")).astype(int) for _ in iterate(film)]
    assert len(frames) == round(second_of_squat.duration_s * GIF_FRAMES_PER_S) + 1
    assert np.abs(frames[-1] - frames[0]).max() > 100


def iterate(film: Image.Image):
    for frame in range(film.n_frames):  # pyright: ignore[reportAttributeAccessIssue]
        film.seek(frame)
        yield frame


@pytest.mark.slow
def test_an_mp4_can_be_read_again(second_of_squat: Show, tmp_path: Path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    write_film(second_of_squat, tmp_path / "squat.mp4")
    frames, seconds = ffmpeg.count_frames_and_secs(str(tmp_path / "squat.mp4"))
    assert frames == 26
    assert seconds == pytest.approx(1.04, abs=0.05)
