"""One joint at a time: a joint simulated on its own for many seconds, all others moving as they were measured.

Comes in: recordings. Goes out: for any number of guessed servos at once, what each joint's encoder would have read.
With M the joint's inertia and c what gravity and the other joints ask of it, both from inverse dynamics of the smoothed
readings, a step of `implicitfast` is

    v ← v + h·(clip(kp·(u − q), ±limit) − d·v − c)/I,   v ← v − clip(v, ±h·f/I),  q ← q + h·v,  I = M + armature + h·d

where u is the delayed target and the second part is dry friction that sticks: the limit of MuJoCo's friction loss as
its impedance goes to 1. Thousands of these run side by side in NumPy, which is what a search over servos needs; that
the whole arm in MuJoCo then moves alike is checked by replaying it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import mujoco
import numpy as np
from scipy.signal import savgol_filter

from haloid.engines.simulate import Simulator
from haloid.errors import HaloidError
from haloid.identify.data.usable import pieces
from haloid.identify.replay import steps_of_row
from haloid.recordings.recording import Recording

KINDS = ("kp", "damping", "frictionloss", "armature", "effort")
"""The columns of a servo: N·m/rad, N·m·s/rad, N·m, kg·m², N·m."""
LONGEST_DELAY_S = 0.1
LEAST_MOTION_RAD = 0.01
"""A joint that neither moves this much nor is asked to shows nothing of its servo."""
_SMOOTHING_S = 0.3
_LEAST_ROWS = 20


@dataclass(frozen=True)
class Windows:
    """Stretches of recordings, padded to the longest; W of them, L rows, n joints."""

    joint_names: tuple[str, ...]
    timestep_s: float
    steps: int
    """Of the simulation in a row."""
    history: int
    """Rows of targets before the first."""
    target_rad: np.ndarray
    """(W, history + L, n)"""
    read_rad: np.ndarray
    """(W, L, n) readings after each row."""
    valid: np.ndarray
    """(W, L)"""
    q0_rad: np.ndarray
    """(W, n)"""
    v0_rad_s: np.ndarray
    load_nm: np.ndarray
    """(W, L, n) what gravity and the other joints ask of a joint."""
    inertia: np.ndarray
    """(W, L, n) kg·m², without the rotor."""

    @property
    def moved(self) -> np.ndarray:
        """(n,) whether a joint moves, or should."""
        read = np.where(self.valid[:, :, None], self.read_rad, self.q0_rad[:, None])
        return np.maximum(np.ptp(read, axis=(0, 1)), np.ptp(self.target_rad, axis=(0, 1))) >= LEAST_MOTION_RAD

    def livelier(self, count: int) -> Windows:
        """At most `count` of the windows: half of them evenly spread, half those whose targets move the fastest."""
        speed = np.sum(np.diff(self.target_rad, axis=1) ** 2, axis=(1, 2))
        spread = np.linspace(0, len(speed) - 1, min(count // 2, len(speed))).round().astype(int)
        which = np.union1d(spread, np.argsort(speed)[::-1][: count // 2])
        names = ("target_rad", "read_rad", "valid", "q0_rad", "v0_rad_s", "load_nm", "inertia")
        return replace(self, **{name: getattr(self, name)[which] for name in names})


def cut_windows(recordings: Sequence[Recording], simulator: Simulator, seconds: float) -> Windows:
    """Evenly long windows of at most about `seconds`, one after the other."""
    dt = recordings[0].control_dt_s
    steps, timestep_s = steps_of_row(dt, simulator.model.opt.timestep)
    history = int(np.ceil(LONGEST_DELAY_S / dt)) + 1
    cut = []
    for recording in recordings:
        order = [recording.joint_names.index(name) for name in simulator.dof_joints]
        assert recording.target_rad is not None
        target, read = recording.target_rad[:, order], recording.q_rad[:, order]
        for piece in pieces(recording):
            if piece.stop - piece.start < _LEAST_ROWS:
                continue
            velocity, load, inertia = _loads(simulator.model, read[piece], dt)
            count = max(1, int(np.ceil((piece.stop - piece.start - 1) * dt / seconds - 0.2)))
            edges = np.linspace(0, piece.stop - piece.start - 1, count + 1).astype(int)
            for a, b in pairwise(edges):
                before = np.maximum(np.arange(a - history, b), 0) + piece.start
                start, stop = piece.start + a, piece.start + b
                v0 = velocity[a] if a > 0 else np.zeros(read.shape[1])
                cut.append((target[before], read[start : stop + 1], v0, load[a:b], inertia[a:b]))
    if not cut:
        longest = max(piece.stop - piece.start for one in recordings for piece in pieces(one))
        raise HaloidError(
            f"the longest stretch without a gap has {longest} rows; expected at least {_LEAST_ROWS}. Record longer, or "
            "without losses"
        )
    rows, n = max(len(load) for *_, load, _ in cut), len(simulator.dof_joints)
    whole = Windows(
        joint_names=simulator.dof_joints,
        timestep_s=timestep_s,
        steps=steps,
        history=history,
        target_rad=np.zeros((len(cut), history + rows, n)),
        read_rad=np.zeros((len(cut), rows, n)),
        valid=np.zeros((len(cut), rows), bool),
        q0_rad=np.array([read[0] for _, read, *_ in cut]),
        v0_rad_s=np.array([v0 for _, _, v0, *_ in cut]),
        load_nm=np.zeros((len(cut), rows, n)),
        inertia=np.ones((len(cut), rows, n)),
    )
    for w, (target, read, _, load, inertia) in enumerate(cut):
        length = len(load)
        whole.target_rad[w, : history + length], whole.target_rad[w, history + length :] = target, target[-1]
        whole.read_rad[w, :length], whole.valid[w, :length] = read[1:], True
        whole.load_nm[w, :length], whole.inertia[w, :length] = load, inertia
    return whole


def _loads(model: mujoco.MjModel, read_rad: np.ndarray, dt_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(T, n) smoothed velocities, and by inverse dynamics what is asked of a joint besides its own acceleration."""
    width = min(2 * round(_SMOOTHING_S / dt_s / 2) + 1, len(read_rad) - 1 + len(read_rad) % 2)
    width = max(width, 5)
    q, v, a = (np.asarray(savgol_filter(read_rad, width, 3, deriv=k, delta=dt_s, axis=0)) for k in range(3))
    bare = copy.copy(model)
    bare.dof_damping[:] = bare.dof_frictionloss[:] = bare.dof_armature[:] = 0.0
    bare.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data, full = mujoco.MjData(bare), np.zeros((bare.nv, bare.nv))
    load, inertia = np.empty_like(q), np.empty_like(q)
    for row in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[row], v[row], a[row]
        mujoco.mj_inverse(bare, data)
        mujoco.mj_fullM(bare, data, full)
        inertia[row] = np.diag(full)
        load[row] = data.qfrc_inverse - inertia[row] * a[row]
    return v, load, inertia


def simulate(windows: Windows, servos: np.ndarray, delay_s: np.ndarray) -> np.ndarray:
    """(K, W, L, n) readings for K guesses: `servos` (K, n, 5) in the order of KINDS, `delay_s` (K, n)."""
    h, history = windows.timestep_s, windows.history
    count, (w, rows), n = len(servos), windows.valid.shape, len(windows.joint_names)
    kp, damping, friction, armature, limit = (servos[:, None, :, i] for i in range(len(KINDS)))
    held = np.repeat(windows.target_rad, windows.steps, axis=1).transpose(1, 2, 0)  # (steps, n, W)
    whole = np.floor(delay_s / h).astype(int)
    share = (delay_s / h - whole)[:, :, None]
    joint = np.arange(n)[None]
    q = np.broadcast_to(windows.q0_rad, (count, w, n)).copy()
    v = np.broadcast_to(windows.v0_rad_s, (count, w, n)).copy()
    out = np.empty((rows, count, w, n))
    for row in range(rows):
        push = h / (windows.inertia[:, row] + armature + h * damping)
        stick, load = push * friction, windows.load_nm[:, row]
        for step in range(windows.steps):
            at = (history + row) * windows.steps + step
            u = ((1 - share) * held[at - whole, joint] + share * held[at - whole - 1, joint]).transpose(0, 2, 1)
            v += push * (np.clip(kp * (u - q), -limit, limit) - damping * v - load)
            v -= np.clip(v, -stick, stick)
            q += h * v
        out[row] = q
    return out.transpose(1, 2, 0, 3)
