"""Skills, between the policy and the servos: what may change the targets on their way.

In: what the servos are to be told in one control step, and the robots as they are when it begins. Out: what they are
told. A transform is any callable of that kind (a delay, a noise, a learned correction); an environment applies its
transforms one after the other. To add one, write a class and put an instance into `EnvironmentConfig.transforms`:

    class Sag:
        def __call__(self, command, now):
            return [(target_rad - 0.01 * now.qvel[:, 6:], steps) for target_rad, steps in command]
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from haloid.errors import HaloidError
from haloid.skills.task.reference import CONTROL_HZ

Command = list[tuple[np.ndarray, int]]
"""(N, n) targets in rad, and the number of physics steps for which the servos hold them, in the order of time."""


@dataclass(frozen=True)
class Now:
    """The robots when a control step begins."""

    qpos: np.ndarray
    """(N, nq)"""
    qvel: np.ndarray
    """(N, nv)"""
    held_rad: np.ndarray
    """(N, n) the targets that the servos hold."""
    episode_step: np.ndarray
    """(N,) 0 in the first step of an episode, when a transform must forget what it remembers."""
    timestep_s: float
    """Of a physics step."""
    random: np.random.Generator
    """The environment's own, whose state is stored with the training."""


class Transform(Protocol):
    def __call__(self, command: Command, now: Now) -> Command:
        """The command as the servos get it; the number of physics steps must not change."""
        ...


@dataclass(frozen=True)
class Delay:
    """The servos hold their old targets for a while before the new ones arrive, in whole physics steps."""

    delay_s: float

    def __post_init__(self) -> None:
        if not 0 <= self.delay_s <= 1 / CONTROL_HZ:
            raise HaloidError(f"a delay of {self.delay_s:g} s; expected at most one control step, {1 / CONTROL_HZ:g} s")

    def __call__(self, command: Command, now: Now) -> Command:
        late = round(self.delay_s / now.timestep_s)
        delayed, left = [(now.held_rad, late)], sum(steps for _, steps in command) - late
        for target_rad, steps in command:
            delayed.append((target_rad, min(steps, left)))
            left -= delayed[-1][1]
        return delayed


def each_late(sent_rad: np.ndarray, delay_s: np.ndarray, steps: int, timestep_s: float) -> Command:
    """What the servos hold in the `steps` of a control step when every robot's targets arrive with a delay of its own,
    (N,), of one to two control steps: `sent_rad` are (N, 2, n), those that were sent two control steps ago and one."""
    late = np.round(delay_s / timestep_s).astype(int) - steps
    return [(np.where((step < late)[:, None], sent_rad[:, 0], sent_rad[:, 1]), 1) for step in range(steps)]


def delayed_by(delay_s: float) -> tuple[Transform, ...]:
    """The transforms of a plain delay: none without one."""
    return (Delay(delay_s),) if delay_s else ()
