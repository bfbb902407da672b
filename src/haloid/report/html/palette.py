"""The colours of reports, in light and in dark.

Plots are drawn in the light ones; `svg.py` turns these into the page's CSS variables, so that a plot follows the
reader's setting. The series are those of Okabe and Ito, which colour-blind readers can tell apart, lightened for dark.
"""

from typing import NamedTuple


class Colour(NamedTuple):
    light: str
    dark: str


COLOURS: dict[str, Colour] = {
    "ink": Colour("#1c2126", "#e4e7ea"),
    "muted": Colour("#5f6972", "#9ba5ae"),
    "reference": Colour("#8b949d", "#87919b"),
    "rule": Colour("#dfe3e7", "#30373e"),
    "paper": Colour("#ffffff", "#14181c"),
    "panel": Colour("#f5f7f9", "#1b2026"),
    "series-1": Colour("#0072b2", "#4aa8e8"),
    "series-2": Colour("#d55e00", "#ff8f4a"),
    "series-3": Colour("#009e73", "#35c99d"),
    "series-4": Colour("#cc79a7", "#e79cc6"),
    "series-5": Colour("#e69f00", "#f5bb3d"),
    "series-6": Colour("#56b4e9", "#93d2f7"),
}
"""By the name of the page's CSS variable."""

INK = COLOURS["ink"].light
MUTED = COLOURS["muted"].light
RULE = COLOURS["rule"].light
PAPER = COLOURS["paper"].light
REFERENCE = COLOURS["reference"].light
"""For what a plot compares with: a target, a nominal model."""
SERIES = tuple(colour.light for name, colour in COLOURS.items() if name.startswith("series-"))
"""For what a plot is about, in this order."""


def css_colour(light: str) -> str:
    """A colour of the palette as the page's variable, with itself to fall back on; any other as it is."""
    name = next((name for name, colour in COLOURS.items() if colour.light == light), None)
    return f"var(--{name}, {light})" if name else light
