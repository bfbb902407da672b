"""Playing a reference: targets with feed-forward go in, the robot moves in a simulator, its true motion comes out.

target = reference + (inverse dynamics + kd·reference velocity) / kp, taken at the middle of the row it is held for.
The feed-forward is that of the true robot without its dry friction: an operator has trimmed it. What happens then is
friction, delay, bias, hold and torque limits. A robot that falls is an error, not a recording.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco import rollout

from haloid.errors import HaloidError
from haloid.lab.built import BuiltRobot
from haloid.lab.collisions import self_collisions
from haloid.lab.dynamics import LabDynamics
from haloid.lab.excitation import Reference
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.delay import delayed_inputs, substeps_per_row

FALL_RAD = 0.5
"""A joint this far off its reference means that the robot fell."""
SETTLE_S = 1.0
"""The robot holds its first target for this long before row 0."""
Simulate = Callable[[BuiltRobot, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""What moves the robot: (steps, n) positions and velocities before each step of a control (steps, n), from rest at a
start (n,)."""


class FellError(HaloidError):
    """The robot did not follow its reference; there is nothing to record."""


@dataclass(frozen=True)
class Playback:
    """What really happened, one row per control step, before any sensor; columns in the robot's joint order."""

    q_rad: np.ndarray
    dq_rad_s: np.ndarray
    target_rad: np.ndarray
    tracking_rms_rad: np.ndarray
    """(n,) of the encoder without noise against the reference."""
    tracking_max_rad: np.ndarray
    saturated_fraction: np.ndarray
    """(n,) share of the simulation steps in which the servo was at its torque limit."""
    self_collisions: tuple[str, ...]
    """Pairs of links that came to touch (the lab does not simulate it)."""


@dataclass(frozen=True)
class Steps:
    """One row a simulation step, the rest before row 0 included: what the servos heard, and the state it met."""

    control: np.ndarray
    q_rad: np.ndarray
    dq_rad_s: np.ndarray


def in_mujoco(built: BuiltRobot, start_rad: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`Simulate` of MuJoCo."""
    model = built.model
    data = mujoco.MjData(model)
    data.qpos[built.qpos_of] = start_rad
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    initial = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, initial, kind)
    ordered = np.empty((len(control), model.nu))
    ordered[:, built.actuator_of] = control
    after, _ = rollout.rollout(model, data, initial[None], ordered[None])
    states = np.concatenate([initial[None], after[0, :-1]])
    refuse_breakdown(data)
    positions, velocities = states[:, 1 : 1 + model.nq], states[:, 1 + model.nq : 1 + model.nq + model.nv]
    return positions[:, built.qpos_of], velocities[:, built.dof_of]


def play(robot: LabRobot, reference: Reference, sensors: Sensors, simulate: Simulate = in_mujoco) -> Playback:
    """Plays `reference` after a moment's rest; raises FellError if the robot does not stay with it."""
    built = robot.built
    if reference.joint_names != built.joint_names:
        raise HaloidError(
            f"the reference is for the joints {', '.join(reference.joint_names)}; expected those of the robot in its "
            f"own order: {', '.join(built.joint_names)}"
        )
    bias_rad = sensors.bias_of(len(built.joint_names))
    target_rad = feed_forward_targets(built, reference)
    settle_rows = round(SETTLE_S / robot.control_dt_s)
    padded = np.concatenate([np.repeat(target_rad[:1], settle_rows, axis=0), target_rad])
    control = delayed_inputs(padded, sensors.delay_s, robot.control_dt_s, robot.timestep_s) - bias_rad
    q_rad, dq_rad_s = simulate(built, reference.q_rad[0] - bias_rad, control)
    return playback_of(robot, reference, target_rad, Steps(control, q_rad, dq_rad_s), bias_rad)


def playback_of(
    robot: LabRobot,
    reference: Reference,
    target_rad: np.ndarray,
    steps: Steps,
    bias_rad: np.ndarray,
    *,
    arms_may_hang: bool = False,
) -> Playback:
    """What became of `reference`; raises FellError if the robot did not stay with it, the arms apart where they may."""
    built = robot.built
    substeps = substeps_per_row(robot.control_dt_s, robot.timestep_s)
    settle_steps = len(steps.q_rad) - len(reference.q_rad) * substeps
    rows = slice(settle_steps, None, substeps)
    error_rad = steps.q_rad[rows] + bias_rad - reference.q_rad
    carries = np.array([limb in ("legs", "waist") for limb in built.limbs])
    _refuse_fall(robot, reference, np.where(carries | (not arms_may_hang), error_rad, 0.0))
    kp, kd = built.strength * built.kp, built.strength * built.kd
    torque_nm = kp * (steps.control - steps.q_rad) - kd * steps.dq_rad_s
    return Playback(
        q_rad=steps.q_rad[rows],
        dq_rad_s=steps.dq_rad_s[rows],
        target_rad=target_rad,
        tracking_rms_rad=np.sqrt(np.mean(error_rad**2, axis=0)),
        tracking_max_rad=np.abs(error_rad).max(axis=0),
        saturated_fraction=np.mean(np.abs(torque_nm[settle_steps:]) >= built.limits.effort_nm, axis=0),
        self_collisions=self_collisions(built, steps.q_rad[rows]),
    )


def feed_forward_targets(built: BuiltRobot, reference: Reference) -> np.ndarray:
    """(T, n) position targets that would track the reference on the frictionless robot."""
    half_s = built.control_dt_s / 2
    dq_rad_s = reference.dq_rad_s + half_s * reference.ddq_rad_s2
    q_rad = reference.q_rad + half_s * reference.dq_rad_s + half_s**2 / 2 * reference.ddq_rad_s2
    tau_nm = LabDynamics(built).torque(q_rad, dq_rad_s, reference.ddq_rad_s2)
    return q_rad + (tau_nm / built.strength + built.kd * dq_rad_s) / built.kp


def refuse_breakdown(data: mujoco.MjData) -> None:
    """Raises FellError if MuJoCo warned of a state that it cannot go on from."""
    for number, warning in enumerate(data.warning):
        if warning.number:
            name = mujoco.mjtWarning(number).name.removeprefix("mjWARN_")
            raise FellError(
                f"the simulation broke down {data.time:.2f} s after the start (MuJoCo: {name}); nothing is recorded. "
                "Lower the excitation's amplitudes or the timestep, or raise the gains"
            )


def _refuse_fall(robot: LabRobot, reference: Reference, error_rad: np.ndarray) -> None:
    off = ~(np.abs(error_rad) < FALL_RAD)
    if not off.any():
        return
    row = int(np.argmax(off.any(axis=1)))
    column = int(np.argmax(off[row]))
    raise FellError(
        f"the robot fell: {reference.joint_names[column]} was {abs(error_rad[row, column]):.2f} rad off its reference "
        f"{reference.time_s[row]:.2f} s into the run, expected under {FALL_RAD} rad; nothing is recorded. "
        f"Use stiffer gains (now {robot.gains if isinstance(robot.gains, str) else 'given by joint'}), a lighter load, "
        "a gentler excitation, double support or the pelvis as clamp"
    )
