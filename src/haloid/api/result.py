"""The result of an identification in Python: numbers with error bars, a model, files, and a page in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco

from haloid.api.notebook import framed
from haloid.identify.results.answer import Answer, Estimate, PayloadEstimate
from haloid.identify.results.files import Contents, write_result
from haloid.identify.results.read import answer_of, read_result
from haloid.identify.stages import Identification
from haloid.outputs import atomic_directory
from haloid.recordings.recording import Recording
from haloid.report.html.page import render
from haloid.report.html.parts import Section
from haloid.report.identification import TITLE, identification_sections, lead
from haloid.report.quantities import KnownRobot
from haloid.report.screen import payload_table, plain_text, summary_lines
from haloid.robots.load import load_spec
from haloid.robots.patch import apply_patch

_SECTIONS_SHOWN = 3
"""Of the report, in a notebook: the robot, the payload, and the prediction before and after."""


@dataclass(frozen=True)
class Live:
    """An identification that was just made: fits with their covariances, residuals, the recordings."""

    found: Identification
    answer: Answer
    unloaded: tuple[Recording, ...]
    loaded: tuple[Recording, ...]

    def sections(self, known: KnownRobot | None = None) -> list[Section]:
        """Of the report; for a simulated robot with what it really is beside."""
        return identification_sections(self.found, self.answer, self.unloaded, self.loaded, known)


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What an identification found. `haloid.identify` makes it, `haloid.load_result` reads it back.

    Examples:
        >>> result = haloid.load_result("out/result")
        >>> result.payload["torso_link"].mass_kg.value, result.payload["torso_link"].mass_kg.interval95
        (6.0..., array([5..., 6...]))
        >>> result.links["torso_link"]["mass"].nominal
        7.8...
        >>> result.model().body("torso_link").mass
        array([13...])
    """

    contents: Contents
    """What its files say."""
    folder: Path | None = None
    """Where it was read from."""
    live: Live | None = None
    """The identification behind it; None for a result that was read."""

    @cached_property
    def answer(self) -> Answer:
        return answer_of(self.contents.document)

    @property
    def payload(self) -> dict[str, PayloadEstimate]:
        """By link: `mass_kg` and `com_in_link_m` of what was attached, each with value, std and interval95."""
        return {one.link: one for one in self.answer.payload}

    @property
    def links(self) -> dict[str, dict[str, Estimate]]:
        """By link, payload included: mass (kg), com (m, in the link's frame), inertia where it was sought."""
        return self.answer.links

    @property
    def joints(self) -> dict[str, dict[str, Estimate]]:
        """By joint: damping (N·m·s/rad), frictionloss (N·m), armature (kg·m²) and what else was sought."""
        return self.answer.joints

    @property
    def globals(self) -> dict[str, Estimate]:
        """The delay (s), where it was sought."""
        return self.answer.globals

    @property
    def fit(self) -> dict[str, Any]:
        """rms_rad_train, rms_rad_heldout, rms_rad_nominal, residual_lag1, residual_white, noise_rad by joint."""
        return self.contents.document["fit"]

    @property
    def blind_spots(self) -> list[str]:
        """What the recordings cannot see, in words."""
        return [blind.why for blind in self.answer.blind]

    @property
    def converged(self) -> bool:
        return self.answer.converged

    @property
    def robot(self) -> str:
        """A known robot's name, or the path of its file."""
        return self.contents.document["robot"]

    def spec(self) -> mujoco.MjSpec:
        """The robot as it was identified, with its load, to be edited further."""
        if self.folder is not None:
            return load_spec(self.folder / "calibrated.xml")
        spec = load_spec(self.robot)
        apply_patch(spec, self.contents.patch)
        return spec

    def model(self) -> mujoco.MjModel:
        """The same, compiled: `mujoco.MjData(result.model())` is ready to be stepped."""
        return self.spec().compile()

    def save(self, folder: str | Path) -> None:
        """Write result.json, calibrated.xml, calibrated.urdf, patch.json, config.yaml and report.html."""
        with atomic_directory(Path(folder)) as beside:
            self.write_into(beside)

    def write_into(self, folder: Path) -> None:
        """The same into a folder that exists."""
        write_result(folder, self.contents, self.spec())
        (folder / "report.html").write_text(self.report_html, encoding="utf-8")

    @cached_property
    def report_html(self) -> str:
        """The page of report.html."""
        kept = None if self.folder is None else self.folder / "report.html"
        if kept is not None and kept.is_file():
            return kept.read_text(encoding="utf-8")
        without_pictures = [Section("The payload", [payload_table(self.answer)])]
        return render(TITLE, lead(self.answer), without_pictures if self.live is None else self.live.sections())

    def __repr__(self) -> str:
        return "\n".join([lead(self.answer), plain_text(payload_table(self.answer)), *summary_lines(self.answer)])

    def _repr_html_(self) -> str:
        return framed(self.report_html, TITLE, _SECTIONS_SHOWN)


def load_result(folder: str | Path) -> Result:
    """The result in a folder that `haloid identify` or `Result.save` wrote.

    Examples:
        >>> haloid.load_result("out/result").payload["left_wrist_yaw_link"].mass_kg.std
        0.0...
    """
    folder = Path(folder)
    folder = (folder.parent if folder.name == "result.json" else folder).resolve()
    return Result(read_result(folder), folder)
