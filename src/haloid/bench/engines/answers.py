"""What each engine identifies: HALO's Setting 1 in double support, one noisy recording for all of them.

Errors stand beside the Cramér–Rao bound of the same fragments, and beside the analytic engine's answer in units of that
bound: engines that model the same robot must agree, whatever the noise. MJX compiles as it goes; that is counted apart.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haloid.bench.identification.noise import LINK_COLUMNS, SETTINGS, TARGET_LEVEL_RAD, clean_recording
from haloid.identify.inspection.bound import Bound, cramer_rao_bound
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.lab.loads import halo_setting
from haloid.lab.robot import LabRobot
from haloid.recordings.recording import Recording
from haloid.report import Table
from haloid.robots.inertia import read_links

_COMPILED = "/jax/core/compile/backend_compile_duration"
"""JAX's name for the event that it compiled something."""


@dataclass(frozen=True)
class Question:
    """One recording, and the best that can be known from it."""

    noisy: Recording
    settings: Settings
    bound: Bound

    @classmethod
    def of(cls, fragments: int, rows: int) -> Question:
        robot = LabRobot(support="double", loads=halo_setting(1))
        clean = clean_recording(robot)
        settings = replace(SETTINGS, fragments=fragments, rows=rows)
        bound = cramer_rao_bound(clean, read_links(robot.built.model), settings, TARGET_LEVEL_RAD)
        noise_rad = TARGET_LEVEL_RAD * np.random.default_rng(0).standard_normal(clean.q_rad.shape)
        return cls(replace(clean, dq_rad_s=None, q_rad=clean.q_rad + noise_rad), settings, bound)

    def answer(self, engine: str) -> dict[str, Any]:
        compiling_s = _compiling() if engine == "mjx" else []
        started = time.perf_counter()
        found = identify([], [self.noisy], replace(self.settings, engine=engine))
        seconds = time.perf_counter() - started
        error = found.stage2.values - self.bound.truth
        by_link = error.reshape(-1, LINK_COLUMNS)
        contact = found.contact
        assert contact is not None
        return {
            "identified_by": engine,
            "seconds": seconds,
            "compile_s": float(np.sum(compiling_s)),
            "iterations": found.stage2.iterations,
            "mass_error_kg": float(np.abs(by_link[:, 0]).max()),
            "com_error_m": float(np.linalg.norm(by_link[:, 1:], axis=1).max()),
            "errors_in_bounds": (error / self.bound.std).tolist(),
            "rms_over_bound": float(np.sqrt(np.mean((error / self.bound.std) ** 2))),
            "fragments_fitted": contact.fragments,
            "fragments_switching": contact.switching,
        }


def _compiling() -> list[float]:
    """Grows by the seconds of whatever JAX compiles from now on."""
    import jax

    seconds: list[float] = []

    def heard(event: str, duration_secs: float, **_: Any) -> None:
        if event == _COMPILED:
            seconds.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(heard)
    return seconds


def furthest_apart(answers: Sequence[dict[str, Any]]) -> float:
    """How far any parameter is from the first engine's, in units of its bound."""
    errors = np.array([answer["errors_in_bounds"] for answer in answers])
    return float(np.abs(errors - errors[0]).max())


def answers_table(answers: Sequence[dict[str, Any]], fragments: int, rows: int) -> Table:
    return Table(
        ["engine", "mass g", "CoM mm", "RMS / bound", "off analytic", "fitted", "iterations", "s", "compiling, s"],
        [
            [
                answer["identified_by"],
                f"{1e3 * answer['mass_error_kg']:.1f}",
                f"{1e3 * answer['com_error_m']:.2f}",
                f"{answer['rms_over_bound']:.2f}",
                f"{furthest_apart([answers[0], answer]):.1g}" if answer is not answers[0] else "–",
                f"{answer['fragments_fitted']}",
                f"{answer['iterations']}",
                f"{answer['seconds']:.0f}",
                f"{answer['compile_s']:.0f}" if answer["compile_s"] else "–",
            ]
            for answer in answers
        ],
        f"Setting 1 identified in double support from one recording with {1e3 * TARGET_LEVEL_RAD:g} mrad of noise, "
        f"{fragments} fragments of {rows} control steps, by Levenberg–Marquardt. Mass and CoM: the worst link's "
        "errors; RMS: of all parameters over the Cramér–Rao bound; off analytic: the parameter furthest from that "
        "engine's, in bounds; compiling: part of the seconds.",
    )
