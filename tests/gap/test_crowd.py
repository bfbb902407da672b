"""The crowd is MuJoCo, robot by robot; delays taken out of MuJoCo are those of its actuators."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.gap.tiny_arm import JOINTS, gains, tiny_dataset, write_arm

from haloid.gap.crowd import Base, BaseModels
from haloid.gap.dataset.twin import replicas
from haloid.identify.replay import replay
from haloid.robots.patch import Patch, write_patch


def test_it_replays_as_replay_does(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=1, rows=50)
    pair = known.pairs[0]
    (played,) = replay(known.base.robot, [pair.recording(known.base)], servos="recording")
    np.testing.assert_allclose(played.played_rad, pair.sim.q_rad, atol=1e-9)


def test_a_payload_is_felt(tmp_path: Path):
    models = BaseModels(Base(str(write_arm(tmp_path)), None, JOINTS, gains()))
    target = np.zeros((2, 80, 2))
    light, heavy = replicas(models, target, np.array([0.0, 1.0]), 50.0, target[:, 0], target[:, 0])
    torque = 9.81 * np.array([0.15 + 0.5 * 0.4, 0.5 * 0.1])
    np.testing.assert_allclose(light.q_rad[-1] * [60, 40], torque, rtol=0.05)
    np.testing.assert_allclose((heavy.q_rad[-1] - light.q_rad[-1]) * [60, 40], 9.81 * np.array([0.4, 0.1]), rtol=0.1)


def test_a_calibrated_model_is_late_as_its_servos_are(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=1, rows=50)
    pair, robot = known.pairs[0], known.base.robot
    servo = {"kp": 50.0, "kd": 3.0, "damping": 0.1, "frictionloss": 0.05, "armature": 0.02, "effort": 20.0}
    joints = {name: servo | {"delay": delay} for name, delay in zip(JOINTS, (0.012, 0.031), strict=True)}
    write_patch(Patch(robot, joints=joints, servos="identified"), tmp_path / "patch.json")
    (played,) = replay(tmp_path / "patch.json", [pair.recording(known.base)])
    models = BaseModels(replace(known.base, model=str(tmp_path / "patch.json")))
    assert models.delay_s.tolist() == [0.012, 0.031]
    first = (pair.real.q_rad[:1], pair.real.dq_rad_s[:1])
    (found,) = replicas(models, pair.target_rad[None], np.zeros(1), pair.rate_hz, *first)
    np.testing.assert_allclose(found.q_rad, played.played_rad, atol=2e-4)
    assert np.abs(found.q_rad - pair.sim.q_rad).max() > 0.02
