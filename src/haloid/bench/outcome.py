"""What a benchmark gives: a table beside the paper's or a peer's, headline numbers, and result.json.

Speed is reported as ratios measured in one run. A target that was missed is said to be missed.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haloid.cores import cores_in_words
from haloid.identify.results.files import versions
from haloid.outputs import atomic_file
from haloid.report import Table


@dataclass(frozen=True)
class Target:
    """A number to reach."""

    what: str
    found: float
    limit: float
    at_least: bool = False
    """Whether `found` should be at least (instead of at most) `limit`."""
    strictly: bool = False
    """Whether `limit` itself misses: better than another is more than a tie."""

    @property
    def met(self) -> bool:
        if self.strictly and self.found == self.limit:
            return False
        return self.found >= self.limit if self.at_least else self.found <= self.limit

    def __str__(self) -> str:
        relations = ("above", "below") if self.strictly else ("at least", "at most")
        relation = relations[0 if self.at_least else 1]
        return f"{'met' if self.met else 'MISSED'}: {self.what} {self.found:.3g} (target {relation} {self.limit:g})"


@dataclass(frozen=True)
class Outcome:
    headline: dict[str, float]
    rows: list[dict[str, Any]]
    tables: Sequence[Table]
    targets: Sequence[Target] = field(default_factory=list)
    notes: Sequence[str] = field(default_factory=list)


def write_outcome(name: str, outcome: Outcome, seconds: float, out: Path) -> Path:
    """DIR/result.json, whole or not at all."""
    document = {
        "benchmark": name,
        "headline": outcome.headline,
        "rows": outcome.rows,
        "tables": [{"columns": list(t.columns), "rows": t.texts(), "note": t.note} for t in outcome.tables],
        "targets": [{"target": str(target), "met": target.met} for target in outcome.targets],
        "notes": list(outcome.notes),
        "seconds": round(seconds, 1),
        "machine": f"{cores_in_words()}, {platform.machine()}, {platform.system()}",
        "versions": versions(),
        "command": "haloid " + " ".join(sys.argv[1:]),
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out / "result.json"
    with atomic_file(path) as file:
        file.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path
