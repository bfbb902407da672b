"""`haloid bench`: one command for each table of the paper and each comparison with a peer."""

from __future__ import annotations

import importlib
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from haloid.cli import console

MODULES = {"walk": "locomotion", "yaw-jump": "locomotion"}
"""Of `haloid.bench`, where a benchmark's module bears another name."""


@dataclass(frozen=True)
class Table2:
    """HALO's Table II: three payloads, noise-free, from nominal; haloid, gradient descent, CMA-ES."""

    quick: bool = False
    """Fewer iterations of the two slow solvers."""
    seeds: int = 5
    """Seeds of CMA-ES."""
    out: Path = Path("out/bench/table2")
    """Directory for result.json."""


@dataclass(frozen=True)
class Table4:
    """HALO's Table IV: two stages against one on aged robots with noise and friction, 6, 2 and 2 kg."""

    robots: int = 20
    """Aged robots."""
    noise: float = 0.0005
    """Encoder noise, rad."""
    out: Path = Path("out/bench/table4")
    """Directory for result.json."""


@dataclass(frozen=True)
class Noise:
    """Errors against the Cramer-Rao bound and coverage of the 95 % intervals, at four noise levels."""

    seeds: int = 50
    """Recordings a noise level."""
    out: Path = Path("out/bench/noise")
    """Directory for result.json."""


@dataclass(frozen=True)
class Sysid:
    """The same fragments through mujoco.sysid and through haloid: seconds and accuracy."""

    fragments: int = 16
    """Fragments of the recording."""
    rows: int = 20
    """Control steps of a fragment."""
    noise: float = 0.0005
    """Encoder noise, rad."""
    seeds: int = 3
    """Recordings, each identified in every way."""
    sysid_iterations: int = 200
    """At most so many iterations of mujoco.sysid (its own default)."""
    out: Path = Path("out/bench/sysid")
    """Directory for result.json."""


@dataclass(frozen=True)
class Scaling:
    """Seconds of a Jacobian against the number of parameters, fragments and control steps."""

    fragments: int = 8
    """Fragments of the rows that vary something else."""
    rows: int = 20
    """Control steps of the rows that vary something else."""
    repeats: int = 7
    """Times that everything is measured, in turns; the fastest counts."""
    out: Path = Path("out/bench/scaling")
    """Directory for result.json."""


@dataclass(frozen=True)
class Excitation:
    """Optimised motions against multi-sines of the same length and limits: predicted and achieved intervals."""

    multi_sines: int = 5
    """Random multi-sines to compare with."""
    runs: int = 3
    """Noisy recordings of every motion."""
    starts: int = 1
    """Starts of the optimiser."""
    out: Path = Path("out/bench/excitation")
    """Directory for result.json."""


@dataclass(frozen=True)
class Data:
    """Errors against seconds of recording, 1 to 60 s, beside the Cramer-Rao bound."""

    seeds: int = 4
    """Recordings of every length."""
    out: Path = Path("out/bench/data")
    """Directory for result.json."""


@dataclass(frozen=True)
class SkillBench:
    """What the benchmarks of skills share: trainings of three methods, run as jobs that all of them use."""

    iterations: int = 60
    """Of each training; 60 are under three minutes on two cores."""
    starts: int = 50
    """Runs of each policy on the true robot."""
    hours: float | None = None
    """Start and continue trainings for this long; the next run goes on."""
    workers: int = 1
    """Trainings at the same time on this machine."""
    ray: str | None = None
    """Address of a Ray cluster to train on."""
    fresh: bool = False
    """Train anew what was trained with other settings."""
    seed: int = 0
    """Of the runs."""
    folder: Path = Path("out/skills")
    """Where trainings are kept and shared."""


@dataclass(frozen=True)
class Table3(SkillBench):
    """HALO's Table III: WDR, CM and HALO track steady and agile motions under Setting 1."""

    motions: tuple[str, ...] = ("squat", "wave", "swallow", "walk", "side-kick", "roundhouse-kick", "yaw-jump")
    """Own motions or files; the paper has 20."""
    agile: tuple[str, ...] = ()
    """Which of the files are agile; own motions are known to be or not."""
    out: Path = Path("out/bench/table3")
    """Directory for result.json."""


@dataclass(frozen=True)
class Walk(SkillBench):
    """HALO's Table V, walking forward and back under Setting 1."""

    out: Path = Path("out/bench/walk")
    """Directory for result.json."""


@dataclass(frozen=True)
class YawJump(SkillBench):
    """HALO's Table V, the jump with a quarter turn under Setting 1."""

    out: Path = Path("out/bench/yaw-jump")
    """Directory for result.json."""


@dataclass(frozen=True)
class Maneuvers(SkillBench):
    """HALO's Table VI: swallow balance, side kick, roundhouse kick under Setting 1, successes of ten."""

    starts: int = 10
    """Runs of each policy on the true robot."""
    out: Path = Path("out/bench/maneuvers")
    """Directory for result.json."""


@dataclass(frozen=True)
class Throughput:
    """Environment steps a second of the whole training loop, split, and against mjlab on the same CPU."""

    iterations: int = 50
    """Measured iterations of training; every 50th has a trial."""
    mjlab_robots: int = 256
    """Robots in mjlab's environment."""
    mjlab_steps: int = 20
    """Measured control steps of mjlab's environment."""
    out: Path = Path("out/bench/throughput")
    """Directory for result.json."""


Benchmark = (
    Annotated[Table2, tyro.conf.subcommand("table2")]
    | Annotated[Table4, tyro.conf.subcommand("table4")]
    | Annotated[Noise, tyro.conf.subcommand("noise")]
    | Annotated[Sysid, tyro.conf.subcommand("sysid")]
    | Annotated[Scaling, tyro.conf.subcommand("scaling")]
    | Annotated[Excitation, tyro.conf.subcommand("excitation")]
    | Annotated[Data, tyro.conf.subcommand("data")]
    | Annotated[Throughput, tyro.conf.subcommand("throughput")]
    | Annotated[Table3, tyro.conf.subcommand("table3")]
    | Annotated[Walk, tyro.conf.subcommand("walk")]
    | Annotated[YawJump, tyro.conf.subcommand("yaw-jump")]
    | Annotated[Maneuvers, tyro.conf.subcommand("maneuvers")]
)


@dataclass(frozen=True)
class Config:
    """Measure haloid: the paper's tables and comparisons with peers, each with its targets.

    Prints a table and writes result.json. A target that is missed is printed as missed.

    Example:
        haloid bench table2 --quick --out out/bench/table2
    """

    benchmark: tyro.conf.OmitSubcommandPrefixes[Benchmark]


def run(config: Config) -> None:
    from haloid.bench.outcome import write_outcome

    benchmark = config.benchmark
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", type(benchmark).__name__).lower()
    module = importlib.import_module(f"haloid.bench.{MODULES.get(name, name)}")
    started = time.monotonic()
    with console.progress(f"Benchmark {name}") as say:
        outcome = module.run(benchmark, say)
    path = write_outcome(name, outcome, time.monotonic() - started, benchmark.out)
    for table in outcome.tables:
        console.print_table(table)
    for line in [*map(str, outcome.targets), *outcome.notes]:
        console.results.print(line)
    console.wrote(path)
