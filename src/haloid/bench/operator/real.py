"""A real arm (SO-101, logged by SAGE): the operator trained on some runs and played through others, whole.

Three columns: haloid's calibration of the training runs, the operator on the nominal model, and the operator on the
calibrated one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

from haloid.bench.identification.real_arm import RealArm, read_runs
from haloid.bench.outcome import Outcome, Target
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.from_logs import base_of, dataset_of, pairs_of
from haloid.identify.calibration.calibrate import CalibrationSettings, calibrate
from haloid.identify.replay import replay_nominal, rms
from haloid.recordings.recording import Recording
from haloid.report import Table
from haloid.robots.patch import write_patch


@dataclass(frozen=True)
class Real:
    """Settings of `haloid bench gaponet-real`."""

    logs: Path = Path("../shared/data/logs/so101")
    """Folder with one SAGE folder per run."""
    robot: str = "so101"
    runs: int | None = None
    """Only the first of them."""
    folds: int = 3
    """The runs are split into this many parts; each is used to test what was learned from the others."""
    tested: int | None = None
    """Only the first of the parts."""
    network: Literal["sticking", "gaponet", "mlp"] = "sticking"
    """The operator for a handful of logs, or a network with 100,000 weights."""
    history: int = 8
    iterations: int = 100
    """Of a network, as its epochs and windows are."""
    label_epochs: int = 30
    window_s: float = 1.5
    seed: int = 0
    out: Path = Path("out/bench/gaponet-real")
    """Directory for result.json."""


def run(config: Real, say: Callable[[str], None]) -> Outcome:
    require_extra("bench gaponet-real", "learn", "torch")
    if config.folds < 2:
        raise HaloidError(f"--folds is {config.folds}; expected at least 2, so that there are runs to learn from")
    recordings = read_runs(RealArm(logs=config.logs, robot=config.robot, runs=config.runs))
    nominal = {one.name: float(rms(one.error_rad)) for one in replay_nominal(recordings)}
    rows = []
    parts = min(config.folds, len(recordings))
    for fold in range(min(config.tested or parts, parts)):
        held = recordings[fold::parts]
        others = [one for one in recordings if all(one is not other for other in held)]
        found = _fold(config, held, others, nominal, lambda words, fold=fold: say(f"part {fold + 1}: {words}"))
        for row in found:
            errors = ", ".join(f"{name} {1e3 * row[f'{name}_rad']:.1f}" for name in ("nominal", *COLUMNS))
            say(f"part {fold + 1}: {row['run']}, mrad: {errors}")
        rows += found
    mean = {name: float(np.mean([row[f"{name}_rad"] for row in rows])) for name in ("nominal", *COLUMNS)}
    headline = {f"{name}_over_nominal": mean[name] / mean["nominal"] for name in COLUMNS}
    table = Table(
        ["run held out", "nominal mrad", *(f"{name} mrad" for name in COLUMNS)],
        [[row["run"], *(f"{1e3 * row[f'{name}_rad']:.1f}" for name in ("nominal", *COLUMNS))] for row in rows],
        "Rms over all joints of a whole run that nothing was trained on, from its first state.",
    )
    best_alone = min(headline["identified_over_nominal"], headline["operator_over_nominal"])
    targets = [
        Target("operator over nominal", headline["operator_over_nominal"], 0.6),
        Target("both over the better of the two", headline["both_over_nominal"] / best_alone, 1.0, strictly=True),
    ]
    return Outcome(headline, rows, [table], targets)


COLUMNS = ("identified", "operator", "both")


def _fold(
    config: Real,
    held: list[Recording],
    others: list[Recording],
    nominal: dict[str, float],
    say: Callable[[str], None],
) -> list[dict]:
    from haloid.gap.operator.corrected import corrected_runs
    from haloid.gap.operator.networks import NetworkConfig
    from haloid.gap.operator.run_folder import train_operator
    from haloid.gap.operator.train import TrainConfig

    settings = TrainConfig(
        network=NetworkConfig(config.network, config.history),
        iterations=config.iterations,
        label_epochs=config.label_epochs,
        window_s=config.window_s,
        seed=config.seed,
    )
    say("calibrating")
    errors: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        patch = Path(folder) / "patch.json"
        write_patch(calibrate(others, CalibrationSettings(held_out=0)).patch, patch)
        for name, model, learns in (("identified", patch, False), ("operator", None, True), ("both", patch, True)):
            file = None if model is None else str(model)
            network = None
            if learns:
                dataset = dataset_of(others, payload_kg=0.0, model=file)
                network = train_operator(
                    dataset, settings, say=lambda words, _, name=name: say(f"{name}: {words}")
                ).network
            errors[name] = [_whole_rms(one, file, network, corrected_runs) for one in held]
    return [
        {"run": one.name, "nominal_rad": nominal[one.name], **{f"{name}_rad": errors[name][i] for name in COLUMNS}}
        for i, one in enumerate(held)
    ]


def _whole_rms(recording: Recording, model: str | None, network, corrected_runs) -> float:
    """Of all stretches of a run."""
    models = BaseModels(replace(base_of(recording), model=model))
    pairs = pairs_of(recording, models, 0.0)
    runs = corrected_runs(network, models, pairs)
    return float(rms(np.concatenate([run - pair.real.q_rad for run, pair in zip(runs, pairs, strict=True)])))
