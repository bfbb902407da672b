"""Skills, the robot: what a tracking policy is trained and measured on, and mjlab's conventions for driving it.

In: a robot's model (a known robot, an MJCF such as an identification's calibrated.xml), perhaps a patch.json on top.
Out: a `TrackedRobot`: the model on a floor that only its soles touch, its joints driven by its own position servos,
with sensors for the bodies that are tracked; and the numbers of mjlab's action contract:
target = default + scale·action with scale = 0.25·effort/kp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.description import Robot, describe
from haloid.robots.drives import own_gains
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.load import actuated_joints, load_spec
from haloid.robots.open_model import base_robot
from haloid.robots.patch import apply_patch, read_patch
from haloid.robots.servos import set_servos
from haloid.robots.sole import colliding_geoms
from haloid.skills.task.clamped import Clamp, hold

if TYPE_CHECKING:
    from haloid.skills.task.simulation import Servos

ACTION_SCALE_OF_EFFORT = 0.25
SOFT_LIMIT_FACTOR = 0.9
_TASK = "a tracking policy"
_ENTRIES = ("anchor", "tracked_links", "feet", "hands", "imu_site", "standing_pose")
"""What the description of a tracked robot must state."""
FLOOR = "floor"


@dataclass(frozen=True)
class TrackedRobot:
    """A robot ready for batched simulation. Joint vectors are in the order of `joint_names`, the model's own."""

    model: mujoco.MjModel
    spec: mujoco.MjSpec
    """What `model` was compiled from; servo gains that a policy brings are in `model`, `kp` and `kd` alone."""
    description: Robot
    joint_names: tuple[str, ...]
    kp: np.ndarray
    """(n,) N·m/rad"""
    kd: np.ndarray
    """(n,) N·m·s/rad"""
    effort_nm: np.ndarray
    """(n,) greatest torque."""
    default_joint_pos_rad: np.ndarray
    """(n,)"""
    soft_limits_rad: np.ndarray
    """(n, 2) the middle 90 % of each joint's range."""
    clamp: Clamp | None = None
    """A foot that is held fixed in the world; None: the robot is free."""
    servos: Callable[[TrackedRobot, int], Servos] | None = None
    """Makes the servos of this many robots; None: the model's own."""
    strength: np.ndarray | float = 1.0
    """(n,) true gains of the servos, as a fraction of the commanded ones."""

    @property
    def action_scale_rad(self) -> np.ndarray:
        """(n,) radians of target per unit of action."""
        return ACTION_SCALE_OF_EFFORT * self.effort_nm / self.kp

    @property
    def body_ids(self) -> np.ndarray:
        """Ids of the tracked bodies in the model."""
        return np.array([self.model.body(name).id for name in self.description.tracked_links])


def tracked_robot(
    robot: str | Path = DEFAULT_ROBOT,
    patch: Path | None = None,
    *,
    timestep_s: float = 0.005,
    clamp: Clamp | None = None,
    for_pictures: bool = False,
) -> TrackedRobot:
    """The robot on a floor. `robot` is a name or a model file, or a patch.json, which is put on the robot it names.

    Geometry that touches nothing is left out, for speed, unless the model is wanted `for_pictures`.
    """
    if Path(robot).suffix == ".json":
        robot, patch = robot_of_model(robot), Path(robot)
    spec = load_spec(robot)
    if patch is not None:
        apply_patch(spec, read_patch(patch))
    return tracked_robot_of(spec, describe(robot), timestep_s=timestep_s, clamp=clamp, for_pictures=for_pictures)


def robot_of_model(model: str | Path) -> str:
    """The robot that a model describes: the one a patch.json names, else the model itself."""
    return base_robot(model) or str(model)


def tracked_robot_of(
    spec: mujoco.MjSpec,
    description: Robot,
    *,
    timestep_s: float = 0.005,
    clamp: Clamp | None = None,
    for_pictures: bool = False,
) -> TrackedRobot:
    """The same from a spec, which is not changed."""
    spec = spec.copy()
    description.need(_TASK, *_ENTRIES)
    _check_names(spec, description)
    _put_on_floor(spec, description)
    if not for_pictures:
        _leave_out_what_touches_nothing(spec)
    if clamp is not None:
        hold(spec, clamp)
    kp, kd = _own_gains(spec)
    set_servos(spec, kp, kd)
    add_sensors(spec, description)
    spec.option.timestep = timestep_s
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE  # a fifth faster than dense with eight contacts
    one_robot = mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    spec.option.disableflags |= int(one_robot)  # a tenth faster: there is one island, and nothing to sort
    spec.option.iterations, spec.option.ls_iterations, spec.option.tolerance = 10, 20, 1e-5
    model = spec.compile()
    joint_names = actuated_joints(model)
    ranges = np.array([model.joint(name).range for name in joint_names])
    middle, half = ranges.mean(axis=1), np.ptp(ranges, axis=1) / 2
    return TrackedRobot(
        model=model,
        spec=spec,
        description=description,
        joint_names=joint_names,
        kp=np.array([kp[name] for name in joint_names]),
        kd=np.array([kd[name] for name in joint_names]),
        effort_nm=np.array([model.actuator(name).forcerange[1] for name in joint_names]),
        default_joint_pos_rad=np.array([description.standing_pose.get(name, 0.0) for name in joint_names]),
        soft_limits_rad=np.stack([middle - SOFT_LIMIT_FACTOR * half, middle + SOFT_LIMIT_FACTOR * half], axis=1),
        clamp=clamp,
    )


def _check_names(spec: mujoco.MjSpec, description: Robot) -> None:
    """A description that holds for several model files may name what one of them lacks."""
    bodies = {body.name for body in spec.bodies}
    missing = [name for name in description.tracked_links if name not in bodies]
    if missing:
        raise HaloidError(
            f"the robot has no link {', '.join(missing)}, which the tracking task follows. "
            f"Expected the links of {description.name}; its own are: {', '.join(sorted(bodies - {'world'}))}"
        )
    if not any(site.name == description.imu_site for site in spec.sites):
        raise HaloidError(f"the robot has no site '{description.imu_site}', where its IMU sits. Add it to the model")


def _put_on_floor(spec: mujoco.MjSpec, description: Robot) -> None:
    """A plane at z = 0 that touches the feet's collision geometry and nothing else; contact pairs are few and fast."""
    model = spec.copy().compile()
    feet = description.feet.values()
    for foot in feet:
        if not colliding_geoms(model, model.body(foot).id):
            raise HaloidError(f"{foot} has no geometry that could touch the floor; give its sole collision geoms")
    for geom in list(spec.geoms):
        if geom.parent.name == "world" and geom.type == mujoco.mjtGeom.mjGEOM_PLANE:
            spec.delete(geom)
            continue
        touches = geom.parent.name in feet and (geom.contype or geom.conaffinity)
        geom.contype, geom.conaffinity = (1, 0) if touches else (0, 0)
    spec.worldbody.add_geom(
        name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 0.05], contype=0, conaffinity=1
    )


def _leave_out_what_touches_nothing(spec: mujoco.MjSpec) -> None:
    """MuJoCo places every geom in every step. Those that give a link its mass stay."""
    for geom in list(spec.geoms):
        if not (geom.contype or geom.conaffinity) and geom.parent.explicitinertial:
            spec.delete(geom)


def _own_gains(spec: mujoco.MjSpec) -> tuple[dict[str, float], dict[str, float]]:
    """kp and kd of the spec's position servos, by joint; its own where a recording's were written over them."""
    if own := own_gains(spec):
        return own.kp, own.kd
    model = spec.copy().compile()
    kp, kd = {}, {}
    for row in range(model.nu):
        joint = model.joint(model.actuator_trnid[row, 0]).name
        kp[joint], kd[joint] = float(model.actuator_gainprm[row, 0]), float(-model.actuator_biasprm[row, 2])
    if not kp or min(kp.values()) <= 0 or any(model.actuator_biastype != mujoco.mjtBias.mjBIAS_AFFINE):
        raise HaloidError(
            "the robot's joints are not all driven by position servos (<position kp=… kv=…>), and a tracking policy "
            "sends position targets. Give every driven joint a position actuator in the model"
        )
    return kp, kd


def add_sensors(spec: mujoco.MjSpec, description: Robot) -> None:
    """In place of the model's own sensors: the IMU's velocities, then all poses and velocities of bodies."""
    for sensor in list(spec.sensors):
        spec.delete(sensor)
    sensor, objects = mujoco.mjtSensor, mujoco.mjtObj
    for name, kind in (("imu_lin_vel", sensor.mjSENS_VELOCIMETER), ("imu_ang_vel", sensor.mjSENS_GYRO)):
        spec.add_sensor(name=name, type=kind, objtype=objects.mjOBJ_SITE, objname=description.imu_site)
    for kind in (sensor.mjSENS_FRAMEPOS, sensor.mjSENS_FRAMEQUAT, sensor.mjSENS_FRAMELINVEL, sensor.mjSENS_FRAMEANGVEL):
        for body in description.tracked_links:
            spec.add_sensor(type=kind, objtype=objects.mjOBJ_XBODY, objname=body)
