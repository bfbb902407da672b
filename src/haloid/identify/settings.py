"""The choices of an identification: what is fitted, to which rows, by which solver.

In: settings by name. Out: `Settings`, in which an impossible value is refused at once, and what follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from haloid.engines import ENGINES
from haloid.errors import HaloidError
from haloid.identify.problem.own_priors import parse_priors
from haloid.identify.problem.residuals import parse_residuals
from haloid.identify.solvers.fit import FitSettings
from haloid.setting_limits import check_settings

BASE_PARAMETERS = ("*.mass", "*.com", "*.damping", "*.frictionloss", "*.armature")
"""Stage 1's full set."""
_LIMITS = {
    "timestep_s": (1e-5, 0.1),
    "payload_size_m": (1e-3, 10.0),
    "friction_impedance": (0.5, 0.9999),
    "rows": (3, 1000),
    "fragments": (1, 10_000),
    "held_out": (0.0, 0.5),
    "noise_rad": (1e-9, 1.0),
    "robust": (0.1, 100.0),
    "upper_weight": (0.0, 1e6),
    "iterations": (1, 1_000_000),
    "seed": (0, 2**32 - 1),
}


@dataclass(frozen=True)
class Settings:
    """All choices of an identification; an impossible value is refused at once."""

    payload_links: tuple[str, ...]
    payload_model: Literal["body", "halo"] = "body"
    """"body": what is attached has mass, CoM and inertia; "halo": it shifts mass and CoM of its link, as in HALO's
    Table II, and the link keeps its inertia."""
    payload_size_m: float = 0.5
    """The length of a body to expect, for its inertia where the data says little about it."""
    payload_parameters: tuple[str, ...] = ()
    """Kinds, for every payload link, or names such as torso_link.com; none: all of the payload's model."""
    base_parameters: tuple[str, ...] = BASE_PARAMETERS
    priors: tuple[str, ...] = ()
    """Of base parameters, where the user knows better: PATTERN=STD or PATTERN=STD:LOW:HIGH."""
    residuals: tuple[str, ...] = ()
    """Further sensors to compare with, SENSOR or SENSOR=NOISE: torque (N·m), gyro (rad/s)."""
    stages: Literal["two", "one"] = "two"
    base: Literal["free", "frozen"] = "free"
    """"free": stage 2 may move the rest of the robot within stage 1's covariance; "frozen": it stays, as in HALO."""
    engine: str = "analytic"
    """One of `haloid.engines.ENGINES`."""
    solver: Literal["lm", "gd", "cma"] = "lm"
    loss: Literal["joints", "cartesian"] = "joints"
    regulariser: Literal["gaussian", "paper"] = "gaussian"
    friction_impedance: float | None = None
    """Of dry friction (MuJoCo's solimpfriction): 0.999 sticks, MuJoCo's usual 0.9 creeps; None: the model's own."""
    timestep_s: float | None = None
    """Of the simulation; None: the model's own, where it divides the time between rows."""
    rows: int = 20
    """Control steps of a fragment (HALO's N)."""
    fragments: int = 20
    """Fragments of a recording (HALO's B)."""
    held_out: float = 0.2
    """Share of the fragments kept for validation."""
    noise_rad: float | None = None
    robust: float | None = None
    upper_weight: float = 1.0
    iterations: int | None = None
    """Of the solver; None: its own default."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS, {"engine": ENGINES})
        parse_priors(self.priors)
        if parse_residuals(self.residuals) and (self.loss != "joints" or self.engine == "mjx"):
            raise HaloidError(
                f"--residuals {self.residuals[0]} was given with --loss {self.loss} and --engine {self.engine}; "
                "expected --loss joints and the engine analytic or finite-difference, which take further sensors"
            )


def payload_patterns(settings: Settings) -> list[str]:
    """Stage 2's parameters: kinds are meant for every payload link, names with a dot and `delay` for themselves."""
    whole = ("mass", "com", "inertia") if settings.payload_model == "body" else ("mass", "com")
    chosen = settings.payload_parameters or whole
    named = [name for name in chosen if "." in name or name == "delay"]
    kinds = [name for name in chosen if name not in named]
    return [f"{link}.{kind}" for link in settings.payload_links for kind in kinds] + named


def fit_settings(settings: Settings) -> FitSettings:
    return FitSettings(
        loss=settings.loss,
        upper_links=settings.payload_links,
        upper_weight=settings.upper_weight,
        iterations=settings.iterations or 30,
        noise_rad=settings.noise_rad,
        robust=settings.robust,
        sensors_known=None not in parse_residuals(settings.residuals).values(),
    )
