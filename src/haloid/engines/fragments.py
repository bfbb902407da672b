"""Fragments: short pieces of recordings that an engine rolls out (HALO III-B.2: B starts, N control steps).

Comes in: recordings and start rows. Goes out: arrays over all fragments, in the order of one clamped model's degrees
of freedom. A fragment brings the inputs of the rows before its start, since delayed commands still act after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from haloid.recordings.delay import substeps_per_row
from haloid.recordings.recording import Recording


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
    """(B, history + N, n)"""
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

    @property
    def count(self) -> int:
        return len(self.readings)

    @property
    def rows(self) -> int:
        """N, the control steps of each fragment."""
        return self.readings.shape[1] - 1

    @property
    def substeps(self) -> int:
        return substeps_per_row(self.control_dt_s, self.timestep_s)

    @property
    def gains_vary(self) -> bool:
        return self.kp.ndim == 3

    def shortened(self, rows: int) -> Fragments:
        """The first `rows` control steps of every fragment."""
        if rows >= self.rows:
            return self
        return replace(
            self,
            readings=self.readings[:, : rows + 1],
            velocities=None if self.velocities is None else self.velocities[:, : rows + 1],
            inputs=self.inputs[:, : self.history + rows],
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
) -> Fragments:
    """Cuts `rows` control steps from each recording at each of its `starts` (row numbers)."""
    readings, velocities, inputs, kps, kds, which, start_rows = [], [], [], [], [], [], []
    torque_mode = recordings[0].actuation == "torque"
    for number, (recording, recording_starts) in enumerate(zip(recordings, starts, strict=True)):
        order = [recording.joint_names.index(name) for name in dof_joints]
        q = recording.q_rad[:, order]
        source = recording.tau_nm if torque_mode else recording.target_rad
        assert source is not None
        u = source[:, order]
        kp = np.zeros(len(order)) if recording.kp is None else recording.kp[..., order]
        kd = np.zeros(len(order)) if recording.kd is None else recording.kd[..., order]
        for start in recording_starts:
            window = slice(start, start + rows + 1)
            readings.append(q[window])
            if recording.dq_rad_s is not None:
                velocities.append(recording.dq_rad_s[window][:, order])
            inputs.append(u[np.maximum(np.arange(start - history, start + rows), 0)])
            shape = (rows, len(order))
            kps.append(kp[start : start + rows] if kp.ndim == 2 else np.broadcast_to(kp, shape))
            kds.append(kd[start : start + rows] if kd.ndim == 2 else np.broadcast_to(kd, shape))
            which.append(number)
            start_rows.append(start)
    kp, kd = np.array(kps), np.array(kds)
    vary = bool(np.any(kp != kp[0, 0]) or np.any(kd != kd[0, 0]))
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
        recording_index=np.array(which),
        start_row=np.array(start_rows),
    )
