"""The result of an identification as files: result.json, calibrated.xml, calibrated.urdf, patch.json, config.yaml.

The formats are a contract with other programs: values are the link's own effective ones (payload included), CoM in the
link's frame, SI units.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

import haloid
from haloid.engines.simulate import SOLVER_TOLERANCE
from haloid.identify.data.usable import pieces
from haloid.identify.results.answer import Answer, Estimate
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification
from haloid.recordings.recording import Recording
from haloid.robots.description import carry_description
from haloid.robots.files.write_mjcf import write_mjcf
from haloid.robots.files.write_urdf import write_urdf
from haloid.robots.patch import PASSIVE_QUANTITIES, Patch, write_patch

FORMAT = "haloid-result-1"
COMMAND = "identify"
_PACKAGES = ("mujoco", "pin", "numpy", "scipy")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Contents:
    """What the files of a result say. Files are named by their whole paths here, and from its folder in the files."""

    document: dict[str, Any]
    """result.json"""
    config: dict[str, Any]
    """config.yaml"""
    patch: Patch


def contents_of(
    found: Identification, answer: Answer, unloaded: Sequence[Recording], loaded: Sequence[Recording]
) -> Contents:
    return Contents(
        document=result_document(found, answer, unloaded, loaded),
        config=config_document(found.settings, unloaded, loaded),
        patch=robot_patch(found, loaded[0].robot),
    )


def write_result(folder: Path, contents: Contents, spec: mujoco.MjSpec) -> None:
    """Writes everything but the report into `folder`; `spec` is the robot as it was identified."""
    write_mjcf(spec, folder / "calibrated.xml")
    write_urdf(spec, folder / "calibrated.urdf")
    carry_description(contents.patch.robot, folder / "calibrated.xml")
    write_patch(contents.patch, folder / "patch.json")
    document, config = renamed(contents, lambda path: portable_path(path, folder))
    (folder / "result.json").write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def renamed(contents: Contents, rename: Callable[[str], str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Document and config with every file's name changed."""
    document, config = dict(contents.document), dict(contents.config)
    document["robot"] = rename(document["robot"])
    document["inputs"] = [{**entry, "file": rename(entry["file"])} for entry in document["inputs"]]
    for condition in ("unloaded", "loaded"):
        config[condition] = [rename(file) for file in config[condition]]
    return document, config


def config_document(settings: Settings, unloaded: Sequence[Recording], loaded: Sequence[Recording]) -> dict[str, Any]:
    """Every setting: `haloid identify --config` repeats the identification from it."""
    return {
        "command": COMMAND,
        "unloaded": [file_of(recording) for recording in unloaded],
        "loaded": [file_of(recording) for recording in loaded],
        "allow_gaps": any(len(pieces(recording)) > 1 for recording in (*unloaded, *loaded)),
        **{name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()},
    }


def robot_patch(found: Identification, robot: str) -> Patch:
    """What differs from the nominal robot: identified links, joints and servos, and what they hold for."""
    physics, nominal = found.physics, found.nominal
    links = {}
    for name in physics.links:
        one, two = physics.link(name), nominal.link(name)
        same = one.mass_kg == two.mass_kg and np.array_equal(one.com_in_link_m, two.com_in_link_m)
        if not (same and np.array_equal(one.inertia_about_com, two.inertia_about_com)):
            links[name] = one
    drives = _drives(found)
    joints = {}
    for i, name in enumerate(physics.joints):
        changed = {
            kind: float(getattr(physics, kind)[i])
            for kind in PASSIVE_QUANTITIES
            if getattr(physics, kind)[i] != getattr(nominal, kind)[i]
        }
        joints[name] = changed | {kind: float(values[i]) for kind, values in drives.items()}
    fits = [fit for fit in (found.stage1, found.stage2) if fit is not None]
    sought = {column.kind for fit in fits for column in fit.unknowns.columns}
    return Patch(
        robot=robot,
        links=links,
        joints={name: values for name, values in joints.items() if values},
        servos=("identified" if sought & {"kp", "kd", "strength"} else "recorded") if "kp" in drives else None,
        simulation={"timestep": float(found.simulator.model.opt.timestep), "tolerance": SOLVER_TOLERANCE},
    )


def _drives(found: Identification) -> dict[str, np.ndarray]:
    """(n,) of every quantity of the servos that is not as in the robot's file."""
    physics, fragments = found.physics, found.loaded.fragments
    drives = {}
    if fragments.gains_vary:
        _LOG.warning(
            "the gains changed while the robot was recorded: calibrated.xml and patch.json keep those of its own file"
        )
    elif not fragments.torque_mode:
        drives["kp"] = physics.strength * physics.kp * fragments.kp
        drives["kd"] = physics.strength * physics.kd * fragments.kd
    effort = found.simulator.effort_limit
    if np.any(physics.strength != 1) and np.all(np.isfinite(effort)):
        drives["effort"] = physics.strength * effort
    if np.any(physics.bias != 0):
        drives["bias"] = physics.bias
    if found.settings.friction_impedance is not None:
        drives["friction_impedance"] = np.full(len(physics.joints), found.settings.friction_impedance)
    if physics.delay > 0:
        drives["delay"] = np.full(len(physics.joints), physics.delay)
    return drives


def result_document(
    found: Identification, answer: Answer, unloaded: Sequence[Recording], loaded: Sequence[Recording]
) -> dict[str, Any]:
    """The content of result.json."""
    payload = {}
    for one in answer.payload:
        payload[one.link] = {"mass": _estimate(one.mass_kg)}
        if np.all(np.isfinite(one.com_in_link_m.value)):  # without mass there is no CoM
            payload[one.link]["com"] = _estimate(one.com_in_link_m)
            if one.inertia_about_com is not None:
                payload[one.link]["inertia"] = _estimate(one.inertia_about_com)
    inputs = [
        {"file": file_of(recording), "stage": stage, "sha256": sha256_of(recording)}
        for stage, recordings in (("unloaded", unloaded), ("loaded", loaded))
        for recording in recordings
    ]
    sights = len(answer.payload_blind)  # come first
    return {
        "format": FORMAT,
        "status": "converged" if answer.converged else "iteration limit",
        "robot": loaded[0].robot,
        "clamp": loaded[0].clamp,
        "links": {link: {kind: _estimate(e) for kind, e in kinds.items()} for link, kinds in answer.links.items()},
        "joints": {joint: {kind: _estimate(e) for kind, e in kinds.items()} for joint, kinds in answer.joints.items()},
        "globals": {name: _estimate(estimate) for name, estimate in answer.globals.items()},
        "payload": payload,
        "fit": {
            "rms_rad_train": answer.rms_rad["train"],
            "rms_rad_heldout": answer.rms_rad["heldout"],
            "rms_rad_nominal": answer.rms_rad["nominal"],
            "residual_lag1": answer.lag1,
            "residual_white": answer.white,
            "noise_rad": None if answer.noise_rad is None else dict(_by_joint(found, answer.noise_rad)),
            "coverage95": answer.coverage95,
            **({"sensor_noise": answer.sensor_noise} if answer.sensor_noise else {}),
        },
        **_contact(found),
        "identifiability": [
            {"parameters": blind.parameters, "why": blind.why, "about": "payload" if i < sights else "robot"}
            for i, blind in enumerate(answer.blind)
        ],
        "doubts": list(answer.doubts),
        "seconds": round(found.seconds, 3),
        "stages": found.settings.stages,
        "engine": found.settings.engine,
        "solver": found.settings.solver,
        "loss": found.settings.loss,
        "timestep": float(found.simulator.model.opt.timestep),
        "seed": found.settings.seed,
        "iterations": (found.stage1.iterations if found.stage1 else 0) + found.stage2.iterations,
        "inputs": inputs,
        "versions": versions(),
    }


def _contact(found: Identification) -> dict[str, Any]:
    """In double support: the fitted fragments, those whose contacts change, and those that were left out for it."""
    floor = found.contact
    return {} if floor is None else {"contact": asdict(floor)}


def versions() -> dict[str, str]:
    found = {"haloid": haloid.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _by_joint(found: Identification, values: np.ndarray) -> list[tuple[str, float]]:
    return [(joint, float(value)) for joint, value in zip(found.physics.joints, values, strict=True)]


def _estimate(estimate: Estimate) -> dict[str, Any]:
    """The value, its standard deviation, the ends of its 95 % interval and the nominal value."""
    document = {
        "value": np.asarray(estimate.value).tolist(),
        "std": np.asarray(estimate.std).tolist(),
        "interval95": estimate.interval95.tolist(),
    }
    if np.all(np.isfinite(estimate.nominal)):
        document["nominal"] = np.asarray(estimate.nominal).tolist()
    return document


def file_of(recording: Recording) -> str:
    return recording.name if recording.source is None else str(recording.source.resolve())


def portable_path(path: str, folder: Path) -> str:
    """A path relative to the result's folder, where that is shorter than the whole one; a robot's name as it is."""
    if os.sep not in path and not Path(path).is_file():
        return path
    relative = os.path.relpath(Path(path).resolve(), folder.resolve())
    whole = str(Path(path).resolve())
    return relative if len(relative) < len(whole) else whole


def sha256_of(recording: Recording) -> str | None:
    if recording.source is None or not recording.source.is_file():
        return None
    return hashlib.sha256(recording.source.read_bytes()).hexdigest()
