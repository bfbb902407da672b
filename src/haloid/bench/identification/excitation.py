"""Optimised motions against random multi-sines of the same length, band and limits.

Every motion keeps the limits of the G1 without payload and with HALO's Setting 3; the payload to be found is Setting 1.
Compared are volumes per parameter, (det covariance)^(1/2p) over mass and CoM of torso and both hands: predicted (the
Cramér–Rao bound), achieved (the covariance that an identification of a noisy recording reports), and the errors made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.outcome import Outcome, Target
from haloid.excite.default import default_reference
from haloid.excite.optimal import Search, optimal_reference
from haloid.excite.prediction import predicted_bound, settings_for
from haloid.excite.scenario import make_scenario
from haloid.identify.inspection.bound import volume_per_parameter
from haloid.identify.stages import identify
from haloid.lab.excitation import Excitation, Reference
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Table

NOISE_RAD = 0.0005
TARGET_TIMES = 2.0


@dataclass(frozen=True)
class ExcitationBench:
    """Settings of `haloid bench excitation`."""

    multi_sines: int = 5
    """Random multi-sines to compare with."""
    runs: int = 3
    """Noisy recordings of every motion."""
    starts: int = 1
    """Starts of the optimiser."""
    out: Path = Path("out/bench/excitation")
    """Directory for result.json."""


def run(config: ExcitationBench, say: Callable[[str], None]) -> Outcome:
    scenario = make_scenario(LabRobot(), PAYLOAD_LINKS, halo_setting(3), Excitation())
    references = {f"multi-sine {seed}": default_reference(scenario, seed) for seed in range(config.multi_sines)}
    for name, posture_rad in (("optimised", Search.posture_rad), ("optimised, posture kept", 0.0)):
        search = Search(posture_rad=posture_rad, starts=config.starts)
        references[name] = optimal_reference(
            scenario, search, 0, lambda text, name=name: say(f"{name}: {text}")
        ).reference
    robot = LabRobot(loads=halo_setting(1))
    rows = []
    for name, reference in references.items():
        say(f"identifying with {name}")
        rows.append({"excitation": name, **_measured(robot, reference, config.runs)})
    sines, best = rows[: config.multi_sines], rows[config.multi_sines]
    for row in rows:
        for kind in ("predicted", "achieved", "rms_error"):
            row[f"times_smaller_{kind}"] = float(np.median([sine[kind] for sine in sines])) / row[kind]
    headline = {"times_smaller_volume": best["times_smaller_achieved"]}
    targets = [
        Target(
            "predicted volume per parameter, times smaller",
            best["times_smaller_predicted"],
            TARGET_TIMES,
            at_least=True,
        ),
        Target(
            "achieved volume per parameter, times smaller", best["times_smaller_achieved"], TARGET_TIMES, at_least=True
        ),
    ]
    return Outcome(headline, rows, [_table(rows, config)], targets)


def _measured(robot: LabRobot, reference: Reference, runs: int) -> dict[str, Any]:
    """Volumes per parameter of one motion, and the geometric mean of the twelve root-mean-square errors."""
    bound = predicted_bound(robot, reference, PAYLOAD_LINKS, NOISE_RAD, "halo")
    settings = settings_for(PAYLOAD_LINKS, reference, "halo")
    volumes, errors = [], []
    for seed in range(runs):
        noisy, _ = record(robot, Sensors(noise_rad=NOISE_RAD), reference, seed=seed)
        found = identify([], [noisy], settings)
        volumes.append(volume_per_parameter(found.stage2.covariance))
        errors.append(found.stage2.values - bound.truth)
    rms = np.sqrt(np.mean(np.array(errors) ** 2, axis=0))
    return {
        "parameters": list(bound.names),
        "predicted": bound.volume_per_parameter,
        "achieved": float(np.median(volumes)),
        "rms_error": float(np.exp(np.mean(np.log(rms)))),
        "bound": bound.std.tolist(),
        "rms_error_by_parameter": rms.tolist(),
    }


def _table(rows: list[dict[str, Any]], config: ExcitationBench) -> Table:
    def half_width(row: dict[str, Any], name: str) -> str:
        return f"{1e3 * row['bound'][row['parameters'].index(name)]:.2g}"

    return Table(
        [
            "excitation",
            "predicted ×",
            "achieved ×",
            "errors ×",
            "torso g",
            "left hand g",
            "torso x mm",
            "left hand x mm",
        ],
        [
            [
                row["excitation"],
                *(f"{row[f'times_smaller_{kind}']:.2f}" for kind in ("predicted", "achieved", "rms_error")),
                *(half_width(row, f"{link}.mass") for link in PAYLOAD_LINKS[:2]),
                *(half_width(row, f"{link}.com.x") for link in PAYLOAD_LINKS[:2]),
            ]
            for row in rows
        ],
        f"×: times smaller per parameter than the median of {config.multi_sines} multi-sines; {config.runs} noisy runs "
        "each. g and mm: predicted standard deviations.",
    )
