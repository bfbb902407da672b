"""The result of a calibration as files: those of an identification, without a payload.

`joints` of result.json has kp (N·m/rad), damping (N·m·s/rad), frictionloss (N·m), armature (kg·m²), effort (N·m) and
delay (s); all but the delay are known as logarithms, so that their intervals are not even.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from haloid.identify.calibration.calibrate import Calibration
from haloid.identify.calibration.lone_joint import KINDS
from haloid.identify.replay import Replay, mean_rms
from haloid.identify.results.files import FORMAT, file_of, portable_path, sha256_of, versions
from haloid.robots.files.write_mjcf import write_mjcf
from haloid.robots.files.write_urdf import write_urdf
from haloid.robots.load import load_spec
from haloid.robots.patch import patched_spec, write_patch

_NORMAL_95 = 1.959964


def write_calibration(folder: Path, found: Calibration) -> None:
    """Writes everything but the report into `folder`."""
    spec = patched_spec(lambda: load_spec(found.robot), found.patch)
    write_mjcf(spec, folder / "calibrated.xml")
    write_urdf(spec, folder / "calibrated.urdf")
    write_patch(found.patch, folder / "patch.json")
    document = result_document(found, folder)
    (folder / "result.json").write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    config = {
        "command": "calibrate",
        "logs": [portable_path(file_of(one), folder) for one in (*found.train, *found.held_out)],
        "robot": portable_path(found.robot, folder),
        **asdict(found.settings),
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def result_document(found: Calibration, folder: Path) -> dict[str, Any]:
    """The content of result.json; files are named as seen from `folder`."""
    played, nominal = found.judged
    first = found.train[0]
    unseen = [name for name, seen in zip(found.fit.joint_names, found.fit.kp_seen, strict=True) if not seen]
    delay = {"value": float(found.fit.delay_s[0]), "std": float(found.fit.delay_std_s[0]), "nominal": 0.0}
    return {
        "format": FORMAT,
        "command": "calibrate",
        "status": "converged" if found.fit.converged else "iteration limit",
        "robot": portable_path(found.robot, folder),
        "clamp": first.clamp,
        "links": {},
        "joints": {name: joint_estimates(found, j) for j, name in enumerate(found.fit.joint_names)},
        "globals": {"delay": delay} if found.settings.shared_delay else {},
        "payload": {},
        "fit": {
            "rms_rad_train": mean_rms(found.replays["train"]),
            "rms_rad_heldout": mean_rms(found.replays["heldout"]) if found.replays["heldout"] else None,
            "rms_rad_nominal": mean_rms(nominal),
            "calibrated_over_nominal": mean_rms(played) / mean_rms(nominal),
            "coverage95": found.coverage95,
            "joints": _by_joint(found, played, nominal),
        },
        "identifiability": [
            {
                "parameters": [f"{name}.kp"],
                "why": f"the scale of {name}'s forces (kp, damping, friction, armature and effort by one factor) shows "
                "little in its motion; it is taken to be like the other servos'",
            }
            for name in unseen
        ],
        "doubts": list(found.doubts),
        "seconds": round(found.seconds, 3),
        "engine": "one joint at a time",
        "timestep": found.timestep_s,
        "iterations": found.fit.iterations,
        "inputs": [
            {"file": portable_path(file_of(one), folder), "stage": stage, "sha256": sha256_of(one)}
            for stage, runs in (("train", found.train), ("held out", found.held_out))
            for one in runs
        ],
        "versions": versions(),
    }


def joint_estimates(found: Calibration, joint: int) -> dict[str, dict[str, Any]]:
    """Of one joint: value, standard deviation, 95 % interval and nominal value by kind."""
    estimates = {}
    for k, kind in enumerate(KINDS):
        value, log_std = float(found.fit.servos[joint, k]), float(found.fit.log_std[joint, k])
        nominal = float(found.recorded_kp[joint] if kind == "kp" else found.nominal[kind][joint])
        if not np.isfinite(nominal):
            continue
        ends = [value * float(np.exp(sign * _NORMAL_95 * log_std)) for sign in (-1, 1)]
        estimates[kind] = {"value": value, "std": value * log_std, "interval95": ends, "nominal": nominal}
    delay, std = float(found.fit.delay_s[joint]), float(found.fit.delay_std_s[joint])
    ends = [max(0.0, delay - _NORMAL_95 * std), delay + _NORMAL_95 * std]
    estimates["delay"] = {"value": delay, "std": std, "interval95": ends, "nominal": 0.0}
    return estimates


def _by_joint(found: Calibration, played: list[Replay], nominal: list[Replay]) -> dict[str, dict[str, float]]:
    errors, others = (np.concatenate([one.error_rad for one in runs]) for runs in (played, nominal))
    return {
        name: {
            "rms_rad": float(np.sqrt(np.mean(errors[:, i] ** 2))),
            "nominal_rms_rad": float(np.sqrt(np.mean(others[:, i] ** 2))),
        }
        for i, name in enumerate(played[0].joint_names)
    }
