"""What a report is made of. Every text is plain text: the page escapes it.

>>> Section("Fit", [Text("The model explains the recording."), Table(["link", "mass (kg)"], [["torso_link", 7.818]])])
Section(title='Fit', ...)
"""

import base64
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from haloid.errors import HaloidError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

logger = logging.getLogger(__name__)

Cell = str | int | float
NUMBER = re.compile(r"[+\-−±<>≤≥≈~]?\s*\d")
"""How a cell with a number begins, sign or relation first; a unit or an interval may follow."""
NO_VALUE = {"", "-", "–", "—"}


@dataclass(frozen=True)
class Text:
    """One or more paragraphs, an empty line between them."""

    text: str

    def paragraphs(self) -> list[str]:
        return [p.strip() for p in re.split(r"\n\s*\n", self.text) if p.strip()]


@dataclass(frozen=True)
class Note:
    """A remark set apart from the text: a limit, a caveat, a next step."""

    text: str


@dataclass(frozen=True)
class KeyNumbers:
    """A few numbers worth reading first."""

    numbers: Sequence[tuple[str, str, str]]
    """What it is, the value with its unit, and a note under it (may be empty)."""


@dataclass(frozen=True)
class Table:
    """Columns of numbers are set to the right; floats are shown with four digits."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise TableError(number, len(row), self.columns)

    def texts(self) -> list[list[str]]:
        """The cells as they are shown."""
        return [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row] for row in self.rows]

    def numeric_columns(self) -> list[bool]:
        """For each column, whether its cells are numbers."""
        columns = zip(*self.texts(), strict=True) if self.rows else [()] * len(self.columns)
        return [_are_numbers(column) for column in columns]


class TableError(HaloidError):
    def __init__(self, number: int, cells: int, columns: Sequence[str]) -> None:
        names = ", ".join(columns)
        super().__init__(f"Row {number} of a table has {cells} cells for its {len(columns)} columns ({names}).")


@dataclass(frozen=True)
class Figure:
    """One plot, or several small ones that the page lays side by side as its width allows."""

    plots: "MatplotlibFigure | Sequence[MatplotlibFigure]"
    caption: str
    legend: Mapping[str, str] = field(default_factory=dict)
    """The name of each curve and its colour in `haloid.report.html.palette`."""

    def panels(self) -> "list[MatplotlibFigure]":
        return list(self.plots) if isinstance(self.plots, Sequence) else [self.plots]


@dataclass(frozen=True)
class Mark:
    """A letter beside a place in a picture."""

    letter: str
    points_at_px: tuple[float, float]
    at_px: tuple[float, float]


@dataclass(frozen=True)
class View:
    """One image with a transparent ground, to be seen on a light and on a dark page."""

    title: str
    png: bytes
    size_px: tuple[int, int]
    marks: Sequence[Mark] = ()

    @property
    def data_url(self) -> str:
        return f"data:image/png;base64,{base64.b64encode(self.png).decode('ascii')}"


@dataclass(frozen=True)
class Picture:
    """Views of one thing, side by side."""

    views: Sequence[View]
    caption: str
    legend: Mapping[str, str] = field(default_factory=dict)
    """As a figure's."""


Part = Text | Note | KeyNumbers | Table | Figure | Picture


@dataclass(frozen=True)
class Section:
    title: str
    parts: Sequence[Part]


def made_section(title: str, make: Callable[[], Sequence[Part]]) -> Section:
    """The section; one that cannot be made is replaced by a note that says so, and the rest of the report is kept."""
    try:
        return Section(title, make())
    except Exception as error:
        logger.warning("the report's section «%s» could not be made: %s", title, error)
        logger.debug("", exc_info=True)
        reason = f"This section could not be made: {str(error) or type(error).__name__}."
        return Section(
            title, [Note(f"{reason} The other sections and the numbers in result.json do not depend on it.")]
        )


def _are_numbers(cells: Sequence[str]) -> bool:
    shown = [c for c in cells if c.strip() not in NO_VALUE]
    return bool(shown) and all(NUMBER.match(c) for c in shown)
