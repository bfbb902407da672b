"""A matplotlib figure in, SVG for the inside of an HTML page out.

Text stays text, in the page's own font; colours of the palette become the page's CSS variables; ids get a prefix,
since the page holds many plots. The same figure gives the same SVG.
"""

import io
import re

import matplotlib
from matplotlib.figure import Figure

from haloid.report.html.palette import css_colour

LARGEST_SCALE = 1.25
"""A plot fills the width it is given, up to this many times its own."""
PX_PER_INCH = 96


def to_svg(figure: Figure, id_prefix: str) -> str:
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "haloid"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"<svg[^>]*?(viewBox=\"[^\"]*\")[^>]*>", rf"<svg \1 {_size(figure)}>", svg, count=1)
    svg = re.sub(r"(?<=fill: |roke: )#[0-9a-f]{6}", lambda colour: css_colour(colour.group()), svg)
    svg = re.sub(r' d="[^"]*"', _rounded, svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{id_prefix}", svg)
    return svg.replace("xlink:href", "href").strip()


def _size(figure: Figure) -> str:
    width_px = figure.get_figwidth() * PX_PER_INCH * LARGEST_SCALE
    return f'style="max-width: {width_px:.0f}px" aria-hidden="true"'


def _rounded(match: re.Match[str]) -> str:
    """A path's coordinates to a hundredth of a point: a third of the size, the same to the eye."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number.group()):.2f}", match.group())
