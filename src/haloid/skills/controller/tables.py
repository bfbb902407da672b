"""Controller, whole: a motion and a model become tables of servo targets and feedback gains.

In: a motion of T frames and the compiled training model (floating root first, position servos, spheres as soles). Out:
`ControllerTables`. For the control step that should bring the robot to frame t, send

    target_rad[t] + gain[t] @ e,    e = observed errors against frame t, and last_target_rad[t] − the last target.

The servo's torque over the step is kp·(target − q) − kd·dq with q and dq on their way from frame t−1 to t, so the
feed-forward is taken at the middle of the step: q + (kd/kp) dq + τ/kp. When the step begins, the robot is at frame t−1
if all is well; as mjlab shows the policy frame t, the tables allow for the step between the two frames:
target[t] = feed-forward − gain[t]·(frame t − frame t−1). All of this is about the motion rebalanced for the model
(rebalance.py), while mjlab shows the motion as it is; the difference of the two, times the gain, is in the target too.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from threadpoolctl import threadpool_limits

from haloid.errors import HaloidError
from haloid.robots.description import Robot
from haloid.robots.load import actuated_joints, scalar_joints
from haloid.skills.controller.contacts import SoleContacts, sole_contacts
from haloid.skills.controller.estimate import Noise, observation_matrix, observed_gains
from haloid.skills.controller.inverse_dynamics import ReferenceForces, reference_forces
from haloid.skills.controller.linear_feedback import FeedbackWeights, feedback_gains
from haloid.skills.controller.linear_model import linear_model
from haloid.skills.controller.rebalance import rebalanced
from haloid.trajectories.motion import Motion
from haloid.trajectories.mujoco_states import ModelStates, states_of


@dataclass(frozen=True)
class Feedforward:
    """Servo targets, frame by frame: send `target_rad[t]` to reach frame t, if nothing disturbs the robot."""

    joint_names: tuple[str, ...]
    target_rad: np.ndarray
    """(T, n)"""
    contacts: SoleContacts
    forces: ReferenceForces
    reference: ModelStates
    """What is followed: the motion, rebalanced for the model."""


@dataclass(frozen=True)
class ControllerTables(Feedforward):
    """Servo targets and gains, frame by frame; send `target_rad[t] + gain[t] @ e` to reach frame t."""

    gain: np.ndarray
    """(T, n, 6 + 3 n) on e, frame t − measured: torso rotation (the rotation vector of R_robotᵀ R_reference, in the
    torso's axes, rad), angular velocity of the pelvis in its axes (rad/s), joint angles (rad), velocities (rad/s); and
    last_target_rad[t] − the target sent last, or 0 if there was none."""
    last_target_rad: np.ndarray
    """(T, n) the target of the previous step if nothing had to be corrected."""


def feedforward(model: mujoco.MjModel, robot: Robot, motion: Motion) -> Feedforward:
    """The targets for tracking `motion` with `model`, which is a model of `robot`, without feedback."""
    robot.need("the controller", "anchor", "legs", "feet")
    _check(model)
    shown = states_of(model, motion.trajectory)
    contacts = sole_contacts(model, shown)
    reference = rebalanced(model, robot, shown, contacts)
    forces = reference_forces(model, reference, contacts)
    target_rad = feedforward_targets(model, reference, forces)
    return Feedforward(scalar_joints(model), target_rad, contacts, forces, reference)


@threadpool_limits.wrap(limits=1, user_api="blas")
def controller_tables(
    model: mujoco.MjModel,
    robot: Robot,
    motion: Motion,
    weights: FeedbackWeights | None = None,
    noise: Noise | None = None,
) -> ControllerTables:
    """The tables for tracking `motion` with `model`, which is a model of `robot`.

    The matrices are too small to share among threads, which on busy cores wait for each other: 3 s become 110 s.
    """
    weights, noise = weights or FeedbackWeights(), noise or Noise()
    shown, found = states_of(model, motion.trajectory), feedforward(model, robot, motion)
    contacts, reference, forces, target_rad = found.contacts, found.reference, found.forces, found.target_rad
    linear = linear_model(model, robot.anchor, reference, contacts, forces, target_rad, noise.tip_return)
    full_gain = feedback_gains(model, robot.anchor, reference, contacts, forces, linear, weights)
    observed, step = observation_matrices(model, robot.anchor, reference)
    gain = observed_gains(model, reference, contacts, linear, full_gain, observed, noise)
    last_target_rad = np.concatenate([target_rad[:1], target_rad[:-1]])
    offset = ahead_of_shown(reference, shown) - step
    target_rad += np.einsum("tij,tj->ti", gain[:, :, : offset.shape[1]], offset)
    target_rad[0], gain[0] = target_rad[1], gain[1]
    return ControllerTables(found.joint_names, target_rad, contacts, forces, reference, gain, last_target_rad)


def feedforward_targets(model: mujoco.MjModel, reference: ModelStates, forces: ReferenceForces) -> np.ndarray:
    """(T, n) targets that make the servos give the reference's torques on the way from frame t−1 to frame t."""
    kp, kd = model.actuator_gainprm[:, 0], -model.actuator_biasprm[:, 2]
    torque_nm = np.clip(forces.joint_torque_nm, *model.actuator_forcerange.T)
    pos, target_rad = reference.qpos[:, 7:], np.empty_like(torque_nm)
    middle_rad, speed_rad_s = (pos[1:] + pos[:-1]) / 2, np.diff(pos, axis=0) / reference.step_s
    target_rad[1:] = middle_rad + kd / kp * speed_rad_s + torque_nm[1:] / kp
    target_rad[0] = target_rad[1]
    return target_rad


def observation_matrices(model: mujoco.MjModel, anchor: str, reference: ModelStates) -> tuple[np.ndarray, np.ndarray]:
    """(T, 6 + 2 n, 2 nv) what sensors show of an error about frame t−1; (T, 6 + 2 n) what frame t is ahead of it."""
    data, step = mujoco.MjData(model), np.zeros(2 * model.nv)
    matrices, ahead = [], []
    for frame in range(len(reference)):
        before = max(frame, 1) - 1
        data.qpos[:] = reference.qpos[before]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        matrices.append(observation_matrix(model, data, anchor))
        mujoco.mj_differentiatePos(model, step[: model.nv], 1.0, reference.qpos[before], reference.qpos[before + 1])
        step[model.nv :] = reference.qvel[before + 1] - reference.qvel[before]
        ahead.append(matrices[-1] @ step)
    return np.array(matrices), np.array(ahead)


def ahead_of_shown(reference: ModelStates, shown: ModelStates) -> np.ndarray:
    """(T, 6 + 2 n) how the rebalanced frames differ from those shown: in the legs alone, as nothing above turns."""
    joints = reference.qpos[:, 7:] - shown.qpos[:, 7:], reference.qvel[:, 6:] - shown.qvel[:, 6:]
    return np.concatenate([np.zeros((len(reference), 6)), *joints], axis=1)


def _check(model: mujoco.MjModel) -> None:
    joints, driven = scalar_joints(model), actuated_joints(model)
    kp = model.actuator_gainprm[:, 0]
    servos = np.all(kp > 0) and np.allclose(model.actuator_biasprm[:, 1], -kp) and np.all(model.actuator_forcelimited)
    if model.nv != 6 + len(joints) or model.nu != len(joints) or driven != joints or not servos:
        raise HaloidError(
            "the controller needs a floating robot with one position servo per joint, in joint order and with a torque "
            f"limit; found {model.nv} degrees of freedom, {len(joints)} joints and {model.nu} actuators, "
            f"{'all' if servos else 'not all'} of them such servos"
        )
