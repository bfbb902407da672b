"""Every own motion keeps what its plan promises, measured on the robot's model by other means than it was made with."""

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.motions.own.ground import MODEL, Ground, ground_of

from haloid.errors import HaloidError
from haloid.motions.load import load_motion
from haloid.motions.own import OWN_MOTIONS, own_motion
from haloid.robots.description import describe
from haloid.trajectories.motion import motion_of
from haloid.trajectories.trajectory import FloatingTrajectory

FLYING = {"yaw-jump"}
QUICK = ("stand", "squat", "wave")
STANDING = [name for name, motion in OWN_MOTIONS.items() if motion.kind != "exploration"]  # see test_exploration.py
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in STANDING]
every_motion = pytest.mark.parametrize("name", NAMES)


@cache
def _frames(name: str) -> FloatingTrajectory:
    return own_motion(name)


@cache
def _ground(name: str) -> Ground:
    return ground_of(_frames(name))


def _joint(name: str, joint: str) -> np.ndarray:
    return _frames(name).joint_pos_rad[:, _frames(name).joint_names.index(joint)]


def _yaw_pitch_roll(name: str) -> np.ndarray:
    return Rotation.from_quat(_frames(name).root_quat_wxyz, scalar_first=True).as_euler("ZYX")


@every_motion
def test_joints_keep_off_their_limits_and_are_slow_enough(name):
    frames = _frames(name)
    low, high = MODEL.jnt_range[1:].T
    assert frames.joint_names == tuple(MODEL.joint(row).name for row in range(1, MODEL.njnt))
    margin = np.minimum(frames.joint_pos_rad - low, high - frames.joint_pos_rad) / (high - low)
    assert margin.min() > 0.05
    fastest = 14.0 if OWN_MOTIONS[name].kind == "agile" else 10.0
    assert np.abs(np.diff(frames.joint_pos_rad, axis=0)).max() * frames.rate_hz < fastest


@every_motion
def test_velocities_do_not_jump(name):
    frames = _frames(name)
    coordinates = np.concatenate([frames.root_pos_w_m, frames.joint_pos_rad], axis=1)
    change = np.abs(np.diff(coordinates, n=2, axis=0)).max() * frames.rate_hz
    assert change < (10.0 if OWN_MOTIONS[name].kind == "agile" else 2.0)


@every_motion
def test_it_begins_and_ends_standing_near_the_default_pose(name):
    frames = _frames(name)
    still = round(0.4 * frames.rate_hz)
    for rows in (slice(0, still), slice(-still, None)):
        assert np.ptp(frames.joint_pos_rad[rows], axis=0).max() < 0.01
        assert np.abs(frames.root_pos_w_m[rows, 2] - 0.76).max() < 0.005
    assert np.abs(frames.joint_pos_rad[-1] - frames.joint_pos_rad[0]).max() < 0.01
    default = {"hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.363, "elbow": 0.6, "shoulder_pitch": 0.2}
    for joint, angle in default.items():
        for side in ("left", "right"):
            assert abs(_joint(name, f"{side}_{joint}_joint")[0] - angle) < 0.05
    assert 5.0 <= len(frames) / frames.rate_hz <= 9.5


@every_motion
def test_soles_are_flat_and_still_on_the_ground_and_clear_of_it_in_swing(name):
    ground = _ground(name)
    assert ground.soles_m[..., 2].min() > -1e-4
    borne = ground.is_down.any(axis=1)
    assert borne.all() or name in FLYING
    for side in (0, 1):
        down = ground.is_down[:, side]
        both = down[1:] & down[:-1]
        assert np.abs(np.diff(ground.soles_m[:, side], axis=0)[both]).max(initial=0.0) < 2e-4
        edges = np.flatnonzero(np.diff(np.concatenate([[1], down, [1]])))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            assert ground.soles_m[start:stop, side, :, 2].min(axis=1).max() > 0.03
    assert np.linalg.norm(ground.ankles_m[:, 0] - ground.ankles_m[:, 1], axis=1).min() > 0.16


@every_motion
def test_the_robot_does_not_touch_itself(name):
    assert _ground(name).touching == []


@every_motion
def test_the_ground_reaction_stays_well_inside_the_soles(name):
    """Where the ground bears at least half the weight: near take-off and landing the point means little."""
    ground = _ground(name)
    weight_n = MODEL.body_subtreemass[1] * 9.81
    borne = [row for row in np.flatnonzero(ground.is_down.any(axis=1)) if ground.force_n[row, 2] > 0.5 * weight_n]
    assert min(ground.inside_m(int(row)) for row in borne) > 0.01
    sideways = np.linalg.norm(ground.force_n[borne, :2], axis=1) / ground.force_n[borne, 2]
    assert sideways.max() < 0.3  # the soles' friction is 0.6


@every_motion
def test_the_centre_of_mass_rests_over_the_middle_of_the_support(name):
    """In every hold: where no joint is faster than 0.05 rad/s for 0.3 s."""
    frames, ground = _frames(name), _ground(name)
    still = np.abs(np.gradient(frames.joint_pos_rad, 1 / frames.rate_hz, axis=0)).max(axis=1) < 0.05
    held = np.convolve(still, np.ones(15), mode="same") > 14.5
    assert held.sum() > 10
    for row in np.flatnonzero(held):
        feet = ground.soles_m[row][ground.is_down[row]].mean(axis=1)
        assert np.linalg.norm(ground.com_m[row, :2] - feet.mean(axis=0)[:2]) < 0.01


def test_squat_goes_down_twice_by_a_fifth_of_a_metre():
    height_m = _frames("squat").root_pos_w_m[:, 2]
    assert abs(np.ptp(height_m) - 0.2) < 0.005
    low = height_m < height_m.min() + 0.01
    assert np.sum(low[1:] & ~low[:-1]) == 2


def test_wave_raises_both_hands_over_the_head_while_the_legs_stand():
    motion = motion_of(_frames("wave"))
    heights_m = [
        motion.body_pos_w_m[150, motion.body_names.index(f"{side}_wrist_yaw_link"), 2] for side in ("left", "right")
    ]
    assert min(heights_m) > 1.2
    assert abs(heights_m[0] - heights_m[1]) < 0.01
    assert np.ptp(_frames("wave").joint_pos_rad[:, :12], axis=0).max() < 0.15


@pytest.mark.slow
def test_swallow_leans_forward_on_one_leg_for_two_seconds():
    lean = np.rad2deg(_yaw_pitch_roll("swallow")[:, 1])
    assert 35 < lean.max() < 50
    held = (lean > lean.max() - 1) & ~_ground("swallow").is_down[:, 1]
    assert held.sum() >= 100
    assert _ground("swallow").ankles_m[held, 1, 0].max() < _ground("swallow").ankles_m[held, 0, 0].min() - 0.3


@pytest.mark.slow
def test_side_kick_reaches_out_to_the_side():
    foot_m = _ground("side-kick").ankles_m[:, 1] - _ground("side-kick").ankles_m[:, 0]
    highest = foot_m[foot_m[:, 2].argmax()]
    assert highest[2] > 0.5
    assert highest[1] < -0.6
    assert abs(highest[0]) < 0.25


@pytest.mark.slow
def test_roundhouse_kick_swings_from_the_side_to_the_front():
    foot_m = _ground("roundhouse-kick").ankles_m[:, 1] - _ground("roundhouse-kick").ankles_m[:, 0]
    raised = np.flatnonzero(foot_m[:, 2] > 0.25)
    bearing = np.arctan2(foot_m[raised, 1], foot_m[raised, 0])
    assert np.ptp(bearing) > 1.0
    assert foot_m[raised, 0].max() > 0.35


@pytest.mark.slow
def test_walk_goes_forward_and_comes_back():
    frames = _frames("walk")
    forward_m = frames.root_pos_w_m[:, 0] - frames.root_pos_w_m[0, 0]
    assert abs(forward_m.max() - 0.36) < 0.01
    assert abs(forward_m[-1]) < 0.001
    lifts = [np.sum(np.diff(_ground("walk").is_down[:, side].astype(int)) < 0) for side in (0, 1)]
    assert lifts == [3, 3]


@pytest.mark.slow
def test_yaw_jump_flies_freely_through_a_quarter_turn():
    ground, frames = _ground("yaw-jump"), _frames("yaw-jump")
    flying = np.flatnonzero(~ground.is_down.any(axis=1))
    assert 0.15 < len(flying) / frames.rate_hz < 0.25
    inner = ground.com_m[flying[0] - 1 : flying[-1] + 2]
    acceleration = np.diff(inner, n=2, axis=0) * frames.rate_hz**2
    assert np.abs(acceleration - [0.0, 0.0, -9.81]).max() < 0.05
    momentum = ground.angular_momentum[flying]
    assert np.abs(momentum - momentum.mean(axis=0)).max() < 0.05 * np.linalg.norm(momentum.mean(axis=0))
    yaw = np.unwrap(_yaw_pitch_roll("yaw-jump")[:, 0])
    assert abs(yaw[-1] - yaw[0] - np.pi / 2) < 1e-3


def test_an_unknown_name_is_an_error_that_lists_the_known_ones():
    with pytest.raises(HaloidError) as caught:
        own_motion("somersault")
    own = ", ".join(OWN_MOTIONS)
    assert str(caught.value) == f"there is no motion 'somersault' of haloid's own; expected one of: {own}"


def test_the_same_motion_comes_out_every_time():
    assert np.array_equal(own_motion("stand").joint_pos_rad, own_motion("stand").joint_pos_rad)


def test_a_robot_gets_no_other_robots_motion():
    with pytest.raises(HaloidError) as caught:
        load_motion("walk", robot="h1-2")
    assert str(caught.value) == (
        "haloid makes no motion 'walk' for the robot h1-2; it makes stand, squat. "
        "Give one of these, or a file with a motion of this robot"
    )
    with pytest.raises(HaloidError, match="The robot so101 has no `motions`"):
        load_motion("stand", robot="so101")
    assert load_motion("stand", robot="g1-23").joint_names == describe("g1-23").joints
