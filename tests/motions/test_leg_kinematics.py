import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.motions.leg_kinematics import SIDES, FootOutOfReachError, LegKinematics
from haloid.robots.description import describe
from haloid.robots.load import load_spec


@pytest.fixture(scope="module")
def legs() -> LegKinematics:
    return LegKinematics(load_spec("g1").compile(), describe("g1"))


def _any_pose(legs: LegKinematics, rng: np.random.Generator) -> np.ndarray:
    """A pelvis somewhere, turned somehow, and legs bent within the inner part of their ranges."""
    model = legs.model
    qpos = model.qpos0.copy()
    qpos[:3] += rng.uniform(-1, 1, 3)
    qpos[3:7] = rng.normal(size=4)
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    for side in SIDES:
        low, high = np.array([model.joint(joint).range for joint in legs.leg_joints[side]]).T
        bent_low, bent_high = np.maximum(low, -0.8), np.minimum(high, 0.8)
        bent_low[3], bent_high[3] = 0.3, 2.0
        qpos[legs.addresses(side)] = rng.uniform(bent_low, bent_high) * 0.9
    return qpos


@pytest.mark.parametrize("side", SIDES)
def test_it_finds_the_pose_that_forward_kinematics_gives(legs, side):
    rng = np.random.default_rng(0)
    for _ in range(40):
        known = _any_pose(legs, rng)
        pos, quat = legs.foot_pose(side, known)
        guess = known.copy()
        guess[legs.addresses(side)] += rng.uniform(-0.15, 0.15, 6)
        found = legs.reach(side, guess, pos, quat)
        data = mujoco.MjData(legs.model)
        data.qpos[:] = found
        mujoco.mj_forward(legs.model, data)
        foot = legs.model.body(f"{side}_ankle_roll_link").id
        turn = np.empty(3)
        mujoco.mju_subQuat(turn, data.xquat[foot], quat)
        assert np.abs(data.xpos[foot] - pos).max() < 1e-6
        assert np.abs(turn).max() < 1e-6
        others = np.setdiff1d(np.arange(legs.model.nq), legs.addresses(side))
        assert np.array_equal(found[others], known[others])


def test_angles_stay_within_the_ranges(legs):
    """The ankle rolls by 0.26 rad at most: a sole under the hip cannot be turned by a whole radian."""
    qpos = legs.model.qpos0.copy()
    qpos[legs.addresses("left")] = [-0.3, 0.0, 0.0, 0.6, -0.3, 0.0]
    pos, _ = legs.foot_pose("left", qpos)
    with pytest.raises(FootOutOfReachError):
        legs.reach("left", qpos, pos, np.array([np.cos(0.5), np.sin(0.5), 0.0, 0.0]))


def test_a_foot_out_of_reach_is_an_error_that_says_so(legs):
    qpos = legs.model.qpos0.copy()
    with pytest.raises(FootOutOfReachError) as caught:
        legs.reach("right", qpos, np.array([0.0, -0.12, -0.4]), np.array([1.0, 0.0, 0.0, 0.0]))
    words = str(caught.value)
    assert words.startswith("The right foot cannot be brought to (0.000, -0.120, -0.400) m within the joints' ranges: ")
    assert words.endswith("Lower the pelvis, or bring the foot nearer to it.")


def test_another_robot_is_refused():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    with pytest.raises(HaloidError, match="the left leg of g1 has the joints none; expected six"):
        LegKinematics(model, describe("g1"))


@pytest.mark.parametrize("side", SIDES)
def test_a_stretched_leg_bends_forwards(legs, side):
    """From a knee at its backward stop, to a foot that is nearer: the knee must not stay at the stop."""
    qpos = legs.model.qpos0.copy()
    qpos[legs.addresses(side)] = 0.0
    pos, quat = legs.foot_pose(side, qpos)
    knee = legs.model.joint(f"{side}_knee_joint")
    qpos[knee.qposadr[0]] = knee.range[0]
    found = legs.reach(side, qpos, pos + np.array([0.0, 0.0, 0.02]), quat)
    assert found[knee.qposadr[0]] > 0.2
