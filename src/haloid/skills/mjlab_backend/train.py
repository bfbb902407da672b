"""Skills in mjlab, training: mjlab's own training entry on the identified robot, on GPUs or on this machine's CPU.

In: a `MjlabTraining`. Out: OUT/mjlab/DATE with mjlab's files (model_N.pt, policy.onnx, params/*.yaml, tensorboard), and
the last checkpoint and policy as OUT/checkpoint.pt and OUT/policy.onnx. Several GPUs go through mjlab's launcher, one
process each.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from mjlab.scripts.train import TrainConfig, launch_training

from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.skills.mjlab_backend.register import task_id
from haloid.skills.mjlab_backend.robot import g1_spec, identified_spec_fn
from haloid.skills.mjlab_backend.runner import POLICY
from haloid.skills.mjlab_backend.task import runner_cfg, tracking_env_cfg
from haloid.skills.ppo import PpoConfig, mjlab_ppo
from haloid.skills.randomisation import RandomisationName

RUNS = "mjlab"
"""The folder of mjlab's own files in the output folder."""
MOTION_FPS = 50.0


class GpuNotFoundError(HaloidError):
    def __init__(self, wanted: object, found: int) -> None:
        super().__init__(
            f"--gpu-ids asks for {wanted}, and torch finds {found} GPU{'' if found == 1 else 's'} on this machine"
            f"{f' (ids 0 to {found - 1})' if found else ''}. Give ids that exist, or --gpu-ids None to train in mjlab "
            "on the CPU; --backend cpu is many times faster there"
        )


class MotionNotForMjlabError(HaloidError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"{path} cannot be trained on in mjlab: {found}. "
            "Make it anew with `haloid motions convert`, which writes mjlab's order at 50 frames a second"
        )


@dataclass(frozen=True)
class MjlabTraining:
    """What is trained, on what, for how long."""

    motion: Path
    """The npz of mjlab's order that `haloid motions convert` writes."""
    out: Path
    model: Path | None = None
    """patch.json or calibrated.xml of an identification; None: mjlab's own G1."""
    randomisation: RandomisationName = "nominal"
    state_estimation: bool = True
    pushes: bool = True
    robots: int = 4096
    """Simulated at once; on several GPUs, on each."""
    iterations: int = 30_000
    save_interval: int = 500
    ppo: PpoConfig = field(default_factory=mjlab_ppo)
    gpu_ids: tuple[int, ...] | Literal["all"] | None = (0,)
    """None: on the CPU."""
    seed: int = 0
    resume: bool = False
    """Go on from the last checkpoint in `out`."""


@dataclass(frozen=True)
class MjlabPolicy:
    """Where the results are."""

    run: Path
    """mjlab's folder of this run."""
    checkpoint: Path
    policy: Path


def train_with_mjlab(training: MjlabTraining) -> MjlabPolicy:
    """Trains until the last iteration; mjlab prints its progress."""
    _check_gpus(training.gpu_ids)
    check_motion(training.motion)
    env = tracking_env_cfg(
        motion_file=str(training.motion.resolve()),
        spec_fn=identified_spec_fn(training.model),
        randomisation=training.randomisation,
        state_estimation=training.state_estimation,
        pushes=training.pushes,
    )
    env.scene.num_envs = training.robots
    env.sim.nan_guard.output_dir = str(training.out.resolve() / "nan")
    agent = runner_cfg(training.ppo)
    agent.experiment_name = RUNS
    agent.seed, agent.max_iterations, agent.save_interval = training.seed, training.iterations, training.save_interval
    if training.resume:
        last = _last_checkpoint(training.out)
        agent.resume, agent.load_run, agent.load_checkpoint = True, f"{re.escape(last.parent.name)}$", f"{last.name}$"
    gpu_ids = list(training.gpu_ids) if isinstance(training.gpu_ids, tuple) else training.gpu_ids
    config = TrainConfig(
        env=env, agent=agent, log_root=str(training.out.resolve()), gpu_ids=gpu_ids, enable_nan_guard=True
    )
    with _environment_kept():
        launch_training(
            task_id("nominal", state_estimation=True), config
        )  # mjlab looks up nothing but the runner by it
    return _collect(training.out)


def check_motion(path: Path) -> None:
    """Raises unless mjlab would read this file as it is meant: it looks at neither names nor frame rate."""
    with np.load(path, allow_pickle=False) as file:
        model = g1_spec().compile()
        orders = {
            "joint_names": [model.joint(j).name for j in range(1, model.njnt)],
            "body_names": [model.body(b).name for b in range(1, model.nbody)],
        }
        for key, expected in orders.items():
            if key not in file:
                raise MotionNotForMjlabError(path, f"it does not say the order of its columns (no '{key}')")
            if list(file[key]) != expected:
                raise MotionNotForMjlabError(path, f"its '{key}' are not those of mjlab's G1 in mjlab's order")
        fps = float(np.ravel(file["fps"])[0])
        if abs(fps - MOTION_FPS) > 1e-6:
            raise MotionNotForMjlabError(path, f"it has {fps:g} frames a second, and mjlab plays every file at 50")


def _check_gpus(gpu_ids: tuple[int, ...] | Literal["all"] | None) -> None:
    found = torch.cuda.device_count()
    if gpu_ids == "all" and found == 0:
        raise GpuNotFoundError("all", found)
    if isinstance(gpu_ids, tuple) and not all(0 <= gpu < found for gpu in gpu_ids):
        raise GpuNotFoundError(" ".join(map(str, gpu_ids)), found)


def _last_checkpoint(out: Path) -> Path:
    """Of the newest run that has one; runs are named by date, checkpoints by iteration."""
    checkpoints = sorted(
        (out / RUNS).glob("*/model_*.pt"), key=lambda path: (path.parent.name, int(path.stem.removeprefix("model_")))
    )
    if not checkpoints:
        raise HaloidError(
            f"{out} has no checkpoint to resume from: no {RUNS}/*/model_*.pt. Train without --resume first"
        )
    return checkpoints[-1]


def _collect(out: Path) -> MjlabPolicy:
    last = _last_checkpoint(out)
    found = MjlabPolicy(last.parent, out / "checkpoint.pt", out / POLICY)
    for source, destination in ((last, found.checkpoint), (last.parent / POLICY, found.policy)):
        with atomic_file(destination) as beside:
            shutil.copyfile(source, beside)
    return found


@contextmanager
def _environment_kept() -> Iterator[None]:
    """mjlab's launcher chooses GPUs through the process's environment, for good."""
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before
