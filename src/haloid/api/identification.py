"""`haloid.identify`: recordings in, a `Result` out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from haloid.api.logs import Recordings, recordings_of
from haloid.api.result import Live, Result
from haloid.identify import stages as identification
from haloid.identify.results.answer import answer
from haloid.identify.results.files import contents_of
from haloid.identify.settings import BASE_PARAMETERS, Settings
from haloid.identify.solvers.fit import Report


def identify(
    unloaded: Recordings,
    loaded: Recordings,
    payload_links: str | Sequence[str],
    *,
    payload_model: Literal["body", "halo"] = "body",
    payload_size_m: float = 0.5,
    payload_parameters: Sequence[str] = (),
    base_parameters: Sequence[str] = BASE_PARAMETERS,
    priors: Sequence[str] = (),
    residuals: Sequence[str] = (),
    stages: Literal["two", "one"] = "two",
    base: Literal["free", "frozen"] = "free",
    engine: str = "analytic",
    solver: Literal["lm", "gd", "cma"] = "lm",
    loss: Literal["joints", "cartesian"] = "joints",
    regulariser: Literal["gaussian", "paper"] = "gaussian",
    friction_impedance: float | None = None,
    timestep_s: float | None = None,
    rows: int = 20,
    fragments: int = 20,
    held_out: float = 0.2,
    noise_rad: float | None = None,
    robust: float | None = None,
    upper_weight: float = 1.0,
    iterations: int | None = None,
    seed: int = 0,
    report: Callable[[str], Report] | None = None,
) -> Result:
    """Find what a robot carries: mass and CoM of the loaded links, with error bars.

    Stage 1 calibrates the robot from unloaded recordings, stage 2 finds mass and centre of mass of the payload links
    from loaded ones. The settings are those of `haloid identify`, whose `--help` explains each.

    Args:
        unloaded: recordings of the robot without its load; may be empty with `stages="one"`.
        loaded: recordings of the robot with its load.
        payload_links: the links that the load is fixed to.
        report: given a stage's name, returns a function that is called with every iteration.

    Examples:
        >>> loaded = haloid.read("logs/loaded-*.csv")
        >>> result = haloid.identify([], loaded, ["torso_link"], stages="one", fragments=4, rows=8)
        >>> result.payload["torso_link"].mass_kg.value > 5
        True
        >>> haloid.identify([], loaded, ["torso_link"], stages="one", held_out=0.7)
        Traceback (most recent call last):
        haloid.setting_limits.SettingError: --held-out is 0.7; expected a number from 0 to 0.5
    """
    settings = Settings(
        payload_links=_names(payload_links),
        payload_model=payload_model,
        payload_size_m=payload_size_m,
        payload_parameters=_names(payload_parameters),
        base_parameters=_names(base_parameters),
        priors=_names(priors),
        residuals=_names(residuals),
        stages=stages,
        base=base,
        engine=engine,
        solver=solver,
        loss=loss,
        regulariser=regulariser,
        friction_impedance=friction_impedance,
        timestep_s=timestep_s,
        rows=rows,
        fragments=fragments,
        held_out=held_out,
        noise_rad=noise_rad,
        robust=robust,
        upper_weight=upper_weight,
        iterations=iterations,
        seed=seed,
    )
    bare, carrying = recordings_of("unloaded", unloaded), recordings_of("loaded", loaded)
    found = identification.identify(bare, carrying, settings, report)
    told = answer(found)
    return Result(contents_of(found, told, bare, carrying), live=Live(found, told, bare, carrying))


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
