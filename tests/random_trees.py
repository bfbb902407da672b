"""Random floating robots as MJCF, with everything that clamping and the engines must carry along.

The shape of a tree (branches, joints a body, frames, degrees) is drawn by hypothesis or from a seed; its numbers follow
from `TreePlan.seed`. Bodies are `link0` (the root) onwards, joints `joint0` onwards, and so are their geoms and sites.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class BodyPlan:
    parent: int
    """Number of an earlier body; the root is 0 and its own parent."""
    joints: tuple[str, ...]
    """"hinge" and "slide"; none for a body that is welded to its parent."""
    framed: bool
    """Whether the body and what it holds lie in rotated <frame> elements."""


@dataclass(frozen=True)
class TreePlan:
    bodies: tuple[BodyPlan, ...]
    degrees: bool
    """Angles in the file are in degrees instead of radians."""
    seed: int

    @property
    def links(self) -> list[str]:
        return [f"link{i}" for i in range(len(self.bodies))]


@st.composite
def tree_plans(draw, max_bodies: int = 7) -> TreePlan:
    joints = st.lists(st.sampled_from(["hinge", "hinge", "slide"]), max_size=3).map(tuple)
    bodies = [BodyPlan(0, (), draw(st.booleans()))]
    for number in range(1, draw(st.integers(2, max_bodies))):
        bodies.append(BodyPlan(draw(st.integers(0, number - 1)), draw(joints), draw(st.booleans())))
    if not any(body.joints for body in bodies):
        bodies[-1] = BodyPlan(bodies[-1].parent, ("hinge",), bodies[-1].framed)
    return TreePlan(tuple(bodies), draw(st.booleans()), draw(st.integers(0, 2**20)))


def tree_plan(seed: int, bodies: int = 7) -> TreePlan:
    """A tree for the tests that need no shrinking."""
    rng = np.random.default_rng(seed)
    plans = [BodyPlan(0, (), bool(rng.integers(2)))]
    for number in range(1, bodies):
        kinds = tuple(rng.choice(["hinge", "hinge", "slide"], size=rng.choice([0, 1, 1, 1, 2, 3])).tolist())
        plans.append(BodyPlan(int(rng.integers(number)), kinds or (("hinge",) if number == 1 else ()), number % 3 == 0))
    return TreePlan(tuple(plans), bool(rng.integers(2)), seed)


def mjcf(plan: TreePlan, *, couplings: bool = True) -> str:
    """The robot and the room it is in. `couplings`: tendons and an equality as well, which couple the joints."""
    return _Writer(plan).document(couplings)


class _Writer:
    def __init__(self, plan: TreePlan) -> None:
        self.plan = plan
        self.rng = np.random.default_rng(plan.seed)
        self.joints: list[str] = []

    def document(self, couplings: bool) -> str:
        tree = self._body(0)
        order = self.rng.permutation(len(self.joints))
        return f"""
<mujoco model="random tree {self.plan.seed}">
  <compiler angle="{"degree" if self.plan.degrees else "radian"}" autolimits="true"/>
  <option timestep="0.002" integrator="implicitfast" gravity="{self._numbers([0.4, -0.3, -9.5])}"/>
  <default>
    <geom contype="0" conaffinity="0"/>
    <joint armature="0.02" damping="0.4"/>
    <default class="stiff"><joint damping="0.9" frictionloss="0.1" solreffriction="0.03 0.9"/></default>
  </default>
  <worldbody>
    <geom name="ground" type="plane" size="3 3 0.1" contype="1" conaffinity="1"/>
    <site name="corner" pos="1 2 0"/>
    <frame name="wall" euler="0 0 20">
      <body name="shelf" pos="1 0 1"><geom name="board" type="box" size=".2 .2 .01"/></body>
    </frame>
    <body name="goal" mocap="true" pos="0 1 1"><site name="mark"/></body>
    {tree}
    <body name="ball" pos="2 2 1"><freejoint name="ball_free"/><geom name="ball" type="sphere" size=".1"/></body>
  </worldbody>
  <contact>
    <exclude name="neighbours" body1="link0" body2="link{len(self.plan.bodies) - 1}"/>
    <pair name="touch" geom1="geom0" geom2="ground"/>
  </contact>
  {self._couplings() if couplings else ""}
  <actuator>{"".join(self._servo(self.joints[i]) for i in order)}</actuator>
  <sensor>
    {"".join(f'<jointpos name="q_{joint}" joint="{joint}"/>' for joint in self.joints)}
    <framepos name="hand" objtype="site" objname="site{len(self.plan.bodies) - 1}"/>
    <framequat name="foot" objtype="xbody" objname="link0"/>
    <gyro name="gyro" site="site{len(self.plan.bodies) - 1}"/>
    <actuatorfrc name="effort" actuator="servo_{self.joints[0]}"/>
  </sensor>
  <keyframe>{self._key()}<key name="blank"/></keyframe>
</mujoco>"""

    def _body(self, number: int) -> str:
        plan = self.plan.bodies[number]
        parts = "".join(self._joint(kind, plan.framed) for kind in plan.joints)
        if number == 0:
            parts = '<freejoint name="float"/>'
        inner = self._geoms(number) + self._inertial(number)
        held = f'<site name="site{number}" pos="{self._vector(0.2)}" {self._rotation()}/>'
        held += f'<camera name="camera{number}" pos="{self._vector(0.2)}" {self._rotation()}/>'
        held += f'<light name="light{number}" pos="{self._vector(0.2)}" dir="{self._vector(1.0)}"/>'
        if plan.framed:
            held = (
                f'<frame pos="{self._vector(0.1)}" {self._rotation()}><frame {self._rotation()}>{held}</frame></frame>'
            )
        children = [i for i, body in enumerate(self.plan.bodies) if i > 0 and body.parent == number]
        limbs = "".join(self._body(child) for child in children)
        if plan.framed and limbs:
            limbs = f'<frame name="frame{number}" pos="{self._vector(0.1)}" {self._rotation()}>{limbs}</frame>'
        style = ' childclass="stiff"' if number % 2 else ""
        return (
            f'<body name="link{number}" pos="{self._vector(0.3)}" {self._rotation()}{style}>'
            f"{parts}{inner}{held}{limbs}</body>"
        )

    def _joint(self, kind: str, framed: bool) -> str:
        name = f"joint{len(self.joints)}"
        self.joints.append(name)
        rng = self.rng
        ref, spring, low, high = rng.uniform(-0.4, 0.4), rng.uniform(-0.2, 0.2), -2.5, 2.0 + rng.uniform()
        if kind == "slide":
            low, high, unit = -0.5, 0.5, 1.0
        else:
            unit = np.rad2deg(1.0) if self.plan.degrees else 1.0
        text = (
            f'<joint name="{name}" type="{kind}" pos="{self._vector(0.15)}" axis="{self._vector(1.0)}" '
            f'ref="{ref * unit:.17g}" springref="{spring * unit:.17g}" range="{low * unit:.17g} {high * unit:.17g}" '
            f'stiffness="{rng.uniform(0, 4):.17g}"/>'
        )
        return f"<frame {self._rotation()}>{text}</frame>" if framed else text

    def _geoms(self, number: int) -> str:
        shapes = (
            f'type="box" size=".04 .06 .08" pos="{self._vector(0.1)}" {self._rotation()}',
            f'type="capsule" size=".03" fromto="{self._vector(0.1)} {self._vector(0.3)}"',
            f'type="ellipsoid" size=".05 .03 .07" pos="{self._vector(0.1)}" {self._rotation()} mass="0.9"',
        )
        unnamed = f'<geom type="sphere" size=".03" pos="{self._vector(0.1)}"/>'
        return f'<geom name="geom{number}" {shapes[number % 3]}/>{unnamed}'

    def _inertial(self, number: int) -> str:
        mass = self.rng.uniform(0.5, 2.0)
        start = f'<inertial pos="{self._vector(0.1)}" mass="{mass:.17g}" '
        if number % 4 == 1:
            return start + 'diaginertia=".011 .009 .004" euler="0.3 0.2 0.1"/>'
        if number % 4 == 2:
            return start + 'fullinertia=".011 .009 .006 .001 -.002 .0005"/>'
        return ""

    def _couplings(self) -> str:
        first, last = self.joints[0], self.joints[-1]
        ends = f'<site site="site0"/><site site="site{len(self.plan.bodies) - 1}"/>'
        return (
            f'<tendon><fixed name="couple" stiffness="0.5"><joint joint="{first}" coef="1"/>'
            + (f'<joint joint="{last}" coef="-0.7"/>' if last != first else "")
            + f'</fixed><spatial name="string" stiffness="3">{ends}</spatial></tendon>'
            + f'<equality><weld name="lock" body1="link0" body2="link{len(self.plan.bodies) - 1}"/></equality>'
        )

    def _servo(self, joint: str) -> str:
        kp, kd, limit = self.rng.uniform(5, 30), self.rng.uniform(0.5, 2), self.rng.uniform(3, 10)
        gains = f'kp="{kp:.17g}" kv="{kd:.17g}" forcerange="-{limit:.17g} {limit:.17g}"'
        return f'<position name="servo_{joint}" joint="{joint}" {gains}/>'

    def _key(self) -> str:
        """Key positions are stored as they are, radians always."""
        joints = " ".join(repr(float(value)) for value in self.rng.uniform(-0.3, 0.3, len(self.joints)))
        speeds = " ".join(repr(float(value)) for value in self.rng.uniform(-1, 1, len(self.joints)))
        control = " ".join(repr(float(value)) for value in self.rng.uniform(-1, 1, len(self.joints)))
        return (
            f'<key name="pose" time="0.5" qpos="0 0 1 1 0 0 0 {joints} 3 3 3 0 1 0 0" '
            f'qvel="0 0 0 0 0 0 {speeds} 1 2 3 4 5 6" ctrl="{control}" mpos="0 2 2" mquat="0 0 1 0"/>'
        )

    def _vector(self, scale: float) -> str:
        return self._numbers(self.rng.uniform(-scale, scale, 3))

    def _rotation(self) -> str:
        unit = np.rad2deg(1.0) if self.plan.degrees else 1.0
        if self.rng.integers(2):
            return f'euler="{self._numbers(self.rng.uniform(-1.5, 1.5, 3) * unit)}"'
        return f'quat="{self._numbers(self.rng.normal(size=4))}"'

    @staticmethod
    def _numbers(values) -> str:
        return " ".join(repr(float(value)) for value in values)
