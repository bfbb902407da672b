"""What the benchmarks on simulated robots share: pairs, calibrated parameters and operators, each made once.

All of it stays in a folder: a benchmark that was stopped goes on, and one finds the operators that another trained. A
seed means four robots of its own: three to learn from, and one that nothing is trained on or chosen by.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property

from haloid.bench.operator.sizes import Say, Sizes
from haloid.gap.crowd import Base, BaseModels
from haloid.gap.dataset.files import load_dataset
from haloid.gap.dataset.generate import DatasetSettings, generate
from haloid.gap.dataset.pairs import Dataset, Pair
from haloid.gap.operator.frames import Frames, build_frames
from haloid.gap.operator.model import Operator
from haloid.gap.operator.networks import NetworkConfig
from haloid.gap.operator.parameters import fit_parameters
from haloid.gap.operator.run_folder import train_operator
from haloid.gap.operator.train import TrainConfig
from haloid.robots.patch import write_patch

RATE_HZ = 50.0
PAYLOADS_KG = (0.0, 1.0, 2.0, 3.0)


class Robots:
    """Four robots, and what is learned from three of them."""

    def __init__(self, sizes: Sizes, say: Say) -> None:
        self.sizes, self._say = sizes, say
        self.folder = sizes.work / f"seed-{sizes.seed}-{sizes.sequences}x{sizes.frames}"
        first = 4 * sizes.seed
        self.learned_units, self.unseen_unit = {first, first + 1, first + 2}, first + 3
        self._frames: dict[tuple[str | None, float | None], Frames] = {}

    @cached_property
    def _whole(self) -> Dataset:
        return self.generated(
            "pairs", self.sizes.sequences, PAYLOADS_KG, (*sorted(self.learned_units), self.unseen_unit)
        )

    @property
    def learned(self) -> Dataset:
        return self._whole.of(units=self.learned_units)

    @property
    def unseen(self) -> tuple[Pair, ...]:
        return self._whole.of(units={self.unseen_unit}).pairs

    def generated(
        self, name: str, sequences: int, payloads_kg: tuple[float, ...], units: tuple[int, ...], seed: int = 0
    ) -> Dataset:
        """Pairs with more of the sizes' motions, or (another `seed`) with others."""
        settings = DatasetSettings(
            sequences=sequences,
            frames=self.sizes.frames,
            rates_hz=(RATE_HZ,),
            payloads_kg=payloads_kg,
            units=units,
            seed=self.sizes.seed + seed,
        )
        generate(
            self.folder / name, settings, progress=lambda done, parts: self._say(f"{name}, part {done} of {parts}")
        )
        return load_dataset(self.folder / name)

    @property
    def nominal(self) -> Base:
        return self._whole.base

    @cached_property
    def calibrated(self) -> Base:
        """With haloid's calibration of sequences that are evenly spread over those learned from."""
        count, pairs = self.sizes.calibrated_with, self.learned.pairs
        file = self.folder / f"calibrated-with-{count}.json"
        if not file.is_file():
            every = max(1, len(pairs) // count)
            write_patch(fit_parameters(self.nominal, pairs[::every][:count], self._say), file)
        return replace(self.nominal, model=str(file))

    def operator(
        self, name: str, base: Base, network: NetworkConfig, *, most_kg: float | None = None, duration: int = 1
    ) -> Operator:
        """Trained on the robots learned from, on top of `base`; `name` is for progress and the folder."""
        settings = TrainConfig(
            network=network,
            duration=duration,
            iterations=self.sizes.iterations,
            label_epochs=self.sizes.label_epochs,
            seed=self.sizes.seed,
        )
        data = replace(self.learned.of(most_kg=most_kg), base=base)
        mark = hashlib.sha256(repr((settings, base, most_kg)).encode()).hexdigest()[:8]
        return train_operator(
            data,
            settings,
            self.folder / f"{name}-{mark}",
            lambda words, share: self._say(f"{name}: {words}"),
            lambda: self._frames_of(data, most_kg),
        )

    def _frames_of(self, data: Dataset, most_kg: float | None) -> Frames:
        """Of all trainings on the same data and base, simulated once."""
        key = (data.base.model, most_kg)
        if key not in self._frames:
            self._frames[key] = build_frames(
                BaseModels(data.base), data.pairs, lambda words, share: self._say(f"simulating, {words}")
            )
        return self._frames[key]
