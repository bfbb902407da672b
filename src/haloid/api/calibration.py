"""`haloid.calibrate` and `haloid.replay`: the servos of a robot from its logs, and how far a model is off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco

from haloid.api.logs import Recordings, recordings_of
from haloid.api.models import Model, load_robot
from haloid.api.notebook import framed
from haloid.identify.calibration.calibrate import Calibration, CalibrationSettings
from haloid.identify.calibration.calibrate import calibrate as fit_servos
from haloid.identify.calibration.files import write_calibration
from haloid.identify.replay import Replay, mean_rms
from haloid.identify.replay import replay as play
from haloid.outputs import atomic_directory
from haloid.report.calibration import TITLE, calibration_sections, lead, servo_table, summary_lines
from haloid.report.html.page import render
from haloid.report.html.parts import Table
from haloid.report.replay import by_joint, by_run
from haloid.report.screen import plain_text
from haloid.robots.load import load_spec
from haloid.robots.patch import patched_spec


@dataclass(frozen=True, repr=False)
class Calibrated:
    """A robot's servos as its logs show them: a table in a terminal, the report in a notebook."""

    found: Calibration
    """Every number behind it."""

    @property
    def gap_over_nominal(self) -> float:
        """rms error of whole replays over the nominal robot's, on runs that were held out where there are any."""
        played, nominal = self.found.judged
        return mean_rms(played) / mean_rms(nominal)

    @property
    def tables(self) -> list[Table]:
        """The servos, the gap by run, the gap by joint."""
        return [servo_table(self.found), by_run(*self.found.judged), by_joint(*self.found.judged)]

    def spec(self) -> mujoco.MjSpec:
        """The robot with its calibrated servos, to be edited further."""
        return patched_spec(lambda: load_spec(self.found.robot), self.found.patch)

    def model(self) -> mujoco.MjModel:
        """The same, compiled."""
        return self.spec().compile()

    def save(self, folder: str | Path) -> None:
        """Write result.json, calibrated.xml, calibrated.urdf, patch.json, config.yaml and report.html."""
        with atomic_directory(Path(folder)) as beside:
            self.write_into(beside)

    def write_into(self, folder: Path) -> None:
        """The same into a folder that exists."""
        write_calibration(folder, self.found)
        (folder / "report.html").write_text(self._page, encoding="utf-8")

    def __repr__(self) -> str:
        return "\n".join([*map(plain_text, self.tables), *summary_lines(self.found)])

    def _repr_html_(self) -> str:
        return framed(self._page, TITLE)

    @property
    def _page(self) -> str:
        return render(TITLE, lead(self.found), calibration_sections(self.found, self.tables[1:]))


def calibrate(
    recordings: Recordings,
    *,
    held_out: int | None = None,
    shared_delay: bool = False,
    say: Callable[[str], None] | None = None,
) -> Calibrated:
    """Servo gains, friction, damping, armature, torque limits and delays from recordings without a payload.

    `held_out` runs judge the result; by default one in five, or the last fifth of a single run.

    Examples:
        >>> arm = haloid.calibrate(haloid.read("logs/arm-*.csv"))
        >>> arm.gap_over_nominal < 1
        True
    """
    return Calibrated(
        fit_servos(recordings_of("recordings", recordings), CalibrationSettings(held_out, shared_delay), say)
    )


def replay(model: Model | Calibrated, recordings: Recordings) -> list[Replay]:
    """Plays the commands of whole recordings on a model, each from its first state; errors are in `rms_rad`.

    `model` may also be what `calibrate` gave.

    Examples:
        >>> one, *_ = haloid.replay("out/result", haloid.read("logs/loaded-*.csv"))
        >>> one.rms_rad.shape
        (29,)
    """
    spec = model.spec() if isinstance(model, Calibrated) else load_robot(model)
    return play(spec, recordings_of("recordings", recordings))
