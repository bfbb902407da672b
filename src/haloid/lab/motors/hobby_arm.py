"""An SO-101 as it stands on a desk: hobby servos far from their model, and the log that its driver writes.

In: a seed. Out: recordings in position mode at 50 Hz, and the servos that made them, as a patch. The true servo is some
80 times softer than the published model's, weaker, later and stickier, every joint by its own amounts; links are a few
per cent off. The arm is simulated at 1 kHz and read by encoders of 4096 steps a turn. The recording tells the gain of
the published model, as logs of these arms do: nothing of the truth.
"""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from haloid.lab.excitation import Excitation, JointLimits, multi_sine
from haloid.recordings.recording import Recording
from haloid.robots.inertia import perturb, read_links
from haloid.robots.load import actuated_joints, load_spec
from haloid.robots.patch import Patch, patched_spec
from haloid.robots.servos import model_gains

ROBOT = "so101"
ENCODER_STEP_RAD = 2 * np.pi / 4096
CONTROL_DT_S = 0.02
_STEP_S = 0.001
_POSTURE_RAD = (0.0, 0.2, -0.3, 0.4, 0.0, 0.7)
"""The forearm out, so that gravity loads shoulder, elbow and wrist."""
_FREE_OF_TORQUE = JointLimits(np.full(6, -np.inf), np.full(6, np.inf), np.full(6, np.inf))
_SLOW = Excitation(duration_s=20.0, lowest_hz=0.05, highest_hz=0.4, arm_amplitude_rad=0.8)
_QUICK = Excitation(duration_s=20.0, lowest_hz=0.2, highest_hz=2.5, arm_amplitude_rad=0.4)


def worn_arm(seed: int) -> Patch:
    """The true servos and links of one arm."""
    rng = np.random.default_rng((seed, 21))
    spec = load_spec(ROBOT)
    links = {
        name: perturb(link, rng.uniform(-0.02, 0.02) * link.mass_kg, rng.uniform(-0.001, 0.001, 3))
        for name, link in read_links(spec).items()
    }
    joints = {
        name: {
            "kp": float(12.0 * np.exp(rng.uniform(-0.3, 0.3))),
            "kd": 0.0,
            "damping": rng.uniform(0.4, 1.2),
            "frictionloss": rng.uniform(0.04, 0.15),
            "armature": 0.028 * rng.uniform(0.85, 1.15),
            "effort": rng.uniform(1.6, 2.6),
            "delay": rng.uniform(0.005, 0.035),
            "friction_impedance": 0.999,
        }
        for name in actuated_joints(spec)
    }
    return Patch(
        ROBOT, links=links, joints=joints, servos="identified", simulation={"timestep": _STEP_S, "tolerance": 1e-12}
    )


def record_arm(arm: Patch, seed: int, runs: int) -> list[Recording]:
    """Runs run-1.. of 20 s, slow and quick in turn; `seed` decides the motion."""
    spec = patched_spec(lambda: load_spec(ROBOT), arm)
    model = spec.compile()
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    recordings = []
    for number in range(runs):
        motion = (_SLOW, _QUICK)[number % 2]
        recordings.append(replace(_record(model, motion, 100 * seed + number), name=f"run-{number + 1}"))
    return recordings


def _record(model: mujoco.MjModel, motion: Excitation, seed: int) -> Recording:
    """Targets are the motion itself: such an arm is driven without feed-forward."""
    published = load_spec(ROBOT)
    names, gains = actuated_joints(published), model_gains(published)
    joints = [model.joint(name) for name in names]
    qpos = [int(joint.qposadr[0]) for joint in joints]
    limits = replace(
        _FREE_OF_TORQUE,
        lower_rad=np.array([joint.range[0] for joint in joints]),
        upper_rad=np.array([joint.range[1] for joint in joints]),
    )
    posture, limbs = np.array(_POSTURE_RAD), ("arm",) * len(names)
    reference = multi_sine(motion, names, limbs, posture, limits, lambda q, _v, _a: 0 * q, CONTROL_DT_S, seed)
    data, steps = mujoco.MjData(model), round(CONTROL_DT_S / _STEP_S)
    servos = [model.actuator(name).id for name in names]
    data.qpos[qpos] = data.ctrl[servos] = reference.q_rad[0]
    for servo, target in zip(servos, reference.q_rad[0], strict=True):
        mujoco.mj_initCtrlHistory(model, data, servo, None, np.full((int(model.actuator_history[servo, 0]), 1), target))
    mujoco.mj_step(model, data, nstep=round(1.0 / _STEP_S))  # it comes to rest under its weight
    q = np.empty_like(reference.q_rad)
    for row, target in enumerate(reference.q_rad):
        q[row] = data.qpos[qpos]
        data.ctrl[servos] = target
        mujoco.mj_step(model, data, nstep=steps)
    return Recording(
        name="run",
        robot=ROBOT,
        clamp=None,
        joint_names=names,
        time_s=reference.time_s,
        q_rad=np.round(q / ENCODER_STEP_RAD) * ENCODER_STEP_RAD,
        target_rad=reference.q_rad,
        kp=np.array([gains.kp[name] for name in names]),
        kd=np.array([gains.kd[name] for name in names]),
        payload="none",
        note="simulated arm with hobby servos",
    )
