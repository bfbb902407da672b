from dataclasses import replace

import numpy as np
import pytest
from tests.recordings.double_support import RIGHT, noisy_run
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.recordings.errors import RecordingError
from haloid.recordings.reconstruction.resting_foot import resting_foot

RUN, TRUTH = noisy_run()
FOOT = resting_foot(RUN)


def test_the_true_foot_is_on_the_floor():
    """Within what the lab's floor gives way."""
    assert FOOT.link == RIGHT
    assert np.abs(FOOT.heights_m(TRUTH.playback.q_rad)[:, 0]).max() < 1.5e-3


def test_the_zero_configuration_stands_flat():
    np.testing.assert_allclose(FOOT.heights_m(np.zeros((1, 29))), 0.0, atol=1e-9)


def test_only_legs_move_the_foot():
    names = [RUN.joint_names[column] for column in FOOT.lower_body]
    assert len(names) == 12
    assert all(any(part in name for part in ("hip", "knee", "ankle")) for name in names)


def test_slopes_are_those_of_the_heights():
    angles = RUN.q_rad[17]
    heights_m, slopes = FOOT.linearised(angles)
    np.testing.assert_allclose(heights_m, FOOT.heights_m(angles[None])[0], atol=1e-15)
    step = 1e-6
    steps = np.concatenate([angles + step * np.eye(29), angles - step * np.eye(29)])
    plus, minus = np.split(FOOT.heights_m(steps), 2)
    np.testing.assert_allclose(slopes, (plus - minus).T / (2 * step), atol=1e-9)


def test_the_floor_is_under_the_clamped_foot_wherever_that_is():
    pose = np.array([0.3, -0.2, 1.0, 1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(
        resting_foot(replace(RUN, clamp_pose=pose)).heights_m(RUN.q_rad), FOOT.heights_m(RUN.q_rad), atol=1e-12
    )


def test_single_support_is_refused_with_words():
    with pytest.raises(RecordingError) as caught:
        resting_foot(replace(RUN, support="single"))
    assert_words(str(caught.value), 'support is "single": no foot rests on the floor', 'support "double"')
    with pytest.raises(HaloidError, match="the clamp is 'pelvis'"):
        resting_foot(replace(RUN, clamp="pelvis"))
