"""ASAP's Table III: recorded targets replayed in corrected simulators; held-out motions, stand-ins instead of a robot.

Controllers drive each stand-in through clips of seven motions. All methods learn from the same rollouts of five of them
and replay windows of the other two. What is done is kept in a folder, and the next run goes on with the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.extras import require_extra
from haloid.gap.replays.open_loop import ERRORS, LENGTHS_S, UNITS
from haloid.gap.standins.named import STAND_INS
from haloid.outputs import atomic_file
from haloid.report import Table

PPO, DYNAMICS = "ASAP by PPO", "DeltaDynamics"
METHODS = ("OpenLoop", "SysID grid", "identification", DYNAMICS, "ASAP fast", "identification + fast", PPO)
"""PPO last: it takes longer than all the others."""
BASELINES = {"OpenLoop": 0.5, "SysID grid": 1.0, DYNAMICS: 1.0}
"""And what ASAP's error may be of theirs at most."""
HEADLINES = {
    PPO: "asap",
    "ASAP fast": "fast",
    "identification": "identification",
    "identification + fast": "both",
}
PARTS = ("identification", "ASAP fast", "identification + fast")
DIVERGED_MM = 1e4
DELTA_ACTION_WINS = ("twin", "genesis", "genesis-twin")
"""Stand-ins with a gap that no parameter expresses."""


@dataclass(frozen=True)
class AsapOpenLoop:
    """Settings of `haloid bench asap-open-loop`."""

    stand_ins: tuple[str, ...] = ("twin", "worn")
    seeds: int = 2
    """Of data and learners."""
    learned: tuple[str, ...] = ("squat", "stand", "step-in-place", "swallow", "side-kick")
    """Motions to learn from."""
    held_out: tuple[str, ...] = ("walk", "wave")
    """Motions to replay."""
    clips: int = 32
    """Of each motion."""
    windows: int = 64
    """Replayed for each length; and in a pass of the fast way and of the identification."""
    transitions: int = 4000
    """The fast way's."""
    passes: int = 3
    """The fast way's, and two thirds of it the identification's."""
    ppo_iterations: int = 600
    """Delta action by PPO: rounds of acting and learning; 0: leave it out."""
    ppo_robots: int = 256
    ppo_stand_ins: tuple[str, ...] = ("twin", "genesis")
    """Those among the stand-ins on which PPO learns, too."""
    threads: int = 0
    """0: all cores."""
    folder: Path = Path("out/asap")
    """Where controllers, rollouts, PPO's trainings and the results of each method are kept."""
    out: Path = Path("out/bench/asap-open-loop")
    """Directory for result.json."""


def run(config: AsapOpenLoop, say: Callable[[str], None]) -> Outcome:
    require_extra("bench asap-open-loop", "learn", "torch", "rsl_rl", "onnxruntime", "mjbatch")
    from haloid.bench.delta.methods import Methods

    rows = []
    for name in config.stand_ins:
        for seed in range(config.seeds):
            methods = Methods(config, name, seed, lambda text, n=name, s=seed: say(f"{n}, seed {s}: {text}"))
            for method in methods_on(config, name):
                kept = config.folder / "results" / f"{name}-{seed}" / f"{method.replace(' ', '-')}.json"
                if not kept.is_file():
                    found = methods.measured(method)
                    with atomic_file(kept) as beside:
                        beside.write_text(json.dumps(found, indent=1), encoding="utf-8")
                rows += json.loads(kept.read_text(encoding="utf-8"))
    return _outcome(config, rows)


def methods_on(config: AsapOpenLoop, stand_in: str) -> list[str]:
    """In the order of METHODS; PPO where it is asked for."""
    with_ppo = config.ppo_iterations > 0 and stand_in in config.ppo_stand_ins
    return [method for method in METHODS if with_ppo or method != PPO]


def _outcome(config: AsapOpenLoop, rows: list[dict[str, Any]]) -> Outcome:
    def mean(name: str, method: str, length_s: float, error: str = ERRORS[0]) -> float:
        chosen = [
            row[error] for row in rows if (row["stand_in"], row["method"], row["length_s"]) == (name, method, length_s)
        ]
        return float(np.mean(chosen))

    def seconds(name: str, method: str) -> float:
        return float(
            np.mean([row["training_cpu_s"] for row in rows if (row["stand_in"], row["method"]) == (name, method)])
        )

    tables = []
    for name in config.stand_ins:
        lines = []
        for length_s in LENGTHS_S:
            for method in methods_on(config, name):
                chosen = [r for r in rows if (r["stand_in"], r["method"], r["length_s"]) == (name, method, length_s)]
                half = np.sqrt(np.mean([row["interval95_g_mpjpe_mm"] ** 2 for row in chosen]) / len(chosen))
                cells = ["diverges", *[""] * (len(ERRORS) - 1)]
                if mean(name, method, length_s) < DIVERGED_MM:
                    cells = [f"{mean(name, method, length_s):.1f} ± {half:.1f}"]
                    cells += [f"{mean(name, method, length_s, error):.2f}" for error in ERRORS[1:]]
                cells.append(f"{seconds(name, method):.0f}")
                lines.append([f"{length_s:g} s", method, *cells])
        seeds = len({row["seed"] for row in rows if row["stand_in"] == name})
        note = f"Stand-in {name}: {STAND_INS[name].summary}. Expected before the runs: {STAND_INS[name].expected}. "
        note += f"{seeds} seed{'s' * (seeds != 1)}."
        tables.append(Table(["length", "method", *UNITS, "training [CPU s]"], lines, note))
    longest = LENGTHS_S[-1]
    headline, targets = {}, []
    for name in config.stand_ins:
        errors = {method: mean(name, method, longest) for method in methods_on(config, name)}
        suffix = "" if name == config.stand_ins[0] else f"_{name}"
        for method, label in HEADLINES.items():
            if method in errors:
                headline[f"{label}_over_openloop_1s{suffix}"] = errors[method] / errors["OpenLoop"]
        if PPO in errors:
            faster = seconds(name, PPO) / seconds(name, "ASAP fast")
            headline[f"fast_times_faster_than_ppo{suffix}"] = faster
            what = f"{name}: training time of PPO over that of the fast way"
            targets.append(Target(what, faster, 20.0, at_least=True))
            ratio = errors["ASAP fast"] / errors[PPO]
            targets.append(Target(f"{name}, 1 s: ASAP fast over ASAP by PPO", ratio, 1.0))
        if name in DELTA_ACTION_WINS:
            best = min(error for method, error in errors.items() if method in (PPO, "ASAP fast"))
            for method, limit in BASELINES.items():
                targets.append(
                    Target(f"{name}, 1 s: ASAP, the better way, over {method}", best / errors[method], limit)
                )
        better = min(errors["identification"], errors["ASAP fast"])
        slack = max(
            row["interval95_g_mpjpe_mm"]
            for row in rows
            if (row["stand_in"], row["length_s"]) == (name, longest) and row["method"] in PARTS
        )
        both = errors["identification + fast"] - better
        targets.append(
            Target(f"{name}, 1 s: identification + fast minus the better of the two (mm)", both, round(slack, 1))
        )
    notes = [
        f"Learned from {', '.join(config.learned)}; replayed: {', '.join(config.held_out)}; "
        f"{config.clips} clips of each. Intervals are of the mean over clips.",
        "E_g-mpjpe in ASAP's Table III, 1 s, IsaacSim: OpenLoop 80.8, SysID 77.6, DeltaDynamics 68.1, ASAP 37.9 mm.",
    ]
    worse = [name for name in config.stand_ins if mean(name, DYNAMICS, longest) > mean(name, "OpenLoop", longest)]
    if worse:
        notes.append(
            f"{DYNAMICS} is worse than no correction on {', '.join(worse)}: as it is built here it feeds on its own "
            "errors, and to be better than it says little."
        )
    if any(row["method"] == PPO for row in rows):
        notes.append(
            f"PPO had {config.ppo_iterations} iterations of {config.ppo_robots} robots each. Training times are of the "
            "processor, all cores together; where PPO ends with the larger error, their ratio is a lower bound for "
            "equal errors."
        )
    return Outcome(headline, rows, tables, targets, notes)
