"""HALO's Table IV: two stages against one, on robots that are off their data sheet.

Each robot is aged (link masses ±5 %, CoM ±8 mm, damping up to 0.3, friction up to 0.2 N·m, armature ±10 %), then loaded
with 6, 2 and 2 kg. Three unloaded and three loaded runs of 10 s, encoder noise, 16-bit readings, no velocities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.outcome import Outcome, Target
from haloid.identify.results.answer import answer
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification, identify
from haloid.lab.aging import Aging
from haloid.lab.loads import Load
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Table
from haloid.robots.inertia import read_links

LOADS = (
    Load(PAYLOAD_LINKS[0], 6.0, (0.01, 0.02, 0.05)),
    Load(PAYLOAD_LINKS[1], 2.0),
    Load(PAYLOAD_LINKS[2], 2.0),
)
PAPER = {"one stage": (0.89, 0.97, 0.91), "two stages": (0.01, 0.12, 0.46)}
"""The paper's distance from the reference masses on hardware (kg): torso, left hand, right hand."""
_RUNS = 3


@dataclass(frozen=True)
class Table4:
    """Settings of `haloid bench table4`."""

    robots: int = 20
    """Aged robots."""
    noise: float = 0.0005
    """Encoder noise, rad."""
    out: Path = Path("out/bench/table4")
    """Directory for result.json."""


def run(config: Table4, say: Callable[[str], None]) -> Outcome:
    rows = []
    for number in range(config.robots):
        say(f"robot {number + 1} of {config.robots}")
        rows += _one_robot(number, config.noise)
    two, one = ([row for row in rows if row["stages"] == stages] for stages in ("two", "one"))
    medians = {stages: _medians(chosen) for stages, chosen in (("two", two), ("one", one))}
    ratios = {key: medians["one"][key] / medians["two"][key] for key in medians["two"]}
    headline = {
        "two_stage_torso_median_kg": medians["two"]["torso"],
        "two_stage_hands_median_kg": medians["two"]["hands"],
        "two_stage_com_median_m": medians["two"]["com"],
        "one_stage_over_two_stage": min(ratios.values()),
        "two_stage_payload_torso_median_kg": medians["two"]["payload_torso"],
        "two_stage_payload_hands_median_kg": medians["two"]["payload_hands"],
        "coverage95_links": float(np.mean([row["inside95"] for row in two])),
        "coverage95_payload": float(np.mean([row["payload_inside95"] for row in two])),
        "median_seconds": float(np.median([row["seconds"] for row in two])),
    }
    targets = [
        Target("torso, median error, kg", headline["two_stage_torso_median_kg"], 0.05),
        Target("hands, median error, kg", headline["two_stage_hands_median_kg"], 0.01),
        Target("CoM, median error, m", headline["two_stage_com_median_m"], 0.001),
        Target("one stage over two stages, smallest ratio", headline["one_stage_over_two_stage"], 3.0, at_least=True),
        Target("seconds for both stages on six recordings, median", headline["median_seconds"], 30.0),
    ]
    names = {"two": "two stages", "one": "one stage"}
    cells = []
    for stages in ("one", "two"):
        m = medians[stages]
        paper = PAPER[names[stages]]
        cells.append(
            [
                names[stages],
                f"{m['torso']:.3f}",
                f"{m['hands']:.4f}",
                f"{1e3 * m['com']:.2f}",
                f"{m['payload_torso']:.3f}",
                f"{m['payload_hands']:.4f}",
                f"{paper[0]:.2f}, {paper[1]:.2f}, {paper[2]:.2f}",
            ]
        )
    table = Table(
        ["", "torso kg", "hands kg", "CoM mm", "torso load kg", "hand loads kg", "paper: torso, hands kg"],
        cells,
        f"Median absolute errors over {config.robots} robots. The paper's are of masses on hardware, once.",
    )
    return Outcome(headline, rows, [table], targets)


def _one_robot(number: int, noise_rad: float) -> list[dict]:
    bare = LabRobot(aging=Aging(seed=number))
    loaded_robot = replace(bare, loads=LOADS)
    sensors = Sensors(noise_rad=noise_rad)
    first = 100 * number
    unloaded = [record(bare, sensors, seed=first + k, name=f"unloaded-{k}")[0] for k in range(_RUNS)]
    loaded = [record(loaded_robot, sensors, seed=first + 50 + k, name=f"loaded-{k}")[0] for k in range(_RUNS)]
    settings = Settings(PAYLOAD_LINKS, payload_model="halo")
    rows = []
    for stages in ("two", "one"):
        found = identify(unloaded if stages == "two" else [], loaded, replace(settings, stages=stages))
        rows.append({"robot": number, "stages": stages, **_errors(found, bare, loaded_robot)})
    return rows


def _errors(found: Identification, bare: LabRobot, loaded: LabRobot) -> dict:
    true = read_links(loaded.built.model)
    loads = {load.link: load.mass_kg for load in LOADS}
    result = answer(found)
    payload = {one.link: one.mass_kg for one in result.payload}
    inside, payload_inside = [], []
    for link in PAYLOAD_LINKS:
        for kind, value in (("mass", true[link].mass_kg), ("com", true[link].com_in_link_m)):
            low, high = np.moveaxis(result.links[link][kind].interval95, -1, 0)
            inside += np.atleast_1d((low <= value) & (value <= high)).tolist()
        low, high = payload[link].interval95
        payload_inside.append(bool(low <= loads[link] <= high))
    return {
        "mass_error_kg": {link: found.physics.link(link).mass_kg - true[link].mass_kg for link in PAYLOAD_LINKS},
        "com_error_m": {
            link: (found.physics.link(link).com_in_link_m - true[link].com_in_link_m).tolist() for link in PAYLOAD_LINKS
        },
        "payload_error_kg": {link: float(payload[link].value) - loads[link] for link in PAYLOAD_LINKS},
        "inside95": float(np.mean(inside)),
        "payload_inside95": float(np.mean(payload_inside)),
        "rms_rad_heldout": result.rms_rad["heldout"],
        "seconds": round(found.seconds, 2),
    }


def _medians(rows: list[dict]) -> dict[str, float]:
    """Median absolute errors; the CoM's is the length of its error vector."""
    torso, *hands = PAYLOAD_LINKS
    return {
        "torso": float(np.median([abs(row["mass_error_kg"][torso]) for row in rows])),
        "hands": float(np.median([abs(row["mass_error_kg"][link]) for row in rows for link in hands])),
        "com": float(np.median([np.linalg.norm(row["com_error_m"][k]) for row in rows for k in PAYLOAD_LINKS])),
        "payload_torso": float(np.median([abs(row["payload_error_kg"][torso]) for row in rows])),
        "payload_hands": float(np.median([abs(row["payload_error_kg"][link]) for row in rows for link in hands])),
    }
