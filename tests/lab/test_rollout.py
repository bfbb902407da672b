"""The lab robot's rollout: what acts when, shown by playing it again."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

from haloid.lab.aging import Aging
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.rollout import rollout_of_run
from haloid.lab.sensors import Sensors
from haloid.robots.load import load_spec, model_file_of
from haloid.robots.servos import Gains
from haloid.trajectories.kinematics import body_states
from haloid.trajectories.mujoco_states import qpos_of, qvel_of
from haloid.trajectories.rollout_file import read_rollout, write_rollout

ROBOT = LabRobot(loads=halo_setting(1), aging=Aging(seed=2, strength_fraction=0.02))
SHORT = Excitation(duration_s=3.0)


def replayed(robot: LabRobot, start: int, qpos: np.ndarray, qvel: np.ndarray, targets: list[np.ndarray]):
    """The state after one target for each simulation step, from row `start`."""
    model = robot.built.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos[start], qvel[start]
    for target in targets:
        data.ctrl[robot.built.actuator_of] = target
        mujoco.mj_step(model, data)
    return data.qpos, data.qvel


@pytest.mark.parametrize("delay_substeps", [0, 1])
def test_target_t_takes_the_state_of_row_t_to_row_t_plus_one(tmp_path: Path, delay_substeps: int):
    delay_s = delay_substeps * ROBOT.timestep_s
    _, truth = record(ROBOT, Sensors(noise_rad=1e-3, bias_rad=0.01, delay_s=delay_s), SHORT, seed=5)
    rollout = read_rollout(write_rollout(rollout_of_run(ROBOT, truth), tmp_path / "run"))
    assert rollout.delay_s == delay_s
    trajectory, substeps = rollout.trajectory, round(ROBOT.control_dt_s / ROBOT.timestep_s)
    qpos, qvel = qpos_of(ROBOT.built.model, trajectory), qvel_of(ROBOT.built.model, trajectory)
    target = trajectory.target_rad
    assert target is not None
    wrong = 0.0
    for row in range(1, len(rollout) - 1):
        sent = [target[row - 1]] * delay_substeps + [target[row]] * (substeps - delay_substeps)
        found_qpos, found_qvel = replayed(ROBOT, row, qpos, qvel, sent)
        np.testing.assert_allclose(found_qpos, qpos[row + 1], atol=1e-10)
        np.testing.assert_allclose(found_qvel, qvel[row + 1], atol=1e-8)
        late, _ = replayed(ROBOT, row, qpos, qvel, [target[row - 1]] * substeps)
        wrong = max(wrong, float(np.abs(late - qpos[row + 1]).max()))
    assert wrong > 1e-4  # the target of another row would have been noticed


def test_the_root_of_a_clamped_robot_is_where_its_clamped_foot_says():
    _, truth = record(ROBOT, Sensors(), SHORT, seed=5)
    trajectory = rollout_of_run(ROBOT, truth).trajectory
    free = load_spec("g1").compile()
    bodies = body_states(free, qpos_of(free, trajectory), qvel_of(free, trajectory))
    foot = bodies.row_of("left_ankle_roll_link")
    assert np.ptp(bodies.pos_w_m[:, foot], axis=0).max() < 1e-12
    assert np.abs(bodies.lin_vel_w_m_s[:, foot]).max() < 1e-9
    assert np.abs(bodies.ang_vel_w_rad_s[:, foot]).max() < 1e-9
    assert np.abs(bodies.lin_vel_w_m_s[:, 0]).max() > 1e-3


def test_a_fixed_base_has_no_root(pendulum: str):
    robot = LabRobot(robot=pendulum, clamp=None, gains=Gains({"hinge": 100.0}, {"hinge": 5.0}))
    _, truth = record(robot, Sensors(), SHORT)
    rollout = rollout_of_run(robot, truth)
    assert rollout.trajectory.root_pos_w_m is None
    assert rollout.clamp is None


def test_the_example_of_the_docs_runs(tmp_path: Path, monkeypatch, capsys):
    _, truth = record(ROBOT, Sensors(), SHORT, seed=5)
    write_rollout(rollout_of_run(ROBOT, truth), tmp_path / "out" / "loaded.rollout")
    text = (Path(__file__).parents[2] / "docs" / "rollouts.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g1.xml").write_text(model_file_of("g1").read_text())
    scope: dict[str, object] = {}
    exec(example, scope)
    assert capsys.readouterr().out.startswith("g1: 150 rows at 50 Hz, at most 0.")
