"""The motions this package makes itself, from keys and inverse kinematics: nothing needs to be downloaded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from haloid.errors import HaloidError
from haloid.motions.frames import Frames
from haloid.motions.own.exploration import excitation
from haloid.motions.own.jump import yaw_jump
from haloid.motions.own.kept import kept
from haloid.motions.own.one_leg import roundhouse_kick, side_kick, swallow
from haloid.motions.own.standing import squat, stand, wave
from haloid.motions.own.walking import step_in_place, walk


@dataclass(frozen=True)
class OwnMotion:
    """A motion for the 29-joint G1 that begins and ends standing."""

    name: str
    description: str
    kind: Literal["steady", "agile", "exploration"]
    make: Callable[[], Frames]


OWN_MOTIONS: dict[str, OwnMotion] = {
    motion.name: motion
    for motion in (
        OwnMotion("stand", "standing still with bent knees", "steady", stand),
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


def own_motion(name: str) -> Frames:
    """The motion of that name at 50 frames per second."""
    if name not in OWN_MOTIONS:
        raise HaloidError(f"there is no own motion '{name}'; there are: {', '.join(OWN_MOTIONS)}")
    return kept(name, OWN_MOTIONS[name].make)
