"""One robot of a batch, stepped by hand with MuJoCo alone."""

import copy

import mujoco
import numpy as np

from haloid.skills.task.environment import TrackingEnvironment
from haloid.skills.task.randomisation import RANDOMISED_FIELDS

STATE = mujoco.mjtState.mjSTATE_INTEGRATION


def model_of(template: mujoco.MjModel, fields: dict[str, np.ndarray]) -> mujoco.MjModel:
    """The template with these fields, and what follows from them."""
    model = copy.copy(template)
    for name, value in fields.items():
        getattr(model, name)[:] = value
    mujoco.mj_setConst(model, mujoco.MjData(model))
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    return model


def fields_of(environment: TrackingEnvironment, robot: int) -> dict[str, np.ndarray]:
    """What makes this robot differ from the others."""
    return {name: environment.simulation.batch.expand(name)[robot].copy() for name in RANDOMISED_FIELDS}


def data_in(model: mujoco.MjModel, state: np.ndarray) -> mujoco.MjData:
    """A simulation in a state of the batch."""
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, np.asarray(state, dtype=float), STATE)
    return data


def stepped(model: mujoco.MjModel, state: np.ndarray, targets_rad: list[np.ndarray]) -> np.ndarray:
    """The state after a physics step with each of these targets."""
    data, after = data_in(model, state), np.empty(mujoco.mj_stateSize(model, STATE))
    for target in targets_rad:
        data.ctrl[:] = target
        mujoco.mj_step(model, data)
    mujoco.mj_getState(model, data, after, STATE)
    return after
