"""`haloid delta finetune`: continue training a policy in the corrected simulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from haloid.cli import console
from haloid.extras import require_extra

if TYPE_CHECKING:
    from haloid.skills.training.learning import Iteration


@dataclass(frozen=True)
class Finetune:
    """Continue training a policy in the simulator that a delta model corrects; it is deployed without that model.

    Writes what haloid train writes. A fine-tuning that was stopped goes on with the same command.

    Example:
        haloid delta finetune --policy out/squat --delta out/delta -o out/squat-tuned --minutes 15
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


def run(config: Finetune) -> None:
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
