from dataclasses import replace

import numpy as np
import pytest

from haloid.excite.default import default_reference
from haloid.excite.plan import PlanError, plan_of, read_plan
from haloid.lab.record import record
from haloid.lab.sensors import Sensors
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording


@pytest.fixture
def written(scenario, tmp_path):
    reference = default_reference(scenario, 0)
    plan = plan_of(scenario.nominal, reference, "plan", "a test")
    return reference, write_recording(plan, tmp_path / "plan")


def test_a_plan_is_a_recording(scenario, written):
    reference, file = written
    plan = read_recording(file)
    assert (plan.payload, plan.note) == ("none", "plan, not yet played: a test")
    np.testing.assert_array_equal(plan.q_rad, reference.q_rad)
    np.testing.assert_array_equal(plan.kp, scenario.nominal.built.kp)


def test_a_plan_is_played_as_it_was_designed(scenario, written):
    reference, file = written
    back = read_plan(file, scenario.heaviest)
    for field in ("time_s", "q_rad", "dq_rad_s", "ddq_rad_s2"):
        np.testing.assert_array_equal(getattr(back, field), getattr(reference, field))
    _, truth = record(scenario.heaviest, Sensors(), back)
    assert truth.playback.tracking_max_rad.max() < 0.1


def test_its_targets_make_the_unloaded_robot_follow(scenario, written):
    reference, file = written
    _, truth = record(scenario.nominal, Sensors(), reference)
    np.testing.assert_allclose(read_recording(file).target_rad, truth.playback.target_rad)


def test_a_plain_recording_is_no_plan(scenario, tmp_path):
    run, _ = record(scenario.nominal, Sensors(), default_reference(scenario, 0))
    file = write_recording(run, tmp_path / "run")
    with pytest.raises(PlanError, match=r"run.csv is not a plan: it has no dq: columns; expected .*`haloid excite`"):
        read_plan(file, scenario.nominal)


def test_another_control_period_is_refused(scenario, written):
    with pytest.raises(PlanError, match=r"has a row every 0.02 s; expected 0.01 s, the control period"):
        read_plan(written[1], replace(scenario.nominal, control_dt_s=0.01))
