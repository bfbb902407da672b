"""A training small enough for tests: half a second of standing, a handful of robots, tiny networks."""

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.skills.task.test_reference import cut

from haloid.motions.load import load_motion
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.ppo import PpoConfig
from haloid.trajectories.motion_export import write_motion

TINY = PpoConfig(hidden=(16, 16), steps=6, epochs=2, minibatches=2, critic_first=1)


def short_stand(folder: Path) -> str:
    """The file of a motion of 30 frames."""
    return str(write_motion(cut(load_motion("stand"), 0, 30), folder / "short-stand.npz"))


def small_training(motion: str, **settings: Any) -> TrainingConfig:
    """Settings are those of the training, or of its task."""
    config = TrainingConfig(TaskConfig((motion,), robots=8, threads=1), TINY, iterations=4, threads=1)
    of_task = {name: settings.pop(name) for name in list(settings) if name in TaskConfig.__dataclass_fields__}
    return replace(config, task=replace(config.task, **of_task), **settings)


def differing_lines(folder: Path, other: Path) -> list[int]:
    """Which lines of two trainings' metrics differ in any character, from 1; pytest is slow at showing how."""
    books = [(path / "metrics.jsonl").read_text().splitlines() for path in (folder, other)]
    pairs = enumerate(zip_longest(*books), start=1)
    return [number for number, (line, expected) in pairs if line != expected]
