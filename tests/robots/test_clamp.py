"""Clamping against the floating robot whose link is held still by eliminating the base's motion from its dynamics."""

from dataclasses import dataclass

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.random_trees import mjcf, tree_plan, tree_plans

from haloid.robots.clamp import ClampError, clamp
from haloid.robots.description import describe
from haloid.robots.load import load_spec
from haloid.robots.servos import set_servos

FEET_AND_PELVIS = ("left_ankle_roll_link", "right_ankle_roll_link", "pelvis")
SCALAR = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


@dataclass
class HeldLink:
    """The original robot, floating, with the twist of one link eliminated: J_b ẋ_b + J_j ẋ_j = 0.

    With G = [-J_b⁻¹ J_j; 1] and g the base's part of -J_b⁻¹ J̇ ẋ, the held robot's mass matrix is Gᵀ M G and its bias
    Gᵀ (c + M g). The root's free joint must be the first joint; other free bodies are left out.
    """

    model: mujoco.MjModel
    link: str
    pose_w: np.ndarray

    def __post_init__(self) -> None:
        model = self.model
        self.data = mujoco.MjData(model)
        self.base = np.arange(6)
        self.joints = [j for j in range(model.njnt) if model.jnt_type[j] in SCALAR]
        self.names = [model.joint(j).name for j in self.joints]
        self.qpos, self.dofs = model.jnt_qposadr[self.joints], model.jnt_dofadr[self.joints]
        self.used = np.concatenate([self.base, self.dofs])

    def place(self, q: np.ndarray, v: np.ndarray) -> None:
        """Sets the joints and the base such that the link stands still where it is held."""
        model, data = self.model, self.data
        data.qpos[:7] = [0, 0, 0, 1, 0, 0, 0]
        data.qpos[self.qpos] = q
        mujoco.mj_kinematics(model, data)
        position, quat, back = np.empty(3), np.empty(4), np.empty(4)
        mujoco.mju_negPose(position, back, data.body(self.link).xpos, data.body(self.link).xquat)
        mujoco.mju_mulPose(data.qpos[:3], quat, self.pose_w[:3], self.pose_w[3:], position, back)
        data.qpos[3:7] = quat
        mujoco.mj_fwdPosition(model, data)
        body = model.body(self.link).id
        linear, angular = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, body)
        jacobian = np.concatenate([linear, angular])
        slope = np.linalg.solve(jacobian[:, :6], jacobian[:, self.dofs])
        self.motion = np.concatenate([-slope, np.eye(len(q))])
        data.qvel[:] = 0
        data.qvel[self.used] = self.motion @ v
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_jacDot(model, data, linear, angular, data.body(self.link).xpos, body)
        drift = np.concatenate([linear, angular]) @ data.qvel
        self.drift = np.concatenate([-np.linalg.solve(jacobian[:, :6], drift), np.zeros(len(q))])

    def mass_matrix(self) -> np.ndarray:
        return self.motion.T @ self._full_mass() @ self.motion

    def bias(self) -> np.ndarray:
        return self.motion.T @ (self.data.qfrc_bias[self.used] + self._full_mass() @ self.drift)

    def _full_mass(self) -> np.ndarray:
        return full_mass(self.model, self.data)[np.ix_(self.used, self.used)]

    def rollout(self, q: np.ndarray, v: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """(steps, n) joint angles by MuJoCo's implicitfast rule; friction loss, stops and contacts are left out."""
        model, data, h = self.model, self.data, self.model.opt.timestep
        out = np.empty((len(controls), len(q)))
        for step, control in enumerate(controls):
            self.place(q, v)
            data.ctrl[:] = control
            mujoco.mj_fwdActuation(model, data)
            damping = model.dof_damping[self.dofs] + self._servo_damping()
            force = self.motion.T @ (data.qfrc_passive + data.qfrc_actuator)[self.used]
            a = np.linalg.solve(self.mass_matrix() + h * np.diag(damping), force - self.bias())
            v = v + h * a
            q = q + h * v
            out[step] = q
        return out

    def _servo_damping(self) -> np.ndarray:
        model, damping = self.model, np.zeros(self.model.nv)
        for i in range(model.nu):
            low, high = model.actuator_forcerange[i]
            if not model.actuator_forcelimited[i] or low < self.data.actuator_force[i] < high:
                damping[model.jnt_dofadr[model.actuator_trnid[i, 0]]] -= model.actuator_biasprm[i, 2]
        return damping[self.dofs]


def full_mass(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    mass = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    return mass


def addresses(model: mujoco.MjModel, joints: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """qpos and dof addresses of the named joints."""
    ids = [model.joint(joint).id for joint in joints]
    return model.jnt_qposadr[ids], model.jnt_dofadr[ids]


def without_constraints(model: mujoco.MjModel) -> mujoco.MjModel:
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return model


def random_state(model: mujoco.MjModel, joints: list[str], rng) -> tuple[np.ndarray, np.ndarray]:
    q0 = model.qpos0[addresses(model, joints)[0]]
    return q0 + rng.uniform(-0.3, 0.3, len(joints)), rng.normal(size=len(joints))


def pose_of(model: mujoco.MjModel, link: str) -> np.ndarray:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return np.concatenate([data.body(link).xpos, data.body(link).xquat])


def assert_equals_the_held_robot(spec: mujoco.MjSpec, link: str, seconds: float, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    clamped = without_constraints(clamp(spec, link).compile())
    held = HeldLink(without_constraints(spec.copy().compile()), link, pose_of(clamped, link))
    q, v = random_state(held.model, held.names, rng)
    qpos, dofs = addresses(clamped, held.names)
    data = mujoco.MjData(clamped)
    data.qpos[qpos], data.qvel[dofs] = q, v
    mujoco.mj_forward(clamped, data)
    held.place(q, v)
    bodies = [held.model.body(i).name for i in range(1, held.model.nbody)]
    for body in bodies:
        np.testing.assert_allclose(data.body(body).xpos, held.data.body(body).xpos, rtol=0, atol=1e-12)
        np.testing.assert_allclose(data.body(body).xmat, held.data.body(body).xmat, rtol=0, atol=1e-12)
    mass = full_mass(clamped, data)[np.ix_(dofs, dofs)]
    np.testing.assert_allclose(mass, held.mass_matrix(), rtol=0, atol=1e-11 * mass.max())
    bias = data.qfrc_bias[dofs]
    np.testing.assert_allclose(bias, held.bias(), rtol=0, atol=1e-10 * max(1, np.abs(bias).max()))

    start = np.array([q[held.names.index(actuated_joint(clamped, i))] for i in range(clamped.nu)])
    steps = round(seconds / clamped.opt.timestep)
    controls = start + 0.3 * np.sin(np.linspace(0, 6, steps))[:, None] * rng.normal(size=clamped.nu)
    expected = held.rollout(q, v, controls)
    found = np.empty_like(expected)
    for step, control in enumerate(controls):
        data.ctrl[:] = control
        mujoco.mj_step(clamped, data)
        found[step] = data.qpos[qpos]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def actuated_joint(model: mujoco.MjModel, actuator: int) -> str:
    return model.joint(int(model.actuator_trnid[actuator, 0])).name


@pytest.mark.parametrize("link", FEET_AND_PELVIS)
def test_clamped_g1_is_the_g1_with_the_link_held(link):
    spec, gains = load_spec("g1"), describe("g1").gain_set("stiff")
    set_servos(spec, gains.kp, gains.kd)
    assert_equals_the_held_robot(spec, link, seconds=1.0)


@given(plan=tree_plans(), choice=st.integers(0, 100))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_clamped_tree_is_the_tree_with_the_link_held(plan, choice):
    link = plan.links[choice % len(plan.links)]
    assert_equals_the_held_robot(mujoco.MjSpec.from_string(mjcf(plan)), link, seconds=0.02, seed=plan.seed)


@pytest.mark.parametrize("seed", range(8))
def test_clamped_tree_moves_for_a_second_as_if_held(seed):
    plan = tree_plan(seed)
    assert_equals_the_held_robot(mujoco.MjSpec.from_string(mjcf(plan)), plan.links[-1 - seed % 3], seconds=1.0)


OF_THE_TREE = (
    "parentid rootid weldid mocapid jntnum jntadr dofnum dofadr treeid geomadr bvhadr plugin simple pos quat "
    "subtreemass invweight0"
)
"""Fields of a body that say where it is in the tree."""


def by_name(model: mujoco.MjModel, prefix: str, kind: mujoco.mjtObj, number: int) -> dict[str, dict]:
    """All of the model's `prefix_*` arrays, one dict a named element."""
    fields = [field for field in dir(model) if field.startswith(prefix + "_")]
    names = {i: mujoco.mj_id2name(model, kind, i) for i in range(number)}
    return {name: {field: getattr(model, field)[i] for field in fields} for i, name in names.items() if name}


def assert_same(original: dict[str, dict], found: dict[str, dict], but: set[str]) -> None:
    assert set(found) == set(original)
    for name, fields in original.items():
        for field in set(fields) - but:
            np.testing.assert_allclose(found[name][field], fields[field], rtol=0, atol=1e-12, err_msg=f"{name} {field}")


@given(plan=tree_plans(), choice=st.integers(0, 100))
@settings(derandomize=True, deadline=None, max_examples=12)
def test_everything_of_the_robot_survives(plan, choice):
    spec = mujoco.MjSpec.from_string(mjcf(plan))
    original = spec.compile()
    clamped = clamp(spec, plan.links[choice % len(plan.links)]).compile()

    def compare(prefix, kind, count, but):
        sides = [by_name(model, prefix, kind, getattr(model, count)) for model in (original, clamped)]
        sides[0].pop("float", None)
        assert_same(*sides, but={f"{prefix}_{field}" for field in but.split()})

    obj = mujoco.mjtObj
    compare("jnt", obj.mjOBJ_JOINT, "njnt", "qposadr dofadr bodyid pos axis")
    compare("geom", obj.mjOBJ_GEOM, "ngeom", "bodyid plugin")
    compare("site", obj.mjOBJ_SITE, "nsite", "bodyid")
    compare("cam", obj.mjOBJ_CAMERA, "ncam", "bodyid poscom0 pos0 mat0")
    compare("light", obj.mjOBJ_LIGHT, "nlight", "bodyid poscom0 pos0 dir0")
    compare("body", obj.mjOBJ_BODY, "nbody", OF_THE_TREE)
    compare("tendon", obj.mjOBJ_TENDON, "ntendon", "invweight0 actuatornum treeid treenum")
    compare("eq", obj.mjOBJ_EQUALITY, "neq", "obj1id obj2id")
    compare("sensor", obj.mjOBJ_SENSOR, "nsensor", "objid plugin")
    compare("actuator", obj.mjOBJ_ACTUATOR, "nu", "trnid acc0 plugin")
    assert (clamped.nkey, clamped.nmocap) == (original.nkey, original.nmocap)
    assert clamped.npair == (clamped.body("link0").weldid[0] != 0)  # MuJoCo dies of a contact between static bodies
    drives = [
        [(model.actuator(i).name, actuated_joint(model, i)) for i in range(model.nu)] for model in (original, clamped)
    ]
    assert drives[1] == drives[0]


@given(plan=tree_plans(), choice=st.integers(0, 100))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_passive_joint_properties_survive(plan, choice):
    spec = mujoco.MjSpec.from_string(mjcf(plan))
    original, clamped = spec.compile(), clamp(spec, plan.links[choice % len(plan.links)]).compile()
    joints = HeldLink(original, "link0", np.zeros(7)).names
    (qpos, dofs), (new_qpos, new_dofs) = addresses(original, joints), addresses(clamped, joints)
    for field in ("dof_damping", "dof_frictionloss", "dof_armature", "dof_solref", "dof_solimp", "dof_dampingpoly"):
        np.testing.assert_array_equal(getattr(clamped, field)[new_dofs], getattr(original, field)[dofs])
    for field in ("qpos0", "qpos_spring"):
        np.testing.assert_array_equal(getattr(clamped, field)[new_qpos], getattr(original, field)[qpos])
    key, old_key = clamped.key("pose"), original.key("pose")
    np.testing.assert_array_equal(key.qpos[new_qpos], old_key.qpos[qpos])
    np.testing.assert_array_equal(key.qvel[new_dofs], old_key.qvel[dofs])
    np.testing.assert_array_equal(key.qpos[clamped.joint("ball_free").qposadr[0] :][:7], old_key.qpos[-7:])
    np.testing.assert_array_equal(key.qvel[clamped.joint("ball_free").dofadr[0] :][:6], old_key.qvel[-6:])
    for field in ("ctrl", "time", "mpos", "mquat"):
        np.testing.assert_array_equal(getattr(key, field), getattr(old_key, field))
    np.testing.assert_array_equal(clamped.key("blank").qpos, clamped.qpos0)


@given(plan=tree_plans(), choice=st.integers(0, 100))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_geometry_cameras_and_sensors_are_where_they_were(plan, choice):
    link = plan.links[choice % len(plan.links)]
    spec = mujoco.MjSpec.from_string(mjcf(plan))
    clamped = clamp(spec, link).compile()
    held = HeldLink(spec.compile(), link, pose_of(clamped, link))
    q, v = random_state(held.model, held.names, np.random.default_rng(plan.seed))
    held.place(q, v)
    mujoco.mj_forward(held.model, held.data)
    data = mujoco.MjData(clamped)
    qpos, dofs = addresses(clamped, held.names)
    data.qpos[qpos], data.qvel[dofs] = q, v
    mujoco.mj_forward(clamped, data)
    for i in range(len(plan.bodies)):
        for kind in ("geom", "site", "cam"):
            name = {"cam": "camera"}.get(kind, kind) + str(i)
            found, expected = getattr(data, kind)(name), getattr(held.data, kind)(name)
            np.testing.assert_allclose(found.xpos, expected.xpos, rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.xmat, expected.xmat, rtol=0, atol=1e-12)
        found, expected = data.light(f"light{i}"), held.data.light(f"light{i}")
        np.testing.assert_allclose([found.xpos, found.xdir], [expected.xpos, expected.xdir], rtol=0, atol=1e-12)
    np.testing.assert_allclose(data.ten_length, held.data.ten_length, rtol=0, atol=1e-12)
    for sensor in ("hand", "foot", "gyro", *(f"q_{joint}" for joint in held.names)):
        np.testing.assert_allclose(data.sensor(sensor).data, held.data.sensor(sensor).data, rtol=0, atol=1e-11)


def test_the_spec_that_was_given_is_left_as_it_is():
    spec = mujoco.MjSpec.from_string(mjcf(tree_plan(3)))
    before = spec.to_xml()
    clamp(spec, "link4")
    assert spec.to_xml() == before


def test_clamping_twice_is_clamping_at_the_second_link():
    """The clamped robot is itself a rigidly mounted one, so it can be held elsewhere."""
    spec = mujoco.MjSpec.from_string(mjcf(tree_plan(3)))
    twice = clamp(clamp(spec, "link4"), "link2", pose=[0.1, 0.2, 0.3, 1, 0, 0, 0]).compile()
    once = clamp(spec, "link2", pose=[0.1, 0.2, 0.3, 1, 0, 0, 0]).compile()
    rng = np.random.default_rng(0)
    joints = HeldLink(spec.compile(), "link0", np.zeros(7)).names
    q, v = random_state(once, joints, rng)
    biases = []
    for model in (once, twice):
        data = mujoco.MjData(model)
        qpos, dofs = addresses(model, joints)
        data.qpos[qpos], data.qvel[dofs] = q, v
        mujoco.mj_forward(model, data)
        biases.append(data.qfrc_bias[dofs])
    np.testing.assert_allclose(biases[1], biases[0], rtol=0, atol=1e-11)


def test_clamped_spec_can_be_written_and_read_again():
    clamped = clamp(load_spec("g1"), "left_ankle_roll_link")
    again = mujoco.MjSpec.from_string(clamped.to_xml()).compile()
    np.testing.assert_allclose(again.body_pos, clamped.compile().body_pos, rtol=0, atol=1e-6)


def test_link_stands_where_the_zero_configuration_has_it():
    clamped = clamp(load_spec("g1"), "left_ankle_roll_link").compile()
    original = load_spec("g1").compile()
    data = mujoco.MjData(original)
    data.qpos[7:] = 0
    mujoco.mj_kinematics(original, data)
    expected = np.concatenate([data.body("left_ankle_roll_link").xpos, data.body("left_ankle_roll_link").xquat])
    np.testing.assert_allclose(pose_of(clamped, "left_ankle_roll_link"), expected, rtol=0, atol=1e-12)


def test_link_stands_at_the_given_pose():
    clamped = clamp(load_spec("g1"), "pelvis", pose=[0.1, -0.2, 1.3, 2, 0, 2, 0]).compile()
    half = np.sqrt(0.5)
    np.testing.assert_allclose(pose_of(clamped, "pelvis"), [0.1, -0.2, 1.3, half, 0, half, 0], rtol=0, atol=1e-12)


def test_no_link_leaves_the_model_as_it_is():
    spec = load_spec("g1")
    assert clamp(spec, None).to_xml() == spec.to_xml()


LEG = """
<mujoco>
  <compiler fusestatic="{fuse}"/>
  <worldbody>
    <body name="hip">
      <freejoint/>
      <geom size=".1"/>
      <body name="shin" pos="0 0 -.3">
        <joint name="knee" axis="0 1 0" springdamper=".1 1"/>
        <geom name="shin" size=".1"/>
        <body name="foot" pos="0 0 -.15">
          <joint name="ankle" axis="0 1 0"/>
          <geom name="foot" size=".1"/>
          <body name="toe" pos=".12 0 0"><geom name="toe" size=".1"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="knee" kp="10" dampratio="1"/></actuator>
</mujoco>"""


@pytest.mark.parametrize("link", ["foot", "toe"])
def test_links_joined_to_the_clamped_one_do_not_collide_with_it(link):
    """MuJoCo lets a link touch its parent when the parent is fixed in the world; the floating foot never touches."""
    spec = mujoco.MjSpec.from_string(LEG.format(fuse="false"))
    for model in (spec.compile(), clamp(spec, link).compile()):
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        assert data.ncon == 0


def test_damping_ratios_keep_the_values_of_the_original():
    spec = mujoco.MjSpec.from_string(LEG.format(fuse="false"))
    original, clamped = spec.compile(), clamp(spec, "foot").compile()
    np.testing.assert_array_equal(clamped.actuator_biasprm, original.actuator_biasprm)
    knee, old_knee = clamped.joint("knee"), original.joint("knee")
    assert (knee.damping, knee.stiffness) == (old_knee.damping, old_knee.stiffness)
    assert knee.damping > 0


def test_a_static_link_of_a_fusing_model_can_be_clamped():
    clamped = clamp(mujoco.MjSpec.from_string(LEG.format(fuse="true")), "toe").compile()
    assert [clamped.body(i).name for i in range(clamped.nbody)] == ["world", "toe", "foot", "shin", "hip"]


def words(spec: mujoco.MjSpec | str, link: str, pose=None) -> str:
    spec = mujoco.MjSpec.from_string(spec) if isinstance(spec, str) else spec
    with pytest.raises(ClampError) as caught:
        clamp(spec, link, pose)
    return str(caught.value)


def test_words_for_an_unknown_link():
    assert words(load_spec("g1"), "left_ankle_link").startswith(
        "the robot has no link 'left_ankle_link' to clamp; did you mean left_ankle_"
    )
    assert words(LEG.format(fuse="false"), "%") == (
        "the robot has no link '%' to clamp; the links are: hip, shin, foot, toe"
    )
    assert words(LEG.format(fuse="false"), "world") == (
        "the robot has no link 'world' to clamp; the links are: hip, shin, foot, toe"
    )


def test_words_for_a_ball_joint_on_the_way_to_the_root():
    spec = LEG.format(fuse="false").replace('name="ankle" axis="0 1 0"', 'name="ankle" type="ball"')
    assert words(spec, "toe") == (
        "the joint 'ankle' between 'toe' and the root is a ball joint; only hinge and slide joints can be reversed"
    )
    clamp(mujoco.MjSpec.from_string(spec), "shin")


def test_words_for_a_root_joined_to_the_world():
    spec = LEG.format(fuse="false").replace("<freejoint/>", '<joint name="rail" type="slide"/>')
    assert words(spec, "foot") == (
        "the robot's root 'hip' is joined to the world by the joint 'rail'; a second clamp would close a loop. "
        "Use clamp null for a robot with a fixed base"
    )


def test_words_for_links_without_a_name():
    assert words(LEG.format(fuse="false").replace('<body name="toe"', "<body"), "foot") == (
        "links without a name: 1; name every body to clamp one"
    )


@pytest.mark.parametrize("pose", [[0, 0, 0], [0, 0, 0, 0, 0, 0, 0], [0, 0, np.nan, 1, 0, 0, 0]])
def test_words_for_a_pose_that_is_none(pose):
    assert words(load_spec("g1"), "pelvis", pose) == (
        f"clamp_pose is {pose}; expected 7 numbers: x y z in metres and a quaternion w x y z"
    )
