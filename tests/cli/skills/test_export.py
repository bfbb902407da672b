"""`haloid export`: what it writes and what it says."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.recordings.words import assert_words  # noqa: E402
from tests.skills.lively_motion import lively_motion  # noqa: E402
from tests.skills.small_policies import untrained_policy  # noqa: E402

from haloid.cli import main as cli  # noqa: E402
from haloid.skills.policies.deployed import DeployedPolicy  # noqa: E402
from haloid.skills.policies.policy import save_policy  # noqa: E402
from haloid.skills.task.robot import tracked_robot  # noqa: E402
from haloid.trajectories.motion_export import write_motion  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a training, as far as an export is concerned."""
    save_policy(
        untrained_policy(tracked_robot(), [lively_motion()], ["lively"], seed=1), tmp_path / "run" / "policy.pt"
    )
    return tmp_path / "run"


def checkpoint(folder: Path) -> Path:
    """The same network as rsl_rl stores it."""
    network = torch.load(folder / "policy.pt", weights_only=True)["network"]
    actor = {name.replace("layers.", "mlp."): value for name, value in network.items() if name.startswith("layers.")}
    actor |= {"obs_normalizer._mean": network["mean"][None], "obs_normalizer._std": network["std"][None]}
    torch.save({"actor_state_dict": actor, "iter": 7}, folder / "model_7.pt")
    return folder / "model_7.pt"


def test_a_trainings_folder_gets_its_onnx_file(folder: Path, capsys):
    assert cli.main(["export", str(folder)]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert_words(shown, "154 observations to 29 actions, 180 frames of lively", f"wrote {folder / 'policy.onnx'}")
    assert onnx.load(folder / "policy.onnx").graph.output[0].name == "actions"


def test_mjlabs_checkpoint_needs_its_motion(folder: Path, tmp_path: Path, capsys):
    model, clip = checkpoint(folder), write_motion(lively_motion(), tmp_path / "lively.npz")
    assert cli.main(["export", str(model)]) == 1
    assert_words(capsys.readouterr().err, "is a checkpoint of mjlab, which does not hold its motion; give --motion")
    assert cli.main(["export", str(folder), "--motion", str(clip)]) == 1
    assert_words(capsys.readouterr().err, "has its motion inside; leave --motion out")
    assert cli.main(["export", str(model), "--motion", str(clip), "-o", str(tmp_path / "a.onnx")]) == 0
    assert cli.main(["export", str(folder), "-o", str(tmp_path / "b.onnx")]) == 0
    observations, frames = np.random.default_rng(0).normal(size=(3, 154)), np.arange(3)
    ours, theirs = DeployedPolicy(tmp_path / "a.onnx"), DeployedPolicy(tmp_path / "b.onnx")
    np.testing.assert_allclose(ours.actions(observations, frames), theirs.actions(observations, frames), atol=1e-6)


def test_what_is_no_policy_is_refused(tmp_path: Path, capsys):
    (tmp_path / "policy.pt").write_text("nothing of the kind")
    assert cli.main(["export", str(tmp_path / "policy.pt")]) == 1
    assert_words(capsys.readouterr().err, "is not a policy of this package", "Expected the policy.pt that haloid train")
    assert [file.name for file in tmp_path.iterdir()] == ["policy.pt"]
