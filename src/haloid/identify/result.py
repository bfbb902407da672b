"""The result of an identification as files: result.json, calibrated.xml, calibrated.urdf, patch.json, config.yaml.

The formats are a contract with other programs: values are the link's own effective ones (payload included), CoM in the
link's frame, SI units.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import haloid
from haloid.identify.answer import Answer, Estimate
from haloid.identify.stages import Identification
from haloid.recordings.recording import Recording
from haloid.robots.load import load_spec
from haloid.robots.patch import Patch, apply_patch, write_patch
from haloid.robots.write_mjcf import write_mjcf
from haloid.robots.write_urdf import write_urdf

_PATCHED = ("damping", "frictionloss", "armature")
_PACKAGES = ("mujoco", "pin", "numpy", "scipy")


def write_result(
    folder: Path,
    found: Identification,
    answer: Answer,
    unloaded: Sequence[Recording],
    loaded: Sequence[Recording],
) -> None:
    """Writes everything but the report into `folder`."""
    robot = loaded[0].robot
    patch = robot_patch(found, robot)
    spec = load_spec(robot)
    apply_patch(spec, patch)
    write_mjcf(spec, folder / "calibrated.xml")
    write_urdf(spec, folder / "calibrated.urdf")
    write_patch(patch, folder / "patch.json")
    document = result_document(found, answer, unloaded, loaded, folder)
    (folder / "result.json").write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    config = {
        "command": "identify",
        "unloaded": [_file(recording, folder) for recording in unloaded],
        "loaded": [_file(recording, folder) for recording in loaded],
        **{name: list(value) if isinstance(value, tuple) else value for name, value in asdict(found.settings).items()},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def robot_patch(found: Identification, robot: str) -> Patch:
    """What differs from the nominal robot: identified links and passive joint properties."""
    physics, nominal = found.physics, found.nominal
    links, joints = {}, {}
    for name in physics.links:
        one, two = physics.link(name), nominal.link(name)
        same = one.mass_kg == two.mass_kg and np.array_equal(one.com_in_link_m, two.com_in_link_m)
        if not (same and np.array_equal(one.inertia_about_com, two.inertia_about_com)):
            links[name] = one
    for i, name in enumerate(physics.joints):
        changed = {
            kind: float(getattr(physics, kind)[i])
            for kind in _PATCHED
            if getattr(physics, kind)[i] != getattr(nominal, kind)[i]
        }
        if changed:
            joints[name] = changed
    return Patch(robot=robot, links=links, joints=joints)


def result_document(
    found: Identification, answer: Answer, unloaded: Sequence[Recording], loaded: Sequence[Recording], folder: Path
) -> dict[str, Any]:
    """The content of result.json; files are named relative to `folder`, where it goes."""
    payload = {}
    for one in answer.payload:
        payload[one.link] = {"mass": _estimate(one.mass_kg)}
        if np.all(np.isfinite(one.com_in_link_m.value)):  # what weighs nothing is nowhere
            payload[one.link]["com"] = _estimate(one.com_in_link_m)
    inputs = [
        {"file": _file(recording, folder), "stage": stage, "sha256": _sha256(recording)}
        for stage, recordings in (("unloaded", unloaded), ("loaded", loaded))
        for recording in recordings
    ]
    return {
        "format": "haloid-result-1",
        "status": "converged" if answer.converged else "iteration limit",
        "robot": _portable(loaded[0].robot, folder),
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
        },
        "identifiability": [{"parameters": blind.parameters, "why": blind.why} for blind in answer.blind],
        "seconds": round(found.seconds, 3),
        "stages": found.settings.stages,
        "engine": found.settings.engine,
        "solver": found.settings.solver,
        "loss": found.settings.loss,
        "timestep": found.settings.timestep_s,
        "seed": found.settings.seed,
        "iterations": (found.stage1.iterations if found.stage1 else 0) + found.stage2.iterations,
        "inputs": inputs,
        "versions": versions(),
    }


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
        "value": estimate.value.tolist(),
        "std": estimate.std.tolist(),
        "interval95": estimate.interval95.tolist(),
    }
    if np.all(np.isfinite(estimate.nominal)):
        document["nominal"] = estimate.nominal.tolist()
    return document


def _file(recording: Recording, folder: Path) -> str:
    return _portable(str(recording.source), folder) if recording.source else recording.name


def _portable(path: str, folder: Path) -> str:
    """A path relative to the result's folder, where that is shorter than the whole one; a robot's name as it is."""
    if os.sep not in path and not Path(path).is_file():
        return path
    relative = os.path.relpath(Path(path).resolve(), folder.resolve())
    whole = str(Path(path).resolve())
    return relative if len(relative) < len(whole) else whole


def _sha256(recording: Recording) -> str | None:
    if recording.source is None or not recording.source.is_file():
        return None
    return hashlib.sha256(recording.source.read_bytes()).hexdigest()
