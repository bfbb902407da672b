"""Floor: in double support the foot that is not clamped rests on the ground.

In: a clamped robot's MjSpec. Out: the same with a floor under the soles that touches the free foot and nothing else.
"""

import mujoco

from haloid.errors import HaloidError
from haloid.robots.inertia import find_link
from haloid.robots.sole import colliding_geoms, sole_height_m

FLOOR = "floor"


def other_foot(clamp: str | None) -> str:
    """The foot on the other side of the clamped one."""
    for side, other in (("left", "right"), ("right", "left")):
        if clamp is not None and side in clamp:
            return clamp.replace(side, other)
    raise HaloidError(
        f"double support needs a clamped foot with a counterpart on the other side; the clamp is {clamp!r}. "
        "Clamp a left or right foot, or use single support"
    )


def add_floor(spec: mujoco.MjSpec, clamp: str | None) -> None:
    """Adds the floor at the height of the clamped foot's sole and lets only the free foot touch it, in place."""
    free_foot = other_foot(clamp)
    model = spec.copy().compile()
    height_m = sole_height_m(model, find_link(model, str(clamp)))
    free_foot_id = find_link(model, free_foot)
    if not colliding_geoms(model, free_foot_id):
        raise HaloidError(f"{free_foot} has no geometry that could touch the floor; give its sole collision geoms")
    for geom in spec.geoms:
        touches = geom.parent.name == free_foot and (geom.contype or geom.conaffinity)
        geom.contype, geom.conaffinity = (1, 0) if touches else (0, 0)
    spec.worldbody.add_geom(
        name=FLOOR,
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        pos=[0.0, 0.0, height_m],
        size=[2.0, 2.0, 0.1],
        contype=0,
        conaffinity=1,
    )
