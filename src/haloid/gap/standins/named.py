"""The stand-ins by name, and what is expected of each method on each, written down before any run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from haloid.errors import HaloidError
from haloid.gap.standins.twin import twin
from haloid.gap.standins.worn import worn
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.skills.evaluation.genesis import Genesis, check_genesis
from haloid.skills.task.robot import TrackedRobot, tracked_robot
from haloid.skills.task.simulation import Simulate, Simulation


def _genesis() -> AbstractContextManager[Simulate]:
    check_genesis("none")
    return Genesis()


@dataclass(frozen=True)
class StandIn:
    summary: str
    robot: Callable[[str], TrackedRobot]
    """Of a robot's name."""
    expected: str
    """Which method should explain it best."""
    simulate: Callable[[], AbstractContextManager[Simulate]] = lambda: nullcontext(Simulation)
    """What moves it, until the `with` block ends."""


STAND_INS = {
    "nominal": StandIn(
        "the model itself: no gap",
        tracked_robot,
        "nothing to learn; a method that makes the replay worse than OpenLoop overfits",
    ),
    "twin": StandIn(
        "worn motors, backlash, delay and the ankles' linkage: no parameter of the model expresses them",
        twin,
        "delta action; parameters alone stay behind it, and both together are at least as good",
    ),
    "worn": StandIn(
        "payload, link and joint wear, weaker servos: parameters of the model express all of it",
        worn,
        "identification; delta action stays behind it, and adds little to it",
    ),
    "genesis": StandIn(
        "the same model in another simulator, Genesis: its contacts, integrator and servos",
        tracked_robot,
        "delta action, as in ASAP; parameters cannot express contacts, and both together are at least as good",
        _genesis,
    ),
    "genesis-twin": StandIn(
        "the twin's motors and linkages on a robot that Genesis moves",
        twin,
        "delta action, as on the twin: what Genesis adds is small; both together are at least as good",
        _genesis,
    ),
}


def stand_in(name: str, robot: str = DEFAULT_ROBOT) -> TrackedRobot:
    return _named(name).robot(robot)


def what_moves(name: str) -> AbstractContextManager[Simulate]:
    """The simulation of a stand-in, for a `with` block."""
    return _named(name).simulate()


def _named(name: str) -> StandIn:
    if name not in STAND_INS:
        raise HaloidError(f"there is no stand-in «{name}». Choose one of: {', '.join(STAND_INS)}")
    return STAND_INS[name]
