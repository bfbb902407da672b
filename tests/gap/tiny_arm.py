"""A two-joint arm whose gap is known: the real one has the same model and softer servos."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from haloid.gap.crowd import Base, BaseModels
from haloid.gap.dataset.pairs import Dataset, Pair
from haloid.gap.dataset.twin import replicas
from haloid.robots.servos import Gains

JOINTS = ("shoulder", "elbow")
SOFTNESS = 0.7
"""kp of the real servos over the nominal."""
RATE_HZ = 50.0
XML = """<mujoco model="tiny">
  <compiler angle="radian"/>
  <option timestep="0.005" integrator="implicitfast"/>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" range="-2 2" armature="0.02"/>
      <inertial mass="1" pos="0.15 0 0" diaginertia="0.001 0.01 0.01"/>
      <body name="hand" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0" range="-2 2" armature="0.02"/>
        <inertial mass="0.5" pos="0.1 0 0" diaginertia="0.001 0.004 0.004"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def write_arm(folder: Path) -> Path:
    file = folder / "tiny.xml"
    file.write_text(XML)
    (folder / "tiny.yaml").write_text("payload_links: [hand]\n")
    return file


def gains(share: float = 1.0) -> Gains:
    return Gains({"shoulder": 60 * share, "elbow": 40 * share}, {"shoulder": 4.0, "elbow": 2.0})


def tiny_dataset(folder: Path, sequences: int = 24, rows: int = 60, seed: int = 0) -> Dataset:
    """Pairs with 0 and 1 kg in the hand; sequence i is of robot i % 4, all of them alike."""
    base = Base(str(write_arm(folder)), None, JOINTS, gains())
    rng = np.random.default_rng(seed)
    time_s = np.arange(rows) / RATE_HZ
    target = np.stack(
        [
            np.stack([0.6 * np.sin(rng.uniform(1, 6) * time_s + rng.uniform(0, 6)) for _ in JOINTS], axis=1)
            for _ in range(sequences)
        ]
    )
    payload = np.arange(sequences) // 4 % 2 * 1.0
    softer = BaseModels(replace(base, gains=gains(SOFTNESS)))
    start, rest = target[:, 0], np.zeros_like(target[:, 0])
    real = replicas(softer, target, payload, RATE_HZ, start, rest)
    sim = replicas(BaseModels(base), target, payload, RATE_HZ, start, rest)
    pairs = [
        Pair(
            str(i),
            i % 4,
            "whole",
            RATE_HZ,
            payload[i],
            np.ones(2, bool),
            target[i],
            real[i],
            sim[i],
            np.full((rows, 2), np.nan),
        )
        for i in range(sequences)
    ]
    return Dataset(base, tuple(pairs))
