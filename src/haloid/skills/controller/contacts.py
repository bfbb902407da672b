"""Controller, step two: which points of the soles the reference rests on, frame by frame.

In: reference states and a model whose soles are spheres above a floor at z = 0. Out: a weight for each sphere, from 0
(free) to 1 (resting). A sphere comes to rest where it is both low and slow, is free again where it is clearly high or
fast (hysteresis), and its weight ramps at both changes, so that the load does not jump from one control step to the
next. A foot that is clamped always rests, and its clamp also pulls.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.motions.stance import Touch, touches
from haloid.trajectories.mujoco_states import ModelStates

REST, STAY = Touch(0.012, 0.25), Touch(0.022, 0.45)
"""A sphere comes to rest, and stays at rest."""
RAMP_S = 0.08


@dataclass(frozen=True)
class SoleContacts:
    """The support of every frame."""

    geom_ids: np.ndarray
    """(s,) spheres of the soles."""
    weight: np.ndarray
    """(T, s) 1 where a sphere rests on the floor, 0 where it is free, ramps in between."""
    resting: np.ndarray
    """(T, s) bool, without ramps."""
    held: np.ndarray
    """(s,) bool, of a clamped foot: whatever its force, it neither slips nor tips."""


def sole_contacts(model: mujoco.MjModel, reference: ModelStates) -> SoleContacts:
    """The resting spheres of every frame of `reference`."""
    geoms = sole_spheres(model)
    centre_w_m = np.empty((len(reference), len(geoms), 3))
    data = mujoco.MjData(model)
    for frame, qpos in enumerate(reference.qpos):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        centre_w_m[frame] = data.geom_xpos[geoms]
    height_m = centre_w_m[:, :, 2] - model.geom_size[geoms, 0]
    velocity_m_s = np.asarray(np.gradient(centre_w_m, reference.step_s, axis=0))
    resting = with_hysteresis(touches(height_m, velocity_m_s, REST), touches(height_m, velocity_m_s, STAY))
    held = np.isin(model.geom_bodyid[geoms], clamped_bodies(model))
    resting |= held
    return SoleContacts(geoms, ramped(resting, max(1, round(RAMP_S / reference.step_s))), resting, held)


def clamped_bodies(model: mujoco.MjModel) -> np.ndarray:
    """Ids of the bodies that are welded to the world."""
    welds = (model.eq_type == mujoco.mjtEq.mjEQ_WELD) & (model.eq_obj1id == 0) & model.eq_active0.astype(bool)
    return model.eq_obj2id[welds]


def sole_spheres(model: mujoco.MjModel) -> np.ndarray:
    """Ids of the spheres that can touch the floor."""
    spheres = (model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE) & (model.geom_bodyid > 0)
    geoms = np.flatnonzero(spheres & ((model.geom_contype | model.geom_conaffinity) > 0))
    if not len(geoms):
        raise HaloidError(
            "the model has no colliding spheres; the controller expects soles of spheres, four per foot on the g1"
        )
    return geoms


def with_hysteresis(begins: np.ndarray, stays: np.ndarray) -> np.ndarray:
    """(T, s) bool: true from where `begins` holds for as long as `stays` does."""
    state = np.empty_like(begins)
    state[0] = stays[0]
    for frame in range(1, len(begins)):
        state[frame] = np.where(state[frame - 1], stays[frame], begins[frame])
    return state


def ramped(resting: np.ndarray, ramp_frames: int) -> np.ndarray:
    """(T, s) weight that reaches 0 where a rest begins or ends and rises to 1 within it over `ramp_frames`."""
    weight = resting.astype(float)
    number = len(resting)
    for column in range(resting.shape[1]):
        free = np.flatnonzero(~resting[:, column])
        if len(free):
            distance = np.abs(np.arange(number)[:, None] - free[None, :]).min(axis=1)
            weight[:, column] = np.clip(distance / ramp_frames, 0.0, 1.0)
    return weight
