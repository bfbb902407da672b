"""Skills, files of tensors and plain values, written whole or not at all."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from haloid.outputs import atomic_file


def write_tensors(document: Mapping[str, Any], path: Path) -> None:
    """Serialised in memory first: torch's own writer has no clear error for a full disk."""
    content = io.BytesIO()
    torch.save(document, content)
    with atomic_file(path) as beside:
        beside.write_bytes(content.getvalue())
