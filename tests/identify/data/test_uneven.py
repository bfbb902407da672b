"""A loop that runs unevenly, 8 to 13 ms a row: its stamps are the truth, and nothing is lost."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.identify.arm import blank, heavier_hand, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.finite_difference import FiniteDifferenceEngine
from haloid.errors import HaloidError
from haloid.identify.data.dataset import build_simulator, prepare
from haloid.identify.data.usable import motion_of
from haloid.identify.inspection.inspect import inspect_recording
from haloid.identify.problem.unknowns import choose_columns
from haloid.identify.replay import replay
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.recordings.recording import Recording
from haloid.recordings.steadiness import is_steady
from haloid.report.inspection import facts
from haloid.robots.inertia import write_links
from haloid.robots.load import load_spec

TRUE_STEP_S = 0.001


def uneven_run(
    folder: Path, noise_rad: float = 0.0, rows: int = 500, shortest: int = 8, longest: int = 13
) -> Recording:
    """The arm with a heavier hand, stepped by plain `mj_step` at 1 ms and read out whenever the loop comes around."""
    rng = np.random.default_rng(0)
    recording = blank(write_arm(folder), rows=rows)
    stamps_s = np.r_[0.0, np.cumsum(rng.integers(shortest, longest + 1, size=rows - 1))] * TRUE_STEP_S
    assert recording.kp is not None and recording.kd is not None
    simulator = build_simulator(recording, TRUE_STEP_S)
    truth = heavier_hand(simulator.nominal)
    model = simulator.with_physics(truth)
    simulator.set_gains(model, truth, recording.kp, recording.kd, torque=False)
    data = mujoco.MjData(model)
    wave = np.sin(np.outer(stamps_s, [3.0, 4.1, 5.3])) + 0.4 * np.sin(np.outer(stamps_s, [9.0, 11.0, 8.0]))
    target_rad, q_rad = 0.5 * wave, np.zeros((rows, 3))
    for row, steps in enumerate(np.diff(stamps_s, append=stamps_s[-1] + 0.01) / TRUE_STEP_S):
        q_rad[row] = data.qpos
        data.ctrl[:] = target_rad[row]
        for _ in range(round(steps)):
            mujoco.mj_step(model, data)
    q_rad += noise_rad * rng.normal(size=q_rad.shape)
    return replace(recording, name="uneven", time_s=stamps_s, q_rad=q_rad, target_rad=target_rad)


def test_late_stamps_of_a_steady_loop_are_told_from_an_uneven_loop():
    rng = np.random.default_rng(0)
    late_s = 0.01 * np.arange(500) + 0.002 * rng.random(500)
    assert is_steady(np.diff(late_s), 0.01)
    assert not is_steady(rng.uniform(0.008, 0.013, 500), 0.0105)
    one_hiccup_s = np.full(500, 0.01)
    one_hiccup_s[200] = 0.013
    assert not is_steady(one_hiccup_s, 0.01)


def test_the_payload_is_found_at_the_true_stamps(tmp_path):
    run = uneven_run(tmp_path, noise_rad=2e-4)
    found = identify([], [run], Settings(("hand",), stages="one", timestep_s=0.001, fragments=10))
    nominal = found.nominal.link_index("hand")
    truth = heavier_hand(found.nominal)
    mass, com = found.physics.mass[nominal], found.physics.com[nominal]
    std = dict(zip((column.name for column in found.stage2.unknowns.columns), found.stage2.std, strict=True))
    assert abs(mass - truth.mass[nominal]) < 4 * std["hand.mass"] < 0.05
    for axis, name in enumerate("xyz"):
        assert abs(com[axis] - truth.com[nominal, axis]) < 4 * std[f"hand.com.{name}"]
    np.testing.assert_allclose(found.stage2.noise_rad, 2e-4, rtol=0.25)


def test_a_longer_timestep_misses_no_more_than_on_even_rows(tmp_path):
    """At 5 ms rows are between steps: the prediction is interpolated, the commands averaged."""
    missed = {}
    for name, bounds in (("uneven", (8, 13)), ("even", (10, 10))):
        run = uneven_run(tmp_path, shortest=bounds[0], longest=bounds[1])
        found = identify([], [run], Settings(("hand",), stages="one", timestep_s=0.005, fragments=10))
        assert found.stage2.noise_rad is not None
        missed[name] = np.linalg.norm(found.stage2.noise_rad)
    assert missed["uneven"] < 1.5 * missed["even"]


def test_the_engines_agree_on_uneven_rows(tmp_path):
    run = uneven_run(tmp_path, rows=200)
    simulator = simulator_of(run)
    dataset = prepare([run], simulator, rows=6, fragments_per_recording=3, held_out_share=0.0)
    physics = replace(heavier_hand(simulator.nominal), delay=0.0031, bias=np.array([0.01, -0.02, 0.0]))
    columns = choose_columns(physics, ("hand.mass", "fore.com", "*.damping", "*.bias", "elbow.kp", "delay"))
    q0, v0 = dataset.states[:, :3], dataset.states[:, 3:]
    one = AnalyticEngine(simulator).jacobian(physics, columns, dataset.fragments, q0, v0)
    two = FiniteDifferenceEngine(simulator).jacobian(physics, columns, dataset.fragments, q0, v0)
    np.testing.assert_allclose(one.readings, two.readings, atol=1e-12)
    np.testing.assert_allclose(one.by_parameter, two.by_parameter, atol=2e-6)
    np.testing.assert_allclose(one.by_state, two.by_state, atol=2e-6)


def test_velocities_are_smoothed_at_the_true_stamps(tmp_path):
    run = uneven_run(tmp_path)
    motion = motion_of(replace(run, q_rad=np.outer(run.time_s, [1.0, -2.0, 0.5]) ** 2), simulator_of(run))
    order = [run.joint_names.index(name) for name in simulator_of(run).dof_joints]
    expected = 2 * run.time_s[:, None] * np.array([1.0, 4.0, 0.25])[order]
    np.testing.assert_allclose(motion.velocity_rad_s, expected, atol=1e-9)


def test_inspection_tells_of_the_stamps(tmp_path):
    inspection = inspect_recording(uneven_run(tmp_path, noise_rad=2e-4))
    assert "500 rows 8 to 13 ms apart, their times taken as given, no gaps" in dict(facts(inspection))["length"]
    assert inspection.precision is not None and inspection.precision.links[0].mass_kg == pytest.approx(2.0, rel=0.01)


def test_a_whole_recording_is_replayed_at_its_stamps(tmp_path):
    """On the model that made it, at its own step; taken for even rows it would be off by far more."""
    run = uneven_run(tmp_path)
    simulator = build_simulator(run, TRUE_STEP_S)
    spec = load_spec(run.robot)
    spec.option.timestep, spec.option.integrator = TRUE_STEP_S, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    hand = heavier_hand(simulator.nominal).link("hand")
    write_links(spec, {"hand": hand})
    (found,) = replay(spec, [run], "recording")
    assert found.max_rad.max() < 2e-3  # it starts at a smoothed velocity, not quite at rest


def test_gains_that_change_need_even_rows(tmp_path):
    run = uneven_run(tmp_path, rows=200)
    assert run.kp is not None
    changing = replace(run, kp=run.kp * np.linspace(1, 1.2, 200)[:, None])
    with pytest.raises(HaloidError, match=r"change from row to row.*haloid convert --rate"):
        prepare([changing], simulator_of(run), rows=6, fragments_per_recording=3, held_out_share=0.0)
