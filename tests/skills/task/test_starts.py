"""Where episodes start."""

import numpy as np
import pytest
from tests.skills.task.test_reference import cut

from haloid.skills.task.reference import reference_of
from haloid.skills.task.starts import AdaptiveSampling


@pytest.fixture
def reference(robot, motion):
    return reference_of(robot, [motion])


def test_without_failures_every_part_is_as_likely(reference):
    sampling = AdaptiveSampling(reference)
    frames = sampling.draw(np.random.default_rng(1), 20_000)
    assert (frames.min(), frames.max()) == (0, 178)  # never the last of 180
    counts = np.histogram(frames, bins=6, range=(0, 179))[0]
    assert counts == pytest.approx(20_000 / 6, rel=0.08)


def test_parts_that_fail_are_drawn_more_often_in_proportion(reference):
    """180 frames are four bins of 45; level by level as the moving average says."""
    sampling, level = AdaptiveSampling(reference), np.zeros(4)
    for step in range(400):
        if step % 2:
            sampling.failed_at(np.array([50, 60, 100]))
        sampling.end_step()
        level = 0.999 * level + 0.001 * (np.array([0, 2, 1, 0]) if step % 2 else 0)
    expected = (level + 0.1 / 4) / np.sum(level + 0.1 / 4)
    np.testing.assert_allclose(sampling.probabilities, expected, rtol=1e-12)
    assert expected[1] > 3 * expected[0]
    frames = sampling.draw(np.random.default_rng(2), 20_000)
    drawn = np.histogram(frames, bins=4, range=(0, 179))[0] / 20_000
    np.testing.assert_allclose(drawn, expected, atol=0.015)


def test_failures_count_in_their_own_step_only(reference):
    sampling = AdaptiveSampling(reference)
    sampling.failed_at(np.array([0]))
    sampling.end_step()
    once = sampling.failure_level.copy()
    sampling.end_step()
    np.testing.assert_allclose(sampling.failure_level, 0.999 * once)


def test_it_may_be_turned_off(reference):
    sampling = AdaptiveSampling(reference, adaptive=False)
    for _ in range(100):
        sampling.failed_at(np.full(50, 100))
        sampling.end_step()
    np.testing.assert_allclose(sampling.probabilities, 0.25)


def test_a_motion_that_always_fails_takes_no_starts_from_the_others(robot, motion):
    reference = reference_of(robot, [cut(motion, 0, 120), cut(motion, 0, 60)])
    sampling = AdaptiveSampling(reference)
    for _ in range(300):
        sampling.failed_at(np.full(40, 130))
        sampling.end_step()
    frames = sampling.draw(np.random.default_rng(4), 20_000)
    assert np.mean(frames < 120) == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(np.histogram(frames[frames < 120], bins=3, range=(0, 119))[0], 10_000 / 3, rtol=0.1)
    assert np.mean(frames[frames >= 120] < 150) > 0.9


def test_no_episode_starts_in_the_last_frame_of_any_motion(robot, motion):
    reference = reference_of(robot, [cut(motion, 0, 3), cut(motion, 0, 2), cut(motion, 0, 4)])
    frames = AdaptiveSampling(reference).draw(np.random.default_rng(3), 2000)
    assert set(frames.tolist()) == {0, 1, 3, 5, 6, 7}
