"""docs/benchmarks.md and the tables in README.md and docs/paper-tables.md, made from benchmarks/*/result.json.

python -m haloid.bench.page            rewrite them, from the root of the checkout
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from haloid.bench import BENCHMARKS

ORDER = (
    *("table2", "table4", "noise", "double-support", "payloads", "sysid", "scaling", "engines", "excitation", "data"),
    *("second-simulator", "real-arm"),
    *("throughput", "controller", "controller-search", "clips", "learning", "learning-time"),
    *("table3", "walk", "yaw-jump", "maneuvers"),
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


class Highlight(NamedTuple):
    """One row of the README's table: what a kept result says, beside the paper or the peer."""

    benchmark: str
    what: str
    other: str
    """The paper's or the peer's."""
    ours: str
    """With the headline's numbers to fill in."""


HIGHLIGHTS = (
    Highlight(
        "table2",
        "HALO, Table II: three loads, noise-free, largest error",
        "0.092 kg, 9.2 mm",
        "{worst_mass_error_kg:.0e} kg, {worst_com_error_m:.0e} m",
    ),
    Highlight(
        "table4",
        "HALO, Table IV: load on a worn robot, median error (torso; hands)",
        "0.01; 0.12 and 0.46 kg (real robot)",
        "{two_stage_payload_torso_median_kg:.3f}; {two_stage_payload_hands_median_kg:.4f} kg (simulated, 0.5 mrad)",
    ),
    Highlight(
        "noise",
        "error over the Cramér–Rao bound; coverage of 95 % intervals",
        "–",
        "{rms_over_bound:.2f}; {coverage95:.1%}",
    ),
    Highlight(
        "payloads",
        "rigid loads with unknown inertia: error over the bound; coverage of mass, CoM",
        "–",
        "{rms_over_bound:.2f}; {coverage95_mass:.0%}, {coverage95_com:.0%}",
    ),
    Highlight(
        "sysid",
        "against mujoco.sysid as shipped: speed; error",
        "1; 1",
        "{times_faster:.0f} × faster; {error_over_sysid:.2f} ×",
    ),
    Highlight(
        "real-arm",
        "a real SO-101 arm: replay error on runs not used, over the nominal model's",
        "1",
        "{calibrated_over_nominal:.2f}",
    ),
    Highlight(
        "controller",
        "controller under Setting 1, success of seven motions: HALO's model; CM; WDR",
        "–",
        "{halo_success:.0%}; {cm_success:.0%}; {wdr_success:.0%}",
    ),
    Highlight(
        "learning",
        "learned policy under all of Table I, mjlab's noise and pushes, success before and after: squat; walk",
        "–",
        "{squat_success_before:.0%} → {squat_success_after:.0%}; {walk_success_before:.0%} → {walk_success_after:.0%}",
    ),
    Highlight(
        "throughput",
        "training on two cores, steps per second",
        "mjlab on this CPU: {mjlab_env_steps_per_second:,.0f}",
        "{env_steps_per_second:,.0f}",
    ),
)


def readme_section(results: list[dict[str, Any]]) -> str:
    """One row per kept result that is worth a glance, and how many targets are missed, between the README's markers."""
    kept = {result["benchmark"]: result for result in results}
    rows = [
        [row.what, row.other.format(**headline), row.ours.format(**headline), f"`haloid bench {row.benchmark}`"]
        for row in HIGHLIGHTS
        if row.benchmark in kept and (headline := kept[row.benchmark]["headline"])
    ]
    met = [target["met"] for result in results for target in result["targets"]]
    missed = [
        f"[{result['benchmark']}](docs/benchmarks.md#{result['benchmark']})"
        for result in results
        if not all(target["met"] for target in result["targets"])
    ]
    table = _markdown(["", "paper or peer", "haloid", "command"], rows)
    words = f"**{met.count(False)} of {len(met)} targets are missed**, in {', '.join(missed)}.\n\n" if missed else ""
    return f"{BEGIN}\n\n{table}\n{words}{END}"


PAPER_TABLES = (
    ("HALO", "II: three payloads, noise-free", "table2"),
    ("HALO", "III: tracking under load, learned policies", "table3"),
    ("HALO", "III, V, VI with the controller, nothing learned", "controller"),
    ("HALO", "IV: two stages against one", "table4"),
    ("HALO", "V: walk", "walk"),
    ("HALO", "V: quarter-turn jump", "yaw-jump"),
    ("HALO", "VI: one-leg maneuvers", "maneuvers"),
    ("ASAP", "III: open loop", "asap-open-loop"),
    ("ASAP", "IV: closed loop; Fig. 11: uses; Fig. 12: noise", "asap-closed-loop"),
    ("ASAP", "Fig. 10: ablations", "asap-ablations"),
    ("GAPONet", "Fig. 3: tracking an unseen robot", "gaponet-tracking"),
    ("GAPONet", "1: delivery", "gaponet-delivery"),
    ("GAPONet", "2: ablations", "gaponet-ablations"),
)
"""Paper, table and the benchmark that repeats it."""


def paper_section(results: list[dict[str, Any]]) -> str:
    """The table of docs/paper-tables.md: what repeats each of the papers' tables, and how far it has come."""
    kept = {result["benchmark"]: result["targets"] for result in results}
    rows = []
    for paper, table, name in PAPER_TABLES:
        if name not in BENCHMARKS:
            state = "not built"
        elif name not in kept:
            state = "runs; no result is kept yet"
        else:
            met = [target["met"] for target in kept[name]]
            state = f"[numbers](benchmarks.md#{name})"
            state += f"; {met.count(True)} of {len(met)} targets met" if met else ""
        rows.append([paper, table, f"`haloid bench {name}`" if name in BENCHMARKS else "–", state])
    return f"{BEGIN}\n\n{_markdown(['paper', 'table', 'command', 'state'], rows)}\n{END}"


def with_section(text: str, section: str) -> str:
    """A page with its section between the markers replaced."""
    before, rest = text.split(BEGIN)
    return before + section + rest.split(END)[1]


def _markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def main() -> None:
    root = Path.cwd()
    results = load_results(root / "benchmarks")
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "benchmarks.md").write_text(page(results), encoding="utf-8")
    sections = {"README.md": readme_section(results), "docs/paper-tables.md": paper_section(results)}
    for name, section in sections.items():
        text = (root / name).read_text(encoding="utf-8")
        (root / name).write_text(with_section(text, section), encoding="utf-8")


if __name__ == "__main__":
    main()
