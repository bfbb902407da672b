"""Robots, parameters and fragments to try the engines on, and MuJoCo's plain `mj_step` as their oracle.

The oracle compiles a model from an edited MjSpec, delays commands by integrating the held signal and applies encoder
bias and motor strength by hand: nothing of it is shared with the simulator under test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from tests.random_trees import mjcf, tree_plan

from haloid.engines.fragments import Fragments
from haloid.engines.physics import FLOOR_KINDS, JOINT_KINDS, LINK_KINDS, Column, Physics
from haloid.engines.simulate import Simulator
from haloid.robots.clamp import clamp
from haloid.robots.description import describe
from haloid.robots.inertia import LinkParameters, write_links
from haloid.robots.load import load_spec
from haloid.robots.servos import set_motors, set_servos

CONTROL_DT_S = 0.02
TIMESTEP_S = 0.005
HISTORY = 3


@dataclass(frozen=True)
class Scene:
    spec: mujoco.MjSpec
    """Clamped, with servos or motors."""
    simulator: Simulator
    physics: Physics
    fragments: Fragments
    q0: np.ndarray
    v0: np.ndarray

    def columns(self) -> list[Column]:
        """Every parameter of every kind."""
        links, joints = self.physics.links, self.physics.joints
        every = [Column(kind, link, c) for link in links for kind, parts in LINK_KINDS.items() for c in parts]
        every += [Column(kind, joint) for kind in JOINT_KINDS for joint in joints] + [Column("delay")]
        return every + [Column(kind) for kind in FLOOR_KINDS if self.physics.on_floor]


def tree_scene(seed: int, *, torque: bool = False, gains_vary: bool = False, friction: float = 0.5) -> Scene:
    plan = tree_plan(seed)
    spec = clamp(without_the_room(mujoco.MjSpec.from_string(mjcf(plan, couplings=False))), plan.links[-1])
    rng = np.random.default_rng(seed)
    joints = [joint.name for joint in spec.joints]
    if torque:
        set_motors(spec, joints)
    return _scene(spec, rng, rng.uniform(10, 60, len(joints)), rng.uniform(0.5, 3, len(joints)), friction=friction,
                  swing_rad=0.3, torque=torque, gains_vary=gains_vary)  # fmt: skip


def g1_scene(
    seed: int = 0,
    *,
    link: str = "left_ankle_roll_link",
    torque: bool = False,
    gains_vary: bool = False,
    friction: float = 0.5,
) -> Scene:
    spec, gains = load_spec("g1"), describe("g1").gain_set("stiff")
    set_motors(spec, tuple(gains.kp)) if torque else set_servos(spec, gains.kp, gains.kd)
    spec = clamp(spec, link)
    order = Simulator(spec, TIMESTEP_S).dof_joints
    kp, kd = (np.array([by_name[joint] for joint in order]) for by_name in (gains.kp, gains.kd))
    return _scene(spec, np.random.default_rng(seed), kp, kd, friction=friction, swing_rad=0.05, torque=torque,
                  gains_vary=gains_vary, rows=4)  # fmt: skip


HANGING = """
<mujoco>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0"/><inertial mass="2" pos=".01 .02 -.15" diaginertia=".02 .018 .004"/>
      <body name="hand" pos="0 0 -.3">
        <joint name="elbow" axis="1 .2 0"/><inertial mass=".8" pos=".03 -.02 -.06" diaginertia=".002 .0025 .001"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="shoulder" forcerange="-3 3"/><position joint="elbow" forcerange="-3 3"/>
  </actuator>
</mujoco>"""


def hanging_arm() -> Scene:
    """Two joints that do not rub: the smallest robot, some of its servos at their limits."""
    spec = mujoco.MjSpec.from_string(HANGING)
    return _scene(spec, np.random.default_rng(5), np.array([40.0, 20.0]), np.array([2.0, 1.0]), friction=0.0,
                  swing_rad=0.1, torque=False, gains_vary=False, rows=3)  # fmt: skip


LEG = """
<mujoco>
  <option {option}/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1" conaffinity="1" contype="0"/>
    <body name="thigh" pos="0 0 .34">
      <joint name="lift" type="slide" axis="0 0 1"/><joint name="hip" axis="0 1 0"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2" mass="3" contype="0" conaffinity="0"/>
      <body name="foot" pos="0 .01 -.3">
        <joint name="roll" axis="1 0 0"/><joint name="pitch" axis="0 1 0"/>
        <inertial pos=".01 .002 -.02" mass=".8" diaginertia=".001 .002 .002"/>
        {foot}
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="lift"/><position joint="hip"/><position joint="roll"/><position joint="pitch"/>
  </actuator>
</mujoco>"""


def standing_leg(foot: str, *, friction: float, option: str = "") -> Scene:
    """A leg on a lift, pressed on the floor with the geoms `foot`."""
    spec = mujoco.MjSpec.from_string(LEG.format(foot=foot, option=option))
    for geom in spec.body("foot").geoms:
        geom.conaffinity = 0
    simulator = Simulator(spec, TIMESTEP_S, contact=True)
    rng = np.random.default_rng(3)
    scene = _scene(spec, rng, np.array([2000.0, 80.0, 30.0, 30.0]), np.array([60.0, 4.0, 1.0, 1.0]), friction=friction,
                   swing_rad=0.004, torque=False, gains_vary=False, rows=5)  # fmt: skip
    data = mujoco.MjData(simulator.model)
    mujoco.mj_forward(simulator.model, data)
    sole = min((c.dist for c in data.contact), default=0.0)
    start = np.array([-0.0006 - sole, 0.01, -0.004, -0.01])
    inputs = scene.fragments.inputs + start + np.array([-0.03, 0.0, 0.0, 0.0])
    physics = replace(scene.physics, bias=np.zeros(4))
    q0 = np.tile(start, (2, 1)) + np.array([[0.0], [1e-4]])
    return replace(scene, simulator=simulator, physics=physics, fragments=replace(scene.fragments, inputs=inputs),
                   q0=q0, v0=0.05 * scene.v0)  # fmt: skip


def without_the_room(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    for key in list(spec.keys):
        spec.delete(key)
    for name in ("ball", "goal", "shelf"):
        spec.delete(spec.body(name))
    return spec


def _scene(spec, rng, kp, kd, *, friction, swing_rad, torque, gains_vary, count=2, rows=8) -> Scene:
    simulator = Simulator(spec, TIMESTEP_S)
    physics = _off_nominal(simulator.nominal, rng, friction)
    n = len(physics.joints)
    q0 = simulator.model.qpos0 + rng.uniform(-0.1, 0.1, (count, n))
    v0 = 0.3 * rng.normal(size=(count, n))
    steps = np.cumsum(rng.normal(size=(count, HISTORY + rows, n)), axis=1) * swing_rad
    limit = np.minimum(simulator.effort_limit, 20.0)
    inputs = 2 * limit * np.sin(3 * steps) if torque else simulator.model.qpos0 + steps
    if gains_vary:
        kp, kd = (gain * rng.uniform(0.7, 1.3, (count, rows, n)) for gain in (kp, kd))
    if torque:
        kp, kd = np.zeros((2, n))
    fragments = Fragments(
        control_dt_s=CONTROL_DT_S,
        timestep_s=TIMESTEP_S,
        torque_mode=torque,
        readings=np.zeros((count, rows + 1, n)),
        velocities=None,
        inputs=inputs,
        kp=kp,
        kd=kd,
        history=HISTORY,
        recording_index=np.zeros(count, int),
        start_row=np.arange(count),
    )
    return Scene(spec, simulator, physics, fragments, q0, v0)


def _off_nominal(nominal: Physics, rng, friction: float) -> Physics:
    """Every parameter off its nominal value, by an amount that keeps links physical."""
    n, links = len(nominal.joints), len(nominal.links)

    def factor(size, spread):
        return rng.uniform(1 - spread, 1 + spread, size)

    twist = rng.uniform(-0.05, 0.05, (links, 3, 3))
    stretch = np.eye(3) + twist  # congruence with a matrix near one keeps the inertia's second moments positive
    moments = 0.5 * np.trace(nominal.inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3) - nominal.inertia
    moments = stretch @ moments @ stretch.swapaxes(1, 2)
    inertia = np.trace(moments, axis1=1, axis2=2)[:, None, None] * np.eye(3) - moments
    return replace(
        nominal,
        mass=nominal.mass * factor(links, 0.1),
        com=nominal.com + rng.uniform(-0.01, 0.01, (links, 3)),
        inertia=0.5 * (inertia + inertia.swapaxes(1, 2)),
        damping=rng.uniform(0.05, 0.4, n),
        frictionloss=friction * rng.uniform(0.1, 1.0, n) * rng.choice([1.0, 20.0], n),
        armature=nominal.armature * factor(n, 0.2) + 0.001,
        kp=factor(n, 0.1),
        kd=factor(n, 0.1),
        strength=factor(n, 0.1),
        bias=0.01 * rng.normal(size=n),
        delay=0.0071,
    )


@dataclass(frozen=True)
class PlainRun:
    readings: np.ndarray
    """(B, N + 1, n)"""
    slip: np.ndarray
    """(B, steps, n) the share of the friction loss that is spent; 1 while a joint slips."""
    effort: np.ndarray
    """(B, steps, n) the share of the effort limit that is used; 1 while a servo is saturated."""


def step_plainly(scene: Scene, physics: Physics, q0: np.ndarray, v0: np.ndarray) -> PlainRun:
    fragments, n = scene.fragments, len(physics.joints)
    count, steps = fragments.count, fragments.rows * fragments.substeps
    readings = np.empty((count, fragments.rows + 1, n))
    slip, effort = np.zeros((2, count, steps, n))
    spec = _edited(scene.spec, physics)
    for b in range(count):
        for row in range(fragments.rows):
            if row == 0 or fragments.gains_vary:
                model = _compiled(spec, physics, *_gains(fragments, b, row), fragments.torque_mode)
                qpos = [int(model.joint(joint).qposadr[0]) for joint in physics.joints]
                drive = [int(model.actuator(joint_drive(model, joint)).id) for joint in physics.joints]
                fresh = mujoco.MjData(model)
                if row == 0:
                    fresh.qpos[qpos], fresh.qvel[qpos] = q0[b] - physics.bias, v0[b]
                else:
                    fresh.qpos[:], fresh.qvel[:] = data.qpos, data.qvel  # noqa: F821
                data = fresh
            readings[b, row] = data.qpos[qpos] + physics.bias
            for step in range(row * fragments.substeps, (row + 1) * fragments.substeps):
                command = _mean_of_delayed(fragments.inputs[b], physics.delay, step * TIMESTEP_S)
                data.ctrl[drive] = command if fragments.torque_mode else command - physics.bias
                mujoco.mj_step(model, data)
                slip[b, step] = np.abs(data.qfrc_constraint[qpos]) / np.maximum(physics.frictionloss, 1e-9)
                effort[b, step] = np.abs(data.actuator_force[drive]) / model.actuator_forcerange[drive, 1]
        readings[b, -1] = data.qpos[qpos] + physics.bias
    return PlainRun(readings, slip, effort)


def joint_drive(model: mujoco.MjModel, joint: str) -> str:
    (drive,) = [i for i in range(model.nu) if model.actuator_trnid[i, 0] == model.joint(joint).id]
    return model.actuator(drive).name


def _gains(fragments: Fragments, b: int, row: int) -> tuple[np.ndarray, np.ndarray]:
    return (fragments.kp[b, row], fragments.kd[b, row]) if fragments.gains_vary else (fragments.kp, fragments.kd)


def _mean_of_delayed(rows: np.ndarray, delay_s: float, start_s: float) -> np.ndarray:
    """Mean over one simulation step of the held signal, by the overlap of the step with each row."""
    low = start_s - delay_s
    edges = (np.arange(len(rows) + 1) - HISTORY) * CONTROL_DT_S
    edges[0] = -np.inf
    overlap = np.minimum(edges[1:], low + TIMESTEP_S) - np.maximum(edges[:-1], low)
    return np.maximum(overlap, 0) @ rows / TIMESTEP_S


def _edited(spec: mujoco.MjSpec, physics: Physics) -> mujoco.MjSpec:
    """The parameters of links and joints in a spec, before compiling."""
    spec = spec.copy()
    write_links(spec, {
        link: LinkParameters(physics.mass[i], physics.com[i], physics.inertia[i])
        for i, link in enumerate(physics.links)
    })  # fmt: skip
    for i, name in enumerate(physics.joints):
        joint = spec.joint(name)
        joint.damping[0] = physics.damping[i]
        joint.frictionloss, joint.armature = physics.frictionloss[i], physics.armature[i]
    return spec


def _compiled(spec: mujoco.MjSpec, physics: Physics, kp, kd, torque: bool) -> mujoco.MjModel:
    spec = spec.copy()
    for actuator in spec.actuators:
        i = physics.joints.index(actuator.target)
        strength = physics.strength[i]
        if torque:
            actuator.gainprm[0] = strength
        else:
            actuator.gainprm[0] = strength * physics.kp[i] * kp[i]
            actuator.biasprm[1:3] = -strength * physics.kp[i] * kp[i], -strength * physics.kd[i] * kd[i]
        actuator.forcerange = strength * actuator.forcerange
    model = spec.compile()
    model.opt.timestep = TIMESTEP_S
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    model.opt.tolerance, model.opt.ls_tolerance = 1e-12, 1e-6
    return model
