"""HALO's Table III: three ways to prepare for a load, tracking errors on the true, loaded robot.

One recipe for all methods (jobs.py): the same start, as much training, each on its own robot and randomisation. The
true robot carries a load and is worn, which no method was told. Errors are compared over common windows, success
stands apart, and so does success on each method's own training distribution: a method that fails there is no baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.bench.skills.jobs import DELAY_S, Policies, SkillBench, name_of, sweep_of, trained_policies
from haloid.bench.skills.payload_methods import METHODS, ROBOT
from haloid.bench.skills.table import NAMES, Measured, Windows, common_windows, measure
from haloid.errors import HaloidError
from haloid.motions.own import OWN_MOTIONS
from haloid.report import Table
from haloid.skills.evaluation.evaluate import evaluate
from haloid.skills.evaluation.runs import EvaluationConfig
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.robot import tracked_robot

GATE = 0.9
"""Success on its own distribution that a policy should have before it is compared."""
ERRORS = ("e_g_mpjpe_mm", "e_mpjpe_mm", "e_vel_m_s")
PAPER = {
    "steady": {"wdr": (94.91, 70.54, 0.157), "cm": (85.87, 56.33, 0.130), "halo": (52.47, 44.87, 0.098)},
    "agile": {"wdr": (132.89, 81.54, 0.136), "cm": (92.82, 67.06, 0.125), "halo": (78.83, 59.54, 0.106)},
}


@dataclass(frozen=True)
class Table3(SkillBench):
    """Settings of `haloid bench table3`."""

    motions: tuple[str, ...] = ("squat", "wave", "step-in-place", "walk", "swallow", "side-kick")
    """Own motions or files, which one policy learns; the paper has 20."""
    agile: tuple[str, ...] = ()
    """Which of the files are agile; own motions are known to be or not."""
    own_starts: int = 50
    """Runs of each policy on its own distribution."""
    out: Path = Path("out/bench/table3")
    """Directory for result.json."""


def run(config: Table3, say: Callable[[str], None]) -> Outcome:
    kinds = _kinds(config.motions, config.agile)
    policies = trained_policies(config.motions, sweep_of(config), say)
    complete = {motion: found for motion, found in policies.items() if len(found) == len(METHODS)}
    missing = [motion for motion in kinds if motion not in complete]
    if not complete:
        return Outcome({}, [], [], [], [_not_trained(missing)])
    measured = measure(complete, config.starts, config.seed, say, worn=True, setting=config.setting)
    own = own_successes(complete, config.own_starts, config.seed, say)
    compared = [_compared(motion, measured, own) for motion in complete]
    notes = [_not_trained(missing)] if missing else []
    notes += _gate(own)
    return outcome_of(compared, kinds, config.seeds, notes)


@dataclass(frozen=True)
class Compared:
    """One motion by all methods."""

    motion: str
    measured: dict[str, Measured]
    own: dict[str, float]
    """Success on the method's own training distribution."""
    windows: Windows


def _compared(motion: str, measured: Sequence[Measured], own: dict[tuple[str, str], float]) -> Compared:
    by_method = {one.method: one for one in measured if one.motion == motion}
    return Compared(
        motion,
        by_method,
        {method: own[motion, method] for method in by_method},
        common_windows(list(by_method.values()), ERRORS),
    )


def outcome_of(compared: Sequence[Compared], kinds: dict[str, str], seeds: int, notes: list[str]) -> Outcome:
    with_windows = [one for one in compared if one.windows.errors]
    headline = {f"{method}_success": _mean(one.measured[method].success_rate for one in compared) for method in METHODS}
    headline |= {f"{method}_own_success": _mean(one.own[method] for one in compared) for method in METHODS}
    if with_windows:
        headline |= {f"halo_over_{other}": _ratio(with_windows, other) for other in ("wdr", "cm")}
        headline["halo_g_mpjpe_mm"] = _mean(one.windows.errors["halo"]["e_g_mpjpe_mm"] for one in with_windows)
    kinds_found = [kinds[one.motion] for one in compared]
    headline |= {f"{kind}_motions": float(kinds_found.count(kind)) for kind in ("steady", "agile")}
    headline["seeds"] = float(seeds)
    targets = [
        Target(f"E_g-mpjpe of HALO over {NAMES[other]}, common windows", headline[f"halo_over_{other}"], limit)
        for other, limit in (("cm", 0.61), ("wdr", 0.55))
        if with_windows
    ]
    targets += [
        Target("success of HALO", headline["halo_success"], 0.95, at_least=True),
        Target("motions", len(compared), 6, at_least=True),
    ]
    targets += [
        Target(f"{NAMES[method]} on its own distribution", headline[f"{method}_own_success"], GATE, at_least=True)
        for method in METHODS
    ]
    rows = [row for one in compared for row in _rows(one, kinds[one.motion])]
    return Outcome(headline, rows, [_means(compared, kinds), _by_motion(compared)], targets, notes)


def own_successes(
    policies: Policies, starts: int, seed: int, say: Callable[[str], None]
) -> dict[tuple[str, str], float]:
    """By motion and method: the part of runs that succeed on robots as the policy was trained on, at full width."""
    found = {}
    for motion, by_method in policies.items():
        for method, files in by_method.items():
            say(f"running {motion}, {NAMES[method]}, on its own distribution")
            config = EvaluationConfig(
                starts=starts,
                seed=seed,
                motion=motion,
                disturbance=1.0,
                push=1.0,
                delay_s=DELAY_S,
                randomisation="wide" if method == "wdr" else "nominal",
            )
            rates = []
            for file in files:
                patch = file.with_name("patch.json")
                robot = tracked_robot(patch if patch.is_file() else ROBOT)
                rates.append(evaluate(DeployedPolicy(file), robot, config).success_rate)
            found[motion, method] = float(np.mean(rates))
    return found


def _gate(own: dict[tuple[str, str], float]) -> list[str]:
    """Policies that do not represent their method fairly."""
    below = [
        f"{NAMES[method]}'s {motion} ({100 * rate:.0f} %)" for (motion, method), rate in own.items() if rate < GATE
    ]
    if not below:
        return []
    return [
        f"The gate of {100 * GATE:.0f} % success on the own distribution (Table I at full width, all of mjlab's noise "
        f"and pushes) is not passed by {', '.join(below)}: these rows compare policies that need longer training."
    ]


def _not_trained(motions: Sequence[str]) -> str:
    return f"Not trained yet, run the command again to go on: {', '.join(motions)}."


def _rows(one: Compared, kind: str) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind,
            **found.row(ERRORS),
            "own_success": one.own[method],
            "success_by_seed": [evaluation.success_rate for evaluation in found.evaluations],
            "window": one.windows.errors.get(method),
            "window_starts": one.windows.starts,
            "window_s": one.windows.seconds,
        }
        for method, found in one.measured.items()
    ]


def _kinds(motions: Sequence[str], agile: Sequence[str]) -> dict[str, str]:
    """Of the motions by name."""
    told = {name_of(motion): motion for motion in agile}
    unknown = [motion for name, motion in told.items() if name not in map(name_of, motions)]
    if unknown:
        raise HaloidError(f"agile are {', '.join(unknown)}; expected some of the motions: {', '.join(motions)}")
    return {name_of(motion): _kind(motion, name_of(motion) in told) for motion in motions}


def _kind(motion: str, told_agile: bool) -> str:
    if motion in OWN_MOTIONS:
        return OWN_MOTIONS[motion].kind
    return "agile" if told_agile else "steady"


def _ratio(compared: Sequence[Compared], other: str) -> float:
    """Geometric mean over motions of HALO's error over the other's, over common windows."""
    errors = [one.windows.errors for one in compared]
    return float(np.exp(_mean(np.log(found["halo"][ERRORS[0]] / found[other][ERRORS[0]]) for found in errors)))


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _means(compared: Sequence[Compared], kinds: dict[str, str]) -> Table:
    """As the paper prints it, the paper's own numbers beside ours."""
    rows = []
    for kind in ("steady", "agile"):
        chosen = [one for one in compared if kinds[one.motion] == kind]
        windows = [one.windows.errors for one in chosen if one.windows.errors]
        for method in METHODS if chosen else ():
            cells = ["", "", ""]
            if windows:
                means = [_mean(found[method][error] for found in windows) for error in ERRORS]
                cells = [f"{means[0]:.1f}", f"{means[1]:.1f}", f"{means[2]:.3f}"]
            success = f"{100 * _mean(one.measured[method].success_rate for one in chosen):.0f} %"
            own = f"{100 * _mean(one.own[method] for one in chosen):.0f} %"
            paper = PAPER[kind][method]
            words = f"{paper[0]:.1f}, {paper[1]:.1f}, {paper[2]:.3f}"
            rows.append([kind, NAMES[method], *cells, success, own, words])
    columns = ["tasks", "method", "E_g-mpjpe mm", "E_mpjpe mm", "E_vel m/s", "success", "own distribution"]
    note = (
        "Errors are over common windows: of each start as far as all methods last. Own distribution: success under "
        "what the method was trained for, pushes included. The paper's motions are others."
    )
    return Table([*columns, "paper: the three errors"], rows, note)


def _by_motion(compared: Sequence[Compared]) -> Table:
    rows = []
    for one in compared:
        for method, found in one.measured.items():
            errors = one.windows.errors.get(method)
            error = "" if errors is None else f"{errors[ERRORS[0]]:.1f}"
            window = f"{one.windows.starts} × {one.windows.seconds:.1f} s"
            by_seed = ", ".join(f"{evaluation.successes}" for evaluation in found.evaluations)
            count = f"{by_seed} of {len(found.evaluations[0].metrics)}"
            survival, own = f"{100 * found.survival:.0f} %", f"{100 * one.own[method]:.0f} %"
            rows.append([one.motion, NAMES[method], error, window, count, survival, own])
    columns = ["motion", "method", "E_g-mpjpe mm", "common windows", "success by seed", "survival", "own distribution"]
    return Table(columns, rows, "Survival: part of the motion before the fall.")
