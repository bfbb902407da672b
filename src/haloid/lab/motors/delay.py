"""Delay: a command takes effect some time after it was sent, each joint's after its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from haloid.lab.motors.friction import Value


@dataclass
class Delay:
    delay_s: Value
    _sent: np.ndarray = field(init=False, repr=False)
    """(steps, ...) the last commands, the newest first."""

    def reset(self, command: np.ndarray, h_s: float) -> None:
        """`command` has been given for a long time."""
        steps = int(np.ceil(np.max(np.asarray(self.delay_s)) / h_s - 1e-9)) + 1
        self._sent = np.repeat(command[None], steps, axis=0)

    def heard(self, command: np.ndarray, h_s: float) -> np.ndarray:
        """What the servo hears while `command` is sent; between two steps it is interpolated."""
        self._sent = np.concatenate([command[None], self._sent[:-1]])
        late = np.broadcast_to(np.asarray(self.delay_s) / h_s, command.shape)
        older = np.minimum(np.ceil(late - 1e-9).astype(int), len(self._sent) - 1)
        newer = np.maximum(older - 1, 0)
        weight = late - newer
        pick = np.take_along_axis
        before, after = pick(self._sent, older[None], 0)[0], pick(self._sent, newer[None], 0)[0]
        return np.where(older == 0, after, weight * before + (1.0 - weight) * after)
