"""Skills in mjlab, training: mjlab's own training entry on the identified robot, on GPUs or, slowly, on the CPU.

In: the `TrainingConfig` of trainings on the CPU, and GPUs. Out, in the folder: config.yaml, MOTION.npz, mjlab/DATE with
mjlab's files (model_N.pt, params/*.yaml, tensorboard), nan/ if a simulation became NaN, and the last
policy.pt and policy.onnx. Several GPUs go through mjlab's launcher, a process each, and each has all the robots.

mjlab's physics step (5 ms) and full difficulty are used from the start; mjlab's task lacks what
trainings on the CPU also have: several motions in one policy, and a curriculum.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.scripts.train import TrainConfig, launch_training

from haloid.errors import HaloidError
from haloid.motions.load import load_motion
from haloid.outputs import atomic_file
from haloid.robots.description import describe
from haloid.robots.entries import KNOWN_ROBOTS
from haloid.skills.mjlab_backend.register import task_id
from haloid.skills.mjlab_backend.robot import identified_spec_fn
from haloid.skills.mjlab_backend.runner import ONNX, POLICY
from haloid.skills.mjlab_backend.task import runner_cfg, tracking_env_cfg
from haloid.skills.policies.tensor_file import write_tensors
from haloid.skills.task.reference import reference_of
from haloid.skills.task.robot import robot_of_model, tracked_robot
from haloid.skills.task.task import actions_of, reward_weights
from haloid.skills.training.curriculum import Curriculum
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.run_config import (
    Session,
    check_delta,
    check_model,
    read_config,
    read_session,
    whole_paths,
    write_config,
)
from haloid.trajectories.motion import Motion
from haloid.trajectories.motion_export import write_motion

RUNS = "mjlab"
"""The folder of mjlab's own files in the output folder."""
SAVE_EVERY = 500
"""Iterations."""
Change = Callable[[ManagerBasedRlEnvCfg], None]
"""What else becomes of mjlab's environment before it is built."""


def unchanged(env: ManagerBasedRlEnvCfg) -> None:
    pass


class GpuNotFoundError(HaloidError):
    def __init__(self, wanted: tuple[int, ...], found: int) -> None:
        there = f"GPUs 0 to {found - 1}" if found > 1 else "GPU 0 alone" if found else "no GPU"
        super().__init__(
            f"--gpu-ids asks for {' '.join(map(str, wanted))}, and torch finds {there} on this machine. Give ids that "
            "exist; without --gpu-ids mjlab runs on the CPU, where --backend cpu is many times faster"
        )


@dataclass(frozen=True)
class MjlabOutcome:
    """Where the results are."""

    run: Path
    """mjlab's folder of this run."""
    checkpoint: Path
    policy: Path
    """policy.onnx; policy.pt is beside it."""


def train_with_mjlab(
    config: TrainingConfig,
    folder: Path,
    *,
    gpu_ids: tuple[int, ...] = (),
    save_every: int = SAVE_EVERY,
    warm_start: Path | None = None,
    change: Change = unchanged,
    delta_sha256: str | None = None,
) -> MjlabOutcome:
    """Trains from the beginning to the last iteration; mjlab prints its progress. `warm_start` is the folder of
    another training with mjlab, whose networks this one begins with; `change` and what it changes are not kept, but for
    the hash of a delta model."""
    _check(config, gpu_ids)
    if (folder / RUNS).exists():
        raise HaloidError(f"{folder} holds a training already. Go on with it: haloid train --resume {folder}")
    config, begun = whole_paths(config), None if warm_start is None else last_checkpoint(warm_start)
    folder.mkdir(parents=True, exist_ok=True)
    begun_with = None if warm_start is None else str(warm_start.resolve())
    write_config(folder, config, Session("mjlab", None, begun_with, gpu_ids, delta_sha256=delta_sha256))
    last = None if begun is None else _first_checkpoint(begun, folder)
    return _launch(config, folder, gpu_ids, save_every, last, change)


def resume_with_mjlab(
    folder: Path,
    *,
    iterations: int | None = None,
    model: str | None = None,
    gpu_ids: tuple[int, ...] = (),
    save_every: int = SAVE_EVERY,
    change: Change = unchanged,
    delta_sha256: str | None = None,
) -> MjlabOutcome:
    """Continues from the last checkpoint up to `iterations` in total (default: the number it was started with).

    `model` says where the robot's file is now, if it was moved.
    """
    last, begun = last_checkpoint(folder), read_config(folder)
    check_delta(folder, delta_sha256)
    task = replace(begun.task, model=model or begun.task.model)
    config = whole_paths(replace(begun, task=task, iterations=iterations or begun.iterations))
    check_model(folder, config.task.model)
    _check(config, gpu_ids)
    done = _iteration(last) + 1
    if done >= config.iterations:
        raise HaloidError(
            f"{folder} has finished its {config.iterations} iterations. Ask for more: "
            f"haloid train --resume {folder} --iterations {2 * done}"
        )
    if config != begun:
        write_config(folder, config, read_session(folder))
    return _launch(replace(config, iterations=config.iterations - done), folder, gpu_ids, save_every, last, change)


def _check(config: TrainingConfig, gpu_ids: tuple[int, ...]) -> None:
    found = torch.cuda.device_count()
    if not all(0 <= gpu < found for gpu in gpu_ids):
        raise GpuNotFoundError(gpu_ids, found)
    describe(robot_of_model(config.task.model)).need("haloid train --backend mjlab", "mjlab")
    if len(config.task.motions) != 1:
        raise HaloidError(
            f"mjlab's tracking task follows one motion; found {len(config.task.motions)}. Train one policy for each, "
            "or all of them in one policy with --backend cpu"
        )
    if config.task.delay_s:
        raise HaloidError(
            f"a delay of {config.task.delay_s:g} s: mjlab's task has none. Leave it out, or use --backend cpu"
        )


def env_cfg_of(config: TrainingConfig, motion_file: Path) -> ManagerBasedRlEnvCfg:
    """mjlab's environment of a training: what its curriculum would end with, from the start."""
    task = config.task
    end = Curriculum(hardest=config.difficulty, level=config.difficulty, noise=task.noise)
    cfg = tracking_env_cfg(
        motion_file=str(motion_file),
        spec_fn=identified_spec_fn(None if task.model in KNOWN_ROBOTS else Path(task.model)),
        randomisation=task.randomisation,
        state_estimation=task.state_estimation,
        difficulty=end.difficulty,
        history=task.readings,
    )
    for name, weight in reward_weights(task).items():
        cfg.rewards[name].weight = weight
    return cfg


def _launch(
    config: TrainingConfig,
    folder: Path,
    gpu_ids: tuple[int, ...],
    save_every: int,
    last: Path | None,
    change: Change,
) -> MjlabOutcome:
    task, folder = config.task, folder.resolve()
    motion = load_motion(task.motions[0], robot=robot_of_model(task.model), repaired=task.repair)
    env = env_cfg_of(config, write_motion(motion, folder / f"{Path(task.motions[0]).stem}.npz"))
    env.scene.num_envs, env.sim.nan_guard.output_dir = task.robots, str(folder / "nan")
    change(env)
    agent = runner_cfg(replace(config.learner, critic_first=0) if config.ppo is None else config.ppo)
    agent.experiment_name, agent.seed = RUNS, task.seed
    agent.max_iterations, agent.save_interval = config.iterations, save_every
    agent.actions_file = _write_actions(config, motion, folder)
    if last is not None:
        agent.resume, agent.load_run, agent.load_checkpoint = True, f"{re.escape(last.parent.name)}$", f"{last.name}$"
    launch = TrainConfig(
        env=env, agent=agent, log_root=str(folder), gpu_ids=list(gpu_ids) or None, enable_nan_guard=True
    )
    with _environment_kept():
        launch_training(task_id("nominal", state_estimation=True), launch)  # mjlab looks up only the runner by it
    return _collect(folder)


def _write_actions(config: TrainingConfig, motion: Motion, folder: Path) -> str:
    """The feed-forward targets, for mjlab's processes to read; none where the network's output is the action."""
    if config.task.actions == "mjlab":
        return ""
    reference = reference_of(tracked_robot(config.task.model), [motion])
    file = folder / "actions.pt"
    write_tensors(actions_of(config.task, reference, [motion]).state_dict(), file)
    return str(file)


def last_checkpoint(folder: Path) -> Path:
    """Of the newest run that has one; runs are named by date, checkpoints by iteration."""
    checkpoints = list((folder / RUNS).glob("*/model_*.pt"))
    if not checkpoints:
        raise HaloidError(f"{folder} holds no mjlab training: it has no {RUNS}/*/model_*.pt. Train into it first")
    return max(checkpoints, key=lambda path: (path.parent.name, _iteration(path)))


def _first_checkpoint(begun: Path, folder: Path) -> Path:
    """The networks of another training, as those before the first iteration of this one."""
    state = torch.load(begun, weights_only=False, map_location="cpu")
    file = folder / RUNS / "0-start" / "model_-1.pt"  # older than any run, which are named by date
    file.parent.mkdir(parents=True)
    with atomic_file(file) as beside:
        torch.save({**state, "iter": -1, "infos": {}}, beside)
    return file


def _iteration(checkpoint: Path) -> int:
    return int(checkpoint.stem.removeprefix("model_"))


def _collect(folder: Path) -> MjlabOutcome:
    last = last_checkpoint(folder)
    for name in (POLICY, ONNX):
        with atomic_file(folder / name) as beside:
            shutil.copyfile(last.parent / name, beside)
    return MjlabOutcome(last.parent, last, folder / ONNX)


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
