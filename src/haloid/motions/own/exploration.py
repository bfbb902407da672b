"""Own motion for identification: the lab's excitation in double support, as a motion that a policy can follow.

In: nothing. Out: `Frames` in which both soles stay flat on the ground while arms and waist are shaken (HALO III-A). It
is made for a robot that carries the middle of Table I's wide loads, so that it neither asks too much of a heavily
loaded arm nor shakes an empty one too little; the feet being still, either of them may be clamped.
"""

from haloid.lab.excitation import Excitation
from haloid.lab.loads import Load
from haloid.lab.record import design
from haloid.lab.robot import LabRobot
from haloid.motions.frames import Frames
from haloid.recordings.reconstruct import forward_kinematics
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.robots.sole import sole_height_m

_CLAMP = "left_ankle_roll_link"
_LOADS = (Load("torso_link", 5.0), Load("left_wrist_yaw_link", 2.5), Load("right_wrist_yaw_link", 2.5))
_SEED = 0


def excitation(duration_s: float = 10.0) -> Frames:
    """Multi-sines of the arms and the waist about a stand, from rest to rest, at the lab's control rate."""
    lab = LabRobot(clamp=_CLAMP, support="double", loads=_LOADS, gains="model")
    reference = design(lab, Excitation(duration_s=duration_s), _SEED)
    spec = load_spec("g1")
    model = clamp(spec, _CLAMP).compile()
    bodies = forward_kinematics(model, reference.joint_names, reference.q_rad)
    root = bodies.body_names.index("pelvis")
    pos_w_m = bodies.pos_w_m[:, root] - [0.0, 0.0, sole_height_m(model, model.body(_CLAMP).id)]
    return Frames(
        fps=1.0 / lab.control_dt_s,
        joint_names=reference.joint_names,
        root_pos_w_m=pos_w_m,
        root_quat_wxyz=bodies.quat_wxyz[:, root],
        joint_pos_rad=reference.q_rad,
    )
