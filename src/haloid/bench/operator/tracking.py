"""GAPONet's Fig. 3: Q_dis by joint and payload, on motions and on a robot that were never trained on.

Three columns everywhere: parameters alone (haloid's calibration of the same robots), the operator alone, and both. The
robots are stand-ins whose motors have friction, losses, backlash, battery sag, heat and delay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.extras import require_extra
from haloid.gap.crowd import Base, BaseModels
from haloid.gap.dataset.files import load_dataset
from haloid.gap.dataset.generate import UNSEEN_UNIT, DatasetSettings, generate
from haloid.gap.dataset.pairs import Dataset, Pair, q_dis_rad
from haloid.report import Table
from haloid.robots.patch import write_patch

Say = Callable[[str], None]


@dataclass(frozen=True)
class Tracking:
    """Settings of `haloid bench gaponet-tracking`."""

    sequences: int = 600
    """Of all four robots; a quarter is of the one that is tested."""
    frames: int = 120
    iterations: int = 300
    """Of training through the simulator."""
    label_epochs: int = 6
    calibrated_with: int = 48
    """Sequences that the parameters are fitted to."""
    extrapolate: bool = False
    """Also train on 0 to 2 kg alone and test at 3 and 4 kg."""
    seed: int = 0
    out: Path = field(default=Path("out/bench/gaponet-tracking"))
    """Directory for result.json."""


def run(config: Tracking, say: Say) -> Outcome:
    require_extra("bench gaponet-tracking", "learn", "torch")
    with TemporaryDirectory() as folder:
        dataset = _generated(Path(folder) / "pairs", config, (0.0, 1.0, 2.0, 3.0), say)
        trained, tested = dataset.of(units={0, 1, 2}), dataset.of(units={UNSEEN_UNIT}).pairs
        calibrated = calibrated_base(trained, config.calibrated_with, Path(folder) / "patch.json", say)
        columns = tracked(config, trained, tested, calibrated, say)
        errors = {name: by_pair(runs, tested) for name, runs in columns.items()}
        beyond = _extrapolated(config, Path(folder), trained, say) if config.extrapolate else {}
    names = dataset.base.joint_names
    return _outcome(names, tested, errors, beyond)


def _generated(folder: Path, config: Tracking, payloads: tuple[float, ...], say: Say, sequences: int = 0) -> Dataset:
    settings = DatasetSettings(
        sequences=sequences or config.sequences,
        frames=config.frames,
        rates_hz=(50.0,),
        payloads_kg=payloads,
        units=(UNSEEN_UNIT,) if sequences else (0, 1, 2, UNSEEN_UNIT),
        seed=config.seed + bool(sequences),
    )
    generate(folder, settings, progress=lambda done, parts: say(f"generating, part {done} of {parts}"))
    return load_dataset(folder)


def calibrated_base(dataset: Dataset, count: int, file: Path, say: Say) -> Base:
    """The base with haloid's calibration of `count` sequences, evenly spread over the dataset."""
    from haloid.gap.operator.parameters import fit_parameters

    every = max(1, len(dataset.pairs) // count)
    write_patch(fit_parameters(dataset.base, dataset.pairs[::every][:count], say), file)
    return replace(dataset.base, model=str(file))


def tracked(
    config: Tracking, trained: Dataset, tested: Sequence[Pair], calibrated: Base, say: Say
) -> dict[str, list[np.ndarray]]:
    """The corrected runs of every column."""
    from haloid.gap.operator.corrected import corrected_runs
    from haloid.gap.operator.networks import NetworkConfig
    from haloid.gap.operator.run_folder import train_operator
    from haloid.gap.operator.train import TrainConfig

    nominal, better = BaseModels(trained.base), BaseModels(calibrated)
    runs = {"simulator": corrected_runs(None, nominal, tested), "parameters": corrected_runs(None, better, tested)}
    both = replace(trained, base=calibrated)
    jobs = {"operator": (trained, nominal), "mlp": (trained, nominal), "both": (both, better)}
    for name, (data, models) in jobs.items():
        settings = TrainConfig(
            network=NetworkConfig("mlp" if name == "mlp" else "gaponet"),
            iterations=config.iterations,
            label_epochs=config.label_epochs,
            seed=config.seed,
        )
        operator = train_operator(data, settings, say=lambda words, share, name=name: say(f"{name}: {words}"))
        runs[name] = corrected_runs(operator.network, models, tested)
    return runs


def _extrapolated(config: Tracking, folder: Path, trained: Dataset, say: Say) -> dict[float, float]:
    """Q_dis over the simulator's at 3 and 4 kg, by an operator that knows 0 to 2 kg."""
    from haloid.gap.operator.corrected import corrected_runs
    from haloid.gap.operator.networks import NetworkConfig
    from haloid.gap.operator.run_folder import train_operator
    from haloid.gap.operator.train import TrainConfig

    settings = TrainConfig(
        network=NetworkConfig(), iterations=config.iterations, label_epochs=config.label_epochs, seed=config.seed
    )
    light = trained.of(most_kg=2.0)
    operator = train_operator(light, settings, say=lambda words, share: say(f"0 to 2 kg: {words}"))
    heavy = _generated(folder / "heavy", config, (3.0, 4.0), say, sequences=max(2, config.sequences // 10)).pairs
    runs = corrected_runs(operator.network, BaseModels(light.base), heavy)
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
        Target("Q_dis over the MLP's", headline["gaponet_over_mlp"], 1.0),
        *(Target(f"0 to 2 kg trained, {kg:g} kg tested", share, 0.7) for kg, share in beyond.items()),
    ]
    return Outcome(headline, rows, [table], targets)
