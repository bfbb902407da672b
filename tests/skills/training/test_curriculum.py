"""From gentle to rough."""

import pytest

from haloid.skills.task.difficulty import Difficulty
from haloid.skills.training.curriculum import Curriculum


def test_it_begins_gently():
    assert Curriculum().difficulty == Difficulty(reset=0.05, push=0.0, noise=1.0, termination=1.2, randomisation=0.1)


def test_it_rises_while_robots_stand_and_ends_with_mjlabs_difficulty():
    curriculum = Curriculum()
    levels = []
    for _ in range(60):
        curriculum.update(failures_per_s=0.1)
        levels.append(curriculum.level)
    assert levels[:3] == pytest.approx([0.02, 0.04, 0.06])
    assert levels[-1] == 1.0
    assert curriculum.difficulty == Difficulty()


def test_it_falls_while_they_fall_and_waits_between():
    curriculum = Curriculum(level=0.025)
    curriculum.update(failures_per_s=0.4)
    assert curriculum.level == 0.025
    for expected in (0.015, 0.005, 0.0, 0.0):
        curriculum.update(failures_per_s=0.7)
        assert curriculum.level == pytest.approx(expected)


def test_it_may_end_earlier():
    curriculum = Curriculum(hardest=0.1)
    for _ in range(5):
        curriculum.update(failures_per_s=0.0)
    assert curriculum.level == 0.1
    assert curriculum.difficulty.push == pytest.approx(0.1)
    assert curriculum.difficulty.termination == pytest.approx(1.18)
    assert curriculum.difficulty.randomisation == pytest.approx(0.19)


def test_the_noise_does_not_change():
    assert Curriculum(noise=0.3, level=0.0).difficulty.noise == Curriculum(noise=0.3, level=1.0).difficulty.noise == 0.3


def test_robots_grow_different_in_few_stages():
    """To change all bodies takes long."""
    curriculum, widths = Curriculum(), []
    for _ in range(60):
        widths.append(curriculum.difficulty.randomisation)
        curriculum.update(0.0)
    assert len(set(widths)) == 6
    assert widths == sorted(widths)
    assert (widths[0], widths[-1]) == pytest.approx((0.1, 1.0))
