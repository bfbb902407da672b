"""An arm whose servos are far from its data sheet, and may have a fault besides; played by MuJoCo."""

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
from tests.identify.arm import blank

from haloid.identify.replay import replay
from haloid.recordings.recording import Recording
from haloid.robots.load import load_spec
from haloid.robots.patch import Patch, patched_spec

QUANTUM_RAD = 0.0015
TRUTH = {
    "shoulder": {"kp": 45.0, "damping": 2.5, "frictionloss": 0.9, "armature": 0.06, "delay": 0.02},
    "elbow": {"kp": 50.0, "damping": 2.0, "frictionloss": 0.5, "armature": 0.05, "delay": 0.02},
    "wrist": {"kp": 40.0, "damping": 1.5, "frictionloss": 0.3, "armature": 0.03, "delay": 0.02},
}


def worn_runs(
    path: str,
    runs: int = 3,
    recorded_kp: float = 900.0,
    rows: int = 500,
    fault: Callable[[mujoco.MjSpec], None] | None = None,
) -> list[Recording]:
    """Runs of an arm whose real servos are nothing like the recorded gains, encoders rounded to 1.5 mrad."""
    common = {"kd": 0.0, "effort": 20.0, "friction_impedance": 0.999}
    joints = {name: values | common for name, values in TRUTH.items()}
    patch = Patch(path, joints=joints, servos="identified", simulation={"timestep": 0.005, "tolerance": 1e-12})
    spec = patched_spec(lambda: load_spec(path), patch)
    if fault is not None:
        fault(spec)
    made = []
    for run in range(runs):
        empty = blank(path, rows=rows, kp=np.full(3, recorded_kp), kd=np.full(3, 2.0))
        assert empty.target_rad is not None
        moved = np.roll(empty.target_rad, 97 * run, axis=0) * (1.0 - 0.2 * run)
        empty = replace(empty, name=f"run {run}", target_rad=moved, dq_rad_s=np.zeros_like(moved))
        (played,) = replay(spec, [empty])
        made.append(replace(empty, q_rad=np.round(played.played_rad / QUANTUM_RAD) * QUANTUM_RAD, dq_rad_s=None))
    return made
