"""ASAP's Fig. 10: what the delta action model owes to data, horizon and action norm, by the fast way.

One setting is changed at a time. In distribution: replays of motions that were learned from, in clips that were not;
out of distribution: of held-out motions. Fig. 11 (uses) and Fig. 12 (noise) are rows of asap-closed-loop. What is done
is kept in a folder, and the next run goes on with the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.outcome import Outcome
from haloid.extras import require_extra
from haloid.gap.standins.named import STAND_INS
from haloid.outputs import atomic_file
from haloid.report import Table

WHOLE = "whole"
DATA_SETS = ("new_clips", "new_motions")


@dataclass(frozen=True)
class AsapAblations:
    """Settings of `haloid bench asap-ablations`."""

    stand_in: str = "twin"
    seeds: int = 2
    """Of data and learner."""
    learned: tuple[str, ...] = ("squat", "stand", "step-in-place", "swallow", "side-kick")
    """Motions to learn from."""
    held_out: tuple[str, ...] = ("walk", "wave")
    """Motions to replay."""
    clips: int = 32
    """Of each motion; a quarter of those to learn from is only replayed."""
    sizes: tuple[int, ...] = (1, 3, 8)
    """Clips of each motion to learn from, beside all."""
    horizons_s: tuple[float, ...] = (0.0, 0.25, 0.5, 1.5)
    """Longest windows of the refinement, beside 1 s; 0: single steps alone."""
    penalties: tuple[float, ...] = (0.0, 0.1, 1.0, 10.0)
    """λ of the action norm, beside 0.01."""
    transitions: int = 1500
    """The fast way's."""
    windows: int = 40
    """The fast way's, in a pass; and replayed."""
    passes: int = 1
    """The fast way's."""
    threads: int = 0
    """0: all cores."""
    folder: Path = Path("out/asap")
    """Where controllers, rollouts and results are kept, asap-open-loop's among them."""
    out: Path = Path("out/bench/asap-ablations")
    """Directory for result.json."""


def run(config: AsapAblations, say: Callable[[str], None]) -> Outcome:
    require_extra("bench asap-ablations", "learn", "torch", "rsl_rl", "onnxruntime", "mjbatch")
    from haloid.bench.delta.variants import Variants

    rows = []
    for seed in range(config.seeds):
        variants = Variants(config, seed, lambda text, s=seed: say(f"seed {s}: {text}"))
        for name in variants.names:
            kept = config.folder / "ablations" / f"{config.stand_in}-{seed}" / f"{name.replace(' ', '-')}.json"
            if not kept.is_file():
                found = variants.measured(name)
                with atomic_file(kept) as beside:
                    beside.write_text(json.dumps(found, indent=1), encoding="utf-8")
            rows.append(json.loads(kept.read_text(encoding="utf-8")))
    return _outcome(config, rows)


def _outcome(config: AsapAblations, rows: list[dict[str, Any]]) -> Outcome:
    names = list(dict.fromkeys(row["variant"] for row in rows))
    numbers = {
        name: {key: _mean(rows, name, key) for key in rows[0] if key not in ("variant", "seed")} for name in names
    }
    lines = []
    for name, found in numbers.items():
        cells = [f"{found[f'{data}_mm']:.1f} ± {_half(rows, name, f'{data}_95_mm'):.1f}" for data in DATA_SETS]
        lines.append([name, f"{found['transitions']:.0f}", *cells, f"{found['delta_mrad']:.1f}"])
    note = (
        f"Stand-in {config.stand_in}: {STAND_INS[config.stand_in].summary}. Replays of 1 s. Δ: mean size of a joint's "
        "correction in the new motions."
    )
    columns = ["variant", "steps to learn from", "E_g-mpjpe, new clips [mm]", "E_g-mpjpe, new motions [mm]", "Δ [mrad]"]
    headline = {
        f"{name.replace(' ', '_').lower()}_over_whole": found["new_motions_mm"] / numbers[WHOLE]["new_motions_mm"]
        for name, found in numbers.items()
        if name != WHOLE
    }
    notes = [
        f"Delta action by the fast way from {', '.join(config.learned)}; new motions: {', '.join(config.held_out)}. "
        f"{WHOLE}: all clips, windows up to 1 s, λ = 0.01. {config.seeds} seed(s); intervals are of means over clips.",
        "ASAP's Fig. 10: errors on new motions fall with more data; in the open loop the best horizon is 1.5 s; the "
        "best weight of the action norm in PPO's reward, another number than λ, is 0.1.",
    ]
    return Outcome(headline, rows, [Table(columns, lines, note)], notes=notes)


def _mean(rows: list[dict[str, Any]], name: str, key: str) -> float:
    return float(np.mean([row[key] for row in rows if row["variant"] == name]))


def _half(rows: list[dict[str, Any]], name: str, key: str) -> float:
    """Half width of the interval of a mean over seeds."""
    halves = [row[key] for row in rows if row["variant"] == name]
    return float(np.sqrt(np.mean(np.square(halves)) / len(halves)))
