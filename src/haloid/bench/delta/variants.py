"""The variants of ASAP's ablations (ablations.py): each learns a delta action model with one setting changed.

In: the benchmark's settings and a seed. Out: a row for each variant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from haloid.bench.delta.ablations import DATA_SETS, WHOLE
from haloid.bench.delta.rollouts import controlled_rollouts
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.fast import FastConfig, fit_fast
from haloid.gap.delta.learn import corrected_columns
from haloid.gap.replays.data import RealData
from haloid.gap.replays.open_loop import ERRORS, open_loop
from haloid.gap.replays.simulator import States
from haloid.skills.task.robot import tracked_robot

if TYPE_CHECKING:
    from haloid.bench.delta.ablations import AsapAblations

LENGTH_S = 1.0


class Variants:
    def __init__(self, config: AsapAblations, seed: int, say: Callable[[str], None]) -> None:
        self._config, self._seed, self._say = config, seed, say
        self._robot = tracked_robot()
        fast = FastConfig(
            transitions=config.transitions,
            windows=config.windows,
            passes=config.passes,
            seed=seed,
            threads=config.threads,
        )
        self._settings: dict[str, tuple[FastConfig | None, int | None]] = {
            "OpenLoop": (None, None),
            WHOLE: (fast, None),
        }
        """Of each variant: how it learns, and how many clips of each motion from; None: all."""
        self._settings |= {f"{clips} clips": (fast, clips) for clips in config.sizes}
        self._settings |= {f"horizon {long:g} s": (replace(fast, horizon_s=long), None) for long in config.horizons_s}
        self._settings |= {f"penalty {weight:g}": (replace(fast, penalty=weight), None) for weight in config.penalties}

    @property
    def names(self) -> list[str]:
        return list(self._settings)

    def measured(self, name: str) -> dict[str, Any]:
        self._say(name)
        fast, clips = self._settings[name]
        learned, new_clips, new_motions = self._data
        if clips is not None:
            learned = first_clips(learned, clips)
        action, delta_rad = None, np.zeros(1)
        if fast is not None:
            network = fit_fast(self._robot, learned, corrected_columns(self._robot, "all"), fast)
            action = DeltaAction(network, self._robot.default_joint_pos_rad)
            states = States(new_motions.qpos, new_motions.qvel, new_motions.held_rad)
            delta_rad = action.delta_rad(states, new_motions.target_rad)
        row: dict[str, Any] = {
            "variant": name,
            "seed": self._seed,
            "transitions": 0 if fast is None else len(learned.transitions(with_falls=False)),
            "delta_mrad": 1e3 * float(np.abs(delta_rad).mean()),
        }
        for which, data in zip(DATA_SETS, (new_clips, new_motions), strict=True):
            (found,) = open_loop(
                self._robot,
                data,
                {name: action},
                windows=self._config.windows,
                seed=self._seed,
                lengths_s=(LENGTH_S,),
                threads=self._config.threads,
            )
            row |= {f"{which}_mm": found.mean(ERRORS[0]), f"{which}_95_mm": found.interval95(ERRORS[0])}
        return row

    @cached_property
    def _data(self) -> tuple[RealData, RealData, RealData]:
        """To learn from; new clips of the same motions; new motions."""
        config = self._config
        data = controlled_rollouts(
            config.folder,
            config.stand_in,
            tuple(dict.fromkeys((*config.learned, *config.held_out))),
            self._robot,
            clips=config.clips,
            seed=self._seed,
            threads=config.threads,
            say=self._say,
        )
        known, kept = data.of(config.learned), config.clips - config.clips // 4
        return first_clips(known, kept), first_clips(known, kept, rest=True), data.of(config.held_out)


def first_clips(data: RealData, clips: int, *, rest: bool = False) -> RealData:
    """The first `clips` of every motion, or the others."""
    chosen = np.zeros(len(data), dtype=bool)
    for source in np.unique(data.source):
        episodes = np.unique(data.episode[data.source == source])
        chosen |= np.isin(data.episode, episodes[clips:] if rest else episodes[:clips])
    return data.rows(chosen)
