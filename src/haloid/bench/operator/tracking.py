"""GAPONet's Fig. 3: Q_dis by joint and payload, on motions and on a robot that were never trained on.

Three columns everywhere: parameters alone (haloid's calibration of the same robots), the operator alone, and both. The
robots are stand-ins whose motors have friction, losses, backlash, battery sag, heat and delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from haloid.bench.operator.sizes import Say, Sizes
from haloid.bench.outcome import Outcome, Target
from haloid.extras import require_extra
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Pair, q_dis_rad
from haloid.report import Table

if TYPE_CHECKING:
    from haloid.bench.operator.robots import Robots


@dataclass(frozen=True)
class Tracking(Sizes):
    """Settings of `haloid bench gaponet-tracking`."""

    extrapolate: bool = False
    """Also train on 0 to 2 kg alone and test at 3 and 4 kg."""
    out: Path = Path("out/bench/gaponet-tracking")
    """Directory for result.json."""


def run(config: Tracking, say: Say) -> Outcome:
    require_extra("bench gaponet-tracking", "learn", "torch", "onnx")
    from haloid.bench.operator.robots import Robots

    robots = Robots(config, say)
    errors = {name: by_pair(runs, robots.unseen) for name, runs in _tracked(robots).items()}
    beyond = _extrapolated(robots) if config.extrapolate else {}
    return _outcome(robots.nominal.joint_names, robots.unseen, errors, beyond)


def _tracked(robots: Robots) -> dict[str, list[np.ndarray]]:
    """The corrected runs of every column."""
    from haloid.gap.operator.corrected import corrected_runs
    from haloid.gap.operator.networks import NetworkConfig

    tested, bases = robots.unseen, {"nominal": robots.nominal, "calibrated": robots.calibrated}
    models = {name: BaseModels(base) for name, base in bases.items()}
    runs = {
        "simulator": corrected_runs(None, models["nominal"], tested),
        "parameters": corrected_runs(None, models["calibrated"], tested),
    }
    gaponet = NetworkConfig()
    jobs = {"operator": ("nominal", gaponet), "mlp": ("nominal", NetworkConfig("mlp")), "both": ("calibrated", gaponet)}
    for name, (base, network) in jobs.items():
        operator = robots.operator(name, bases[base], network)
        runs[name] = corrected_runs(operator.network, models[base], tested)
    return runs


def _extrapolated(robots: Robots) -> dict[float, float]:
    """Q_dis over the simulator's at 3 and 4 kg, by an operator that knows 0 to 2 kg."""
    from haloid.gap.operator.corrected import corrected_runs
    from haloid.gap.operator.networks import NetworkConfig

    operator = robots.operator("light", robots.nominal, NetworkConfig(), most_kg=2.0)
    count = max(2, robots.sizes.sequences // 10)
    heavy = robots.generated("heavy", count, (3.0, 4.0), (robots.unseen_unit,), seed=1).pairs
    runs = corrected_runs(operator.network, BaseModels(robots.nominal), heavy)
    found = {}
    for payload in (3.0, 4.0):
        which = [i for i, pair in enumerate(heavy) if pair.payload_kg == payload]
        mine = np.mean([q_dis_rad(runs[i], heavy[i].real.q_rad) for i in which])
        found[payload] = float(mine / np.mean([q_dis_rad(heavy[i].sim.q_rad, heavy[i].real.q_rad) for i in which]))
    return found


def by_pair(runs: Sequence[np.ndarray], pairs: Sequence[Pair]) -> np.ndarray:
    """(pairs, joints) Q_dis, rad."""
    return np.array([q_dis_rad(run, pair.real.q_rad) for run, pair in zip(runs, pairs, strict=True)])


def _outcome(
    joint_names: tuple[str, ...], tested: Sequence[Pair], errors: dict[str, np.ndarray], beyond: dict[float, float]
) -> Outcome:
    payloads = np.array([pair.payload_kg for pair in tested])
    rows = []
    for payload in sorted(set(payloads.tolist())):
        for j, joint in enumerate(joint_names):
            found = {f"{name}_mrad": float(1e3 * e[payloads == payload, j].mean()) for name, e in errors.items()}
            rows.append({"payload_kg": payload, "joint": joint, **found})
    rows += [
        {"trained_kg": "0 to 2", "payload_kg": kg, "operator_over_simulator": share} for kg, share in beyond.items()
    ]
    over = {name: float(e.mean() / errors["simulator"].mean()) for name, e in errors.items()}
    heavy = payloads == payloads.max()
    headline = {
        "gaponet_over_simulator": over["operator"],
        "gaponet_over_simulator_3kg": float(errors["operator"][heavy].mean() / errors["simulator"][heavy].mean()),
        "gaponet_over_mlp": over["operator"] / over["mlp"],
        "parameters_over_simulator": over["parameters"],
        "both_over_simulator": over["both"],
        **{f"extrapolated_over_simulator_{kg:g}kg": share for kg, share in beyond.items()},
    }
    names = ["simulator", "parameters", "operator", "both", "mlp"]
    table = Table(
        ["payload kg", *(f"{name} mrad" for name in names), *(f"{name} ×" for name in names[1:])],
        [
            [
                f"{payload:g}",
                *(f"{1e3 * errors[name][payloads == payload].mean():.2f}" for name in names),
                *(
                    f"{errors[name][payloads == payload].mean() / errors['simulator'][payloads == payload].mean():.2f}"
                    for name in names[1:]
                ),
            ]
            for payload in sorted(set(payloads.tolist()))
        ],
        f"Q_dis, mean over {len(joint_names)} joints and {len(tested)} motions of a robot never trained on.",
    )
    targets = [
        Target("Q_dis over the simulator's", headline["gaponet_over_simulator"], 0.6),
        Target("the same at the largest payload", headline["gaponet_over_simulator_3kg"], 0.5),
        Target("Q_dis over the MLP's", headline["gaponet_over_mlp"], 1.0, strictly=True),
        *(Target(f"0 to 2 kg trained, {kg:g} kg tested", share, 0.7) for kg, share in beyond.items()),
    ]
    return Outcome(headline, rows, [table], targets)
