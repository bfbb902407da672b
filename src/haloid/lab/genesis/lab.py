"""The lab robot in Genesis: the clamped, aged, loaded robot is played there instead of in MuJoCo.

>>> with GenesisLab() as genesis:  # doctest: +SKIP
...     recording, truth = record(LabRobot(timestep_s=0.001), Sensors(noise_rad=0.0005), simulate=genesis)
"""

from contextlib import ExitStack
from typing import Self

import numpy as np

from haloid.errors import HaloidError
from haloid.lab.built import BuiltRobot
from haloid.lab.genesis.process import GenesisPlayer, World
from haloid.robots.files.write_mjcf import mjcf_text


class GenesisLab:
    """A `Simulate` (lab/play.py). Genesis compiles a robot when it is first played; its further runs cost little."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._players: list[tuple[BuiltRobot, GenesisPlayer]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._players.clear()
        self._open.close()

    def __call__(self, built: BuiltRobot, start_rad: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if built.free_foot is not None:
            raise HaloidError(
                "Genesis plays the clamped robot on one foot; this one rests on two. Record it with --support single, "
                "or in MuJoCo"
            )
        return self._player_of(built).play(start_rad, control)

    def name_of(self, built: BuiltRobot) -> str:
        """The simulator's name, version and step."""
        return self._player_of(built).simulator

    def _player_of(self, built: BuiltRobot) -> GenesisPlayer:
        for known, player in self._players:
            if known is built:
                return player
        world = World(
            mjcf=mjcf_text(built.spec),
            joint_names=built.joint_names,
            kp=built.strength * built.kp,
            kd=built.strength * built.kd,
            effort_nm=built.limits.effort_nm,
            timestep_s=built.timestep_s,
        )
        player = self._open.enter_context(GenesisPlayer(world))
        self._players.append((built, player))
        return player
