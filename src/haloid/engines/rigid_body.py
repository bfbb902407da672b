"""The clamped tree in Pinocchio: built from the compiled MjModel itself, so both describe the same robot.

Every MuJoCo joint becomes one Pinocchio joint; a body with several joints gets massless links between them, and a body
without joints is carried by its nearest moving ancestor.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin

from haloid.engines.physics import Physics


class RigidBodyTree:
    """A Pinocchio model with MuJoCo's degrees of freedom in MuJoCo's order."""

    def __init__(self, model: mujoco.MjModel) -> None:
        tree = pin.Model()
        weightless = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        tree.gravity = pin.Motion(np.zeros(3) if weightless else np.asarray(model.opt.gravity), np.zeros(3))
        carrier: dict[int, int] = {0: 0}
        placement: dict[int, pin.SE3] = {0: pin.SE3.Identity()}
        joint_of_dof = np.zeros(model.nv, int)
        for body in range(1, model.nbody):
            parent = int(model.body_parentid[body])
            joint = carrier[parent]
            pose = placement[parent] * _se3(model.body_pos[body], model.body_quat[body])
            first = int(model.body_jntadr[body])
            for j in range(first, first + int(model.body_jntnum[body])):
                anchor = pin.SE3(np.eye(3), model.jnt_pos[j])
                joint = tree.addJoint(joint, _joint_model(model, j), pose * anchor, model.joint(j).name)
                pose = anchor.inverse()
                joint_of_dof[model.jnt_dofadr[j]] = joint
            carrier[body], placement[body] = joint, pose
        self.tree = tree
        self.data = tree.createData()
        self.reference_q = model.qpos0.copy()
        # Pinocchio orders joints depth first as they were added, and MuJoCo's bodies are depth first already.
        assert [tree.joints[int(j)].idx_v for j in joint_of_dof] == list(range(model.nv))
        names = {i: model.body(i).name for i in range(1, model.nbody)}
        self._link_joint = {name: carrier[i] for i, name in names.items() if name}
        self._link_placement = {name: placement[i] for i, name in names.items() if name}
        self._unnamed = [(carrier[i], placement[i].act(_inertia(model, i))) for i, name in names.items() if not name]

    def set_inertias(self, physics: Physics) -> None:
        tree = self.tree
        inertias = [pin.Inertia.Zero() for _ in range(tree.njoints)]
        for joint, inertia in self._unnamed:  # no parameter can name them, so theirs never change
            inertias[joint] += inertia
        for name in self._link_joint:
            link = physics.link(name)
            inertia = pin.Inertia(link.mass_kg, link.com_in_link_m, link.inertia_about_com)
            inertias[self._link_joint[name]] += self._link_placement[name].act(inertia)
        for joint in range(1, tree.njoints):
            tree.inertias[joint] = inertias[joint]
        self.data = tree.createData()


def _joint_model(model: mujoco.MjModel, j: int):
    axis = model.jnt_axis[j]
    if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE:
        return pin.JointModelPrismaticUnaligned(axis)
    return pin.JointModelRevoluteUnaligned(axis)


def _se3(pos: np.ndarray, quat_wxyz: np.ndarray) -> pin.SE3:
    w, x, y, z = quat_wxyz
    return pin.SE3(pin.Quaternion(w, x, y, z).normalized().toRotationMatrix(), np.asarray(pos))


def _inertia(model: mujoco.MjModel, body: int) -> pin.Inertia:
    rotation = _se3(np.zeros(3), model.body_iquat[body]).rotation
    about_com = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
    return pin.Inertia(float(model.body_mass[body]), model.body_ipos[body], about_com)
