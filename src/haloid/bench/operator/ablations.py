"""GAPONet's Table 2: the operator with one thing changed at a time, on the robot that nothing was trained on.

MPJAE is the mean absolute error of the joints over whole corrected runs, rad, by payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloid.bench.operator.sizes import Say, Sizes
from haloid.bench.outcome import Outcome
from haloid.extras import require_extra
from haloid.gap.crowd import BaseModels
from haloid.report import Table

OURS = "history 4, payload in the trunk, held for 1 step, change of the state"


@dataclass(frozen=True)
class Ablations(Sizes):
    """Settings of `haloid bench gaponet-ablations`."""

    out: Path = Path("out/bench/gaponet-ablations")
    """Directory for result.json."""


def run(config: Ablations, say: Say) -> Outcome:
    require_extra("bench gaponet-ablations", "learn", "torch", "onnx")
    from haloid.bench.operator.robots import Robots
    from haloid.gap.operator.corrected import corrected_runs
    from haloid.gap.operator.networks import NetworkConfig

    variants = {
        OURS: (NetworkConfig(), 1),
        **{f"history {length}": (NetworkConfig(history=length), 1) for length in (2, 6, 8)},
        "payload not told": (NetworkConfig(payload=False), 1),
        **{f"held for {steps} steps": (NetworkConfig(), steps) for steps in (3, 5)},
        "the state itself": (NetworkConfig(sensors="state"), 1),
    }
    robots = Robots(config, say)
    models, tested = BaseModels(robots.nominal), robots.unseen
    payloads = np.array([pair.payload_kg for pair in tested])
    runs = {"simulator": corrected_runs(None, models, tested)}
    for name, (network, duration) in variants.items():
        folder = "operator" if name == OURS else name.replace(" ", "-")
        operator = robots.operator(folder, robots.nominal, network, duration=duration)
        runs[name] = corrected_runs(operator.network, models, tested, duration)
    rows = []
    for name, played in runs.items():
        error = np.array([np.abs(run - pair.real.q_rad).mean() for run, pair in zip(played, tested, strict=True)])
        by_payload = {f"mpjae_{kg:g}kg_rad": float(error[payloads == kg].mean()) for kg in sorted(set(payloads))}
        rows.append({"variant": name, "mpjae_rad": float(error.mean()), **by_payload})
    ours = next(row for row in rows if row["variant"] == OURS)
    columns = [key for key in ours if key != "variant"]
    table = Table(
        ["variant", *(key.removeprefix("mpjae_").removesuffix("rad").rstrip("_") or "all" for key in columns)],
        [[row["variant"], *(f"{row[key]:.4f}" for key in columns)] for row in rows],
        f"MPJAE, rad, over {len(tested)} motions of a robot never trained on; one seed.",
    )
    others = {row["variant"]: row["mpjae_rad"] / ours["mpjae_rad"] for row in rows if row is not ours}
    headline = {f"{name.replace(' ', '_')}_over_ours": ratio for name, ratio in others.items()}
    return Outcome(headline, rows, [table])
