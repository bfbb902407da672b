"""Own motion for identification: the lab's excitation in double support, as a motion that a policy can follow.

In: a robot. Out: a trajectory in which both soles stay flat on the ground while arms and waist are shaken (HALO III-A).
It is made for a robot that carries the middle of Table I's wide loads, so that it neither asks too much of a heavily
loaded arm nor shakes an empty one too little; the feet being still, either of them may be clamped.
"""

from haloid.lab.excitation import Excitation
from haloid.lab.loads import Load
from haloid.lab.record import design
from haloid.lab.robot import LabRobot
from haloid.motions.own.keyframes import Stand
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.robots.sole import sole_height_m
from haloid.trajectories.kinematics import forward_kinematics
from haloid.trajectories.mujoco_states import floating_root
from haloid.trajectories.trajectory import FloatingTrajectory

_TORSO_KG, _HAND_KG = 5.0, 2.5
_SEED = 0


def excitation(stand: Stand, duration_s: float = 10.0) -> FloatingTrajectory:
    """Multi-sines of the arms and the waist about a stand, from rest to rest, at the lab's control rate."""
    robot, foot = stand.robot, stand.robot.feet["left"]
    robot.need("the motion excitation", "anchor", "hands")
    loads = (Load(robot.anchor, _TORSO_KG), *(Load(hand, _HAND_KG) for hand in robot.hands.values()))
    lab = LabRobot(robot.name, clamp=foot, support="double", loads=loads, gains="model")
    reference = design(lab, Excitation(duration_s=duration_s), _SEED)
    spec = load_spec(robot.name)
    model = clamp(spec, foot).compile()
    bodies = forward_kinematics(model, reference.joint_names, reference.q_rad)
    root = bodies.body_names.index(stand.model.body(floating_root(stand.model)).name)
    pos_w_m = bodies.pos_w_m[:, root] - [0.0, 0.0, sole_height_m(model, model.body(foot).id)]
    return FloatingTrajectory(
        rate_hz=1.0 / lab.control_dt_s,
        joint_names=reference.joint_names,
        root_pos_w_m=pos_w_m,
        root_quat_wxyz=bodies.quat_wxyz[:, root],
        joint_pos_rad=reference.q_rad,
    )
