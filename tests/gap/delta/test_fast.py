"""The fast way recovers a delta action that is known."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mjbatch")

import torch
from tests.gap.delta.known_gap import known_network, recorded_with

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.fast import FastConfig, fit_fast
from haloid.gap.delta.learn import corrected_columns
from haloid.gap.delta.linearise import linearise
from haloid.gap.delta.networks import JointTerms, joint_terms
from haloid.gap.delta.refine import refine
from haloid.gap.replays.data import RealData
from haloid.gap.replays.open_loop import open_loop
from haloid.gap.replays.simulator import Simulator, States
from haloid.skills.task.robot import TrackedRobot


@pytest.fixture(scope="module")
def truth(robot) -> JointTerms:
    return known_network(robot)


@pytest.fixture(scope="module")
def data(robot, truth) -> RealData:
    return recorded_with(truth, robot)


@pytest.fixture(scope="module")
def fitted(robot, data) -> JointTerms:
    config = FastConfig(transitions=400, horizon_s=0.0, penalty=1e-6, ridge=1e-8, threads=1)
    return fit_fast(robot, data, corrected_columns(robot, "all"), config)


def error_mm(robot: TrackedRobot, data: RealData, network: JointTerms | None) -> float:
    correction = None if network is None else DeltaAction(network, robot.default_joint_pos_rad)
    found = open_loop(robot, data, {"method": correction}, windows=16, lengths_s=(0.25,), threads=1)
    return found[0].mean("e_g_mpjpe_mm")


def test_a_known_delta_action_is_recovered_and_explains_other_clips(robot, truth, fitted):
    others = recorded_with(truth, robot, seed=9)
    assert error_mm(robot, others, truth) < 1e-3
    assert error_mm(robot, others, fitted) < 0.1 * error_mm(robot, others, None)


def test_columns_are_those_of_the_simulator(robot, data):
    rows, knee = np.array([3, 40]), robot.joint_names.index("left_knee_joint")
    about = linearise(robot, data, rows, joints=np.array([knee]), threads=1)
    states, told = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows]), data.target_rad[rows].copy()
    simulator = Simulator(robot, 2, threads=1)
    base = simulator.after(states, told)[1]
    told[:, knee] += 1e-3
    central = (simulator.after(states, told)[1] - base) / 1e-3
    assert about.b[:, robot.model.nv :, 0] == pytest.approx(central, rel=0.05, abs=0.05)


def test_refinement_mends_what_single_steps_left(robot, data, truth, fitted):
    wrong = JointTerms(**truth.configuration)
    with torch.no_grad():
        wrong.coefficients.copy_(0.5 * truth.coefficients)
    before = error_mm(robot, data, wrong)
    refine(wrong, robot, data, np.arange(29), windows=12, passes=1, horizon_s=1.0, ridge=1e-6, seed=0, threads=1)
    assert error_mm(robot, data, wrong) < 0.6 * before


def test_ankles_alone_leaves_the_other_joints_as_they_are(robot):
    ankles = corrected_columns(robot, "ankles")
    assert [robot.joint_names[column] for column in ankles] == [
        f"{side}_ankle_{axis}_joint" for side in ("left", "right") for axis in ("pitch", "roll")
    ]
    gap = known_network(robot)
    with torch.no_grad():
        gap.coefficients[np.setdiff1d(np.arange(29), ankles)] = 0.0
    config = FastConfig(transitions=200, horizon_s=0.0, penalty=1e-6, ridge=1e-8, threads=1)
    network = fit_fast(robot, recorded_with(gap, robot), ankles, config)
    touched = network.coefficients.detach().abs().sum(dim=1).numpy() > 0
    assert np.flatnonzero(touched).tolist() == ankles.tolist()


def test_too_little_data_is_refused(robot, data):
    few = RealData(
        **{name: getattr(data, name)[:50] for name in data.__dataclass_fields__ if name != "sources"},
        sources=data.sources,
    )
    with pytest.raises(HaloidError, match="the rollouts hold 48 steps before falls; expected at least 100"):
        fit_fast(robot, few, np.arange(29), FastConfig())


def test_no_coefficients_no_correction(robot, data):
    states = States(data.qpos[:5], data.qvel[:5], data.held_rad[:5])
    delta = DeltaAction(joint_terms(robot), robot.default_joint_pos_rad).delta_rad(states, data.target_rad[:5])
    assert not delta.any()
