"""The ONNX file against torch, and against mjlab's contract word by word."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.recordings.words import assert_words  # noqa: E402
from tests.skills.small_policies import untrained_policy  # noqa: E402

from haloid.errors import HaloidError  # noqa: E402
from haloid.motions.load import load_motion  # noqa: E402
from haloid.skills.policies import export  # noqa: E402
from haloid.skills.policies.actions import ControllerActions, FeedforwardActions, feedforward_tables  # noqa: E402
from haloid.skills.policies.export import export_onnx  # noqa: E402

MJLAB_OUTPUTS = ["actions", "joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w"]


@pytest.fixture(scope="module", params=["mjlab", "feedforward", "controller"])
def exported(request, robot, tmp_path_factory):
    estimated = request.param == "mjlab"
    policy = untrained_policy(
        robot, [load_motion("stand")], ["stand"], request.param, state_estimation=estimated, seed=3
    )
    path = tmp_path_factory.mktemp("export") / "policy.onnx"
    export_onnx(policy, path)
    return policy, path


def test_the_file_acts_as_the_torch_module(exported):
    policy, path = exported
    session = onnxruntime.InferenceSession(str(path))
    random = np.random.default_rng(1)
    actions = []
    for _ in range(100):
        observation = (policy.network.mean + policy.network.std * torch.from_numpy(random.normal(size=(1, 1)))).float()
        observation += torch.from_numpy(random.normal(size=observation.shape) * 0.3).float()
        frame = int(random.integers(0, policy.frames))
        inputs = {"obs": observation.numpy(), "time_step": np.array([[frame]], dtype=np.float32)}
        with torch.no_grad():
            expected = policy(observation, torch.tensor([frame])).numpy()
        actions.append(np.abs(expected).max())
        np.testing.assert_allclose(session.run(["actions"], inputs)[0], expected, atol=1e-5 * max(actions[-1], 1.0))
    assert max(actions) > 0.5


def test_the_clip_inside_is_clamped_at_both_ends(exported):
    policy, path = exported
    session = onnxruntime.InferenceSession(str(path))
    assert [output.name for output in session.get_outputs()] == MJLAB_OUTPUTS
    for asked, frame in ((-1, 0), (0, 0), (7, 7), (policy.frames - 1, policy.frames - 1), (10_000, policy.frames - 1)):
        inputs = {
            "obs": np.zeros((1, policy.observation_width), np.float32),
            "time_step": np.array([[asked]], np.float32),
        }
        for name, found in zip(MJLAB_OUTPUTS[1:], session.run(MJLAB_OUTPUTS[1:], inputs), strict=True):
            np.testing.assert_array_equal(found[0], getattr(policy.reference, name)[frame])


@pytest.mark.parametrize("mode", ["feedforward", "controller"])
def test_both_conventions_of_the_frame_index_lead_to_the_same_actions(robot, motion, tmp_path: Path, mode):
    """mjlab passes the frame that is observed. BeyondMimic's runner observes what the file returned before, and counts
    on; it begins with a call whose actions it throws away."""
    policy = untrained_policy(robot, [motion], ["lively"], mode, seed=3)
    export_onnx(policy, tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"))
    rest = np.random.default_rng(0).normal(size=(1, policy.observation_width - 58)).astype(np.float32)

    def run(observation, time_step):
        return session.run(
            ["actions", "joint_pos", "joint_vel"],
            {"obs": observation, "time_step": np.array([[time_step]], np.float32)},
        )

    _, *shown = run(np.zeros((1, policy.observation_width), np.float32), 0)
    differences = []
    for frame in range(policy.frames):
        observation = np.concatenate([*shown, rest], axis=1)
        np.testing.assert_array_equal(observation[0, :29], policy.reference.joint_pos[frame])
        by_mjlab, *_ = run(observation, frame)
        by_beyondmimic, *shown = run(observation, frame + 1)
        np.testing.assert_array_equal(by_beyondmimic, by_mjlab)
        with torch.no_grad():
            next_frame = torch.tensor([min(frame + 1, policy.frames - 1)])
            one_late = policy(torch.from_numpy(observation), next_frame).numpy()
        differences.append(np.abs(one_late - by_mjlab).max())
    assert max(differences) > 0.1  # what the wrong convention would have cost


def test_a_policy_of_a_minute_has_at_most_five_megabytes(robot, tmp_path: Path):
    frames = 60 * 50
    policy = untrained_policy(robot, [load_motion("stand")], ["minute"], hidden=(512, 256, 128))
    policy.reference = policy.reference.at(np.arange(frames) % policy.frames)
    tables = feedforward_tables(robot, policy.reference.joint_pos, robot.joint_names)
    policy.actions = FeedforwardActions(tables)
    export_onnx(policy, tmp_path / "policy.onnx")
    assert policy.frames == frames
    assert 3e6 < (tmp_path / "policy.onnx").stat().st_size < 5e6


def test_inputs_have_mjlabs_names_and_fixed_shapes(exported):
    policy, path = exported
    inputs = {entry.name: (entry.shape, entry.type) for entry in onnxruntime.InferenceSession(str(path)).get_inputs()}
    assert inputs == {
        "obs": ([1, policy.observation_width], "tensor(float)"),
        "time_step": ([1, 1], "tensor(float)"),
    }
    assert onnx.load(path).opset_import[0].version == 18


def test_metadata_are_mjlabs_at_full_precision(exported, robot):
    policy, path = exported
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert metadata["joint_names"].split(",") == list(robot.joint_names)
    assert metadata["body_names"].split(",") == list(robot.description.tracked_links)
    assert metadata["anchor_body_name"] == "torso_link"
    assert metadata["command_names"] == "motion"
    assert metadata["run_path"] == "tests/run"
    terms = metadata["observation_names"].split(",")
    assert terms[0] == "command"
    assert ("base_lin_vel" in terms) == (policy.observation_width == 160)
    for key, values in (
        ("joint_stiffness", robot.kp),
        ("joint_damping", robot.kd),
        ("default_joint_pos", robot.default_joint_pos_rad),
        ("action_scale", robot.action_scale_rad),
    ):
        assert [float(text) for text in metadata[key].split(",")] == values.tolist(), key
    assert metadata["observation_terms_scale"] == ",".join(["1.0"] * len(terms))
    assert metadata["observation_terms_clip"] == ",".join(["-inf;inf"] * len(terms))
    assert metadata["observation_terms_history_length"] == ",".join(["0"] * len(terms))
    assert metadata["observation_terms_flatten_history_dim"] == ",".join(["1"] * len(terms))
    assert metadata["motions"] == "stand"
    assert metadata["first_frames"] == "0"


def test_a_file_that_differs_from_torch_is_an_error_and_is_not_left_behind(exported, tmp_path: Path, monkeypatch):
    policy, _ = exported
    whole = export._write

    def wrong(deployed, path):
        actions, layer = deployed.policy.actions, deployed.policy.network.layers[0]
        number = actions.target if isinstance(actions, ControllerActions) else layer.weight.data[0]
        number += 1e-3
        whole(deployed, path)
        number -= 1e-3

    monkeypatch.setattr(export, "_write", wrong)
    with pytest.raises(HaloidError) as failure:
        export_onnx(policy, tmp_path / "policy.onnx")
    assert_words(str(failure.value), "was not exported", "its actions differ from torch's by", "Nothing was written")
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_is_an_error_and_keeps_what_was_there(exported, tmp_path: Path, monkeypatch):
    policy, _ = exported

    def broken(*arguments, **options):
        raise RuntimeError("no such operator")

    monkeypatch.setattr(torch.onnx, "export", broken)
    (tmp_path / "policy.onnx").write_text("before")
    with pytest.raises(HaloidError, match="the export failed with «no such operator»"):
        export_onnx(policy, tmp_path / "policy.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["policy.onnx"]
    assert (tmp_path / "policy.onnx").read_text() == "before"


def test_names_with_commas_are_refused(robot, motion, tmp_path: Path):
    policy = untrained_policy(robot, [motion], ["left, then right"])
    with pytest.raises(HaloidError, match="«left, then right» has a comma"):
        export_onnx(policy, tmp_path / "policy.onnx")
    policy.facts = replace(policy.facts, motions=("left",))
    export_onnx(policy, tmp_path / "policy.onnx")
