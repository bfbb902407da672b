"""An industrial arm as a laboratory has it: 2.8 kg found from motor currents, with the drives' constants known or not.

The arm has a UR10e's figures and is not quite what its data sheet says; its joints rub with 2 to 14 N·m, currents are
noisy and filtered, rows come every 8 to 13 ms (`industrial_arm`). Two unloaded and two loaded runs of 20 s. Friction is
taken to stick; where drive constants are unknown, they are sought with a prior of 15 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from haloid.bench.identification.industrial_arm import FRICTION_IMPEDANCE, IndustrialArm, Wear, data_sheet
from haloid.bench.outcome import Outcome, Target
from haloid.identify.results.answer import NORMAL_95, answer
from haloid.identify.settings import BASE_PARAMETERS, Settings
from haloid.identify.stages import identify
from haloid.lab.loads import RigidLoad, box
from haloid.report import Table

MASS_KG = 2.8
_DRIVE_SHARE = 0.2
_RUNS = 2


@dataclass(frozen=True)
class LabArm:
    """Settings of `haloid bench lab-arm`."""

    seeds: int = 20
    """Arms with unknown drive constants."""
    known: int = 5
    """Arms with known ones."""
    fragments: int = 12
    """Of each run."""
    out: Path = Path("out/bench/lab-arm")
    """Directory for result.json."""


def run(config: LabArm, say: Callable[[str], None]) -> Outcome:
    rows = []
    with TemporaryDirectory() as folder:
        sheet, spec = Path(folder) / "arm.xml", data_sheet()
        spec.compile()
        sheet.write_text(spec.to_xml())
        for drives, count in (("known", config.known), ("unknown", config.seeds)):
            for seed in range(count):
                say(f"drive constants {drives}, arm {seed + 1} of {count}")
                rows.append(_one(sheet, drives, seed, config.fragments))
    known, unknown = ([row for row in rows if row["drives"] == drives] for drives in ("known", "unknown"))
    headline, targets = {}, []
    if known:
        worst = headline["worst_share_known"] = max(abs(row["mass_error_kg"]) / MASS_KG for row in known)
        targets.append(Target("worst error over the payload, drive constants known", worst, 0.03))
    if unknown:
        covered = headline["coverage95_unknown"] = float(np.mean([row["covered"] for row in unknown]))
        headline["rms_share_unknown"] = _rms_share(unknown)
        targets.append(Target("share of arms covered, drive constants unknown", covered, 0.9, at_least=True))
    silent = headline["wrong_in_silence"] = float(sum(not row["covered"] and row["doubts"] == 0 for row in rows))
    targets.append(Target("arms whose interval does not cover and that raise no doubt", silent, 0))
    cells = [
        [
            drives,
            len(some),
            f"{100 * _rms_share(some):.2f}",
            f"{100 * max(abs(row['mass_error_kg']) / MASS_KG for row in some):.2f}",
            f"{100 * np.median([NORMAL_95 * row['mass_std_kg'] / MASS_KG for row in some]):.2f}",
            f"{sum(row['covered'] for row in some)} of {len(some)}",
            f"{sum(row['base_moved'] for row in some)} of {len(some)}",
        ]
        for drives, some in (("known", known), ("unknown", unknown))
        if some
    ]
    columns = ["drives", "arms", "RMS error %", "worst %", "95 % interval ± %", "covered", "told that the base moved"]
    table = Table(columns, cells, f"Errors of a payload of {MASS_KG:g} kg, in per cent of it.")
    return Outcome(headline, rows, [table], targets)


def _one(sheet: Path, drives: str, seed: int, fragments: int) -> dict:
    rng = np.random.default_rng((seed, 13))
    arm = IndustrialArm(sheet, Wear(drive_share=_DRIVE_SHARE if drives == "unknown" else 0.0), seed)
    com_m, quat_wxyz = np.array([0, 0, 0.2]) + rng.uniform(-0.05, 0.05, 3), rng.standard_normal(4)
    quat_wxyz /= np.linalg.norm(quat_wxyz)
    load = RigidLoad("tool", box(MASS_KG, rng.uniform(0.08, 0.2, 3), com_m, quat_wxyz))
    unloaded = [arm.record(f"unloaded {k}", 100 * seed + k) for k in range(_RUNS)]
    loaded = [arm.record(f"loaded {k}", 100 * seed + 50 + k, [load]) for k in range(_RUNS)]
    settings = Settings(
        ("tool",), fragments=fragments, held_out=0.0, payload_size_m=0.3, friction_impedance=FRICTION_IMPEDANCE
    )
    if drives == "unknown":
        sought = (*BASE_PARAMETERS, "*.strength", "delay")
        settings = replace(settings, base_parameters=sought, priors=("*.strength=0.15",))
    found = identify(unloaded, loaded, settings)
    (payload,) = answer(found).payload
    error_kg, std_kg = float(payload.mass_kg.value - MASS_KG), float(payload.mass_kg.std)
    return {
        "drives": drives,
        "seed": seed,
        "mass_error_kg": error_kg,
        "mass_std_kg": std_kg,
        "covered": bool(abs(error_kg) <= NORMAL_95 * std_kg),
        "com_error_m": (payload.com_in_link_m.value - com_m).tolist(),
        "com_std_m": payload.com_in_link_m.std.tolist(),
        "base_moved": any("moved the robot itself away" in doubt for doubt in found.doubts),
        "doubts": len(found.doubts),
        "seconds": found.seconds,
    }


def _rms_share(rows: list[dict]) -> float:
    return float(np.sqrt(np.mean([(row["mass_error_kg"] / MASS_KG) ** 2 for row in rows]))) if rows else 0.0
