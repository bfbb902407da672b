"""Genesis in a process of its own: finds its environment, starts the player there and speaks with it (player.py).

In: a model as MJCF, its servos, how many robots. Out: a `GenesisPlayer` that steps them. Genesis does not install
beside this package's other extras, so it has an environment of its own, which `make genesis` sets up.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from haloid.errors import HaloidError
from haloid.lab.genesis import player
from haloid.lab.genesis.player import Message, receive, send

VARIABLE = "HALOID_GENESIS_PYTHON"
FOLDER = ".venv-genesis"


class GenesisMissingError(HaloidError):
    def __init__(self, looked_at: Sequence[Path]) -> None:
        super().__init__(
            f"Genesis has no environment here: looked for {' and '.join(map(str, looked_at))}. Run make genesis in a "
            f"checkout of haloid (it takes some minutes), or set {VARIABLE} to the Python of an environment in which "
            "genesis-world is installed"
        )


class GenesisError(HaloidError):
    """Genesis stopped, or refused what it was asked."""


def genesis_python() -> Path:
    """The Python of Genesis's environment: what HALOID_GENESIS_PYTHON names, else .venv-genesis of here or of the
    checkout."""
    if named := os.environ.get(VARIABLE):
        if not Path(named).is_file():
            raise HaloidError(
                f"{VARIABLE} is {named}, which is not a file; expected the Python of Genesis's environment"
            )
        return Path(named)
    places = [Path.cwd(), Path(__file__).resolve().parents[4]]
    candidates = list(dict.fromkeys(place / FOLDER / "bin" / "python" for place in places))
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise GenesisMissingError(candidates)


@dataclass(frozen=True)
class World:
    """What Genesis is to simulate. Joint vectors in the order of `joint_names`."""

    mjcf: str
    """The robot's model as text, with nothing beside it."""
    joint_names: tuple[str, ...]
    kp: np.ndarray
    kd: np.ndarray
    effort_nm: np.ndarray
    timestep_s: float
    robots: int = 1
    floor: bool = False
    """A plane at z = 0 that every colliding geom of the model may touch; without it nothing touches anything."""


class GenesisPlayer:
    """A running player; close it, or use it in a `with` block."""

    def __init__(self, world: World, python: Path | None = None) -> None:
        python = genesis_python() if python is None else python
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the player)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [str(python), "-P", str(Path(player.__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env=kept,
        )
        try:
            answer = self._ask(
                {
                    "request": "open",
                    "model": world.mjcf,
                    "joint_names": np.array(world.joint_names),
                    "kp": world.kp,
                    "kd": world.kd,
                    "effort_nm": world.effort_nm,
                    "timestep_s": world.timestep_s,
                    "robots": world.robots,
                    "floor": world.floor,
                }
            )
        except BaseException:
            self.close()
            raise
        self.simulator = str(answer["simulator"])
        """Its name, version and step."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def step(
        self, target_rad: np.ndarray, steps: int, put: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(N, nq) and (N, nv) states after `steps` with (N, n) targets; `put`: states to start from."""
        message: Message = {"request": "step", "target_rad": target_rad, "steps": steps}
        if put is not None:
            message["qpos"], message["qvel"] = put
        answer = self._ask(message)
        return answer["qpos"], answer["qvel"]

    def play(self, start_rad: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(T, n) positions and velocities of a fixed robot before each step of `control` (T, n), from rest."""
        answer = self._ask({"request": "play", "start_rad": start_rad, "control": control})
        return answer["q_rad"], answer["dq_rad_s"]

    def close(self) -> None:
        """The player ends with its input."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._words.close()

    def _ask(self, message: Message) -> Message:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            send(self._process.stdin, message)
            answer = receive(self._process.stdout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            raise GenesisError(f"Genesis stopped without an answer; its last words: {self._last_words()}")
        if "error" in answer:
            raise GenesisError(f"Genesis could not {message['request']}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        self._process.wait(timeout=10)
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "none"
