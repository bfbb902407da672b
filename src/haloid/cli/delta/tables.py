"""Tables that several commands of `haloid delta` print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haloid.gap.replays.open_loop import OpenLoop
    from haloid.report import Table


def open_loop_table(found: Sequence[OpenLoop]) -> Table:
    """Errors by length and method, E_g-mpjpe with its interval."""
    from haloid.gap.replays.open_loop import ERRORS, UNITS
    from haloid.report import Table

    rows = []
    for entry in found:
        first, *others = ERRORS
        cells = [f"{entry.mean(first):.1f} ± {entry.interval95(first):.1f}"]
        cells += [f"{entry.mean(error):.2f}" for error in others]
        rows.append([f"{entry.length_s:g} s", entry.method, *cells])
    return Table(["length", "method", *UNITS], rows)
