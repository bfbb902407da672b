"""The robot lives in another simulator: recordings from Genesis, identified with MuJoCo's model.

Each robot is aged as in `table4` (masses, CoM, friction, damping, armature), played in Genesis at its own, finer step,
three runs unloaded and three with HALO's Setting 1, encoder noise and 16-bit readings included, and identified in two
stages as a user's log would be. What remains of the gap is the error of whole fragments that the fit never saw, beside
the encoders' noise and the nominal model's.

The other simulator, like a real robot, knows nothing of the step that MuJoCo identifies with. The error of that step is
taken for parameters, and at the usual 5 ms it is most of the gap; so the identification has a finer one here.
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
from haloid.lab.excitation import Excitation
from haloid.lab.genesis.lab import GenesisLab
from haloid.lab.genesis.process import genesis_python
from haloid.lab.loads import Load, halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Table
from haloid.robots.inertia import read_links


@dataclass(frozen=True)
class SecondSimulator:
    """Settings of `haloid bench second-simulator`."""

    robots: int = 3
    """Aged robots; Genesis compiles each of them twice, with and without its load."""
    first_robot: int = 0
    """The first one's number; it decides how it has aged and how it is moved."""
    runs: int = 3
    """Unloaded runs of each, and loaded ones."""
    duration: float = 10.0
    """Of a run, s."""
    noise: float = 0.0005
    """Encoder noise, rad."""
    timestep: float = 0.001
    """Genesis's step, s."""
    identified_step: float = 0.002
    """MuJoCo's step in the identification, s."""
    setting: int = 1
    """HALO's perturbation setting on torso and hands."""
    out: Path = Path("out/bench/second-simulator")
    """Directory for result.json."""


def run(config: SecondSimulator, say: Callable[[str], None]) -> Outcome:
    genesis_python()
    rows = []
    for i in range(config.robots):
        say_which = f"robot {i + 1} of {config.robots}"
        rows.append(_one_robot(config, config.first_robot + i, lambda what, which=say_which: say(f"{which}: {what}")))
    headline = {key: max(row[key] for row in rows) for key in ("torso_kg", "hands_kg", "com_m")}
    headline |= {
        "link_torso_kg": max(row["link_torso_kg"] for row in rows),
        "link_hands_kg": max(row["link_hands_kg"] for row in rows),
        "coverage95": float(np.mean([row["inside95"] for row in rows])),
        "heldout_over_noise": max(row["heldout_mrad"] for row in rows) / (1e3 * config.noise) if config.noise else 0.0,
    }
    targets = [
        Target("torso payload, worst error, kg", headline["torso_kg"], 0.1),
        Target("hand payloads, worst error, kg", headline["hands_kg"], 0.03),
        Target("CoM of a loaded link, worst error, m", headline["com_m"], 0.003),
    ]
    table = Table(
        ["robot", "torso load kg", "hand loads kg", "CoM mm", "held out mrad", "nominal mrad", "in 95 %"],
        [
            [
                str(row["robot"]),
                f"{row['torso_kg']:.3f}",
                f"{row['hands_kg']:.4f}",
                f"{1e3 * row['com_m']:.2f}",
                f"{row['heldout_mrad']:.2f}",
                f"{row['nominal_mrad']:.1f}",
                f"{100 * row['inside95']:.0f} %",
            ]
            for row in rows
        ],
        f"{rows[0]['simulator']}; identified at MuJoCo's {1e3 * config.identified_step:g} ms. Absolute errors, the "
        f"worse hand's and the worst CoM's; encoder noise {1e3 * config.noise:g} mrad.",
    )
    return Outcome(headline, rows, [table], targets)


def _one_robot(config: SecondSimulator, number: int, say: Callable[[str], None]) -> dict:
    bare = LabRobot(aging=Aging(seed=number), timestep_s=config.timestep)
    loads = halo_setting(config.setting)
    loaded_robot = replace(bare, loads=loads)
    recordings = {}
    with GenesisLab() as genesis:
        for name, robot, offset in (("unloaded", bare, 0), ("loaded", loaded_robot, 50)):
            say(f"Genesis compiles the {name} robot")
            simulator = genesis.name_of(robot.built)
            say(f"{name} runs")
            recordings[name] = [
                record(
                    robot,
                    Sensors(noise_rad=config.noise),
                    Excitation(duration_s=config.duration),
                    seed=100 * number + offset + k,
                    name=f"{name}-{k}",
                    simulate=genesis,
                )[0]
                for k in range(config.runs)
            ]
    say("identification")
    settings = Settings(PAYLOAD_LINKS, payload_model="halo", timestep_s=config.identified_step)
    found = identify(recordings["unloaded"], recordings["loaded"], settings)
    return {"robot": number, "simulator": simulator, **_errors(found, loads, loaded_robot)}


def _errors(found: Identification, loads: tuple[Load, ...], loaded: LabRobot) -> dict:
    result, true = answer(found), read_links(loaded.built.model)
    payload = {one.link: one for one in result.payload}
    loads_kg = {load.link: load.mass_kg for load in loads}
    off_kg = [abs(float(payload[link].mass_kg.value) - loads_kg[link]) for link in PAYLOAD_LINKS]
    link_off_kg = [abs(found.physics.link(link).mass_kg - true[link].mass_kg) for link in PAYLOAD_LINKS]
    com_off_m = [
        float(np.linalg.norm(found.physics.link(link).com_in_link_m - true[link].com_in_link_m))
        for link in PAYLOAD_LINKS
    ]
    inside = []
    for link in PAYLOAD_LINKS:
        low, high = payload[link].mass_kg.interval95
        inside.append(bool(low <= loads_kg[link] <= high))
    return {
        "torso_kg": off_kg[0],
        "hands_kg": max(off_kg[1:]),
        "com_m": max(com_off_m),
        "link_torso_kg": link_off_kg[0],
        "link_hands_kg": max(link_off_kg[1:]),
        "inside95": float(np.mean(inside)),
        "heldout_mrad": 1e3 * result.rms_rad["heldout"],
        "nominal_mrad": 1e3 * result.rms_rad["nominal"],
        "seconds": round(found.seconds, 1),
    }
