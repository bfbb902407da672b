"""Skills in mjlab, the runner: mjlab's PPO runner, whose every checkpoint comes with a policy.onnx to deploy.

The ONNX file is mjlab's (inputs `obs`, `time_step`; the clip inside), with two differences: its metadata keep their
full precision (mjlab rounds to three decimals; a wrist's action scale is then 0.67 % off), and a failed export is an
error at the first checkpoint, which is written after the first iteration, instead of a warning.
"""

from pathlib import Path
from typing import cast

import onnx
from mjlab.rl.exporter_utils import get_base_metadata
from mjlab.rl.runner import MjlabOnPolicyRunner
from mjlab.tasks.tracking.mdp import MotionCommand
from mjlab.tasks.tracking.rl import MotionTrackingOnPolicyRunner

POLICY = "policy.onnx"


class TrackingRunner(MotionTrackingOnPolicyRunner):
    def save(self, path: str, infos: dict | None = None) -> None:
        MjlabOnPolicyRunner.save(self, path, infos)
        folder = Path(path).parent
        self.export_policy_to_onnx(str(folder), POLICY)
        env = self.env.unwrapped
        command = cast(MotionCommand, env.command_manager.get_term("motion"))
        metadata = get_base_metadata(env, folder.name) | {
            "anchor_body_name": command.cfg.anchor_body_name,
            "body_names": list(command.cfg.body_names),
        }
        model = onnx.load(folder / POLICY)
        onnx.helper.set_model_props(model, {key: _comma_joined(value) for key, value in metadata.items()})
        onnx.save(model, folder / POLICY)


def _comma_joined(value: object) -> str:
    """mjlab's notation of metadata: commas between entries, semicolons inside one; numbers to the last digit."""
    if not isinstance(value, list):
        return str(value)
    return ",".join(";".join(map(str, entry)) if isinstance(entry, list | tuple) else str(entry) for entry in value)
