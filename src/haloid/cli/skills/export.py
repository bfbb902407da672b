"""`haloid export`: a policy as the ONNX file that robots, mjlab's tools and haloid evaluate run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.robots.entries import DEFAULT_ROBOT

if TYPE_CHECKING:
    from haloid.skills.policies.policy import TrackingPolicy


@dataclass(frozen=True)
class Config:
    """Write a policy as ONNX: mjlab's and BeyondMimic's inputs, outputs and metadata.

    The clip is inside, and so is everything needed to run it: joint names, gains, default pose, action scale, to the
    last digit. The file is run and compared with the policy before it gets its name.

    Examples:
        haloid export out/squat
        haloid export out/squat/policy.pt -o squat.onnx
        haloid export logs/rsl_rl/g1_tracking/2026-01-01/model_1000.pt --motion clip.npz
    """

    policy: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="POLICY")]
    """The folder of a training, its policy.pt, or a checkpoint of mjlab's tracking task (model_1000.pt)."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write; policy.onnx beside the policy by default."""
    motion: str | None = None
    """The motion of mjlab's checkpoint, which does not hold it: a file, or one of haloid's own by name."""
    order: Literal["mjcf", "isaac"] | None = None
    """Order of the joints in a motion without names: mjcf for mjlab's files."""
    model: str = DEFAULT_ROBOT
    """The robot of mjlab's checkpoint: gains and action scale are its own."""


def run(config: Config) -> None:
    require_extra("export", "learn", "torch", "onnx", "onnxruntime")
    from haloid.skills.policies.export import export_onnx

    out = config.out
    if out is None:
        out = (config.policy if config.policy.is_dir() else config.policy.parent) / "policy.onnx"
    with console.progress("Exporting"):
        policy = _policy(config)
        export_onnx(policy, out)
    facts = policy.facts
    console.results.print(
        f"{policy.observation_width} observations to {len(facts.joint_names)} actions, {policy.frames} frames of "
        f"{', '.join(facts.motions)}; equal to the policy within 1e-5",
        soft_wrap=True,
    )
    console.wrote(out)
    console.next_command("evaluate", out)


def _policy(config: Config) -> TrackingPolicy:
    from haloid.skills.policies.mjlab_checkpoint import is_checkpoint, policy_of_checkpoint
    from haloid.skills.policies.policy import load_policy

    if config.policy.is_dir() or not is_checkpoint(config.policy):
        if config.motion is not None:
            raise HaloidError(f"{config.policy} has its motion inside; leave --motion out")
        return load_policy(config.policy)
    if config.motion is None:
        raise HaloidError(f"{config.policy} is a checkpoint of mjlab, which does not hold its motion; give --motion")
    from haloid.motions.load import load_motion
    from haloid.skills.task.robot import robot_of_model, tracked_robot

    motion = load_motion(config.motion, robot=robot_of_model(config.model), order=config.order)
    return policy_of_checkpoint(config.policy, tracked_robot(config.model), motion, Path(config.motion).stem)
