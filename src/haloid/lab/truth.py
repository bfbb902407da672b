"""Truth: what the lab knows about a recording and no program downstream may read.

Kept in its own file, NAME.truth.json beside NAME.csv, for tests and benchmarks that compare an identification with it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloid.lab.play import Playback
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.outputs import atomic_file
from haloid.recordings.files.write import write_recording
from haloid.recordings.recording import Recording
from haloid.robots.inertia import LinkParameters, read_links

FORMAT = "haloid-truth-1"


@dataclass(frozen=True)
class Truth:
    links: dict[str, LinkParameters]
    """Every link of the robot as it is: aged and loaded."""
    joint_names: tuple[str, ...]
    damping: np.ndarray
    """(n,) N·m·s/rad"""
    frictionloss_nm: np.ndarray
    armature: np.ndarray
    """(n,) kg·m²"""
    strength: np.ndarray
    """(n,) servo gains and torque limits over their nominal values."""
    encoder_bias_rad: np.ndarray
    delay_s: float
    noise_rad: float
    timestep_s: float
    seed: int
    aging_seed: int | None
    playback: Playback


Run = tuple[Recording, Truth]


def truth_of(robot: LabRobot, sensors: Sensors, playback: Playback, seed: int) -> Truth:
    built = robot.built
    return Truth(
        links=read_links(built.model),
        joint_names=built.joint_names,
        damping=built.model.dof_damping[built.dof_of],
        frictionloss_nm=built.model.dof_frictionloss[built.dof_of],
        armature=built.model.dof_armature[built.dof_of],
        strength=built.strength,
        encoder_bias_rad=sensors.bias_of(len(built.joint_names)),
        delay_s=sensors.delay_s,
        noise_rad=sensors.noise_rad,
        timestep_s=robot.timestep_s,
        seed=seed,
        aging_seed=None if robot.aging is None else robot.aging.seed,
        playback=playback,
    )


def write_truth(truth: Truth, path: Path) -> None:
    """Writes everything but the trajectories."""

    def by_joint(values: np.ndarray) -> dict[str, float]:
        return {name: float(value) for name, value in zip(truth.joint_names, values, strict=True)}

    content: dict[str, Any] = {
        "format": FORMAT,
        "seed": truth.seed,
        "aging_seed": truth.aging_seed,
        "timestep_s": truth.timestep_s,
        "delay_s": truth.delay_s,
        "noise_rad": truth.noise_rad,
        "links": {
            name: {
                "mass_kg": link.mass_kg,
                "com_in_link_m": link.com_in_link_m.tolist(),
                "inertia_about_com": link.inertia_about_com.tolist(),
            }
            for name, link in truth.links.items()
        },
        "damping": by_joint(truth.damping),
        "frictionloss_nm": by_joint(truth.frictionloss_nm),
        "armature": by_joint(truth.armature),
        "strength": by_joint(truth.strength),
        "encoder_bias_rad": by_joint(truth.encoder_bias_rad),
        "tracking_rms_rad": by_joint(truth.playback.tracking_rms_rad),
        "saturated_fraction": by_joint(truth.playback.saturated_fraction),
        "self_collisions": list(truth.playback.self_collisions),
    }
    with atomic_file(path) as beside:
        Path(beside).write_text(json.dumps(content, indent=1), encoding="utf-8")


def write_runs(runs: Sequence[Run], recordings_folder: Path, truth_folder: Path) -> list[Path]:
    """Writes every recording, and its truth as NAME.truth.json; returns the recordings' csv files."""
    recordings_folder.mkdir(parents=True, exist_ok=True)
    files = []
    for recording, truth in runs:
        files.append(write_recording(recording, recordings_folder / recording.name, allow_gaps=True))
        write_truth(truth, truth_folder / f"{recording.name}.truth.json")
    return files
