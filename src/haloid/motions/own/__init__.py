"""The motions this package makes itself, from keys and inverse kinematics: nothing needs to be downloaded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from haloid.errors import HaloidError
from haloid.motions.own.exploration import excitation
from haloid.motions.own.jump import yaw_jump
from haloid.motions.own.kept import kept
from haloid.motions.own.keyframes import Stand
from haloid.motions.own.one_leg import roundhouse_kick, side_kick, swallow
from haloid.motions.own.standing import squat, still, wave
from haloid.motions.own.walking import step_in_place, walk
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT, KNOWN_ROBOTS
from haloid.robots.load import load_spec
from haloid.trajectories.trajectory import FloatingTrajectory

_NEEDED = ("legs", "feet", "standing_pose", "standing_height_m", "stance_half_width_m")
"""What the description of a robot must state for any of them."""


@dataclass(frozen=True)
class OwnMotion:
    """A motion that begins and ends standing; robots' descriptions say which motions are made for them."""

    name: str
    description: str
    kind: Literal["steady", "agile", "exploration"]
    make: Callable[[Stand], FloatingTrajectory]


OWN_MOTIONS: dict[str, OwnMotion] = {
    motion.name: motion
    for motion in (
        OwnMotion("stand", "standing still with bent knees", "steady", still),
        OwnMotion("squat", "twice 0.2 m down and up", "steady", squat),
        OwnMotion("wave", "both arms raised at the sides, waving", "steady", wave),
        OwnMotion("step-in-place", "six steps on the spot", "steady", step_in_place),
        OwnMotion("walk", "three steps forward and three back", "steady", walk),
        OwnMotion("yaw-jump", "a jump with a quarter turn to the left", "agile", yaw_jump),
        OwnMotion("swallow", "on one leg, trunk forward, the other leg stretched behind", "steady", swallow),
        OwnMotion("side-kick", "a kick to the side", "agile", side_kick),
        OwnMotion("roundhouse-kick", "a kick that swings from the side to the front", "agile", roundhouse_kick),
        OwnMotion(
            "excitation", "arms and waist shaken on two still feet, for identification", "exploration", excitation
        ),
    )
}


def own_motion(name: str, robot: str = DEFAULT_ROBOT) -> FloatingTrajectory:
    """The motion of that name at 50 frames per second, made for that robot."""
    if name not in OWN_MOTIONS:
        raise HaloidError(f"there is no motion '{name}' of haloid's own; expected one of: {', '.join(OWN_MOTIONS)}")
    description = describe(robot)
    description.need(f"the motion {name}", "motions")
    if name not in description.motions:
        raise HaloidError(
            f"haloid makes no motion '{name}' for the robot {robot}; it makes {', '.join(description.motions)}. "
            "Give one of these, or a file with a motion of this robot"
        )
    if description.like and description.joints == describe(description.like).joints:
        description = describe(description.like)  # the same robot with another load moves the same way
    description.need(f"the motion {name}", *_NEEDED)

    def make() -> FloatingTrajectory:
        return OWN_MOTIONS[name].make(Stand(description, load_spec(description.name).compile()))

    return kept(description.name, name, make) if description.name in KNOWN_ROBOTS else make()
