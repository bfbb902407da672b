"""Metrics against numbers worked out by hand."""

import numpy as np
import pytest

from haloid.skills.evaluation.metrics import ERRORS, failure_row, run_metrics, spread
from haloid.skills.task.reference import Poses


def poses(body_pos_w, root_yaw_rad=None, root_vel_w=None) -> Poses:
    """(rows, bodies, 3) positions, and what is said of the root."""
    positions = np.array(body_pos_w, dtype=float)
    rows, bodies = positions.shape[:2]
    yaw = np.zeros(rows) if root_yaw_rad is None else np.array(root_yaw_rad)
    quat = np.zeros((rows, bodies, 4))
    quat[..., 0], quat[..., 3] = np.cos(yaw / 2)[:, None], np.sin(yaw / 2)[:, None]
    velocity = np.zeros((rows, bodies, 3))
    if root_vel_w is not None:
        velocity[:, 0] = root_vel_w
    return Poses(np.zeros((rows, 1)), np.zeros((rows, 1)), positions, quat, velocity, np.zeros((rows, bodies, 3)))


STILL = poses(np.zeros((4, 2, 3)))
"""Two bodies at the origin for four rows."""


def test_body_errors_of_a_root_that_is_off_and_a_hand_that_is_off_more():
    run = np.zeros((4, 2, 3))
    run[:, 0] = [0.03, 0.04, 0.0]  # 50 mm
    run[:, 1] = [0.03, 0.04, 0.12]  # 130 mm; 120 mm from the root
    run[0] = 7e-2  # the start does not count
    metrics = run_metrics(poses(run), STILL, None)
    assert metrics.e_g_mpjpe_mm == pytest.approx((50 + 130) / 2)
    assert metrics.e_mpjpe_mm == pytest.approx((0 + 120) / 2)
    assert metrics.success
    assert metrics.survival == 1.0


def test_acceleration_error_is_of_second_differences():
    run = np.zeros((4, 2, 3))
    run[:, 1, 0] = [0.0, 0.001, 0.004, 0.004]  # second differences 2 and −3 mm/frame²
    assert run_metrics(poses(run), STILL, None).e_acc_mm_frame2 == pytest.approx((0 + 2 + 0 + 3) / 4)
    steady = np.zeros((4, 2, 3))
    steady[:, :, 2] = 0.01 * np.arange(4)[:, None]
    assert run_metrics(poses(steady), STILL, None).e_acc_mm_frame2 == pytest.approx(0.0, abs=1e-12)


def test_velocity_error_is_of_the_root():
    run = poses(np.zeros((4, 2, 3)), root_vel_w=[[9, 9, 9], [0.3, 0.4, 0], [0, 0, 0], [0, 0, 0.1]])
    assert run_metrics(run, STILL, None).e_vel_m_s == pytest.approx((0.5 + 0 + 0.1) / 3)


def test_walking_errors_are_of_the_way_from_the_start_along_the_references_heading():
    """The reference walks along +y, which is its forward: 0, 1, 2, 1 m. The run starts 5 cm off and does not mind."""
    way = np.zeros((4, 2, 3))
    way[:, :, 1] = np.array([0.0, 1.0, 2.0, 1.0])[:, None]
    reference = poses(way, root_yaw_rad=[np.pi / 2] * 4)
    run = way + np.array([0.05, 0.0, 0.0])
    run[2, :, 1] -= 0.2  # 20 cm short at the turn
    run[3, :, 0] += 0.03
    run[3, :, 1] += 0.04
    metrics = run_metrics(poses(run), reference, None)
    assert metrics.e_fpos_m == pytest.approx(0.2)
    assert metrics.e_epos_m == pytest.approx(0.05)


@pytest.mark.parametrize(("turned_deg", "wanted_deg", "error_deg"), [(80, 90, 10), (-175, 175, 10), (90, 90, 0)])
def test_heading_error_at_the_end(turned_deg, wanted_deg, error_deg):
    still = np.zeros((3, 2, 3))
    run = poses(still, root_yaw_rad=np.radians([0, 40, turned_deg]))
    reference = poses(still, root_yaw_rad=np.radians([0, 0, wanted_deg]))
    assert run_metrics(run, reference, None).e_ang_deg == pytest.approx(error_deg, abs=1e-4)


def test_a_run_fails_when_its_mean_body_distance_is_over_half_a_metre():
    run = np.zeros((6, 2, 3))
    run[:, 1, 0] = [0, 0.2, 1.0, 1.002, 0.0, 9.0]  # means: half of these; exactly 0.5 m is not over it
    reference = poses(np.zeros((6, 2, 3)))
    failed = failure_row(poses(run), reference)
    assert failed == 3
    metrics = run_metrics(poses(run), reference, failed)
    assert not metrics.success
    assert metrics.survival == pytest.approx(2 / 5)
    assert metrics.e_g_mpjpe_mm == pytest.approx((100 + 500 + 501) / 3)
    assert np.isnan(metrics.e_epos_m)
    assert np.isnan(metrics.e_ang_deg)


def test_positions_that_are_no_numbers_are_a_failure():
    run = np.zeros((4, 2, 3))
    run[2, 0, 0] = np.nan
    assert failure_row(poses(run), STILL) == 2


def test_a_mean_leaves_no_run_out_in_silence():
    found = spread([1.0, 3.0])
    assert found is not None
    assert (found.runs, found.mean, found.std) == (2, 2.0, 1.0)
    assert spread([1.0, float("nan")]) is None
    assert spread([]) is None


def test_a_perfect_run_has_no_error():
    metrics = run_metrics(STILL, STILL, None)
    assert [getattr(metrics, name) for name in ERRORS] == [0.0] * len(ERRORS)
