"""A checkpoint of rsl_rl's own actor becomes a policy that acts as that actor does."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")

from tensordict import TensorDict  # noqa: E402

from haloid.errors import HaloidError  # noqa: E402
from haloid.skills.policies.mjlab_checkpoint import is_checkpoint, policy_of_checkpoint  # noqa: E402


def rsl_rl_actor(width: int, joints: int):
    from rsl_rl.models import MLPModel

    torch.manual_seed(4)
    observations = TensorDict({"actor": torch.zeros(2, width)}, batch_size=[2])
    distribution = {"class_name": "GaussianDistribution", "init_std": 1.0}
    model = MLPModel(
        observations, {"actor": ["actor"]}, "actor", joints, [32, 16], "elu", True, distribution_cfg=distribution
    )
    for _ in range(5):
        model.update_normalization(TensorDict({"actor": 3 * torch.randn(64, width) + 1}, batch_size=[64]))
    return model.eval()


@pytest.mark.parametrize(("width", "estimated"), [(154, False), (160, True)])
def test_a_checkpoint_acts_as_rsl_rls_actor(robot, motion, tmp_path: Path, width, estimated):
    actor = rsl_rl_actor(width, 29)
    file = tmp_path / "model_10.pt"
    torch.save({"actor_state_dict": actor.state_dict(), "iter": 10, "infos": {}}, file)
    assert is_checkpoint(file)
    policy = policy_of_checkpoint(file, robot, motion, "lively")
    assert policy.facts.state_estimation == estimated
    assert policy.facts.action_mode == "mjlab"
    assert policy.facts.motions == ("lively",)
    observation = torch.randn(5, width) * 2
    with torch.no_grad():
        expected = actor(TensorDict({"actor": observation}, batch_size=[5]))
        torch.testing.assert_close(policy(observation, torch.zeros(5, dtype=torch.long)), expected)


def test_checkpoints_of_other_tasks_are_refused(robot, motion, tmp_path: Path):
    torch.save({"actor_state_dict": rsl_rl_actor(99, 12).state_dict()}, tmp_path / "model_1.pt")
    with pytest.raises(HaloidError, match="takes 99 numbers and gives 12; for this robot it would take 154 or 160"):
        policy_of_checkpoint(tmp_path / "model_1.pt", robot, motion, "lively")
    torch.save({"actor_state_dict": {"weights": torch.zeros(3)}}, tmp_path / "model_2.pt")
    with pytest.raises(HaloidError, match="its actor was not found"):
        policy_of_checkpoint(tmp_path / "model_2.pt", robot, motion, "lively")
    (tmp_path / "model_3.pt").write_bytes(b"no checkpoint")
    assert not is_checkpoint(tmp_path / "model_3.pt")


@pytest.mark.slow
def test_mjlabs_own_file_and_ours_agree(robot, motion, tmp_path: Path):
    """One actor, exported by mjlab with its rounded metadata and by this package from the checkpoint."""
    pytest.importorskip("mjlab")
    pytest.importorskip("onnxruntime")
    from mjlab.rl.exporter_utils import attach_metadata_to_onnx
    from mjlab.tasks.tracking.rl.runner import _OnnxMotionModel

    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.policies.export import CLIP, export_onnx, metadata_of

    actor = rsl_rl_actor(154, 29)
    torch.save({"actor_state_dict": actor.state_dict()}, tmp_path / "model_10.pt")
    policy = policy_of_checkpoint(tmp_path / "model_10.pt", robot, motion, "lively")
    export_onnx(policy, tmp_path / "ours.onnx")
    clip = SimpleNamespace(**{name: torch.from_numpy(getattr(policy.reference, name)) for name in CLIP})
    theirs = tmp_path / "theirs.onnx"
    torch.onnx.export(
        _OnnxMotionModel(actor, clip).eval(),
        (torch.zeros(1, 154), torch.zeros(1, 1)),
        str(theirs),
        opset_version=18,
        input_names=["obs", "time_step"],
        output_names=["actions", *CLIP],
        dynamic_axes={},
        dynamo=False,
    )
    own = ("haloid_format", "motions", "first_frames", "action_mode", "state_estimation")
    metadata: dict[str, Any] = {key: value for key, value in metadata_of(policy).items() if key not in own}
    metadata["action_scale"] = robot.action_scale_rad.tolist()
    attach_metadata_to_onnx(str(theirs), metadata)
    read, ours = DeployedPolicy(theirs), DeployedPolicy(tmp_path / "ours.onnx")
    assert read.frames == len(motion.joint_pos_rad)
    assert read.facts.motions == ("clip",)
    assert not read.facts.state_estimation
    np.testing.assert_allclose(read.facts.action_scale_rad, robot.action_scale_rad, atol=5e-4)
    np.testing.assert_array_equal(read.clip.body_pos_w, ours.clip.body_pos_w)
    observations = np.random.default_rng(0).normal(size=(5, 154)).astype(np.float32)
    np.testing.assert_allclose(
        read.actions(observations, np.arange(5)), ours.actions(observations, np.arange(5)), atol=1e-5
    )
