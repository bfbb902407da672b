"""What ASAP's benchmarks make of their settings: which uses are run, and which clips are learned from."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

from haloid.bench.delta.closed_loop import USES, AsapClosedLoop, run
from haloid.bench.delta.variants import first_clips
from haloid.errors import HaloidError
from haloid.gap.delta.refine import lengths_s
from haloid.gap.replays.data import RealData


def test_an_unknown_use_is_refused_before_anything_is_made(tmp_path):
    config = AsapClosedLoop(uses=("ASAP", "magic"), folder=tmp_path / "folder")
    with pytest.raises(HaloidError, match=f"there is no use magic. Choose of: {', '.join(USES)}"):
        run(config, lambda text: None)
    assert not (tmp_path / "folder").exists()


def test_first_clips_are_of_every_motion_and_the_rest_are_the_others():
    episode = np.repeat(np.arange(7), 5)
    source = np.where(episode < 4, 0, 1)
    zeros = np.zeros((len(episode), 3))
    data = RealData(zeros, zeros, zeros, zeros, episode, source, ("squat", "walk"), np.zeros(len(episode), dtype=bool))
    assert np.unique(first_clips(data, 2).episode).tolist() == [0, 1, 4, 5]
    assert np.unique(first_clips(data, 2, rest=True).episode).tolist() == [2, 3, 6]
    assert len(first_clips(data, 2)) == 20


@pytest.mark.parametrize(
    ("horizon_s", "lengths"), [(0.0, []), (0.25, [0.25]), (1.0, [0.25, 0.5, 1.0]), (1.5, [0.25, 0.5, 1.0, 1.5])]
)
def test_windows_grow_up_to_the_horizon(horizon_s, lengths):
    assert lengths_s(horizon_s) == lengths
