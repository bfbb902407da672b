"""Pages in a notebook: in a frame, which keeps their style to themselves and grows to their height."""

import html

_GROW = "this.style.height = this.contentDocument.documentElement.scrollHeight + 'px'"


def framed(page: str, title: str, sections: int | None = None) -> str:
    """The page, or its first sections, as HTML for a cell's output."""
    if sections is not None:
        start, *parts = page.split("<section>")
        page = "<section>".join([start, *parts[:sections]])
    return (
        f'<iframe srcdoc="{html.escape(page)}" title="{html.escape(title)}" onload="{_GROW}" '
        'style="width: 100%; height: 50rem; border: 0"></iframe>'
    )
