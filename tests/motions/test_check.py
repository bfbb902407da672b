"""Checks: every flaw put into a clean clip is found, where and when it is, and a clean clip has none."""

from dataclasses import replace

import numpy as np
import pytest
from tests.motions.clips import g1, standing

from haloid.motions.check import check
from haloid.motions.finding import Finding, spans

MODEL = g1()
CLEAN = standing(MODEL, frames=200)


def _only(findings: list[Finding], what: str) -> Finding:
    assert {finding.what for finding in findings} == {what}, findings
    return findings[0]


def _with_joint(name: str, rows: slice, values) -> list[Finding]:
    joints = CLEAN.joint_pos_rad.copy()
    joints[rows, CLEAN.joint_names.index(name)] = values
    return check(replace(CLEAN, joint_pos_rad=joints))


def _with_root(offset_m) -> list[Finding]:
    return check(replace(CLEAN, root_pos_w_m=CLEAN.root_pos_w_m + offset_m))


def test_a_clean_clip_has_no_findings():
    assert check(CLEAN) == []


def test_beyond_a_joints_range():
    ramp = 1.9 * np.sin(np.linspace(0, np.pi, 101))
    elbow = -1.0472
    finding = _only(_with_joint("left_elbow_joint", slice(50, 151), -ramp), "beyond the joint's range")
    assert (finding.where, finding.severity) == ("left_elbow_joint", "error")
    assert finding.amount == pytest.approx(-1.9)
    assert finding.limit == pytest.approx(elbow, abs=1e-3)
    first = 50 + np.flatnonzero(-ramp < MODEL.joint("left_elbow_joint").range[0])[0]
    assert finding.start_s == pytest.approx(first / 50)


def test_faster_than_the_motor():
    swing = 0.8 * np.sin(2 * np.pi * 5.0 * np.arange(100) / 50) * np.sin(np.linspace(0, np.pi, 100))
    assert _with_joint("left_wrist_roll_joint", slice(50, 150), swing) == []
    finding = _only(_with_joint("left_wrist_yaw_joint", slice(50, 150), swing), "faster than the motor")
    assert (finding.where, finding.limit) == ("left_wrist_yaw_joint", 22.0)
    assert 22 < finding.amount < 0.8 * 2 * np.pi * 5


def test_jumps():
    finding = _only(_with_joint("waist_yaw_joint", slice(100, None), 0.5), "the joint jumps")
    assert finding.start_s == pytest.approx(99 / 50)
    assert finding.severity == "warning"
    finding = _only(
        _with_root(np.where(np.arange(200)[:, None] < 100, 0.0, [0.3, 0.0, 0.0])), "the root's position jumps"
    )
    assert (finding.amount, finding.severity) == (pytest.approx(0.3), "error")
    turned = CLEAN.root_quat_wxyz.copy()
    turned[120:] = [np.cos(0.5), 0, 0, np.sin(0.5)]
    finding = next(f for f in check(replace(CLEAN, root_quat_wxyz=turned)) if "rotation" in f.what)
    assert (finding.amount, finding.start_s) == (pytest.approx(1.0), pytest.approx(119 / 50))


def test_sinking_and_floating():
    sunk = _with_root([0, 0, -0.03])
    assert {finding.where for finding in sunk} == {"left_ankle_roll_link", "right_ankle_roll_link"}
    assert _only(sunk, "sinks into the ground").severity == "warning"
    assert _only(_with_root([0, 0, -0.08]), "sinks into the ground").severity == "error"
    floating = _only(_with_root([0, 0, 0.08]), "the whole clip floats")
    assert floating.amount == pytest.approx(0.08, abs=2e-3)
    lifted_m = np.interp(np.arange(200), [40, 60, 140, 160], [0, 0.1, 0.1, 0])  # above 5 cm for 2 s
    part = _only(_with_root(np.outer(lifted_m, [0, 0, 1])), "floats")
    assert part.amount == pytest.approx(2.0, abs=0.05)


def test_sliding():
    slid_m = np.interp(np.arange(200), [50, 100], [0, 0.5])  # 0.5 m/s
    findings = _with_root(np.outer(slid_m, [1, 0, 0]))
    finding = _only(findings, "slides on the ground")
    assert len(findings) == 2
    assert (finding.amount, finding.severity) == (pytest.approx(0.5), "warning")
    assert (finding.start_s, finding.end_s) == (pytest.approx(1.0, abs=0.05), pytest.approx(2.0, abs=0.05))
    assert _with_root(np.outer(0.3 * slid_m, [1, 0, 0])) == []


def test_numbers_that_are_none_and_quaternions_of_another_length():
    joints = CLEAN.joint_pos_rad.copy()
    joints[10:12, 0] = np.nan
    finding = _only(check(replace(CLEAN, joint_pos_rad=joints)), "values that are not numbers")
    assert (finding.amount, finding.start_s, finding.end_s) == (2, 0.2, 0.22)
    for scale, severity in ((1.01, "warning"), (0.8, "error")):
        findings = check(replace(CLEAN, root_quat_wxyz=scale * CLEAN.root_quat_wxyz))
        assert _only(findings, "root quaternions are not of length 1").severity == severity


def test_too_short():
    assert _only(check(standing(MODEL, frames=20)), "too short").severity == "warning"
    assert _only(check(standing(MODEL, frames=1)), "too short").severity == "error"


def test_spans():
    assert spans(np.array([True, False, True, True])) == [(0, 0), (2, 3)]
    assert spans(np.zeros(3, dtype=bool)) == []
