"""`haloid bench`: one command for each table of the papers and each comparison with a peer."""

from __future__ import annotations

import importlib
import sys
import time
from dataclasses import dataclass
from typing import Any

import tyro

from haloid.bench import BENCHMARKS
from haloid.cli import console
from haloid.cli.words import listing, unknown


@dataclass(frozen=True)
class Config:
    """Measure haloid: the papers' tables and comparisons with peers, each with its targets.

    Prints a table and writes result.json. A target that is missed is printed as missed.

    Example:
        haloid bench table2 --quick --out out/bench/table2
    """

    name: str
    settings: Any


def parse(words: list[str]) -> Config | int:
    """The benchmark that `words` names, with its settings; or an exit status. Imports that one benchmark only."""
    match words:
        case [name, *rest] if name in BENCHMARKS:
            settings = _settings(name)
            return Config(
                name, tyro.cli(settings, prog=f"haloid bench {name}", description=settings.__doc__, args=rest)
            )
        case ["--help" | "-h"]:
            print(_overview())
            return 0
        case []:
            print(_overview(), file=sys.stderr)
            return 2
        case _:
            console.error(unknown(words[0], "benchmark", BENCHMARKS, "haloid bench --help"))
            return 2


def run(config: Config) -> None:
    from haloid.bench.outcome import write_outcome

    module = importlib.import_module(type(config.settings).__module__)
    started = time.monotonic()
    with console.progress(f"Benchmark {config.name}") as say:
        outcome = module.run(config.settings, say)
    path = write_outcome(config.name, outcome, time.monotonic() - started, config.settings.out)
    for table in outcome.tables:
        console.print_table(table)
    for line in [*map(str, outcome.targets), *outcome.notes]:
        console.results.print(line)
    console.wrote(path)
    console.next_command("bench", "--help")


def _settings(name: str) -> type:
    module, _, settings = BENCHMARKS[name].place.partition(":")
    return getattr(importlib.import_module(f"haloid.bench.{module}"), settings)


def _overview() -> str:
    return "\n".join(
        [
            "usage: haloid bench NAME [OPTIONS]",
            "",
            *(Config.__doc__ or "").strip().splitlines()[:1],
            "",
            "benchmarks:",
            *listing({name: benchmark.summary for name, benchmark in BENCHMARKS.items()}),
        ]
    )
