"""Skills, checkpoints: everything a training needs to go on, in one file of tensors and plain values.

In: a training's state. Out: checkpoint.pt, written whole or not at all; a process killed at any moment leaves the last
one. Nothing in the file is run when it is read.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from haloid.errors import HaloidError, one_line
from haloid.skills.policies.tensor_file import write_tensors

FORMAT = "haloid-checkpoint-2"
"""2: the critic sees how its robot differs from the model."""
FILE = "checkpoint.pt"


def save_checkpoint(state: dict[str, Any], folder: Path) -> None:
    write_tensors({"format": FORMAT, "state": _as_tensors(state)}, folder / FILE)


def load_checkpoint(folder: Path) -> dict[str, Any]:
    """The state of a training's last checkpoint."""
    file = folder / FILE
    if not file.is_file():
        raise HaloidError(f"{folder} holds no training: it has no {FILE}. Expected a folder that haloid train wrote to")
    try:
        document = torch.load(file, weights_only=True)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, expected {FORMAT!r}")
        return document["state"]
    except Exception as error:
        reason = one_line(error)
        raise HaloidError(
            f"{file} is not a checkpoint that can be read: {reason}. Start again in another folder"
        ) from error


def _as_tensors(value: Any) -> Any:
    """Arrays become tensors, which torch reads back without running code; everything else is plain already."""
    if isinstance(value, dict):
        return {key: _as_tensors(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_as_tensors(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, np.generic):
        return value.item()
    return value
