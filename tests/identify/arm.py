"""A small arm to identify: three hinges hanging from a welded base, quick to simulate and all of it observable.

Its recordings come from the lab, or, where the lab has no such thing (torque mode, gains that change, parameters set
one by one), from a long rollout of the simulator, which tests/engines compares with plain `mj_step`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from haloid.engines.fragments import Fragments
from haloid.engines.physics import Physics
from haloid.engines.simulate import Simulator, Trajectories
from haloid.identify.data.dataset import Dataset, build_simulator, prepare
from haloid.lab.aging import Aging
from haloid.lab.excitation import Excitation
from haloid.lab.loads import Load, RigidLoad
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import Truth
from haloid.recordings.recording import Recording
from haloid.robots.servos import Gains

ARM = """
<mujoco model="arm">
  <compiler angle="radian"/>
  <option timestep="0.005"/>
  <default><joint armature="0.02" damping="0.1" range="-2 2" actuatorfrcrange="-60 60"/></default>
  <worldbody>
    <body name="base" pos="0 0 1.5">
      <inertial mass="3" pos="0 0 0" diaginertia="0.02 0.02 0.02"/>
      <body name="upper">
        <inertial mass="2" pos="0.01 0.02 -0.15" diaginertia="0.02 0.018 0.004"/>
        <joint name="shoulder" axis="0 1 0"/>
        <body name="fore" pos="0 0 -0.3">
          <inertial mass="1.4" pos="0.02 0 -0.12" diaginertia="0.01 0.009 0.002"/>
          <joint name="elbow" axis="1 0 0"/>
          <body name="hand" pos="0 0 -0.25">
            <inertial mass="0.8" pos="0.03 -0.02 -0.06" diaginertia="0.002 0.0025 0.001"/>
            <joint name="wrist" axis="0 1 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder"/><motor name="elbow" joint="elbow"/><motor name="wrist" joint="wrist"/>
  </actuator>
</mujoco>
"""
JOINTS = ("shoulder", "elbow", "wrist")
GAINS = Gains({"shoulder": 60.0, "elbow": 40.0, "wrist": 20.0}, {"shoulder": 3.0, "elbow": 2.0, "wrist": 1.0})
CONTROL_DT_S, TIMESTEP_S = 0.02, 0.005
SHAKE = Excitation(duration_s=8.0, arm_amplitude_rad=0.9)


def write_arm(folder: Path, text: str = ARM) -> str:
    """Shaken around a bent elbow, where one there is: hanging straight, it tells less."""
    path = folder / "arm.xml"
    path.write_text(text)
    if 'name="elbow" axis' in text:
        path.with_suffix(".yaml").write_text("excitation_pose: {elbow: 0.5}\n")
    return str(path)


def lab_arm(path: str, loads: tuple[Load | RigidLoad, ...] = (), aging: Aging | None = None) -> LabRobot:
    return LabRobot(robot=path, clamp=None, loads=loads, aging=aging, gains=GAINS)


def lab_run(
    path: str,
    *,
    loads: tuple[Load | RigidLoad, ...] = (),
    aging: Aging | None = None,
    sensors: Sensors | None = None,
    seed: int = 0,
    excitation: Excitation = SHAKE,
) -> tuple[Recording, Truth]:
    """Without noise, readings are not even rounded."""
    sensors = sensors or Sensors(quantise=False)
    return record(lab_arm(path, loads, aging), sensors, excitation, seed=seed, name=f"run {seed}")


def blank(path: str, *, actuation: str = "position", rows: int = 400, kp=None, kd=None) -> Recording:
    """A recording with inputs but without readings: sines of different frequency at every joint."""
    time_s = np.arange(rows) * CONTROL_DT_S
    omega = 2 * np.pi * np.array([[0.35, 0.5, 0.8], [1.1, 1.3, 1.7]])
    wave = np.sin(omega[0] * time_s[:, None]) + 0.5 * np.sin(omega[1] * time_s[:, None] + 1.0)
    torque = actuation == "torque"
    return Recording(
        name="arm run",
        robot=path,
        clamp=None,
        joint_names=JOINTS,
        time_s=time_s,
        q_rad=np.zeros((rows, 3)),
        target_rad=None if torque else 0.5 * wave,
        tau_nm=wave * [3.0, 1.5, 0.4] if torque else None,
        kp=None if torque else np.array(list(GAINS.kp.values())) if kp is None else kp,
        kd=None if torque else np.array(list(GAINS.kd.values())) if kd is None else kd,
        actuation=actuation,
        payload="unknown",
    )


def played(recording: Recording, simulator: Simulator, physics: Physics, noise_rad=0.0, seed: int = 0) -> Recording:
    """The recording with the readings that a robot of these parameters gives, from rest at zero."""
    run = _run(recording, simulator, physics)
    readings = run.q[0, :: round(CONTROL_DT_S / TIMESTEP_S)] + physics.bias
    noise = noise_rad * np.random.default_rng(seed).normal(size=readings.shape)
    return replace(recording, q_rad=readings + noise)


def sensed(
    recording: Recording, simulator: Simulator, physics: Physics, torque_noise=0.0, gyro_noise=0.0, link: str = "hand"
) -> Recording:
    """The recording with the motors' torques and a gyro's readings on a link, as MuJoCo's own sensors see them."""
    assert recording.kp is not None and recording.kd is not None
    run, rng = _run(recording, simulator, physics), np.random.default_rng(5)
    model, steps = simulator.with_physics(physics), round(CONTROL_DT_S / TIMESTEP_S)
    simulator.set_gains(model, physics, recording.kp, recording.kd, torque=False)
    data, velocity = mujoco.MjData(model), np.zeros(6)
    tau, gyro = np.zeros_like(recording.q_rad), np.zeros((len(recording.time_s), 3))
    for row in range(len(tau)):
        data.qpos[:], data.qvel[:] = run.q[0, row * steps], run.v[0, row * steps]
        data.ctrl[:] = run.inputs[0, max(row * steps - 1, 0)]
        mujoco.mj_forward(model, data)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(link).id, velocity, 1)
        tau[row], gyro[row] = data.actuator_force, velocity[:3]
    tau, gyro = tau + torque_noise * rng.normal(size=tau.shape), gyro + gyro_noise * rng.normal(size=gyro.shape)
    extra = {f"gyro_{axis}:{link}": gyro[:, i] for i, axis in enumerate("xyz")}
    return replace(recording, tau_nm=tau, extra=extra)


def _run(recording: Recording, simulator: Simulator, physics: Physics) -> Trajectories:
    rows = len(recording.time_s) - 1
    torque = recording.actuation == "torque"
    inputs = recording.tau_nm if torque else recording.target_rad
    assert inputs is not None
    kp, kd = (np.zeros(3) if gain is None else gain for gain in (recording.kp, recording.kd))
    whole = Fragments(
        control_dt_s=CONTROL_DT_S,
        timestep_s=TIMESTEP_S,
        torque_mode=torque,
        readings=np.zeros((1, rows + 1, 3)),
        velocities=None,
        inputs=inputs[None, :-1],
        kp=kp[None, :-1] if kp.ndim == 2 else kp,
        kd=kd[None, :-1] if kd.ndim == 2 else kd,
        history=0,
        recording_index=np.zeros(1, int),
        start_row=np.zeros(1, int),
    )
    return simulator.run(physics, whole, np.zeros((1, 3)), np.zeros((1, 3)))


def simulator_of(recording: Recording) -> Simulator:
    return build_simulator(recording, TIMESTEP_S)


def dataset_of(recording: Recording, simulator: Simulator, *, rows: int = 15, fragments: int = 12) -> Dataset:
    return prepare([recording], simulator, rows=rows, fragments_per_recording=fragments, held_out_share=0.0)


def heavier_hand(nominal: Physics) -> Physics:
    """1.2 kg more on the hand, its CoM shifted by a few centimetres."""
    hand = nominal.link_index("hand")
    mass, com = nominal.mass.copy(), nominal.com.copy()
    mass[hand] += 1.2
    com[hand] += [0.02, 0.03, -0.04]
    return replace(nominal, mass=mass, com=com)
