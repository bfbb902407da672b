"""`haloid identify`: recordings in, a calibrated robot with error bars out."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from haloid.cli import console
from haloid.cli.repeat import options_of, parse_with_config
from haloid.config_file import ConfigFileError, read_config_file
from haloid.engines import ENGINES

if TYPE_CHECKING:
    from collections.abc import Callable

    from haloid.identify.solvers.fit import Report

    EngineName = str
else:
    EngineName = tyro.extras.literal_type_from_choices(ENGINES)


@dataclass(frozen=True)
class Config:
    """Find what a robot carries: mass and CoM of the loaded links, with error bars.

    Stage 1 calibrates the robot from unloaded recordings, stage 2 finds mass and centre of mass of the payload links
    from loaded ones. Writes result.json, calibrated.xml, calibrated.urdf, patch.json, report.html and config.yaml.

    Examples:
        haloid identify --unloaded a-1.csv a-2.csv --loaded b-1.csv b-2.csv
            --payload-links torso_link left_wrist_yaw_link right_wrist_yaw_link -o out/result
        haloid identify --config out/result/config.yaml --robust 3 -o out/robust
    """

    loaded: tuple[Path, ...]
    """Recordings of the robot with its load."""
    payload_links: tuple[str, ...]
    """Links that the load is fixed to."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Directory to write the result to."""
    unloaded: tuple[Path, ...] = ()
    """Recordings of the robot without it; needed unless --stages one."""
    stages: Literal["two", "one"] = "two"
    """"two": calibrate, then identify; "one": identify from the nominal robot."""
    base: Literal["free", "frozen"] = "free"
    """"free": stage 2 may correct the robot within stage 1's error bars; "frozen": it stays as stage 1 found it."""
    engine: EngineName = "analytic"
    """Exact sensitivities, differences (for any model), or JAX (the paper's; needs the extra mjx)."""
    solver: Literal["lm", "gd", "cma"] = "lm"
    """Levenberg-Marquardt, or the paper's gradient descent or CMA-ES."""
    loss: Literal["joints", "cartesian"] = "joints"
    """Joint angles weighted by encoder noise, or the paper's body positions (Eqs. 5-7)."""
    regulariser: Literal["gaussian", "paper"] = "gaussian"
    """What holds stage 1 near nominal: a Gaussian prior, or the paper's terms (Eqs. 8-9)."""
    payload_model: Literal["body", "halo"] = "body"
    """"body": what is attached has mass, CoM and inertia; "halo": its link keeps its inertia."""
    payload_size: float = 0.5
    """Length of a body to expect in m, which says how large its inertia may be."""
    payload_parameters: tuple[str, ...] = ()
    """Of the payload links: mass, com, inertia; by default all of the payload's model."""
    base_parameters: tuple[str, ...] = ("*.mass", "*.com", "*.damping", "*.frictionloss", "*.armature")
    """Stage 1's set, as patterns over LINK.{mass,com,inertia}, JOINT.{damping,...,bias} and delay; in double support
    floor_height, floor_friction and floor_stiffness too."""
    priors: tuple[str, ...] = ()
    """What you know better about base parameters: PATTERN=STD or PATTERN=STD:LOW:HIGH, such as '*.strength=0.2'."""
    residuals: tuple[str, ...] = ()
    """Further sensors to compare with: torque (tau:JOINT, measured) and gyro (gyro_x:LINK ...), each estimated to be as
    noisy as it is, or SENSOR=NOISE."""
    friction_impedance: float | None = None
    """0.999: joints stick, as gears do; by default as in the model, and MuJoCo's usual 0.9 lets them creep."""
    timestep: float | None = None
    """Simulation step to identify for, in seconds; by default the model's own, where it divides a row."""
    rows: int = 20
    """Control steps of a fragment."""
    fragments: int = 20
    """Fragments cut from each recording."""
    held_out: float = 0.2
    """Share of the fragments kept for validation."""
    noise: float | None = None
    """Encoder noise in rad; estimated from the data by default."""
    robust: float | None = None
    """Huber's threshold in noise units, such as 3, for recordings with outlying samples."""
    upper_weight: float = 1.0
    """Weight of the payload links in the Cartesian loss (the paper's alpha^u)."""
    iterations: int | None = None
    """Most iterations of the solver (per phase of lm; gd and cma: 2000)."""
    allow_gaps: bool = False
    """Accept recordings with missing rows; no fragment spans a gap."""
    seed: int = 0
    """Seed of the CMA-ES search; the other solvers are deterministic."""
    config: Path | None = None
    """Repeat the run that wrote this config.yaml; options given beside it win."""


_SETTINGS = {"timestep": "timestep_s", "noise": "noise_rad", "payload_size": "payload_size_m"}
"""Options whose setting states its unit."""


def parse(words: list[str]) -> Config | int:
    return parse_with_config(Config, "identify", words, _config_of)


def run(config: Config) -> None:
    from haloid.recordings.patterns import matching_files

    unloaded_files, loaded_files = matching_files(config.unloaded), matching_files(config.loaded)
    from haloid.api.identification import identify
    from haloid.api.logs import read
    from haloid.outputs import atomic_directory
    from haloid.report.screen import payload_table, summary_lines

    with atomic_directory(config.out) as folder:
        unloaded = read(unloaded_files, allow_gaps=config.allow_gaps)
        loaded = read(loaded_files, allow_gaps=config.allow_gaps)
        with console.progress("Identifying") as say:
            report = stage_report(say, config.payload_links)
            result = identify(unloaded, loaded, **_settings(config), report=report)
        with console.progress("Writing the report"):
            result.write_into(folder)
    console.print_table(payload_table(result.answer))
    for line in summary_lines(result.answer):
        console.results.print(line)
    console.wrote(config.out / "result.json")
    console.wrote(config.out / "report.html")
    console.next_command("view", config.out)


def _settings(config: Config) -> dict[str, Any]:
    """The options that are settings of the identification, by the names of the settings."""
    options = {field.name: getattr(config, field.name) for field in fields(config)}
    for name in ("unloaded", "loaded", "allow_gaps", "out", "config"):
        del options[name]
    return {_SETTINGS.get(name, name): value for name, value in options.items()}


def _config_of(file: Path) -> Config:
    """The options of the run that wrote this config.yaml, into the same folder."""
    values = read_config_file(file, "identify")
    options = {name: values.pop(setting) for name, setting in _SETTINGS.items() if setting in values}
    options |= {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    for condition in ("unloaded", "loaded"):
        names = options.get(condition, ())
        if not isinstance(names, tuple):
            raise ConfigFileError(file, f"{condition} is {names!r}", "the names of recordings")
        options[condition] = tuple(file.parent / str(name) for name in names)
    options["out"] = file.parent
    return options_of(Config, options, file)


def stage_report(say: console.Progress, links: tuple[str, ...]) -> Callable[[str], Report]:
    """Progress lines: stage, phase, iteration, cost and the payload links' masses."""

    def of_stage(stage: str) -> Report:
        def report(phase: str, iteration: int, cost: float, masses: dict[str, float]) -> None:
            shown = ", ".join(f"{link} {masses[link]:.3f} kg" for link in links if link in masses)
            words = f"{stage}, {phase}, iteration {iteration}, cost {cost:.6g}" + (f", {shown}" if shown else "")
            say(words, value=math.log10(cost) if cost > 0 else None)

        return report

    return of_stage
