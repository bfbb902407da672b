"""Real payloads: boxes, balls and long bars of random size, place and attitude, found as bodies.

On torso and hands of a new G1 and on the hand of a small arm; one 10 s recording per payload, 0.5 mrad of encoder
noise, no velocities. The bound is the inverse Fisher information of the same fragments at the true parameters and
states, with every initial state unknown and the inertia known only within the payload's size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.outcome import Outcome, Target
from haloid.identify.inspection.bound import cramer_rao_bound
from haloid.identify.results.answer import NORMAL_95, answer
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.lab.excitation import Excitation
from haloid.lab.loads import RigidLoad, bar, box, sphere
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Table
from haloid.robots.inertia import Payload, read_links
from haloid.robots.servos import Gains

NOISE_RAD = 0.0005
SHAPES = ("box", "ball", "bar")
_FRAGMENTS = 16
_G1_MASS_KG, _G1_REACH_M = (6.0, 2.4, 2.0), (0.15, 0.1, 0.1)
"""Payloads of torso and hands, each ± 20 %, and how far along each axis their CoM may be from the link's frame."""
_ARM_MASS_KG, _ARM_REACH_M = 1.5, 0.1
_ARM_JOINTS = ("turn", "shoulder", "elbow", "roll", "pitch", "yaw")
_ARM_GAINS = Gains(
    dict(zip(_ARM_JOINTS, (80.0, 120.0, 80.0, 20.0, 20.0, 20.0), strict=True)),
    dict(zip(_ARM_JOINTS, (4.0, 6.0, 4.0, 1.0, 1.0, 1.0), strict=True)),
)
_ARM = """
<mujoco model="small arm">
  <option timestep="0.005"/>
  <compiler angle="radian"/>
  <default><joint armature="0.02" damping="0.1" range="-2.5 2.5" actuatorfrcrange="-80 80"/></default>
  <worldbody>
    <body name="base" pos="0 0 1"><inertial mass="3" pos="0 0 0" diaginertia=".02 .02 .02"/>
      <body name="column"><inertial mass="2" pos="0 .01 .05" diaginertia=".006 .006 .004"/>
        <joint name="turn" axis="0 0 1"/>
        <body name="upper" pos="0 0 .1"><inertial mass="1.8" pos=".12 .01 0" diaginertia=".003 .015 .015"/>
          <joint name="shoulder" axis="0 1 0"/>
          <body name="fore" pos=".28 0 0"><inertial mass="1.1" pos=".1 0 .01" diaginertia=".002 .008 .008"/>
            <joint name="elbow" axis="0 1 0"/>
            <body name="cuff" pos=".24 0 0"><inertial mass=".5" pos=".02 0 0" diaginertia=".0006 .0006 .0006"/>
              <joint name="roll" axis="1 0 0" armature=".005"/>
              <body name="wrist" pos=".06 0 0"><inertial mass=".4" pos=".02 0 0" diaginertia=".0004 .0005 .0005"/>
                <joint name="pitch" axis="0 1 0" armature=".005"/>
                <body name="hand" pos=".05 0 0"><inertial mass=".6" pos=".04 0 .01" diaginertia=".001 .0012 .0012"/>
                  <joint name="yaw" axis="0 0 1" armature=".005"/>
                </body></body></body></body></body></body></body>
  </worldbody>
  <actuator>
    <motor name="turn" joint="turn"/><motor name="shoulder" joint="shoulder"/><motor name="elbow" joint="elbow"/>
    <motor name="roll" joint="roll"/><motor name="pitch" joint="pitch"/><motor name="yaw" joint="yaw"/>
  </actuator>
</mujoco>
"""


@dataclass(frozen=True)
class Payloads:
    """Settings of `haloid bench payloads`."""

    seeds: int = 30
    """Sets of payloads on each robot."""
    out: Path = Path("out/bench/payloads")
    """Directory for result.json."""


def run(config: Payloads, say: Callable[[str], None]) -> Outcome:
    with TemporaryDirectory() as folder:
        arm = Path(folder) / "arm.xml"
        arm.write_text(_ARM)
        rows = []
        for seed in range(config.seeds):
            for robot in ("g1", "arm"):
                say(f"{robot}, payloads {seed + 1} of {config.seeds}")
                rows += _one(robot, str(arm), seed)
    headline = {**_coverage(rows), "rms_over_bound": _rms([row["error_over_bound"] for row in rows])}
    targets = []
    for name, what in (("coverage95_mass", "mass"), ("coverage95_com", "CoM")):
        targets += [
            Target(f"coverage of the payload {what}'s 95 % intervals", headline[name], 0.90, at_least=True),
            Target(f"coverage of the payload {what}'s 95 % intervals", headline[name], 0.99),
        ]
    targets.append(Target("RMS error of mass and CoM over the bound", headline["rms_over_bound"], 1.2))
    return Outcome(headline, rows, [_table(rows, config.seeds)], targets)


def _one(robot: str, arm: str, seed: int) -> list[dict]:
    """One identification; one row per payload link, errors of the payload itself."""
    rng = np.random.default_rng((seed, robot == "arm"))
    links: dict[str, tuple[str, float, float]] = {}
    if robot == "g1":
        shapes = [str(shape) for shape in rng.permutation(SHAPES)]
        links |= zip(PAYLOAD_LINKS, zip(shapes, _G1_MASS_KG, _G1_REACH_M, strict=True), strict=True)
        bare = LabRobot()
    else:
        links |= {"hand": (str(rng.choice(SHAPES)), _ARM_MASS_KG, _ARM_REACH_M)}
        bare = LabRobot(robot=arm, clamp=None, gains=_ARM_GAINS)
    carried = {link: _payload(rng, *about) for link, about in links.items()}
    loaded = replace(bare, loads=tuple(RigidLoad(link, payload) for link, payload in carried.items()))
    clean, _ = record(loaded, Sensors(quantise=False, measure_velocity=True), Excitation(), seed=seed)
    settings = Settings(tuple(links), stages="one", fragments=_FRAGMENTS, held_out=0.0)
    bound = cramer_rao_bound(clean, read_links(loaded.built.model), settings, NOISE_RAD)
    noisy = replace(clean, q_rad=clean.q_rad + NOISE_RAD * rng.standard_normal(clean.q_rad.shape), dq_rad_s=None)
    found = identify([], [noisy], settings)
    over_bound = (found.stage2.values - bound.truth) / bound.std
    rows = []
    for told in answer(found).payload:
        true = carried[told.link]
        at = [i for i, name in enumerate(bound.names) if name.startswith((f"{told.link}.mass", f"{told.link}.com"))]
        rows.append(
            {
                "robot": robot,
                "seed": seed,
                "link": told.link,
                "shape": links[told.link][0],
                "mass_kg": true.mass_kg,
                "mass_error_kg": told.mass_kg.value - true.mass_kg,
                "mass_std_kg": told.mass_kg.std,
                "com_error_m": (told.com_in_link_m.value - true.com_in_link_m).tolist(),
                "com_std_m": told.com_in_link_m.std.tolist(),
                "error_over_bound": over_bound[at].tolist(),
            }
        )
    return rows


def _payload(rng: np.random.Generator, shape: str, mass_kg: float, reach_m: float) -> Payload:
    mass_kg *= rng.uniform(0.8, 1.2)
    com_m, quat_wxyz = rng.uniform(-reach_m, reach_m, 3), rng.standard_normal(4)
    quat_wxyz /= np.linalg.norm(quat_wxyz)
    if shape == "box":
        return box(mass_kg, rng.uniform(0.05, 0.35, 3), com_m, quat_wxyz)
    if shape == "ball":
        return sphere(mass_kg, rng.uniform(0.04, 0.15), com_m)
    return bar(mass_kg, rng.uniform(0.4, 0.8), rng.uniform(0.01, 0.03), com_m, quat_wxyz)


def _coverage(rows: list[dict]) -> dict[str, float]:
    mass = [abs(row["mass_error_kg"]) <= NORMAL_95 * row["mass_std_kg"] for row in rows]
    com = [np.abs(row["com_error_m"]) <= NORMAL_95 * np.array(row["com_std_m"]) for row in rows]
    return {"coverage95_mass": float(np.mean(mass)), "coverage95_com": float(np.mean(com))}


def _rms(values: list) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _table(rows: list[dict], seeds: int) -> Table:
    cells = []
    groups = {
        f"{robot}, {link}": (robot, link, None) for robot, link in dict.fromkeys((r["robot"], r["link"]) for r in rows)
    }
    groups |= {f"every {shape}": (None, None, shape) for shape in SHAPES}
    for name, (robot, link, shape) in groups.items():
        some = [r for r in rows if (r["robot"], r["link"]) == (robot, link) or r["shape"] == shape]
        if some:
            coverage = _coverage(some)
            cells.append(
                [
                    name,
                    len(some),
                    f"{1e3 * _rms([r['mass_error_kg'] for r in some]):.1f}",
                    f"{1e3 * _rms([r['com_error_m'] for r in some]):.2f}",
                    f"{100 * coverage['coverage95_mass']:.0f}",
                    f"{100 * coverage['coverage95_com']:.0f}",
                    f"{_rms([r['error_over_bound'] for r in some]):.2f}",
                ]
            )
    columns = ["payloads", "number", "mass g", "CoM mm", "mass 95 %", "CoM 95 %", "RMS / bound"]
    note = (
        f"RMS errors of the payload's mass and CoM, coverage of their 95 % intervals in per cent, and errors over the "
        f"bound; {seeds} sets of payloads, {1e3 * NOISE_RAD:g} mrad."
    )
    return Table(columns, cells, note)
