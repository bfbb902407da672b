"""GAPONet's Table 1: lift a load to a place, hold it, lower it and hold it; how far the hands are off, by axis.

The robot is the one that nothing was trained on. Its command is the reference as it is, or the reference distorted
beforehand by the compensator, which believes in the nominal simulator, in calibrated parameters, in the operator, or in
both. Counted is the last part of every hold, in the frame of the pelvis: x forward, y to the left, z up.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from haloid.bench.operator.sizes import Say, Sizes
from haloid.bench.outcome import Outcome, Target
from haloid.extras import require_extra
from haloid.gap.crowd import Base, BaseModels, payload_links
from haloid.gap.dataset.twin import MOST_SHARE, Twins
from haloid.lab.motors.wear import Wear
from haloid.report import Table

COLUMNS = ("command", "simulator", "parameters", "operator", "both")
"""The uncorrected command, and what the compensator believes in otherwise."""
AXES = "xyz"
_MOVE_S, _HOLD_S, _COUNTED_S = 2.0, 1.0, 0.4
_FARTHEST_RAD = 1.2
"""From one hold to the next, of any joint."""


@dataclass(frozen=True)
class Delivery(Sizes):
    """Settings of `haloid bench gaponet-delivery`."""

    deliveries: int = 12
    """For each payload; each has two places to hold."""
    out: Path = Path("out/bench/gaponet-delivery")
    """Directory for result.json."""


def run(config: Delivery, say: Say) -> Outcome:
    require_extra("bench gaponet-delivery", "learn", "torch", "onnx")
    from haloid.bench.operator.robots import PAYLOADS_KG, RATE_HZ, Robots
    from haloid.gap.operator.compensator import compensated
    from haloid.gap.operator.networks import NetworkConfig

    robots = Robots(config, say)
    nominal, calibrated = robots.nominal, robots.calibrated
    believed = {
        "simulator": (nominal, None),
        "parameters": (calibrated, None),
        "operator": (nominal, robots.operator("operator", nominal, NetworkConfig()).network),
        "both": (calibrated, robots.operator("both", calibrated, NetworkConfig()).network),
    }
    twins, models = Twins(nominal, Wear()), BaseModels(nominal)
    rng = np.random.default_rng((config.seed, 17))
    paths = np.stack([draw_delivery(rng, twins, models, max(PAYLOADS_KG), RATE_HZ) for _ in range(config.deliveries)])
    reference = np.concatenate([paths] * len(PAYLOADS_KG))
    payload = np.repeat(PAYLOADS_KG, config.deliveries)
    units = np.full(len(payload), robots.unseen_unit)
    hands = hand_places(nominal)
    wanted, held = hands(reference), held_rows(reference.shape[1], RATE_HZ)
    offsets = {}
    for name in COLUMNS:
        say(f"delivering, {name}")
        command = reference
        if name != "command":
            base, network = believed[name]
            command = compensated(reference, payload, RATE_HZ, BaseModels(base), network)
        done = twins.play(command, units, payload, RATE_HZ, np.random.default_rng((config.seed, 19))).true_q_rad
        offsets[name] = np.abs(hands(done) - wanted)[:, held].mean(axis=1)
    return outcome(payload, offsets)


def draw_delivery(
    rng: np.random.Generator, twins: Twins, models: BaseModels, payload_kg: float, rate_hz: float
) -> np.ndarray:
    """(T, n) from a posture to a place and on to another, with holds, all within what the motors can bear."""
    middle, half = (twins.lower_rad + twins.upper_rad) / 2, 0.8 * (twins.upper_rad - twins.lower_rad) / 2
    moving, holding = round(_MOVE_S * rate_hz), round(_HOLD_S * rate_hz)
    share = np.arange(1, moving + 1)[:, None] / moving
    smooth = share**3 * (10 - 15 * share + 6 * share**2)  # least jerk
    best, least = np.empty(0), np.inf
    for _ in range(100):
        first = middle + half * rng.uniform(-0.6, 0.6, len(half))
        stops = [first]
        for _ in range(2):
            step = rng.uniform(-_FARTHEST_RAD, _FARTHEST_RAD, len(half))
            stops.append(np.clip(stops[-1] + step, middle - half, middle + half))
        path = [first[None]]
        for start, end in itertools.pairwise(stops):
            path += [start + smooth * (end - start), np.repeat(end[None], holding, axis=0)]
        whole = np.concatenate(path)
        needed = twins.torque_share(models, whole, payload_kg, rate_hz)
        if needed < least:
            best, least = whole, needed
        if least <= MOST_SHARE:
            break
    return best


def held_rows(rows: int, rate_hz: float) -> np.ndarray:
    """(rows,) the last part of both holds."""
    row, part = np.arange(rows) - 1, round((_MOVE_S + _HOLD_S) * rate_hz)
    return (row >= 0) & (row % part >= part - round(_COUNTED_S * rate_hz))


def hand_places(base: Base) -> Callable[[np.ndarray], np.ndarray]:
    """A function from (B, T, n) joint angles to (B, T, hands·3) metres, where the hands' loads are."""
    model = base.spec().compile()
    data = mujoco.MjData(model)
    qpos = np.array([model.joint(name).qposadr[0] for name in base.joint_names])
    bodies = [model.body(name).id for name in payload_links(base.robot)]

    def places(q_rad: np.ndarray) -> np.ndarray:
        found = np.empty((*q_rad.shape[:2], 3 * len(bodies)))
        for at in np.ndindex(*q_rad.shape[:2]):
            data.qpos[qpos] = q_rad[at]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            found[at] = data.xipos[bodies].ravel()
        return found

    return places


def outcome(payload_kg: np.ndarray, offsets_m: dict[str, np.ndarray]) -> Outcome:
    """Of mean offsets (deliveries, hands·3) by column."""
    rows = []
    for kg in sorted(set(payload_kg.tolist())):
        for name, offset in offsets_m.items():
            mean = offset[payload_kg == kg].reshape(-1, 3).mean(axis=0)
            rows.append(
                {"payload_kg": kg, "command": name}
                | {f"{a}_cm": 100 * float(m) for a, m in zip(AXES, mean, strict=True)}
            )
    heavy = {row["command"]: row for row in rows if row["payload_kg"] == payload_kg.max()}
    over = {
        f"{name}_{axis}_over_command": heavy[name][f"{axis}_cm"] / heavy["command"][f"{axis}_cm"]
        for name in COLUMNS[1:]
        for axis in AXES
    }
    table = Table(
        ["payload kg", "command from", *(f"{axis} cm" for axis in AXES)],
        [[f"{row['payload_kg']:g}", row["command"], *(f"{row[f'{axis}_cm']:.2f}" for axis in AXES)] for row in rows],
        "Offset of the hands at the ends of holds, mean of its absolute value, on a robot never trained on.",
    )
    targets = [
        Target(
            f"{name}, offset in {axis} over the command's, largest payload", over[f"{name}_{axis}_over_command"], 0.4
        )
        for name in ("operator", "both")
        for axis in AXES
    ]
    return Outcome(over, rows, [table], targets)
