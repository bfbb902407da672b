"""mujoco.sysid as its users run it, on fragments that haloid cut: parameters, residual and optimiser as shipped.

In: a recording (for the robot, its clamp and its gains), fragments, and initial states, which it takes as given. Out:
mass and CoM of the payload links with its own 95 % intervals. It is given the best of what it offers: joint angles of
the state (its joint sensors come one step late), controls at the simulation step (it would otherwise draw lines
between targets that were held), and bounds wide enough for a load.
"""

from __future__ import annotations

import copy
import io
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from haloid.engines.fragments import Fragments
from haloid.errors import HaloidError
from haloid.extras import install_command
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.robots.servos import set_servos

_MASS_BOUNDS = np.array([0.1, 20.0])
"""Times nominal; the default of 10 would cut off HALO's hands, which carry 2.4 kg on 0.25 kg."""
_JUST_BELOW = 1 - 1e-12
"""It counts its steps by rounding a quotient of times up."""


@dataclass(frozen=True)
class PeerFit:
    values: np.ndarray
    """(4·links,) mass and CoM, link by link."""
    interval95: np.ndarray
    """(4·links,) half widths."""
    iterations: int
    seconds: float
    finished: bool
    """Whether it ended by itself, not at the limit of iterations."""


def load_sysid() -> Any:
    """The package, or a message that says how to get it: without its dependencies it cannot be imported."""
    try:
        from mujoco import sysid

        sysid.optimize  # noqa: B018  an import with a dependency missing may leave the module empty
    except (ImportError, AttributeError) as error:
        raise HaloidError(
            f"mujoco.sysid cannot be used here ({error}); the comparison with it needs its dependencies: "
            f"{install_command('sysid')}"
        ) from error
    return sysid


def fit(
    recording: Recording,
    fragments: Fragments,
    states: np.ndarray,
    links: Sequence[str],
    *,
    write_arrays: bool = False,
    in_radians: bool = False,
    iterations: int = 200,
    progress: Callable[[int], None] | None = None,
) -> PeerFit:
    """Identifies mass and CoM of `links` from (B, 2n) initial `states`.

    `write_arrays` replaces its model building, which recompiles the robot, by its public hook for another, which
    writes the compiled model's arrays. `in_radians` replaces its residual, scaled by each joint's distance from zero,
    by the plain difference, again through its hook.
    """
    sysid = load_sysid()
    started = time.monotonic()
    spec = _spec(recording, fragments)
    model = spec.compile()
    parameters = sysid.ParameterDict()
    for link in links:
        parameters.add(
            sysid.body_inertia_param(
                spec, model, link, inertia_type=sysid.InertiaType.MassIpos, mass_bound_mult=_MASS_BOUNDS
            )
        )
    hooks: dict[str, Any] = {}
    if write_arrays:
        hooks["build_model"] = _array_writer(spec, links)
    if in_radians:
        hooks["modify_residual"] = _difference_in_radians
    with _without_sensor_warnings():
        sequences = _sequences(sysid, spec, model, fragments, states)
    residual = sysid.build_residual_fn(models_sequences=[sequences], **hooks)
    done = 0

    def count(trace: Sequence[Any]) -> None:
        nonlocal done
        done = len(trace)
        if progress is not None:
            progress(done)

    found, result = sysid.optimize(
        parameters, residual, optimizer="mujoco", max_iters=iterations, iter_callback=count, output=io.StringIO()
    )
    residuals, _, _ = residual(result.x.ravel(), found)
    _, interval95 = sysid.calculate_intervals([np.ravel(r) for r in residuals], result.jac)
    return PeerFit(
        values=np.asarray(found.as_vector(), float).ravel(),
        interval95=np.asarray(interval95, float).ravel(),
        iterations=done,
        seconds=time.monotonic() - started,
        finished=done < iterations,
    )


@contextmanager
def _without_sensor_warnings() -> Iterator[None]:
    """It warns, for every sequence, that angles of the state are not sensors of the model."""
    log = logging.getLogger("absl")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _spec(recording: Recording, fragments: Fragments) -> mujoco.MjSpec:
    """The clamped robot driven as it was, stepped as haloid steps it."""
    assert recording.kp is not None and recording.kd is not None
    spec = load_spec(recording.robot)
    kp, kd = (dict(zip(recording.joint_names, map(float, g), strict=True)) for g in (recording.kp, recording.kd))
    set_servos(spec, kp, kd)
    spec = clamp(spec, recording.clamp, recording.clamp_pose)
    spec.option.timestep = fragments.timestep_s
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    for sensor in list(spec.sensors):
        spec.delete(sensor)
    return spec


def _dof_joints(model: mujoco.MjModel) -> list[str]:
    return [model.joint(int(j)).name for j in model.dof_jntid]


def _sequences(sysid: Any, spec: mujoco.MjSpec, model: mujoco.MjModel, fragments: Fragments, states: np.ndarray) -> Any:
    """Every fragment as one sequence: controls held between rows and given at every step, readings at the rows."""
    n, substeps, h = model.nv, fragments.substeps, fragments.timestep_s
    angles = [(joint, sysid.SignalType.MjStateQPos) for joint in _dof_joints(model)]
    driven = [_dof_joints(model).index(model.actuator(i).name) for i in range(model.nu)]
    held = np.repeat(fragments.inputs[:, fragments.history :, driven], substeps, axis=1)
    held = np.concatenate([held, held[:, -1:]], axis=1)  # the last one is never applied
    control_times = np.arange(held.shape[1]) * h * _JUST_BELOW
    row_times = np.concatenate([[0.0], np.cumsum(np.full(fragments.rows * substeps, h))])[::substeps]
    return sysid.ModelSequences(
        "robot",
        spec,
        [f"fragment {b}" for b in range(fragments.count)],
        [sysid.create_initial_state(model, x[:n], x[n:]) for x in states],
        [sysid.TimeSeries.from_control_names(control_times, u, model) for u in held],
        [sysid.TimeSeries.from_names(row_times, q, model, angles) for q in fragments.readings],
        allow_missing_sensors=True,
    )


def _array_writer(spec: mujoco.MjSpec, links: Sequence[str]) -> Callable[[Any, mujoco.MjSpec], mujoco.MjModel]:
    """Its `build_model`, for users who know MuJoCo's arrays: a copy of the compiled robot with other masses."""
    spec = spec.copy()
    for body in spec.bodies[1:]:
        body.simple = 0  # a simple body's mass matrix has no room for another inertia
    model = spec.compile()
    data = mujoco.MjData(model)
    bodies = [model.body(link).id for link in links]

    def build(parameters: Any, _: mujoco.MjSpec) -> mujoco.MjModel:
        built = copy.copy(model)
        for body, parameter in zip(bodies, parameters.values(), strict=True):
            built.body_mass[body], built.body_ipos[body] = parameter.value[0], parameter.value[1:4]
            built.body_sameframe[body] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        mujoco.mj_setConst(built, data)
        return built

    return build


def _difference_in_radians(
    _parameters: Any,
    predicted: Any,
    measured: Any,
    model: mujoco.MjModel,
    _all: bool,
    *,
    state: np.ndarray,
    **_more: Any,
) -> tuple[np.ndarray, Any, Any]:
    """Its `modify_residual`: every joint counts by its encoder's noise, which is the same for all."""
    measured = type(measured)(measured.times[1:], measured.data[1:], measured.signal_mapping)
    angles = type(measured)(state[:, 0], state[:, 1 : 1 + model.nq], measured.signal_mapping)
    predicted = angles.resample(measured.times)
    return measured.data - predicted.data, predicted, measured
