"""ASAP's Table IV, Fig. 11 and Fig. 12: a policy on a stand-in for the robot, before and after it learned of the gap.

One trained policy drives the stand-in, a delta action model is learned from that by the fast way, and the policy is
used again: trained on in the corrected simulator (ASAP), with targets that make up for the model (RL-free, appendix D),
trained on as long without the model, with random action noise instead of it (section V-C), and in the simulators that
ASAP's baselines and haloid's identification make of the same rollouts. All are run on the stand-in with the same
starts. What is done is kept in a folder, and the next run goes on with the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.gap.standins.named import STAND_INS
from haloid.outputs import atomic_file
from haloid.report import Table

USES = {
    "vanilla": "as it was trained",
    "trained-on": "as many iterations more, without the delta model",
    "action-noise": "as many, with random action noise (V-C)",
    "SysID": "as many, in the simulator with the parameters of ASAP's grid",
    "identification": "as many, in the simulator with the parameters that are identified from the rollouts",
    "DeltaDynamics": "as many, in the simulator whose states a residual corrects",
    "ASAP": "as many, in the simulator that the delta action model corrects",
    "fixed-point": "vanilla; targets make up for the delta model (Eq. 3)",
    "gradient-search": "vanilla; targets make up for the delta model (Eq. 4)",
}
TABLE_IV = ("e_g_mpjpe_mm", "e_mpjpe_mm", "e_acc_mm_frame2", "e_vel_m_s")
UNITS = ("E_g-mpjpe [mm]", "E_mpjpe [mm]", "E_acc [mm/frame²]", "E_vel [m/s]")


@dataclass(frozen=True)
class AsapClosedLoop:
    """Settings of `haloid bench asap-closed-loop`."""

    policy: Path | None = None
    """Folder of a training (haloid train); without one, a policy is trained first."""
    motions: tuple[str, ...] = ("squat", "walk")
    """Of the policy's, to run; or to train it for. The delta model is learned from all that it was trained for."""
    stand_in: str = "twin"
    uses: tuple[str, ...] = tuple(USES)
    """Of the policy and the delta model, to put beside each other; vanilla is always among them."""
    vanilla_iterations: int = 2000
    """Of the policy, where none is given."""
    iterations: int = 150
    """Of each fine-tuning."""
    noise: tuple[float, ...] = (0.1,)
    """β of the action noise, in the policy's units of action; a fine-tuning for each."""
    clips: int = 40
    """Of each motion, to learn from."""
    transitions: int = 1500
    """The fast way's."""
    windows: int = 40
    """The fast way's, in a pass."""
    passes: int = 2
    """The fast way's."""
    starts: int = 100
    """Runs of each motion on the stand-in."""
    seed: int = 0
    threads: int = 0
    """0: all cores."""
    folder: Path = Path("out/asap-closed-loop")
    """Where rollouts, models, trainings and results are kept."""
    out: Path = Path("out/bench/asap-closed-loop")
    """Directory for result.json."""


def run(config: AsapClosedLoop, say: Callable[[str], None]) -> Outcome:
    require_extra("bench asap-closed-loop", "learn", "torch", "rsl_rl", "onnxruntime", "mjbatch", "tensorboard")
    from haloid.bench.delta.uses import Uses

    uses = Uses(config, say)
    rows = []
    for use in _runs(config):
        kept = config.folder / "results" / f"{use.replace(' ', '-')}.json"
        if not kept.is_file():
            found = uses.measured(use)
            with atomic_file(kept) as beside:
                beside.write_text(json.dumps(found, indent=1), encoding="utf-8")
        rows += json.loads(kept.read_text(encoding="utf-8"))
    return _outcome(config, rows)


def _runs(config: AsapClosedLoop) -> list[str]:
    """The uses in their order; action noise once for every β."""
    if unknown := sorted(set(config.uses) - set(USES)):
        raise HaloidError(f"there is no use {', '.join(unknown)}. Choose of: {', '.join(USES)}")
    chosen = dict.fromkeys(("vanilla", *config.uses))
    each = [[f"{use} {beta:g}" for beta in config.noise] if use == "action-noise" else [use] for use in chosen]
    return [use for several in each for use in several]


def _outcome(config: AsapClosedLoop, rows: list[dict[str, Any]]) -> Outcome:
    def of(use: str) -> list[dict[str, Any]]:
        return [row for row in rows if row["use"] == use]

    def mean(use: str, name: str) -> float:
        return float(np.mean([row[name] for row in of(use)]))

    lines = []
    for row in sorted(rows, key=lambda row: config.motions.index(row["motion"])):
        errors = [f"{row[name]:.1f} ± {row[f'{name}_95']:.1f}" for name in TABLE_IV[:2]]
        errors += [f"{row[name]:.3g} ± {row[f'{name}_95']:.2g}" for name in TABLE_IV[2:]]
        lines.append([row["motion"], row["use"], f"{100 * row['success']:.0f} %", *errors])
    about = "; ".join(f"{use}: {USES[use.split()[0]]}" for use in dict.fromkeys(row["use"] for row in rows))
    note = f"Stand-in {config.stand_in}: {STAND_INS[config.stand_in].summary}. Uses: {about}."
    headline, targets = {}, []
    for use in dict.fromkeys(row["use"] for row in rows):
        name = use.replace("-", "_").replace(" ", "_").lower()
        headline |= {f"{name}_success": mean(use, "success"), f"{name}_e_g_mpjpe_mm": mean(use, TABLE_IV[0])}
    if of("ASAP"):
        pairs = list(zip(of("ASAP"), of("vanilla"), strict=True))
        better = [after[name] < before[name] for after, before in pairs for name in TABLE_IV]
        lower = min(after["success"] - before["success"] for after, before in pairs)
        minutes = sum(of("ASAP")[0]["loop_cpu_min"].values())
        headline["loop_cpu_min"] = minutes
        targets = [
            Target("errors that ASAP lowers, of all motions' and metrics'", float(np.mean(better)), 1.0, at_least=True),
            Target("least gain of ASAP in success over vanilla", lower, 0.0, at_least=True),
            Target("collect, train fast, fine-tune and evaluate: processor time of all cores (min)", minutes, 45.0),
        ]
    notes = [
        f"{config.starts} runs of each motion, from its beginning, starts disturbed by 0.3 and observations by 0.2 of "
        "mjlab's, no pushes. Errors are over all runs, each up to its failure, with 95 % intervals over runs.",
        f"Delta action by the fast way from {config.clips} clips of each of its motions, driven by the policy; "
        f"{config.iterations} iterations of each fine-tuning; what is run is the policy after the last one, which no "
        "trial chose.",
    ]
    return Outcome(headline, rows, [Table(["motion", "use", "success", *UNITS], lines, note)], targets, notes)
