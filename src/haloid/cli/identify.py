"""`haloid identify`: recordings in, a calibrated robot with error bars out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console

if TYPE_CHECKING:
    from collections.abc import Callable

    from haloid.identify.answer import Answer
    from haloid.identify.fit import Report
    from haloid.identify.stages import Settings
    from haloid.report import Table
    from haloid.report.quantities import Quantity


@dataclass(frozen=True)
class Config:
    """Find what a robot carries: mass and CoM of the loaded links, with error bars.

    Stage 1 calibrates the robot from unloaded recordings, stage 2 finds mass and centre of mass of the payload links
    from loaded ones. Writes result.json, calibrated.xml, calibrated.urdf, patch.json, report.html and config.yaml.

    Example:
        haloid identify --unloaded a-1.csv a-2.csv --loaded b-1.csv b-2.csv
            --payload-links torso_link left_wrist_yaw_link right_wrist_yaw_link -o out/result
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
    engine: Literal["analytic", "finite-difference"] = "analytic"
    """Exact sensitivities of a contact-free robot, or differences of any."""
    solver: Literal["lm", "gd", "cma"] = "lm"
    """Levenberg-Marquardt, or the paper's gradient descent or CMA-ES."""
    loss: Literal["joints", "cartesian"] = "joints"
    """Joint angles weighted by encoder noise, or the paper's body positions (Eqs. 5-7)."""
    regulariser: Literal["gaussian", "paper"] = "gaussian"
    """What holds stage 1 near nominal: a Gaussian prior, or the paper's terms (Eqs. 8-9)."""
    payload_parameters: tuple[str, ...] = ("mass", "com")
    """Of the payload links: mass, com, inertia."""
    base_parameters: tuple[str, ...] = ("*.mass", "*.com", "*.damping", "*.frictionloss", "*.armature")
    """Stage 1's set, as patterns over LINK.{mass,com,inertia}, JOINT.{damping,...,bias} and delay."""
    timestep: float = 0.005
    """Simulation step to identify for, in seconds."""
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
    """Most iterations of the solver (a phase of lm; gd and cma: 2000)."""
    allow_gaps: bool = False
    """Accept recordings with missing rows; no fragment spans a gap."""
    seed: int = 0
    """Seed of the CMA-ES search; the other solvers are deterministic."""


def run(config: Config) -> None:
    from haloid.identify.answer import answer
    from haloid.identify.result import write_result
    from haloid.identify.stages import identify
    from haloid.outputs import atomic_directory
    from haloid.recordings.open_log import open_log
    from haloid.report import write_report
    from haloid.report.identification import TITLE, identification_sections, lead

    settings = settings_of(config)
    with atomic_directory(config.out) as folder:
        unloaded = [open_log(path, allow_gaps=config.allow_gaps) for path in config.unloaded]
        loaded = [open_log(path, allow_gaps=config.allow_gaps) for path in config.loaded]
        with console.progress("Identifying") as say:
            found = identify(unloaded, loaded, settings, stage_report(say, config.payload_links))
            say("validating")
            result = answer(found)
        write_result(folder, found, result, unloaded, loaded)
        with console.progress("Writing the report"):
            sections = identification_sections(found, result, unloaded, loaded)
            write_report(folder / "report.html", TITLE, lead(result), sections)
    console.print_table(payload_table(result))
    for line in summary_lines(result):
        console.results.print(line)
    console.wrote(config.out / "result.json")
    console.wrote(config.out / "report.html")


def settings_of(config: Config) -> Settings:
    from haloid.identify.stages import Settings

    _check(config)
    return Settings(
        payload_links=config.payload_links,
        payload_parameters=config.payload_parameters,
        base_parameters=config.base_parameters,
        stages=config.stages,
        engine=config.engine,
        solver=config.solver,
        loss=config.loss,
        regulariser=config.regulariser,
        timestep_s=config.timestep,
        rows=config.rows,
        fragments=config.fragments,
        held_out=config.held_out,
        noise_rad=config.noise,
        robust=config.robust,
        upper_weight=config.upper_weight,
        iterations=config.iterations,
        seed=config.seed,
    )


def _check(config: Config) -> None:
    from haloid.errors import HaloidError

    limits = {
        "--timestep": (config.timestep, 1e-5, 0.1),
        "--rows": (config.rows, 3, 1000),
        "--fragments": (config.fragments, 1, 10_000),
        "--held-out": (config.held_out, 0.0, 0.5),
        "--noise": (config.noise, 1e-9, 1.0),
        "--robust": (config.robust, 0.1, 100.0),
        "--iterations": (config.iterations, 1, 1_000_000),
    }
    for option, (value, low, high) in limits.items():
        if value is not None and not low <= value <= high:
            raise HaloidError(f"{option} is {value:g}; expected a number from {low:g} to {high:g}")


def stage_report(say: Callable[[str], None], links: tuple[str, ...]) -> Callable[[str], Report]:
    """Progress lines: stage, phase, iteration, cost and the payload links' masses."""

    def of_stage(stage: str) -> Report:
        def report(phase: str, iteration: int, cost: float, masses: dict[str, float]) -> None:
            shown = ", ".join(f"{link} {masses[link]:.3f} kg" for link in links if link in masses)
            say(f"{stage}, {phase}, iteration {iteration}, cost {cost:.6g}" + (f", {shown}" if shown else ""))

        return report

    return of_stage


def payload_table(answer: Answer) -> Table:
    """One line a quantity."""
    from haloid.report.quantities import by_link, payload_quantities

    def cells(q: Quantity) -> list[str]:
        return [q.text(q.value), f"± {q.text(q.half95)}", q.text(q.nominal)]

    note = "± is half of the 95 % interval. Mass and CoM are the link's with its payload."
    return by_link(["", "value", "95 %", "nominal"], shown_quantities(payload_quantities(answer)), cells, note)


def shown_quantities(quantities: list[Quantity]) -> list[Quantity]:
    """Those worth a line on the screen; the report has the payload's own CoM too."""
    return [q for q in quantities if not q.name.startswith("payload CoM")]


def summary_lines(answer: Answer) -> list[str]:
    rms = {name: f"{1e3 * value:.3f}" for name, value in answer.rms_rad.items()}
    lines = [f"fit: {rms['heldout']} mrad rms on held-out data, against {rms['nominal']} mrad for the nominal model"]
    lines += [blind.why for blind in answer.payload_blind]
    if not answer.white:
        lines.append(
            f"the residuals are not white (lag-1 correlation {answer.lag1:+.2f}): the model leaves something out"
        )
    if not answer.converged:
        lines.append("the solver reached its iteration limit; raise --iterations")
    return lines
