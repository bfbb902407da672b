"""The speed of training at a small size: few robots here and there, a short motion, two iterations."""

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

from tests.skills.small_training import short_stand

from haloid.bench.skills import throughput
from haloid.bench.skills.throughput import PARTS, Throughput
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.ppo import cpu_ppo


@pytest.mark.slow
def test_the_loop_is_split_and_compared_with_mjlab(monkeypatch, tmp_path: Path):
    pytest.importorskip("mjlab")
    monkeypatch.setattr(throughput, "MOTION", short_stand(tmp_path))
    monkeypatch.setattr(throughput, "TaskConfig", partial(TaskConfig, robots=16, threads=1))
    said: list[str] = []
    outcome = throughput.run(Throughput(iterations=2, mjlab_robots=2, mjlab_steps=2), said.append)
    assert said == [
        "training",
        "training, iteration 1 of 2",
        "training, iteration 2 of 2",
        "building mjlab's environment",
    ]
    headline, seconds = outcome.headline, {row["part"]: row["seconds"] for row in outcome.rows}
    assert list(seconds) == ["physics", "terms", "policy", "update", "trial"]
    assert all(value > 0 for value in seconds.values())
    whole_s, steps = sum(seconds.values()), 2 * cpu_ppo().steps * 16
    assert sum(headline[f"{part}_share"] for part in PARTS) == pytest.approx(1.0)
    assert headline["physics_share"] == pytest.approx(seconds["physics"] / whole_s)
    assert headline["env_steps_per_second"] == pytest.approx(steps / whole_s)
    mjlab = headline["mjlab_env_steps_per_second"]
    assert mjlab > 0
    assert headline["times_faster_than_mjlab_cpu"] == pytest.approx(headline["env_steps_per_second"] / mjlab)
    equal = headline["equal_physics_env_steps_per_second"]
    assert headline["times_faster_equal_physics"] == pytest.approx(equal / mjlab)
    rows = outcome.tables[0].rows
    words = ["whole loop, as shipped", "environment alone, mjlab's physics", "mjlab's environment alone, 2 robots"]
    assert [row[0] for row in rows] == [*PARTS.values(), *words]
    assert rows[-3][1:] == [f"{1e6 * whole_s / steps:.0f}", "100 %"]
    assert rows[-2][1:] == [f"{1e6 / equal:.0f}", ""]
    assert rows[-1][1:] == [f"{1e6 / mjlab:.0f}", ""]
    assert outcome.tables[0].note == f"{steps:,} steps; mjlab's in the same run."
    assert [(target.found, target.limit, target.at_least) for target in outcome.targets] == [
        (headline["env_steps_per_second"], 7000, True),
        (headline["times_faster_than_mjlab_cpu"], 15, True),
        (headline["times_faster_equal_physics"], 8, True),
    ]


@pytest.mark.slow
def test_equal_physics_are_mjlabs_own():
    """The model that this package steps and the one that mjlab compiles for its scene have the same physics."""
    pytest.importorskip("mjlab")
    import mjlab.tasks  # noqa: F401
    import numpy as np
    from mjlab.scene import Scene

    from haloid.skills.mjlab_backend.robot import robot_with_mjlabs_physics
    from haloid.skills.mjlab_backend.task import tracking_env_cfg

    cfg = tracking_env_cfg(motion_file="", state_estimation=False)
    ours, theirs = robot_with_mjlabs_physics(cfg).model, Scene(cfg.scene, device="cpu").compile()
    cfg.sim.mujoco.apply(theirs)
    options = ("timestep", "tolerance", "ls_tolerance", "iterations", "ls_iterations", "solver", "cone", "integrator")
    for name in (*options, "disableflags", "jacobian"):
        assert getattr(ours.opt, name) == getattr(theirs.opt, name), name
    for name in ("nv", "nu", "ngeom", "nexclude"):
        assert getattr(ours, name) == getattr(theirs, name), name
    np.testing.assert_allclose(ours.body_mass[1:], theirs.body_mass[-30:])
    for name in ("geom_contype", "geom_conaffinity", "geom_condim", "geom_type"):
        assert sorted(getattr(ours, name)) == sorted(getattr(theirs, name)), name
