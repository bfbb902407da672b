"""The lab robot: a simulated robot with wear, a load and a clamp, compiled once and recorded many times.

In: a robot's name and what was done to it. Out: the MuJoCo model that moves, and the maps between its coordinates
and the recording's joint order. Nothing downstream of a recording may use this: it is the truth.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.lab.aging import Aging, age
from haloid.lab.built import BuiltRobot
from haloid.lab.excitation import JointLimits
from haloid.lab.loads import Load, RigidLoad, put_on
from haloid.lab.posture import lean
from haloid.robots.clamp import clamp
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT, USUAL_CLAMP
from haloid.robots.floor import add_floor, other_foot
from haloid.robots.load import actuated_joints, load_spec
from haloid.robots.servos import Gains, set_servos


@dataclass(frozen=True)
class LabRobot:
    robot: str = DEFAULT_ROBOT
    """A known robot's name, or the path of an MJCF or URDF file."""
    clamp: str | None = USUAL_CLAMP
    """The link held fixed in the world (by default the one the robot's description names); None: the model as it is (a
    fixed-base arm)."""
    support: Literal["single", "double"] = "single"
    """"double": the foot that is not clamped rests on a floor; "single": nothing but the clamp touches the world."""
    loads: tuple[Load | RigidLoad, ...] = ()
    aging: Aging | None = None
    """None: the robot of the data sheet."""
    gains: str | Gains | None = None
    """A gain set's name, "model" for the position servos of the robot's own file, or kp and kd by joint; None: the set
    "stiff" where the robot has it, else the servos of its own file."""
    timestep_s: float = 0.005
    control_dt_s: float = 0.02

    def __post_init__(self) -> None:
        if self.clamp == USUAL_CLAMP:
            object.__setattr__(self, "clamp", describe(self.robot).usual_clamp("recording"))

    @cached_property
    def built(self) -> BuiltRobot:
        """The compiled robot; building takes tens of milliseconds and happens once."""
        return build(self)

    @cached_property
    def posture_rad(self) -> np.ndarray:
        """(n,) the posture that it is excited around."""
        return lean(self.built)


def build(robot: LabRobot) -> BuiltRobot:
    """Ages, loads, drives and clamps the robot, and compiles it so that all derived constants are the true ones."""
    spec, description = load_spec(robot.robot), describe(robot.robot)
    joint_names = actuated_joints(spec)
    gains = robot.gains
    if not isinstance(gains, Gains):
        gains = description.gain_set(gains or description.recording_gains)
    if description.floats:
        description.need("recording", "legs")
    if missing := [name for name in joint_names if name not in gains.kp]:
        raise HaloidError(f"no gains for {', '.join(missing)}; give kp and kd of every actuated joint")
    kp = np.array([gains.kp[name] for name in joint_names])
    kd = np.array([gains.kd[name] for name in joint_names])

    strength = np.ones(len(joint_names)) if robot.aging is None else age(spec, robot.aging, joint_names)
    put_on(spec, robot.loads)
    true_kp = dict(zip(joint_names, strength * kp, strict=True))
    true_kd = dict(zip(joint_names, strength * kd, strict=True))
    set_servos(spec, true_kp, true_kd)
    for name, share in zip(joint_names, strength, strict=True):
        spec.actuator(name).forcerange[:] *= share
    spec = clamp(spec, robot.clamp)
    model = collision_model = spec.compile()
    if robot.support == "double":
        add_floor(spec, robot.clamp)
        model = spec.compile()
    _set_options(model, robot)
    if model.nv != len(joint_names):
        raise HaloidError(
            f"the clamped robot has {model.nv} degrees of freedom but {len(joint_names)} actuated joints "
            f"({robot.robot}, clamp {robot.clamp!r}); clamp a link of a floating robot, and drive every joint"
        )
    return BuiltRobot(
        description=description,
        spec=spec,
        model=model,
        collision_model=collision_model,
        joint_names=joint_names,
        qpos_of=np.array([model.joint(name).qposadr[0] for name in joint_names]),
        dof_of=np.array([model.joint(name).dofadr[0] for name in joint_names]),
        actuator_of=np.array([model.actuator(name).id for name in joint_names]),
        kp=kp,
        kd=kd,
        strength=strength,
        limbs=tuple(description.limb(name) for name in joint_names),
        limits=_limits(model, joint_names),
        timestep_s=robot.timestep_s,
        control_dt_s=robot.control_dt_s,
        free_foot=other_foot(robot.clamp) if robot.support == "double" else None,
    )


def _set_options(model: mujoco.MjModel, robot: LabRobot) -> None:
    """Steps as the identification models them, and a constraint solver that runs until it has converged."""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.timestep = robot.timestep_s
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.ls_tolerance = 1e-12, 1e-6
    model.opt.iterations, model.opt.ls_iterations = 200, 100
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET | mujoco.mjtDisableBit.mjDSBL_SENSOR
    if robot.support == "single":
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT


def _limits(model: mujoco.MjModel, joint_names: tuple[str, ...]) -> JointLimits:
    joints = [model.joint(name).id for name in joint_names]
    actuators = [model.actuator(name).id for name in joint_names]
    limited = model.jnt_limited[joints].astype(bool)
    lower = np.where(limited, model.jnt_range[joints, 0], -np.inf)
    upper = np.where(limited, model.jnt_range[joints, 1], np.inf)
    forced = model.actuator_forcelimited[actuators].astype(bool)
    effort = np.where(forced, np.abs(model.actuator_forcerange[actuators]).min(axis=1), np.inf)
    return JointLimits(lower, upper, effort)
