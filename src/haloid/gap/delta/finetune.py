"""Delta, fine-tuning: PPO goes on in the corrected simulator, f(s, a + π^Δ(s, a)), π^Δ frozen (ASAP, III-C).

In: the folder of a training, a delta action model. Out: a folder like that of any training, started with the other's
networks. The policy that comes out is deployed without the model: it has learned to control the robot as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction, DeltaTransform
from haloid.gap.delta.files import DeltaModel, check_delta_fits, delta_sha256, load_delta
from haloid.gap.delta.learn import correction_of
from haloid.skills.task.environment import STEP_S
from haloid.skills.task.robot import tracked_robot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.transforms import Transform
from haloid.skills.training.checkpoint import FILE
from haloid.skills.training.learning import Iteration, TrainingConfig
from haloid.skills.training.run_config import read_config, read_session
from haloid.skills.training.run_folder import TrainingOutcome, resume, train

SUBSTEPS = 4
"""Physics steps in a control step, as the delta model was learned with."""


def finetune(
    policy: Path,
    delta: Path,
    folder: Path,
    *,
    iterations: int,
    minutes: float | None = None,
    threads: int = 0,
    on_iteration: Callable[[Iteration], None] = lambda _: None,
) -> TrainingOutcome:
    """Into a new folder, or from where a fine-tuning stopped there."""
    config = tuning_config(policy, iterations, threads)
    model = load_delta(delta)
    check_delta_fits(model, tracked_robot(config.task.model, timestep_s=STEP_S / SUBSTEPS), delta)
    action = action_model(model, delta)
    return train_on(
        policy,
        config,
        folder,
        (DeltaTransform(action),),
        minutes=minutes,
        on_iteration=on_iteration,
        delta_sha256=delta_sha256(delta),
    )


def action_model(model: DeltaModel, path: Path) -> DeltaAction:
    """The model as a delta action, which is what targets can be corrected with."""
    action = correction_of(model)
    if not isinstance(action, DeltaAction):
        raise HaloidError(
            f"{path} is a delta dynamics model, which changes states and not targets. Expected a delta action model: "
            "haloid delta train --method fast"
        )
    return action


def train_on(
    policy: Path,
    config: TrainingConfig,
    folder: Path,
    transforms: tuple[Transform, ...] = (),
    *,
    minutes: float | None = None,
    on_iteration: Callable[[Iteration], None] = lambda _: None,
    simulate: Simulate = Simulation,
    delta_sha256: str | None = None,
) -> TrainingOutcome:
    """Training goes on from `policy`'s networks with whatever `transforms` do between policy and servos."""
    if (folder / FILE).is_file():
        check_same_policy(folder, policy)
        return resume(
            folder,
            minutes=minutes,
            iterations=config.iterations,
            on_iteration=on_iteration,
            transforms=transforms,
            simulate=simulate,
            delta_sha256=delta_sha256,
        )
    return train(
        config,
        folder,
        minutes=minutes,
        warm_start=policy,
        on_iteration=on_iteration,
        transforms=transforms,
        simulate=simulate,
        delta_sha256=delta_sha256,
    )


def check_same_policy(folder: Path, policy: Path) -> None:
    """A fine-tuning that goes on is of the policy that it began with."""
    begun_with = read_session(folder).warm_start
    if begun_with != str(policy.resolve()):
        raise HaloidError(
            f"{folder} holds a training that began with {begun_with or 'no policy'}, not with {policy}. Give that "
            "policy, or another folder with -o"
        )


def tuning_config(policy: Path, iterations: int, threads: int) -> TrainingConfig:
    """Of the policy's own training, in the simulator that delta models are learned in."""
    if not (policy / FILE).is_file():
        raise HaloidError(f"{policy} holds no training to go on from. Expected a folder that haloid train wrote to")
    config = read_config(policy)
    if config.task.actions == "controller":
        raise HaloidError(f"{policy} is a controller, which learns nothing. Expected a learned policy: haloid train")
    # the real robot's delay is in the delta model, which knows a simulator without
    task = replace(config.task, substeps=SUBSTEPS, delay_s=0.0, threads=threads)
    if task.randomisation == "asap":
        task = replace(task, randomisation="asap-on-time")
    return replace(config, task=task, iterations=iterations, threads=threads)
