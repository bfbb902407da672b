"""docs/benchmarks.md and the README's benchmark section, made from benchmarks/*/result.json and never typed.

python -m haloid.bench.page            rewrite both, from the root of the checkout
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ORDER = (
    *("table2", "table4", "noise", "sysid", "scaling", "excitation", "data"),
    *("throughput", "table3", "walk", "yaw-jump", "maneuvers"),
)
BEGIN, END = "<!-- benchmarks: made by python -m haloid.bench.page -->", "<!-- end of benchmarks -->"


def load_results(folder: Path) -> list[dict[str, Any]]:
    """The kept results, in the order of the issue they answer."""
    found = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*/result.json")}
    names = [name for name in ORDER if name in found] + sorted(set(found) - set(ORDER))
    return [found[name] for name in names]


def page(results: list[dict[str, Any]]) -> str:
    """The whole of docs/benchmarks.md."""
    parts = [
        "# Benchmarks\n",
        "Every number on this page comes from a file `benchmarks/NAME/result.json`, written by the command beside it; "
        "`python -m haloid.bench.page` makes the page from these files. Ratios were measured in one run; seconds are "
        "of the machine named.\n",
    ]
    for result in results:
        parts.append(f"## {result['benchmark']}\n")
        parts.append(f"`{result['command']}`, {result['seconds']:.0f} s on {result['machine']}.\n")
        for table in result["tables"]:
            parts.append(_markdown(table["columns"], table["rows"]))
            if table["note"]:
                parts.append(table["note"] + "\n")
        if result["targets"]:
            parts.append("\n".join(f"- {target['target']}" for target in result["targets"]) + "\n")
        parts += [note + "\n" for note in result["notes"]]
    return "\n".join(parts)


def readme_section(results: list[dict[str, Any]]) -> str:
    """The headline targets of all benchmarks, between the README's markers."""
    rows = [
        [f"`haloid bench {result['benchmark']}`", target["target"]]
        for result in results
        for target in result["targets"]
    ]
    return f"{BEGIN}\n\n{_markdown(['command', 'result'], rows)}\n{END}"


def with_section(readme: str, section: str) -> str:
    """The README with its benchmark section replaced."""
    before, rest = readme.split(BEGIN)
    return before + section + rest.split(END)[1]


def _markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def main() -> None:
    root = Path.cwd()
    results = load_results(root / "benchmarks")
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "benchmarks.md").write_text(page(results), encoding="utf-8")
    readme = root / "README.md"
    readme.write_text(with_section(readme.read_text(encoding="utf-8"), readme_section(results)), encoding="utf-8")


if __name__ == "__main__":
    main()
