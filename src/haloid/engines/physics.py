"""Physics: every physical parameter an engine can vary, as arrays in the order of one compiled model.

Comes in: an MjModel. Goes out: its parameters by name, in a flat vector of chosen `Column`s, and the MjModel with
other values written into its arrays (no recompiling). Engines differentiate with respect to columns; the
identification chooses columns by name and lays its own unknowns over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from haloid.robots.floor import FLOOR
from haloid.robots.inertia import LinkParameters, principal_axes, read_links

LINK_KINDS = {"mass": ("",), "com": ("x", "y", "z"), "inertia": ("xx", "yy", "zz", "xy", "xz", "yz")}
"""Parameters of a link and their components; the inertia is the one about the CoM, along the link frame's axes."""
JOINT_KINDS = ("damping", "frictionloss", "armature", "kp", "kd", "strength", "bias")
"""Parameters of a joint. kp, kd and strength are factors on the recorded gains and on the motor's torque; bias is
what the encoder reads beyond the true angle."""
FLOOR_KINDS = ("floor_height", "floor_friction", "floor_stiffness")
"""Parameters of the floor under a robot in double support: how far it lies above where the clamped sole says (m), and
factors on the friction and the stiffness of its contact with the foot, whose damping ratio stays."""
INERTIA_AT = ([0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2])
"""Rows and columns of the inertia's components, in their order."""
_INERTIA_INDEX = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


@dataclass(frozen=True)
class Column:
    """One scalar parameter: `torso_link.com.x`, `left_knee_joint.damping`, `delay`."""

    kind: str
    owner: str = ""
    """The link's or joint's name; empty for a global parameter."""
    component: str = ""

    @property
    def name(self) -> str:
        return ".".join(part for part in (self.owner, self.kind, self.component) if part)


@dataclass(frozen=True)
class Physics:
    """Values of all parameters; arrays are indexed like `links` and `joints`."""

    links: tuple[str, ...]
    joints: tuple[str, ...]
    """In the order of the model's degrees of freedom."""
    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    """(links, 3, 3) about the CoM."""
    damping: np.ndarray
    frictionloss: np.ndarray
    armature: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    strength: np.ndarray
    bias: np.ndarray
    delay: float = 0.0
    floor_height: float = 0.0
    floor_friction: float = 1.0
    floor_stiffness: float = 1.0
    on_floor: bool = False
    """Whether there is a floor to touch."""
    _link_index: dict[str, int] = field(init=False, repr=False, compare=False)
    _joint_index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_link_index", {name: i for i, name in enumerate(self.links)})
        object.__setattr__(self, "_joint_index", {name: i for i, name in enumerate(self.joints)})

    @classmethod
    def of_model(cls, model: mujoco.MjModel) -> Physics:
        """The model's own values; gains and strength are factors of 1, bias and delay 0."""
        links = read_links(model)
        n = model.nv
        return cls(
            links=tuple(links),
            joints=tuple(model.joint(int(j)).name for j in model.dof_jntid),
            mass=np.array([link.mass_kg for link in links.values()]),
            com=np.array([link.com_in_link_m for link in links.values()]),
            inertia=np.array([link.inertia_about_com for link in links.values()]),
            damping=model.dof_damping.copy(),
            frictionloss=model.dof_frictionloss.copy(),
            armature=model.dof_armature.copy(),
            kp=np.ones(n),
            kd=np.ones(n),
            strength=np.ones(n),
            bias=np.zeros(n),
            on_floor=_touches_floor(model),
        )

    def link(self, name: str) -> LinkParameters:
        i = self._link_index[name]
        return LinkParameters(float(self.mass[i]), self.com[i], self.inertia[i])

    def link_index(self, name: str) -> int:
        return self._link_index[name]

    def joint_index(self, name: str) -> int:
        return self._joint_index[name]

    def values(self, columns: Sequence[Column]) -> np.ndarray:
        return np.array([self._get(column) for column in columns], float)

    def with_values(self, columns: Sequence[Column], values: np.ndarray) -> Physics:
        """A copy with the columns' values replaced."""
        changed: dict[str, Any] = {}
        for column, value in zip(columns, values, strict=True):
            if not column.owner:
                changed[column.kind] = float(value)
                continue
            array = changed.setdefault(column.kind, np.array(getattr(self, column.kind), float))
            if column.kind == "inertia":
                r, c = _INERTIA_INDEX[column.component]
                array[self._link_index[column.owner], r, c] = array[self._link_index[column.owner], c, r] = value
            elif column.kind == "com":
                array[self._link_index[column.owner], "xyz".index(column.component)] = value
            elif column.kind == "mass":
                array[self._link_index[column.owner]] = value
            else:
                array[self._joint_index[column.owner]] = value
        return replace(self, **changed)

    def _get(self, column: Column) -> float:
        array = getattr(self, column.kind)
        if not column.owner:
            return array
        if column.kind == "inertia":
            return array[self._link_index[column.owner]][_INERTIA_INDEX[column.component]]
        if column.kind == "com":
            return array[self._link_index[column.owner], "xyz".index(column.component)]
        index = self._link_index if column.kind == "mass" else self._joint_index
        return array[index[column.owner]]

    def write_to(self, model: mujoco.MjModel, base: Physics) -> None:
        """Writes links, passive joint properties and the floor that differ from `base` into the model's arrays.

        The model must be compiled without simple bodies: their mass matrix has no room for another inertia.
        """
        for i, name in enumerate(self.links):
            body = model.body(name).id
            model.body_mass[body] = self.mass[i]
            model.body_ipos[body] = self.com[i]
            if not np.array_equal(self.inertia[i], base.inertia[i]):
                model.body_inertia[body], model.body_iquat[body] = principal_axes(self.inertia[i])
            model.body_sameframe[body] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        model.dof_damping[:] = self.damping
        model.dof_frictionloss[:] = self.frictionloss
        model.dof_armature[:] = self.armature
        if self.on_floor:
            self._write_floor(model)

    def _write_floor(self, model: mujoco.MjModel) -> None:
        """A contact takes the larger friction and the mean time constant of its two geoms, so both are changed."""
        model.geom_pos[model.geom(FLOOR).id, 2] += self.floor_height
        model.geom_friction[:, 0] *= self.floor_friction
        standard = model.geom_solref[:, 0] > 0  # time constant and damping ratio; else minus stiffness and damping
        scale = np.where(standard, self.floor_stiffness**-0.5, self.floor_stiffness)
        model.geom_solref[:, 0] *= scale
        model.geom_solref[~standard, 1] *= self.floor_stiffness**0.5


def _touches_floor(model: mujoco.MjModel) -> bool:
    contact = not model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    return contact and FLOOR in [model.geom(g).name for g in range(model.ngeom)]


def inertia_basis(component: str) -> np.ndarray:
    """The symmetric matrix that one unit of an inertia component adds."""
    basis = np.zeros((3, 3))
    r, c = _INERTIA_INDEX[component]
    basis[r, c] = basis[c, r] = 1.0
    return basis
