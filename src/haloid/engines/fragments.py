"""Fragments: short pieces of recordings that an engine rolls out (HALO III-B.2: B starts, N control steps).

Comes in: recordings and start rows. Goes out: arrays over all fragments, in the order of one clamped model's degrees
of freedom. A fragment brings the inputs of the rows before its start, since delayed commands still act after it, and
torques of the rows after its end, since a log may record them late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from haloid.engines.sensing.sensors import Sensor, with_row_zero
from haloid.errors import HaloidError
from haloid.recordings.delay import substeps_per_row
from haloid.recordings.recording import Recording

_ON_A_STEP = 1e-6
"""A row within this share of a step counts as on the step."""
_ROWS_AHEAD = 3
"""Of measured torques."""


@dataclass(frozen=True)
class Fragments:
    control_dt_s: float
    timestep_s: float
    torque_mode: bool
    """Whether `inputs` are torques (N·m) instead of position targets (rad)."""
    readings: np.ndarray
    """(B, N + 1, n) encoder readings, rad; row 0 is the start."""
    velocities: np.ndarray | None
    """(B, N + 1, n) measured velocities, rad/s, where every recording has them."""
    inputs: np.ndarray
    """(B, history + N + ahead, n)"""
    kp: np.ndarray
    """N·m/rad, (n,), or (B, N, n) where the gains are not the same all the time; zeros in torque mode."""
    kd: np.ndarray
    """N·m·s/rad, of the shape of `kp`."""
    history: int
    """Rows of input before the start."""
    recording_index: np.ndarray
    """(B,) which recording each fragment is from."""
    start_row: np.ndarray
    """(B,)"""
    ahead: int = 0
    """Rows of input after the end."""
    row_time_s: np.ndarray | None = None
    """(B, history + N + ahead + 1) times of the rows from the fragment's start on, where rows do not come with
    simulation steps; None: every `control_dt_s`, a whole number of steps."""
    sensors: tuple[Sensor, ...] = ()
    """What was measured besides joint angles."""
    signals: np.ndarray | None = None
    """(B, N + 1, s) what the further sensors read; zeros in row 0."""

    @property
    def width(self) -> int:
        """n + s, what is read at a row."""
        return self.measured.shape[2]

    @property
    def measured(self) -> np.ndarray:
        """(B, N + 1, n + s) encoder readings and what the further sensors read."""
        return self.readings if self.signals is None else np.concatenate([self.readings, self.signals], axis=2)

    @property
    def count(self) -> int:
        return len(self.readings)

    @property
    def rows(self) -> int:
        """N, the control steps of each fragment."""
        return self.readings.shape[1] - 1

    @property
    def substeps(self) -> int:
        """Simulation steps of a row."""
        if self.row_time_s is not None:
            raise HaloidError(
                "the recordings' rows do not come at a whole number of simulation steps, which this needs; give them "
                "an even rate that the timestep divides, with haloid convert --rate"
            )
        return substeps_per_row(self.control_dt_s, self.timestep_s)

    @property
    def steps(self) -> int:
        """Simulation steps that reach the last row of every fragment."""
        if self.row_time_s is None:
            return self.rows * self.substeps
        return int(np.ceil(self.row_time_s[:, self.history + self.rows].max() / self.timestep_s - _ON_A_STEP))

    @property
    def row_of_step(self) -> np.ndarray:
        """(steps,) the row whose gains act during a step; between uneven rows gains are constant."""
        return np.zeros(self.steps, int) if self.row_time_s is not None else np.arange(self.steps) // self.substeps

    def step_before_row(self) -> tuple[np.ndarray, np.ndarray]:
        """(B, N + 1) the last step at or before each row, and how far (0 to 1) the row is on the way to the next."""
        if self.row_time_s is None:
            row = np.broadcast_to(np.arange(self.rows + 1), (self.count, self.rows + 1))
            return row * self.substeps, np.zeros(row.shape)
        place = self.row_time_s[:, self.history : self.history + self.rows + 1] / self.timestep_s
        before = np.clip(np.floor(place + _ON_A_STEP).astype(int), 0, self.steps)
        return before, np.where(before < self.steps, np.maximum(place - before, 0.0), 0.0)

    def at_rows(self, after_steps: np.ndarray) -> np.ndarray:
        """(B, N + 1, n) at the rows, from (B, steps + 1, n) after every simulation step; linear between steps."""
        if self.row_time_s is None:
            return after_steps[:, :: self.substeps]
        before, beyond = self.step_before_row()
        fragment, after = np.arange(self.count)[:, None], np.minimum(before + 1, self.steps)
        weight = beyond[..., None]
        return (1 - weight) * after_steps[fragment, before] + weight * after_steps[fragment, after]

    @property
    def gains_vary(self) -> bool:
        return self.kp.ndim == 3

    def shortened(self, rows: int) -> Fragments:
        """The first `rows` control steps of every fragment."""
        if rows >= self.rows:
            return self
        end = self.history + rows + self.ahead
        return replace(
            self,
            readings=self.readings[:, : rows + 1],
            velocities=None if self.velocities is None else self.velocities[:, : rows + 1],
            inputs=self.inputs[:, :end],
            signals=None if self.signals is None else self.signals[:, : rows + 1],
            row_time_s=None if self.row_time_s is None else self.row_time_s[:, : end + 1],
            kp=self.kp[:, :rows] if self.gains_vary else self.kp,
            kd=self.kd[:, :rows] if self.gains_vary else self.kd,
        )

    def chosen(self, which: np.ndarray) -> Fragments:
        """The fragments at these indices (or where this mask is true)."""
        return replace(
            self,
            readings=self.readings[which],
            velocities=None if self.velocities is None else self.velocities[which],
            inputs=self.inputs[which],
            signals=None if self.signals is None else self.signals[which],
            row_time_s=None if self.row_time_s is None else self.row_time_s[which],
            kp=self.kp[which] if self.gains_vary else self.kp,
            kd=self.kd[which] if self.gains_vary else self.kd,
            recording_index=self.recording_index[which],
            start_row=self.start_row[which],
        )


def cut(
    recordings: Sequence[Recording],
    starts: Sequence[np.ndarray],
    rows: int,
    dof_joints: Sequence[str],
    timestep_s: float,
    history: int = 3,
    sensors: tuple[Sensor, ...] = (),
) -> Fragments:
    """Cuts `rows` control steps from each recording at each of its `starts` (row numbers)."""
    readings, velocities, inputs, kps, kds, which, start_rows, times, signals = [], [], [], [], [], [], [], [], []
    torque_mode = recordings[0].actuation == "torque"
    ahead = _ROWS_AHEAD if torque_mode else 0
    for number, (recording, recording_starts) in enumerate(zip(recordings, starts, strict=True)):
        order = [recording.joint_names.index(name) for name in dof_joints]
        q = recording.q_rad[:, order]
        source = recording.tau_nm if torque_mode else recording.target_rad
        assert source is not None
        u = source[:, order]
        kp = np.zeros(len(order)) if recording.kp is None else recording.kp[..., order]
        kd = np.zeros(len(order)) if recording.kd is None else recording.kd[..., order]
        even = recording.is_even
        further = [sensor.measured(recording, dof_joints) for sensor in sensors]
        for start in recording_starts:
            window = slice(start, start + rows + 1)
            readings.append(q[window])
            if recording.dq_rad_s is not None:
                velocities.append(recording.dq_rad_s[window][:, order])
            if sensors:
                signals.append(np.concatenate([values[window] for values in further], axis=1))
            inputs.append(u[np.clip(np.arange(start - history, start + rows + ahead), 0, len(u) - 1)])
            shape = (rows, len(order))
            kps.append(kp[start : start + rows] if kp.ndim == 2 else np.broadcast_to(kp, shape))
            kds.append(kd[start : start + rows] if kd.ndim == 2 else np.broadcast_to(kd, shape))
            which.append(number)
            start_rows.append(start)
            times.append(_row_times(recording, even, int(start), rows + ahead, history))
    kp, kd = np.array(kps), np.array(kds)
    vary = bool(np.any(kp != kp[0, 0]) or np.any(kd != kd[0, 0]))
    on_steps = all(_on_steps(recording, timestep_s) for recording in recordings)
    if not on_steps and (np.any(kp != kp[:, :1]) or np.any(kd != kd[:, :1])):
        raise HaloidError(
            f"the gains of {recordings[0].title} change from row to row, and its rows do not come at a whole number of "
            "simulation steps; give the recordings an even rate that the timestep divides, with haloid convert --rate"
        )
    return Fragments(
        control_dt_s=recordings[0].control_dt_s,
        timestep_s=timestep_s,
        torque_mode=torque_mode,
        readings=np.array(readings),
        velocities=np.array(velocities) if len(velocities) == len(readings) else None,
        inputs=np.array(inputs),
        kp=kp if vary else kp[0, 0],
        kd=kd if vary else kd[0, 0],
        history=history,
        ahead=ahead,
        recording_index=np.array(which),
        start_row=np.array(start_rows),
        row_time_s=None if on_steps else np.array(times),
        sensors=sensors,
        signals=with_row_zero(np.array(signals)[:, 1:]) if sensors else None,
    )


def _on_steps(recording: Recording, timestep_s: float) -> bool:
    """Whether every row comes a whole number of simulation steps after the last."""
    steps = recording.control_dt_s / timestep_s
    return round(steps) >= 1 and abs(round(steps) - steps) <= 1e-6 * steps and recording.is_even


def _row_times(recording: Recording, even: bool, start: int, rows: int, history: int) -> np.ndarray:
    """(history + rows + 1,) from the start on; rows beyond the recording's ends are a control period apart."""
    number = np.arange(start - history, start + rows + 1)
    if even:
        return (number - start) * recording.control_dt_s
    inside = np.clip(number, 0, len(recording.time_s) - 1)
    there = recording.time_s[inside] + (number - inside) * recording.control_dt_s
    return there - recording.time_s[start]
