"""Skills, a clamped robot: one foot held by a vise, as the exploration policy's (HALO III-A).

In: a link and the motion that is to be followed with it. Out: the link's place in the world, and a weld that holds it
there. The robot keeps its floating root, so that observations, rewards and policies are those of a free robot.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.trajectories.motion import Motion

STILL_M = 0.005
"""A reference moves a link that is to be clamped by less than this."""
_STIFFNESS = (0.015, 1.0)
"""Time constant (s) and damping ratio of the weld: as stiff as physics steps of 6.7 ms allow."""
_IMPEDANCE = (0.99, 0.999, 0.001, 0.5, 2.0)


@dataclass(frozen=True)
class Clamp:
    """A link and where it is held."""

    link: str
    pos_w_m: np.ndarray
    """(3,)"""
    quat_wxyz: np.ndarray
    """(4,)"""


def clamp_of(link: str, body_names: tuple[str, ...], pos_w_m: np.ndarray, quat_wxyz: np.ndarray) -> Clamp:
    """The clamp of a reference: where `link` is in its first frame; (T, bodies, …) poses of `body_names`."""
    if link not in body_names:
        raise HaloidError(f"the motion does not say where '{link}' is; clamp one of: {', '.join(body_names)}")
    row = body_names.index(link)
    moved_m = float(np.linalg.norm(pos_w_m[:, row] - pos_w_m[0, row], axis=1).max())
    if moved_m > STILL_M:
        raise HaloidError(
            f"{link} is to be clamped and the motion moves it by {moved_m:.3g} m; expected at most {STILL_M:g} m. "
            "Clamp a foot that stands still, or follow the motion excitation"
        )
    return Clamp(link, np.array(pos_w_m[0, row], dtype=float), np.array(quat_wxyz[0, row], dtype=float))


def clamp_of_motion(link: str, motion: Motion) -> Clamp:
    return clamp_of(link, motion.body_names, motion.body_pos_w_m, motion.body_quat_wxyz)


def hold(spec: mujoco.MjSpec, clamp: Clamp) -> None:
    """Weld the clamp's link to the world, in place; what is held need not touch the floor."""
    weld = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_WELD, objtype=mujoco.mjtObj.mjOBJ_BODY, name1="world", name2=clamp.link
    )
    weld.data[:] = 0.0
    weld.data[3:6], weld.data[6:10], weld.data[10] = clamp.pos_w_m, clamp.quat_wxyz, 1.0
    weld.solref, weld.solimp = _STIFFNESS, _IMPEDANCE
    spec.add_exclude(bodyname1="world", bodyname2=clamp.link)
