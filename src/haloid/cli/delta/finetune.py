"""`haloid delta finetune`: continue training a policy in the corrected simulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.extras import MissingExtraError, require_extra

if TYPE_CHECKING:
    from haloid.skills.training.learning import Iteration


@dataclass(frozen=True)
class Finetune:
    """Continue training a policy in the simulator that a delta model corrects; it is deployed without that model.

    Writes what haloid train writes. A fine-tuning that was stopped goes on with the same command.

    Examples:
        haloid delta finetune --policy out/squat --delta out/delta -o out/squat-tuned --minutes 15
        haloid delta finetune --policy out/squat-gpu --delta out/delta -o out/tuned --backend mjlab --gpu-ids 0
    """

    policy: Path = tyro.MISSING
    """Folder of a training (haloid train)."""
    delta: Path = tyro.MISSING
    """A delta action model: delta.pt, or the folder it is in."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """Folder to write to."""
    iterations: int = 1000
    """Rounds of acting and learning; ASAP's number."""
    minutes: float | None = None
    """Stop after this long, with the best policy so far."""
    threads: int = 0
    """0: all cores."""
    backend: Literal["cpu", "mjlab"] = "cpu"
    """mjlab: on GPUs, a policy of haloid train --backend mjlab."""
    gpu_ids: tuple[int, ...] = ()
    """GPUs for mjlab; none: its slow CPU mode."""


def run(config: Finetune) -> None:
    if config.backend == "mjlab":
        _with_mjlab(config)
        return
    require_extra("delta finetune", "learn", "torch", "rsl_rl", "mjbatch", "tensorboard", "onnx", "onnxruntime")
    from haloid.gap.delta.finetune import finetune
    from haloid.skills.training.run_folder import finish

    with console.progress("Fine-tuning") as say:

        def tell(iteration: Iteration) -> None:
            error = iteration.metrics["body_error_mm"]
            say(f"iteration {iteration.number} of {config.iterations}: error {error:.0f} mm", value=error)

        outcome = finetune(
            config.policy,
            config.delta,
            config.out,
            iterations=config.iterations,
            minutes=config.minutes,
            threads=config.threads,
            on_iteration=tell,
        )
    console.wrote(finish(outcome))


def _with_mjlab(config: Finetune) -> None:
    """mjlab shows its own progress."""
    if config.minutes is not None:
        raise HaloidError("--minutes works with --backend cpu only; with mjlab give --iterations")
    try:
        from haloid.gap.delta.in_mjlab import finetune_with_mjlab
    except ModuleNotFoundError as error:
        raise MissingExtraError("delta finetune --backend mjlab", [str(error.name)], "mjlab") from error
    outcome = finetune_with_mjlab(
        config.policy, config.delta, config.out, iterations=config.iterations, gpu_ids=config.gpu_ids
    )
    console.wrote(outcome.policy)
