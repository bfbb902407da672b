"""Stand-ins differ from the model in the ways that their modules say, and in no other."""

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjbatch")

from haloid.errors import HaloidError
from haloid.gap.replays.simulator import Simulator, States
from haloid.gap.standins.linkage import Linkage, ankle_linkage
from haloid.gap.standins.named import STAND_INS, stand_in
from haloid.skills.evaluation.genesis import GenesisSimulation
from haloid.skills.task.robot import TrackedRobot, tracked_robot
from haloid.skills.task.simulation import Simulation


def standing(robot: TrackedRobot, number: int = 1) -> States:
    qpos = np.zeros((number, robot.model.nq))
    qpos[:, 2], qpos[:, 3], qpos[:, 7:] = 1.2, 1.0, robot.default_joint_pos_rad  # in the air: no contact
    return States(qpos, np.zeros((number, robot.model.nv)), qpos[:, 7:].copy())


def after(robot: TrackedRobot, states: States, target_rad: np.ndarray) -> np.ndarray:
    return Simulator(robot, len(states), threads=1).after(states, target_rad)[1]


def test_linkage_is_the_servo_at_the_zero_pose_and_couples_the_axes_elsewhere():
    linkage = ankle_linkage(("left_ankle_pitch_joint", "left_ankle_roll_joint", "knee"))
    small = np.array([[1e-4, 0.0, 0.3]])
    assert linkage.servo_target_rad(small, np.zeros((1, 3))) == pytest.approx(small, rel=1e-3)
    q = np.array([[0.4, 0.2, 0.0]])
    push = linkage.servo_target_rad(q + np.array([0.05, 0.0, 0.0]), q) - q
    assert push[0, 0] < 0.045  # less leverage
    assert abs(push[0, 1]) > 0.005  # roll is pushed too
    assert linkage.servo_target_rad(q, q) == pytest.approx(q)  # nothing is asked for, nothing is pushed


def test_linkage_without_warp_is_the_servo():
    linkage = Linkage(np.array([0]), np.array([1]), warp_per_rad=0.0)
    q, target = np.array([[0.3, -0.2]]), np.array([[0.5, 0.1]])
    assert linkage.servo_target_rad(target, q) == pytest.approx(target)


def test_twin_hears_late_and_sticks():
    model, robot = tracked_robot(), stand_in("twin")
    states = standing(model)
    knee = model.joint_names.index("left_knee_joint")
    moved, small = states.held_rad.copy(), states.held_rad.copy()
    moved[0, knee] += 0.3
    small[0, knee] += 0.005
    nominal, real = after(model, states, moved)[0, 6 + knee], after(robot, states, moved)[0, 6 + knee]
    assert 0 < real < 0.6 * nominal  # 12 ms of 20 pass before it hears of it
    assert abs(after(robot, states, small)[0, 6 + knee]) < 0.3 * abs(after(model, states, small)[0, 6 + knee])


def test_worn_is_heavier_and_its_servos_have_other_strengths():
    model, robot = tracked_robot(), stand_in("worn")
    assert robot.model.opt.timestep == model.model.opt.timestep
    assert robot.model.body("torso_link").mass[0] > model.model.body("torso_link").mass[0] + 1.5
    states = standing(model)
    told = states.held_rad + 0.1
    assert np.abs(after(robot, states, told) - after(model, states, told)).max() > 0.01


def test_the_same_stand_in_twice_is_the_same_robot():
    states = standing(tracked_robot(), 3)
    told = states.held_rad + 0.1
    first, again = (after(stand_in("twin"), states, told) for _ in range(2))
    assert np.array_equal(first, again)
    assert np.array_equal(first[0], first[2])


class PlayedByMujoco:
    """Answers as Genesis's process does, with MuJoCo's steps."""

    simulator = "mujoco in another place"

    def __init__(self, robot: TrackedRobot) -> None:
        self._model, self._data = robot.model, mujoco.MjData(robot.model)

    def step(self, target_rad: np.ndarray, steps: int, put: tuple[np.ndarray, np.ndarray] | None = None):
        data = self._data
        if put is not None:
            data.qpos[:], data.qvel[:] = put[0][0], put[1][0]
        data.ctrl[:] = target_rad[0]
        mujoco.mj_step(self._model, data, steps)
        return data.qpos[None].copy(), data.qvel[None].copy()


def test_the_twins_motors_are_the_same_in_a_simulator_elsewhere():
    robot = stand_in("genesis-twin")
    here, there = Simulation(robot, 1, 1), GenesisSimulation(robot, 1, 1, PlayedByMujoco(robot))
    states, everyone, told = standing(robot), np.arange(1), standing(robot).held_rad.copy()
    for simulation in (here, there):
        simulation.put(everyone, states.qpos, states.qvel)
    for step in range(5):
        told += 0.05 * np.cos(step + np.arange(told.shape[1]))
        for simulation in (here, there):
            simulation.drive([(told.copy(), 10)])
    assert np.abs(here.qvel).max() > 0.1
    assert np.array(there.qpos) == pytest.approx(np.array(here.qpos), abs=1e-7)


def test_an_unknown_stand_in_is_refused():
    with pytest.raises(HaloidError, match=f"no stand-in «foo». Choose one of: {', '.join(STAND_INS)}"):
        stand_in("foo")
