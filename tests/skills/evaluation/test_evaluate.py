"""Evaluation end to end with the real ONNX file: a policy that must succeed and one that must fall."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")
onnx = pytest.importorskip("onnx")

from tests.recordings.words import assert_words  # noqa: E402
from tests.skills.small_policies import untrained_policy  # noqa: E402
from tests.skills.task.test_reference import cut  # noqa: E402

from haloid.errors import HaloidError  # noqa: E402
from haloid.motions.load import load_motion  # noqa: E402
from haloid.skills.evaluation.evaluate import Evaluation, EvaluationConfig, evaluate  # noqa: E402
from haloid.skills.evaluation.runs import driven_by  # noqa: E402
from haloid.skills.policies.deployed import DeployedPolicy  # noqa: E402
from haloid.skills.policies.export import export_onnx  # noqa: E402
from haloid.trajectories.motion import Motion  # noqa: E402

CONFIG = EvaluationConfig(starts=6, threads=1, seed=5)


def beginning(motion: Motion, frames: int) -> Motion:
    """Its first frames: enough to see, fewer to wait for."""
    return cut(motion, 0, frames)


@pytest.fixture(scope="module")
def squat() -> Motion:
    return beginning(load_motion("squat"), 120)


@pytest.fixture(scope="module")
def controlled(robot, squat, tmp_path_factory) -> Path:
    """The model-based controller alone: its network outputs zero."""
    path = tmp_path_factory.mktemp("controlled") / "policy.onnx"
    export_onnx(untrained_policy(robot, [squat], ["squat"], "controller"), path)
    return path


@pytest.fixture(scope="module")
def evaluation(robot, controlled) -> Evaluation:
    return evaluate(DeployedPolicy(controlled), robot, CONFIG)


def test_a_controller_follows_its_squat_within_centimetres(evaluation):
    assert evaluation.successes == CONFIG.starts
    assert evaluation.survival == 1.0
    error = evaluation.error("e_g_mpjpe_mm")
    assert error is not None
    assert 1 < error.mean < 30
    assert error == evaluation.error("e_g_mpjpe_mm", "successful")
    assert 0.05 < evaluation.torque_peak_use.max() <= 1.0
    assert (evaluation.torque_rms_use <= evaluation.torque_peak_use).all()
    assert 0.3 < evaluation.range_peak_use.max() < 1.0


def test_the_books_are_the_runs_own(evaluation, squat):
    """Every number can be had from the recorded runs, and rows stand beside the frames they belong to."""
    run, metrics = evaluation.runs[2], evaluation.metrics[2]
    assert len(run.poses) == len(squat.joint_pos_rad)
    bodies = [squat.body_names.index(name) for name in evaluation.description.tracked_links]
    distance = np.linalg.norm(run.poses.body_pos_w - squat.body_pos_w_m[:, bodies], axis=-1)
    assert metrics.e_g_mpjpe_mm == pytest.approx(1e3 * distance[1:].mean(), rel=1e-4)
    np.testing.assert_allclose(run.qpos[:, :3], run.poses.body_pos_w[:, 0], atol=1e-5)


def test_a_seed_repeats_its_runs_and_another_does_not(robot, controlled, evaluation):
    policy = DeployedPolicy(controlled)
    again = evaluate(policy, robot, CONFIG)
    np.testing.assert_array_equal(again.runs[1].qpos, evaluation.runs[1].qpos)
    other = evaluate(policy, robot, replace(CONFIG, seed=6))
    assert np.abs(other.runs[1].qpos - evaluation.runs[1].qpos).max() > 1e-3


def test_noise_and_disturbance_off_make_all_runs_the_same(robot, controlled, squat):
    quiet = evaluate(DeployedPolicy(controlled), robot, replace(CONFIG, starts=2, noise=0.0, disturbance=0.0))
    np.testing.assert_array_equal(quiet.runs[0].qpos, quiet.runs[1].qpos)
    error = quiet.error("e_g_mpjpe_mm")
    assert error is not None
    assert error.mean < 15
    joints = quiet.runs[0].poses.joint_pos[1:-1]
    late = {lag: np.abs(joints - squat.joint_pos_rad[1 + lag : len(joints) + 1 + lag]).mean() for lag in (-1, 0, 1)}
    assert min(late, key=lambda lag: late[lag]) == 0, "rows stand beside the frames they belong to"


def test_a_policy_without_actions_falls_and_the_fall_is_told_apart(robot, tmp_path: Path):
    """The default pose with soft servos cannot hold a robot that is kicked every second or two."""
    path = tmp_path / "policy.onnx"
    export_onnx(untrained_policy(robot, [load_motion("stand")], ["stand"]), path)
    found = evaluate(DeployedPolicy(path), robot, replace(CONFIG, push=1.0))
    assert found.successes == 0
    assert 0 < found.survival < 1
    everyone = found.error("e_g_mpjpe_mm")
    assert everyone is not None
    assert everyone.runs == CONFIG.starts
    assert found.error("e_g_mpjpe_mm", "successful") is None
    assert found.error("e_epos_m") is None
    run = found.runs[0]
    assert run.failed_row is not None
    assert found.body_error_m(run)[run.failed_row] > 0.5
    assert (found.body_error_m(run)[: run.failed_row] <= 0.5).all()
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert document["successes"] == 0
    assert document["by_run"][0]["e_epos_m"] is None


def test_a_simulation_that_diverges_is_a_failure_and_not_the_end(robot, motion, tmp_path: Path):
    """A network of chance that hits the joints' stops at a hundred radians a second until MuJoCo gives up."""
    path = tmp_path / "policy.onnx"
    export_onnx(untrained_policy(robot, [beginning(motion, 40)], ["lively"], seed=8), path)
    found = evaluate(DeployedPolicy(path), robot, replace(CONFIG, starts=2, noise=0.0))
    assert found.successes == 0
    json.dumps(found.document(), allow_nan=False)


def test_runs_from_random_frames_end_with_the_motion(robot, controlled, squat):
    found = evaluate(DeployedPolicy(controlled), robot, replace(CONFIG, start_from="random"))
    assert len({run.first_frame for run in found.runs}) > 1
    for run in found.runs:
        assert run.first_frame + len(run.poses) == len(squat.joint_pos_rad)
    assert found.successes == CONFIG.starts


def test_one_of_several_motions_is_chosen_by_name(robot, squat, tmp_path: Path):
    stand, path = beginning(load_motion("stand"), 40), tmp_path / "policy.onnx"
    export_onnx(untrained_policy(robot, [stand, squat], ["stand", "squat"]), path)
    policy = DeployedPolicy(path)
    reference = policy.reference(robot, "squat")
    assert len(reference) == len(squat.joint_pos_rad)
    np.testing.assert_allclose(reference.frames.joint_pos, squat.joint_pos_rad, atol=1e-6)
    with pytest.raises(HaloidError, match=r"none was chosen\. Choose one of its motions: stand, squat"):
        evaluate(policy, robot, CONFIG)
    with pytest.raises(HaloidError, match="it does not follow «jump»"):
        evaluate(policy, robot, replace(CONFIG, motion="jump"))
    found = evaluate(policy, robot, replace(CONFIG, starts=1, motion="stand"))
    assert len(found.runs[0].poses) == 40


def test_a_file_in_another_order_of_joints_drives_the_same_robot(robot, motion, tmp_path: Path):
    """The network's columns and rows, the clip and the metadata are all put in Isaac's manner of order: by name."""
    policy = untrained_policy(robot, [beginning(motion, 25)], ["lively"], seed=8)
    policy.network.std += 3.0  # calm enough that rounding does not grow into another fall
    export_onnx(policy, tmp_path / "policy.onnx")
    order = np.random.default_rng(2).permutation(len(robot.joint_names))
    columns, facts, network = np.arange(policy.observation_width), policy.facts, policy.network
    for start in (0, 29, 58 + 9, 58 + 9 + 29, 58 + 9 + 58):  # command's two halves, joint_pos, joint_vel, actions
        columns[start : start + 29] = start + order
    parameters = list(network.parameters())
    parameters[0].data = parameters[0].data[:, columns]
    parameters[-2].data, parameters[-1].data = parameters[-2].data[order], parameters[-1].data[order]
    network.mean, network.std = network.mean[columns], network.std[columns]
    names = ("joint_names", "kp", "kd", "default_joint_pos_rad", "action_scale_rad")
    policy.facts = replace(facts, **{name: tuple(np.array(getattr(facts, name))[order].tolist()) for name in names})
    clip = policy.reference
    policy.reference = replace(clip, joint_pos=clip.joint_pos[:, order], joint_vel=clip.joint_vel[:, order])
    export_onnx(policy, tmp_path / "permuted.onnx")
    quiet = replace(CONFIG, starts=2, noise=0.0)
    first = evaluate(DeployedPolicy(tmp_path / "policy.onnx"), robot, quiet)
    second = evaluate(DeployedPolicy(tmp_path / "permuted.onnx"), robot, quiet)
    np.testing.assert_allclose(second.runs[0].qpos, first.runs[0].qpos, atol=1e-3)
    assert np.ptp(first.runs[0].qpos[:, 7:], axis=0).min() > 0.01, "all joints move, so that a mix-up would show"


def test_the_files_gains_drive_the_robot(robot, controlled, tmp_path: Path):
    model = onnx.load(controlled)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    metadata["joint_stiffness"] = ",".join(str(2 * float(text)) for text in metadata["joint_stiffness"].split(","))
    onnx.helper.set_model_props(model, metadata)
    onnx.save(model, tmp_path / "stiff.onnx")
    stiff = driven_by(DeployedPolicy(tmp_path / "stiff.onnx"), robot)
    np.testing.assert_allclose(stiff.kp, 2 * robot.kp)
    np.testing.assert_allclose(stiff.model.actuator_gainprm[:, 0], 2 * robot.model.actuator_gainprm[:, 0])
    np.testing.assert_allclose(stiff.model.actuator_biasprm[:, 1], 2 * robot.model.actuator_biasprm[:, 1])
    assert robot.model.actuator_gainprm[0, 0] == robot.kp[0]
    metadata["joint_names"] = metadata["joint_names"].replace("left_knee_joint", "left_knie_joint")
    onnx.helper.set_model_props(model, metadata)
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(HaloidError, match="they differ in left_knee_joint, left_knie_joint"):
        driven_by(DeployedPolicy(tmp_path / "other.onnx"), robot)


def test_files_that_are_no_policies_are_refused(tmp_path: Path):
    with pytest.raises(HaloidError, match="cannot be read: the system says «no such file"):
        DeployedPolicy(tmp_path / "absent.onnx")
    (tmp_path / "text.onnx").write_text("this is no network at all")
    with pytest.raises(HaloidError, match="its content is not ONNX"):
        DeployedPolicy(tmp_path / "text.onnx")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["obs"], ["actions"])],
        "other",
        [value("obs", 1, [1, 3])],
        [value("actions", 1, [1, 3])],
    )
    onnx.save(onnx.helper.make_model(graph), tmp_path / "other.onnx")
    with pytest.raises(HaloidError) as failure:
        DeployedPolicy(tmp_path / "other.onnx")
    assert_words(str(failure.value), "it has no time_step, joint_pos", "Expected the ONNX file that haloid export")
