"""Generate a SimLifter-style dataset: seeded, part by part; parts that are there already are not made again.

In: how many sequences and frames, of which robots. Out: a folder of pairs (`haloid.gap.dataset.files`). Robots 0 to 2
are for training; robot 3, worn differently, is never trained on.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.crowd import Base, BaseModels
from haloid.gap.dataset.files import CARD, FileKind, part_file, part_files, read_card, write_card, write_part
from haloid.gap.dataset.motions import KINDS, draw_motion
from haloid.gap.dataset.pairs import Motion, Pair
from haloid.gap.dataset.twin import MOST_SHARE, Twins, acceleration_rad_s2, replicas
from haloid.lab.motors.wear import Wear
from haloid.robots.description import describe

ARMS = "h1-2-arms"
UNSEEN_UNIT = 3
"""The robot that is never trained on."""
_FREE_TRIES, _TRIES = 20, 40
"""Motions are drawn as they come, then nearer and nearer to the posture that weighs least."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class DatasetSettings:
    """The size of a dataset and what is in it."""

    sequences: int = 480
    """The paper's has 11,198."""
    frames: int = 150
    """Of each sequence; the paper's have 23 on average."""
    payloads_kg: tuple[float, ...] = (0.0, 1.0, 2.0, 3.0)
    """In each hand."""
    rates_hz: tuple[float, ...] = (50.0, 100.0)
    units: tuple[int, ...] = (0, 1, 2, UNSEEN_UNIT)
    """Robots of the kind, each with its own wear; 3 is held out of training."""
    wear: Wear = field(default_factory=Wear)
    seed: int = 0
    part_sequences: int = 48
    """Sequences in each file."""

    def __post_init__(self) -> None:
        for name, value, least in (("sequences", self.sequences, 1), ("frames", self.frames, 2)):
            if value < least:
                raise HaloidError(f"--{name} is {value}; expected at least {least}")
        if self.seed < 0:
            raise HaloidError(f"--seed is {self.seed}; expected 0 or more")
        if not self.payloads_kg or not all(0 <= kg < np.inf for kg in self.payloads_kg):
            raise HaloidError(f"--payloads-kg is {self.payloads_kg}; expected masses of 0 kg or more")
        if not self.rates_hz or len(set(self.rates_hz)) < len(self.rates_hz):
            raise HaloidError(f"--rates-hz is {self.rates_hz}; expected one rate or more, each once")
        for rate in self.rates_hz:
            if not 0 < rate <= 500 or abs(1000 / rate - round(1000 / rate)) > 1e-9:
                raise HaloidError(f"a rate of {rate:g} Hz; expected one whose period is a whole number of milliseconds")

    @property
    def parts(self) -> int:
        return -(-self.sequences // self.part_sequences)


def arms_base() -> Base:
    """The ten arm joints of the H1-2, its pelvis held."""
    arms = describe(ARMS)
    return Base(ARMS, arms.clamp, arms.joints, arms.gain_set("arms"))


NOTE = (
    "Simulated stand-ins for real robots: motors with friction (Stribeck), load-dependent efficiency, backlash, "
    "battery sag, heat and delay, in MuJoCo at 1 kHz. Motions ask for at most 60 % of a motor's torque; heavy loads "
    "stay near the body where that takes it. Self-collisions are not simulated. Unit 3 is only for testing."
)


def generate(
    folder: Path, settings: DatasetSettings, kind: FileKind = "npz", workers: int = 1, progress: Progress | None = None
) -> None:
    """Makes the parts that are missing; raises where the folder holds another dataset."""
    base, wanted = arms_base(), _plain(asdict(settings))
    if (folder / CARD).is_file():
        _check_same(folder, wanted)
        if others := [file.suffix[1:] for file in part_files(folder) if file.suffix != f".{kind}"]:
            raise HaloidError(
                f"{folder} holds {len(others)} parts as {others[0]}; give --format {others[0]} to go on with them, or "
                "another folder"
            )
    else:
        if folder.is_dir() and any(folder.iterdir()):
            raise HaloidError(f"{folder} is not empty and holds no dataset; give another folder")
        folder.mkdir(parents=True, exist_ok=True)
    counts = {"sequences": settings.sequences, "frames": settings.sequences * settings.frames}
    write_card(folder, base, wanted, NOTE, counts)
    missing = [i for i in range(settings.parts) if not part_file(folder, i, kind).is_file()]
    done = settings.parts - len(missing)
    if progress:
        progress(done, settings.parts)
    for _ in _made(folder, settings, kind, missing, workers):
        done += 1
        if progress:
            progress(done, settings.parts)


def _made(folder: Path, settings: DatasetSettings, kind: FileKind, missing: list[int], workers: int) -> Iterator[None]:
    if workers <= 1 or len(missing) <= 1:
        for index in missing:
            yield make_part(folder, settings, kind, index)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(missing)), context, initializer=_end_with_parent) as pool:
        for future in as_completed([pool.submit(make_part, folder, settings, kind, i) for i in missing]):
            yield future.result()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for more work forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def make_part(folder: Path, settings: DatasetSettings, kind: FileKind, index: int) -> None:
    write_part(part_file(folder, index, kind), make_pairs(settings, index))


def make_pairs(settings: DatasetSettings, index: int) -> list[Pair]:
    """The sequences of one part; they depend on the settings and on the index alone."""
    rng = np.random.default_rng((settings.seed, index))
    base = arms_base()
    twins, models = Twins(base, settings.wear), BaseModels(base)
    first = index * settings.part_sequences
    numbers = np.arange(first, min(first + settings.part_sequences, settings.sequences))
    pairs: list[Pair] = []
    for rate in settings.rates_hz:
        chosen = numbers[numbers % len(settings.rates_hz) == settings.rates_hz.index(rate)]
        if len(chosen):
            pairs += _of_rate(settings, base, twins, models, rate, chosen, rng)
    return pairs


def _of_rate(
    settings: DatasetSettings,
    base: Base,
    twins: Twins,
    models: BaseModels,
    rate_hz: float,
    numbers: np.ndarray,
    rng: np.random.Generator,
) -> list[Pair]:
    count = len(numbers)
    turn = numbers // len(settings.rates_hz)
    payload = np.array(settings.payloads_kg)[turn % len(settings.payloads_kg)]
    unit = np.array(settings.units)[(turn // len(settings.payloads_kg)) % len(settings.units)]
    kinds = [KINDS[int(i)] for i in rng.integers(0, len(KINDS), count)]
    drawn = [
        _bearable(settings, twins, models, rng, kind, kg, rate_hz) for kind, kg in zip(kinds, payload, strict=True)
    ]
    target = np.array([path for path, _ in drawn])
    played = twins.play(target, unit, payload, rate_hz, rng)
    sims = replicas(models, target, payload, rate_hz, played.q_rad[:, 0], played.dq_rad_s[:, 0])
    return [
        Pair(
            name=str(numbers[i]),
            unit=int(unit[i]),
            kind=kinds[i],
            rate_hz=rate_hz,
            payload_kg=float(payload[i]),
            moving=drawn[i][1],
            target_rad=target[i],
            real=Motion(
                played.q_rad[i],
                played.dq_rad_s[i],
                acceleration_rad_s2(played.dq_rad_s[i], rate_hz),
                played.tau_nm[i],
            ),
            sim=sims[i],
            temperature_c=played.temperature_c[i],
        )
        for i in range(count)
    ]


def _bearable(
    settings: DatasetSettings,
    twins: Twins,
    models: BaseModels,
    rng: np.random.Generator,
    kind: str,
    payload_kg: float,
    rate_hz: float,
) -> tuple[np.ndarray, np.ndarray]:
    """A motion that the motors can bear; after all tries, the gentlest of them."""
    best, least = None, np.inf
    for attempt in range(_TRIES):
        path, moving = draw_motion(rng, kind, twins.lower_rad, twins.upper_rad, settings.frames, 1 / rate_hz)
        if attempt >= _FREE_TRIES:
            rest = twins.lightest_posture_rad(float(payload_kg))
            path = rest + (path - rest) * (_TRIES - attempt) / (_TRIES - _FREE_TRIES)
        share = twins.torque_share(models, path, float(payload_kg), rate_hz)
        if best is None or share < least:
            best, least = (path, moving), share
        if least <= MOST_SHARE:
            break
    assert best is not None
    return best


def _plain(value):
    """As json has it."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _check_same(folder: Path, wanted: dict) -> None:
    found = read_card(folder).get("settings", {})
    other = [name for name in {**found, **wanted} if found.get(name) != wanted.get(name)]
    if other:
        differ = ", ".join(f"{name} {found.get(name)} (now {wanted.get(name)})" for name in sorted(other))
        raise HaloidError(
            f"{folder} holds a dataset with other settings: {differ}. Give the same settings to go on with it, or "
            "another folder"
        )
