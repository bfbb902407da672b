"""A user's own logs in the shape of the dataset: recordings on the real side, their replay on the simulated one.

In: recordings of one robot, with what each carried. Out: pairs. Velocities that were not measured are those of a local
cubic through the readings; torques that were not measured are those of the servos' law.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.crowd import Base, BaseModels
from haloid.gap.dataset.pairs import Dataset, Motion, Pair
from haloid.gap.dataset.twin import acceleration_rad_s2, replicas
from haloid.identify.data.usable import pieces, smoothed
from haloid.recordings.recording import Recording
from haloid.robots.servos import Gains

_STILL_RAD = 0.01
_LEAST_ROWS = 10


def base_of(recording: Recording) -> Base:
    """The simulator of a recording's robot, driven by the gains it was recorded with."""
    if recording.target_rad is None or recording.kp is None or recording.kd is None:
        raise HaloidError(
            f"{recording.title} was driven by torques; expected position targets, which is what the operator corrects"
        )
    if recording.support != "single":
        raise HaloidError(
            f"{recording.title} was recorded in double support; expected a robot that nothing but its clamp touches"
        )
    kp, kd = (gain if gain.ndim == 1 else np.median(gain, axis=0) for gain in (recording.kp, recording.kd))
    names = recording.joint_names
    gains = Gains(*(dict(zip(names, map(float, gain), strict=True)) for gain in (kp, kd)))
    return Base(recording.robot, recording.clamp, names, gains)


def payload_of(recording: Recording, payload_kg: float | None = None) -> float:
    """What each hand carried: `payload_kg`, or as the description says, "none" or a mass such as "2 kg"."""
    if payload_kg is not None:
        if not 0 <= payload_kg < np.inf:
            raise HaloidError(f"--payload-kg is {payload_kg:g}; expected what each hand carried, 0 kg or more")
        return payload_kg
    if recording.payload == "none":
        return 0.0
    mass = re.fullmatch(r"\s*([\d.]+)\s*kg\s*", recording.payload)
    if mass is None:
        raise HaloidError(
            f'the payload of {recording.title} is "{recording.payload}"; expected "none" or the mass in each hand, '
            'such as "2 kg". Write it into its json, or give --payload-kg'
        )
    return float(mass.group(1))


def pairs_of(recording: Recording, models: BaseModels, payload_kg: float | None = None, unit: int = 0) -> list[Pair]:
    """One pair for each stretch without a gap."""
    if recording.joint_names != models.base.joint_names:
        raise HaloidError(
            f"{recording.title} has the joints {', '.join(recording.joint_names)}; expected those of the first log: "
            f"{', '.join(models.base.joint_names)}"
        )
    payload = payload_of(recording, payload_kg)
    assert recording.target_rad is not None
    rate, velocity = 1 / recording.control_dt_s, smoothed(recording)[1]
    kp, kd = (np.array(list(by.values())) for by in (models.base.gains.kp, models.base.gains.kd))
    found = []
    for rows in long_pieces(recording):
        q, target, dq = recording.q_rad[rows], recording.target_rad[rows], velocity[rows]
        tau = kp * (target - q) - kd * dq if recording.tau_nm is None else recording.tau_nm[rows]
        real = Motion(q, dq, acceleration_rad_s2(dq, rate), tau)
        sim = replicas(models, target[None], np.array([payload]), rate, q[:1], dq[:1])[0]
        found.append(
            Pair(
                name=recording.name if rows.start == 0 else f"{recording.name}, row {rows.start}",
                unit=unit,
                kind="log",
                rate_hz=rate,
                payload_kg=payload,
                moving=np.ptp(target, axis=0) > _STILL_RAD,
                target_rad=target,
                real=real,
                sim=sim,
                temperature_c=_temperatures(recording, rows),
            )
        )
    return found


def long_pieces(recording: Recording) -> list[slice]:
    """The stretches without a gap that are worth a pair."""
    return [rows for rows in pieces(recording) if rows.stop - rows.start >= _LEAST_ROWS]


def dataset_of(recordings: Sequence[Recording], payload_kg: float | None = None, model: str | None = None) -> Dataset:
    """Pairs of all recordings, against the robot's own model or a calibrated one."""
    if not recordings:
        raise HaloidError("no log was named; expected at least one recording or log")
    base = replace(base_of(recordings[0]), model=model)
    models = BaseModels(base)
    pairs = [pair for one in recordings for pair in pairs_of(one, models, payload_kg)]
    return Dataset(base, tuple(pairs), "A user's own logs.", {"logs": [one.title for one in recordings]})


def _temperatures(recording: Recording, rows: slice) -> np.ndarray:
    """From columns `temperature:JOINT`, where there are any."""
    names = [f"temperature:{name}" for name in recording.joint_names]
    unknown = np.full(len(recording.time_s), np.nan)
    return np.stack([recording.extra.get(name, unknown) for name in names], axis=1)[rows]
