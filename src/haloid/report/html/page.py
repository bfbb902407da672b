"""Sections in, one self-contained HTML file out: no network, no script, light and dark, screen, phone and paper."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import haloid
from haloid.outputs import atomic_file
from haloid.report.html import palette
from haloid.report.html.parts import Figure, Section


def write_report(path: Path, title: str, lead: str, sections: Sequence[Section]) -> None:
    """Write the report to `path`, whole or not at all.

    Args:
        lead: one sentence under the title: the answer.
    """
    html = render(title, lead, sections)
    with atomic_file(path) as beside:
        beside.write_text(html, encoding="utf-8")


def render(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The report as HTML. The same sections give the same text."""
    environment = Environment(
        loader=PackageLoader("haloid.report.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda part: type(part).__name__
    environment.filters["css_colour"] = palette.css_colour
    environment.filters["svgs"] = _SvgDrawer().svgs
    template = environment.get_template("template.html")
    return template.render(
        title=title, lead=lead, sections=sections, palette=palette.COLOURS, version=haloid.__version__
    )


class _SvgDrawer:
    """Draws the plots of one document, each with a prefix of its own for the ids in it."""

    def __init__(self) -> None:
        self.drawn = 0

    def svgs(self, figure: Figure) -> list[Markup]:
        from haloid.report.html.svg import to_svg  # matplotlib, which a report without plots does not need

        panels = []
        for plot in figure.panels():
            self.drawn += 1
            panels.append(Markup(to_svg(plot, id_prefix=f"p{self.drawn}-")))
        return panels
