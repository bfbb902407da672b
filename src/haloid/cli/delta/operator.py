"""`haloid delta operator`: train the payload operator, or one of the networks it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.extras import require_extra


@dataclass(frozen=True)
class Operator:
    """Train the payload operator (GAPONet) on pairs: from history, payload and command to a delta action.

    Prints the gap between the corrected simulator and the robots that were held out of training, as Q_dis: the area
    between both for each second, mean over joints. Run it again to continue where it stopped.

    Examples:
        haloid delta operator out/pairs -o out/operator
        haloid delta operator out/pairs --network mlp --history 8 -o out/mlp
        haloid replay h1-2-arms run.csv --delta out/operator
    """

    dataset: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET")] = tyro.MISSING
    """Folder that `haloid delta dataset` wrote."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """Folder for operator.pt, operator.onnx and operator.json."""
    network: Literal["gaponet", "mlp", "transformer", "sticking"] = "gaponet"
    """GAPONet's operator, an MLP as in ASAP, a transformer over the history, or, for a handful of logs, lag, sag and
    stick of each joint (give it a history of 8)."""
    history: int = 4
    """Frames of state and command that it sees."""
    payload: bool = True
    """Whether it sees the payload."""
    branch: Literal["joint", "both", "sensors"] = "joint"
    """What GAPONet's branch sees: each joint its own sensors and history, those of all joints, or, as the paper has it,
    all sensors alone."""
    sensors: Literal["change", "state"] = "change"
    """What GAPONet's sensor predictor predicts for a probe: the change of the state, or the state."""
    duration: int = 1
    """Control steps for which a delta action is held."""
    model: Path | None = None
    """A calibrated model to correct instead of the nominal one: a result's directory, a patch.json or a file."""
    rate_hz: float | None = None
    """Which of the dataset's rates; default: its lowest."""
    most_kg: float | None = None
    """Train with payloads up to this only."""
    method: Literal["supervised", "ppo"] = "supervised"
    """From delta actions that are solved beforehand, or by PPO, as in the paper (give it more --iterations)."""
    test_units: tuple[int, ...] = (3,)
    """Robots that are held out of training."""
    iterations: int = 400
    """Of learning on runs of its own."""
    seed: int = 0


def run(config: Operator) -> None:
    require_extra("delta operator", "learn", "torch", "onnx")
    from dataclasses import replace

    from haloid.gap.crowd import BaseModels
    from haloid.gap.dataset.files import load_dataset
    from haloid.gap.operator.corrected import corrected_runs, mean_q_dis_rad
    from haloid.gap.operator.networks import NetworkConfig
    from haloid.gap.operator.run_folder import train_operator
    from haloid.gap.operator.train import TrainConfig

    whole = load_dataset(config.dataset)
    rate = config.rate_hz or min(pair.rate_hz for pair in whole.pairs)
    whole = whole.of(rate_hz=rate)
    if config.model is not None:
        whole = replace(whole, base=replace(whole.base, model=str(config.model)))
    units = {pair.unit for pair in whole.pairs}
    if not units - set(config.test_units):
        raise HaloidError(
            f"--test-units {' '.join(map(str, config.test_units))} holds out every robot of the dataset, which has "
            f"{', '.join(map(str, sorted(units)))}; leave at least one to train on"
        )
    trained = whole.of(units=units - set(config.test_units), most_kg=config.most_kg)
    kept = [pair for pair in whole.pairs if pair.unit in config.test_units]
    settings = TrainConfig(
        network=NetworkConfig(
            config.network, config.history, config.payload, branch=config.branch, sensors=config.sensors
        ),
        method=config.method,
        duration=config.duration,
        iterations=config.iterations,
        seed=config.seed,
    )
    with console.progress("Training") as say:
        operator = train_operator(trained, settings, config.out, lambda words, share: say(words, done=share))
    if kept:
        models = BaseModels(whole.base)
        corrected = 1e3 * mean_q_dis_rad(corrected_runs(operator.network, models, kept, operator.duration), kept)
        before = 1e3 * mean_q_dis_rad(corrected_runs(None, models, kept), kept)
        console.results.print(
            f"robots held out of training: Q_dis {before.mean():.2f} mrad, corrected {corrected.mean():.2f} mrad "
            f"({corrected.mean() / before.mean():.2f} ×)",
            soft_wrap=True,
        )
    console.results.print(f"{config.out}/operator.pt, operator.onnx, operator.json", soft_wrap=True)
