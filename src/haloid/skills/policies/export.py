"""Skills, the policy on its way to the robot: one ONNX file under mjlab's and BeyondMimic's contract.

In: a `TrackingPolicy`. Out: policy.onnx with inputs `obs` (1, N) and `time_step` (1, 1), both float32; outputs
`actions` and, of the clip that is baked in, the frame `time_step` (clamped to the clip): `joint_pos`, `joint_vel`,
`body_pos_w`, `body_quat_w`, `body_lin_vel_w`, `body_ang_vel_w` of the tracked bodies. Metadata are mjlab's,
comma-joined, numbers to their last digit, and a few of this package's own.

Runners count frames in two ways. mjlab passes the frame that the observation shows. BeyondMimic's runner observes what
the file returned last time and passes the next index, observed frame + 1. Actions that look up tables need the observed
frame; the file works it out: where the observation's command is frame `time_step` − 1 and not `time_step`, it acts for
the former. The clip's outputs are always those of `time_step`.

The file is run and compared with the torch module before it gets its name: a file that exists agrees with torch.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

from haloid.errors import HaloidError, one_line
from haloid.outputs import atomic_file
from haloid.skills.policies.policy import TrackingPolicy
from haloid.skills.policies.trace_onnx import trace_onnx
from haloid.skills.task.observations import history_lengths
from haloid.skills.task.reference import Poses

FORMAT = "haloid-onnx-1"
CLIP = tuple(Poses.__dataclass_fields__)
"""Outputs after `actions`, in mjlab's order."""
PARITY = 1e-5
"""Greatest difference between the file and torch, as a fraction of the greatest action."""
SAME_COMMAND = 1e-4
"""rad and rad/s: a command this near a frame is that frame; it has no noise, and comes from the file itself."""
_TRIALS = 100


class ExportError(HaloidError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"the policy was not exported to {path}: {found}. Nothing was written. "
            "Check that onnx, onnxruntime and torch are the versions of the extra learn"
        )


class _Deployed(nn.Module):
    """The policy and its clip with mjlab's inputs and outputs."""

    joint_pos: torch.Tensor
    joint_vel: torch.Tensor

    def __init__(self, policy: TrackingPolicy) -> None:
        super().__init__()
        self.policy = policy
        for name in CLIP:
            self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(getattr(policy.reference, name))))

    def forward(self, obs: torch.Tensor, time_step: torch.Tensor) -> tuple[torch.Tensor, ...]:
        frame = torch.clamp(time_step.long().squeeze(-1), min=0, max=self.policy.frames - 1)
        return (self.policy(obs, self._observed(obs, frame)), *(getattr(self, name)[frame] for name in CLIP))

    def _observed(self, obs: torch.Tensor, frame: torch.Tensor) -> torch.Tensor:
        """The frame that `obs` shows: `frame`, or the one before it where the command says so."""
        if self.policy.facts.phase:  # there is no command to tell them apart by
            return frame
        before = torch.clamp(frame - 1, min=0)
        away, away_before = self._away_from(obs, frame), self._away_from(obs, before)
        return torch.where((away_before < SAME_COMMAND) & (away_before < away), before, frame)

    def _away_from(self, obs: torch.Tensor, frame: torch.Tensor) -> torch.Tensor:
        """(N,) greatest difference between the command and the frame's joint angles and velocities."""
        command = torch.cat([self.joint_pos[frame], self.joint_vel[frame]], dim=1)
        return torch.amax(torch.abs(obs[:, : command.shape[1]] - command), dim=1)


def export_onnx(policy: TrackingPolicy, path: Path) -> None:
    """Write the policy as ONNX, whole and checked, or not at all."""
    deployed = _Deployed(policy).eval()
    with atomic_file(path) as beside:
        try:
            _write(deployed, beside)
            model = onnx.load(beside)
            onnx.helper.set_model_props(model, metadata_of(policy))
            onnx.checker.check_model(model, full_check=True)
            onnx.save(model, beside)
        except Exception as error:
            reason = one_line(error)
            raise ExportError(path, f"the export failed with «{reason}»") from error
        difference, worst = _difference(deployed, beside)
        if not difference <= PARITY:
            raise ExportError(
                path,
                f"its {worst} differ from torch's by {difference:.1e} of their size, expected at most {PARITY:g}",
            )


def metadata_of(policy: TrackingPolicy) -> dict[str, str]:
    """mjlab's metadata and ours, as the file states them."""
    facts = policy.facts
    terms = len(facts.observation_names)
    return {
        "run_path": facts.run,
        "joint_names": _joined(facts.joint_names),
        "joint_stiffness": _joined(facts.kp),
        "joint_damping": _joined(facts.kd),
        "default_joint_pos": _joined(facts.default_joint_pos_rad),
        "command_names": "motion",
        "observation_names": _joined(facts.observation_names),
        "observation_terms_scale": _joined([1.0] * terms),
        "observation_terms_flatten_history_dim": _joined([1] * terms),
        "observation_terms_history_length": _joined(history_lengths(facts.observation_names, facts.history)),
        "observation_terms_clip": _joined(["-inf;inf"] * terms),
        "action_scale": _joined(facts.action_scale_rad),
        "anchor_body_name": facts.anchor,
        "body_names": _joined(facts.body_names),
        "haloid_format": FORMAT,
        "motions": _joined(facts.motions),
        "first_frames": _joined(facts.first_frames),
        "action_mode": facts.action_mode,
        "state_estimation": "true" if facts.state_estimation else "false",
        "clamp": facts.clamp,
    }


def _joined(values: Iterable[object]) -> str:
    """Comma-joined; a float as the shortest text that reads back as the same float."""
    texts = [repr(value) if isinstance(value, float) else str(value) for value in values]
    for text in texts:
        if "," in text:
            raise HaloidError(f"the name «{text}» has a comma, which separates names in ONNX metadata; rename it")
    return ",".join(texts)


def _write(deployed: _Deployed, path: Path) -> None:
    """As mjlab does: traced, opset 18, fixed shapes."""
    inputs = (torch.zeros(1, deployed.policy.observation_width), torch.zeros(1, 1))
    names = ["obs", "time_step"]
    trace_onnx(deployed, inputs, path, input_names=names, output_names=["actions", *CLIP], batch=False)


def _difference(deployed: _Deployed, path: Path) -> tuple[float, str]:
    """Greatest difference between file and module relative to the output's size, and the output it is found in.

    Observations are drawn as training saw them (the normaliser's mean and spread); frames reach beyond both ends.
    """
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    network, random = deployed.policy.network, torch.Generator().manual_seed(0)
    draws = torch.randn(_TRIALS, deployed.policy.observation_width, generator=random)
    observations = network.mean + network.std * draws
    frames = torch.randint(-1, deployed.policy.frames + 2, (_TRIALS, 1), generator=random).float()
    names = ("actions", *CLIP)
    greatest, size = dict.fromkeys(names, 0.0), dict.fromkeys(names, 1.0)
    for row in range(_TRIALS):
        observation, frame = observations[row : row + 1], frames[row : row + 1]
        with torch.no_grad():
            expected = deployed(observation, frame)
        found = session.run(list(names), {"obs": observation.numpy(), "time_step": frame.numpy()})
        for name, ours, theirs in zip(names, expected, found, strict=True):
            difference = np.abs(ours.numpy() - theirs).max()
            greatest[name] = float("inf") if np.isnan(difference) else max(greatest[name], float(difference))
            size[name] = max(size[name], float(ours.abs().max()))
    relative = {name: greatest[name] / size[name] for name in names}
    worst = max(relative, key=lambda name: relative[name])
    return relative[worst], worst
