"""Skills, a network as ONNX: traced as mjlab does, at its opset, without the exporter's notices."""

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch

OPSET = 18


def trace_onnx(
    network: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    path: Path,
    *,
    input_names: Sequence[str],
    output_names: Sequence[str],
    batch: bool,
) -> None:
    """Write `network` to `path`. `batch`: the first dimension of every input and output is free."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # a long notice that the tracing exporter is the older one
            torch.onnx.export(
                network,
                inputs,
                str(path),
                opset_version=OPSET,
                input_names=list(input_names),
                output_names=list(output_names),
                dynamic_axes={name: {0: "batch"} for name in (*input_names, *output_names)} if batch else {},
                dynamo=False,
            )
    finally:
        logger.setLevel(level)
