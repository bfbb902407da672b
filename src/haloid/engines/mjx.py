"""The MJX engine: the same rollouts in JAX, on CPUs and GPUs, with gradients in reverse and Jacobians in forward mode.

This is the paper's engine (HALO III-B). Fragments are a batch that is sharded over all local devices. What is compiled
stays compiled: in memory for the next call, on disk for the next run. JAX calculates in single precision unless it is
told otherwise (JAX_ENABLE_X64=1). On a CPU the analytic engine is two to three times faster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import mujoco
import numpy as np

from haloid.engines.analytic import check_supported
from haloid.engines.engine import Engine, Sensitivities
from haloid.engines.fragments import Fragments
from haloid.engines.physics import FLOOR_KINDS, Column, Physics
from haloid.engines.simulate import Simulator, delay_slope
from haloid.errors import HaloidError
from haloid.extras import install_command

try:
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    from mujoco import mjx

    from haloid.engines.mjx_step import Base, Columns, Drive, base_of, rollout
    from haloid.engines.mjx_tree import Tree
except ImportError as error:
    raise HaloidError(
        f"the engine mjx needs the package {error.name}, which this installation lacks. "
        f"Install with: {install_command('mjx')}"
    ) from error

_SOLVER_TOLERANCE = {"float32": 1e-8, "float64": 1e-14}


class NotFiniteError(HaloidError):
    """A fragment whose derivative is not a number."""

    def __init__(self, fragments: Fragments, which: int, what: str) -> None:
        super().__init__(
            f"the {what} of fragment {which} (recording {int(fragments.recording_index[which]) + 1}, row "
            f"{int(fragments.start_row[which])}) is not finite; expected a motion that stays finite there. "
            "Shorten the fragments with --rows, or use --engine analytic"
        )


class MjxEngine(Engine):
    """Rolls out and differentiates in JAX."""

    name = "mjx"
    reverse = True

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(simulator)
        check_supported(simulator, self.name)
        if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
            jax.config.update("jax_compilation_cache_dir", str(_cache_folder()))
        devices = Mesh(np.array(jax.local_devices()), ("fragments",))
        self._devices = len(devices.devices)
        self._split, self._whole = (NamedSharding(devices, PartitionSpec(*axes)) for axes in (("fragments",), ()))
        self._tree = Tree.of(simulator.model)
        self._models: dict[bytes, tuple] = {}
        self._compiled: dict[tuple, Callable] = {}

    def predict(self, physics: Physics, fragments: Fragments, q0: np.ndarray, v0: np.ndarray) -> np.ndarray:
        count, base, columns, state, drive = self._placed(physics, [], fragments, q0, v0)
        run = self._function("readings", columns, (), fragments)
        return np.asarray(run(base, columns.values_of(base), state, drive), float)[:count]

    def predict_many(
        self, physics: Sequence[Physics], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> list[np.ndarray]:
        return [self.predict(p, fragments, q, v) for p, q, v in zip(physics, q0, v0, strict=True)]

    def jacobian(
        self, physics: Physics, columns: list[Column], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> Sensitivities:
        """In forward mode."""
        count, base, places, state, drive = self._placed(physics, columns, fragments, q0, v0)
        run = self._function("jacobian", places, tuple(columns), fragments)
        arrays = run(base, places.values_of(base), state, drive)
        readings, by_parameter, by_state = (np.asarray(array, float)[:count] for array in arrays)
        _refuse_not_finite(fragments, "Jacobian", by_parameter, by_state)
        return Sensitivities(readings, by_parameter, by_state)

    def gradient(
        self,
        physics: Physics,
        columns: list[Column],
        fragments: Fragments,
        q0: np.ndarray,
        v0: np.ndarray,
        by_readings: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """In reverse mode."""
        readings = self.predict(physics, fragments, q0, v0)
        slope = _padded(by_readings(readings), self._devices)
        count, base, places, state, drive = self._placed(physics, columns, fragments, q0, v0)
        run = self._function("gradient", places, tuple(columns), fragments)
        found = run(base, places.values_of(base), state, drive, jax.device_put(jnp.asarray(slope), self._split))
        by_fragment = np.asarray(found, float)[:count]
        _refuse_not_finite(fragments, "gradient", by_fragment)
        return by_fragment.sum(axis=0)

    def _placed(self, physics: Physics, columns: list[Column], fragments: Fragments, q0: np.ndarray, v0: np.ndarray):
        """All that a rollout takes, on the devices; the last fragment is repeated until they fill them."""
        floor = [Column(kind) for kind in FLOOR_KINDS]
        if set(floor) & set(columns) or any(physics.values(floor) != self.simulator.nominal.values(floor)):
            raise HaloidError(
                f"the mjx engine knows no floor but the model's; leave {', '.join(FLOOR_KINDS)} out of the parameters, "
                "or use --engine analytic"
            )
        places = Columns(self.simulator.model, physics, columns)
        model, data = self._model(places.rub)
        compiled = self.simulator.with_physics(physics)
        base = base_of(compiled, model, data, physics, self.simulator.effort_limit)
        inputs = self.simulator.inputs(physics, fragments) + (0.0 if fragments.torque_mode else physics.bias)
        shape = (fragments.count, fragments.rows, inputs.shape[2])
        gains = (
            np.broadcast_to(gain, shape).repeat(fragments.substeps, axis=1) for gain in (fragments.kp, fragments.kd)
        )
        drive = Drive(inputs, delay_slope(fragments, physics.delay), *gains)
        batch = (np.concatenate([q0, v0], axis=1), drive)
        batch = jax.tree.map(lambda x: jnp.asarray(_padded(x, self._devices)), batch)
        state, drive = jax.device_put(batch, self._split)
        return fragments.count, jax.device_put(base, self._whole), places, state, drive

    def _model(self, rub: np.ndarray) -> tuple:
        """MJX's model and data; which joints rub is part of their shape."""
        if rub.tobytes() not in self._models:
            compiled = self.simulator.with_physics(self.simulator.nominal)
            compiled.dof_frictionloss[:] = rub
            compiled.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
            compiled.opt.tolerance = _SOLVER_TOLERANCE[jnp.zeros(0).dtype.name]
            model = mjx.put_model(compiled)
            self._models[rub.tobytes()] = model, mjx.make_data(model)
        return self._models[rub.tobytes()]

    def _function(self, kind: str, places: Columns, columns: tuple[Column, ...], fragments: Fragments) -> Callable:
        key = (kind, columns, places.rub.tobytes(), fragments.torque_mode, fragments.substeps)
        if key not in self._compiled:
            run = partial(rollout, tree=self._tree, torque=fragments.torque_mode, substeps=fragments.substeps)
            self._compiled[key] = jax.jit(_FUNCTIONS[kind](run, places))
        return self._compiled[key]


def _readings(run: Callable, places: Columns) -> Callable:
    def of_one(base: Base, values, state, drive):
        return run(places.write(base, values), state, drive)

    return jax.vmap(of_one, in_axes=(None, None, 0, 0))


def _jacobian(run: Callable, places: Columns) -> Callable:
    def of_one(base: Base, values, state, drive):
        def readings(values, state):
            predicted = run(places.write(base, values), state, drive)
            return predicted, predicted

        (by_values, by_state), predicted = jax.jacfwd(readings, argnums=(0, 1), has_aux=True)(values, state)
        return predicted, by_values, by_state

    return jax.vmap(of_one, in_axes=(None, None, 0, 0))


def _gradient(run: Callable, places: Columns) -> Callable:
    def of_one(base: Base, values, state, drive, slope):
        return jax.grad(lambda x: jnp.sum(slope * run(places.write(base, x), state, drive)))(values)

    return jax.vmap(of_one, in_axes=(None, None, 0, 0, 0))


_FUNCTIONS = {"readings": _readings, "jacobian": _jacobian, "gradient": _gradient}


def _padded(batch: np.ndarray, devices: int) -> np.ndarray:
    """The batch with its last entry repeated until each device has a power of two of them.

    Every size is compiled anew, which takes longer than rolling out a few fragments too many."""
    share = -(-len(batch) // devices)
    lacking = devices * (1 << (share - 1).bit_length()) - len(batch)
    return np.concatenate([batch, np.repeat(batch[-1:], lacking, axis=0)]) if lacking else batch


def _refuse_not_finite(fragments: Fragments, what: str, *arrays: np.ndarray) -> None:
    for array in arrays:
        bad = ~np.isfinite(array).reshape(len(array), -1).all(axis=1)
        if bad.any():
            raise NotFiniteError(fragments, int(np.argmax(bad)), what)


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "haloid" / "jax"
