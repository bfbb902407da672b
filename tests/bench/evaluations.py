"""Evaluations of policies nobody trained: what their runs did is stated by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from haloid.bench.skills.table import Measured
from haloid.skills.evaluation.evaluate import Evaluation, EvaluationConfig
from haloid.skills.evaluation.metrics import ERRORS, RunMetrics


def ran(**errors: float) -> RunMetrics:
    """A run that reached the end, with these errors; all others are 1."""
    return RunMetrics(success=True, survival=1.0, **(dict.fromkeys(ERRORS, 1.0) | errors))


def fell(survival: float = 0.5, **errors: float) -> RunMetrics:
    """A run that did not: it has no end to measure."""
    without_end = {"e_epos_m": np.nan, "e_ang_deg": np.nan}
    return RunMetrics(success=False, survival=survival, **(dict.fromkeys(ERRORS, 1.0) | errors | without_end))


def measured(motion: str, method: str, *runs: RunMetrics) -> Measured:
    unused: Any = None
    evaluation = Evaluation(
        config=EvaluationConfig(starts=len(runs)),
        motion=motion,
        joint_names=(),
        description=unused,
        reference=unused,
        runs=(),
        metrics=runs,
        torque_rms_use=np.empty(0),
        torque_peak_use=np.empty(0),
        range_peak_use=np.empty(0),
    )
    return Measured(motion, method, (evaluation,))


def feed(monkeypatch: pytest.MonkeyPatch, table: ModuleType, found: Sequence[Measured]) -> Callable[[], list[Any]]:
    """Let a table find these policies trained and measured so; returns what it asked for: motions, starts, seed."""
    asked: list[Any] = []

    def trained_policies(motions: Sequence[str], sweep: object, say: object) -> dict[str, dict[str, list[Path]]]:
        asked.append(tuple(motions))
        names = [Path(motion).stem for motion in motions]
        return {name: {one.method: [Path("policy.onnx")] for one in found if one.motion == name} for name in names}

    def measure(
        policies: dict[str, dict[str, list[Path]]], starts: int, seed: int, say: object, *, worn: bool, setting: int
    ) -> list[Measured]:
        assert worn, "learned policies are judged on the worn robot"
        assert setting == 1
        asked.extend([starts, seed])
        return [one for one in found if one.motion in policies]

    monkeypatch.setattr(table, "trained_policies", trained_policies)
    monkeypatch.setattr(table, "measure", measure)
    return lambda: asked


def silent(_: str) -> None: ...
