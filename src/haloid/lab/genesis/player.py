"""The player: the one file that runs inside Genesis's environment. It needs numpy and genesis, and nothing of haloid.

It answers messages on its standard input with messages on its standard output, one for one, until the input ends. A
message is its length (eight bytes, little-endian) and an npz archive of plain arrays; `request` says what is wanted:

| request | in | out |
| --- | --- | --- |
| open | model (MJCF text), joint_names, kp, kd, effort_nm, timestep_s, robots, floor | simulator (its name) |
| step | target_rad (N, n), steps; perhaps qpos, qvel of all robots | qpos, qvel |
| play | start_rad (n), control (T, n), one row per step | q_rad, dq_rad_s (T, n), before each step |

A request that fails is answered with `error`, in words. States are MuJoCo's, joints in the order of `joint_names`: a
floating robot's qpos begins with the root's position and wxyz quaternion, its qvel with the root's linear velocity in
the world's axes and its angular velocity in its own. Genesis counts them in the same way.
"""

import importlib
import io
import os
import sys
from typing import IO, Any

import numpy as np

Message = dict[str, Any]
ROOT_DOFS = 6


def send(stream: IO[bytes], message: Message) -> None:
    packed = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in message.items()}
    np.savez(packed, **arrays)
    stream.write(len(packed.getbuffer()).to_bytes(8, "little"))
    stream.write(packed.getbuffer())
    stream.flush()


def receive(stream: IO[bytes]) -> Message | None:
    """The next message; None when there will be none."""
    size = stream.read(8)
    if len(size) < 8:
        return None
    number = int.from_bytes(size, "little")
    packed = stream.read(number)
    if len(packed) < number:
        return None
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return {name: arrays[name] if arrays[name].ndim else arrays[name].item() for name in arrays.files}


class World:
    """One robot, or many of it side by side, in Genesis with its own defaults for integrator and contact."""

    def __init__(self, wanted: Message) -> None:
        gs: Any = importlib.import_module("genesis")  # which the type checker's environment does not have
        gs.init(backend=gs.cpu, precision="64", logging_level="error")
        self._robots = int(wanted["robots"])
        self._joints = [str(name) for name in wanted["joint_names"]]
        floor = bool(wanted["floor"])
        self._scene = gs.Scene(
            sim_options=gs.options.SimOptions(dt=float(wanted["timestep_s"]), substeps=1),
            rigid_options=gs.options.RigidOptions(enable_collision=floor, enable_self_collision=False),
            show_viewer=False,
        )
        if floor:
            self._scene.add_entity(gs.morphs.Plane())
        # Genesis gives joints without armature one of its own unless it is told not to.
        morph = gs.morphs.MJCF(file=str(wanted["model"]), default_armature=None, exclude_ground_plane=True)
        self._robot = self._scene.add_entity(morph)
        self._scene.build(n_envs=self._robots)
        self._dofs = [int(self._robot.get_joint(name).dofs_idx_local[0]) for name in self._joints]
        self._floats = self._robot.n_dofs == len(self._joints) + ROOT_DOFS
        self._robot.set_dofs_kp(wanted["kp"], self._dofs)
        self._robot.set_dofs_kv(wanted["kd"], self._dofs)
        limited = np.isfinite(wanted["effort_nm"])
        effort_nm = np.where(limited, wanted["effort_nm"], 1e9)
        self._robot.set_dofs_force_range(-effort_nm, effort_nm, self._dofs)
        self.name = f"genesis {gs.__version__}, step {float(wanted['timestep_s']):g} s"

    def step(self, wanted: Message) -> Message:
        if "qpos" in wanted:
            self._put(wanted["qpos"], wanted["qvel"])
        self._robot.control_dofs_position(wanted["target_rad"], self._dofs)
        for _ in range(int(wanted["steps"])):
            self._scene.step()
        qpos, qvel = self._state()
        return {"qpos": qpos, "qvel": qvel}

    def play(self, wanted: Message) -> Message:
        control = wanted["control"]
        q_rad, dq_rad_s = np.empty_like(control), np.empty_like(control)
        self._put(wanted["start_rad"][None], np.zeros((1, len(self._joints))))
        for row, target_rad in enumerate(control):
            q_rad[row], dq_rad_s[row] = (values[0] for values in self._state())
            self._robot.control_dofs_position(target_rad[None], self._dofs)
            self._scene.step()
        return {"q_rad": q_rad, "dq_rad_s": dq_rad_s}

    def _put(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        robot, root = self._robot, 7 if self._floats else 0
        if self._floats:
            robot.set_qpos(qpos[:, :7], list(range(7)), zero_velocity=False)
        robot.set_dofs_position(qpos[:, root:], self._dofs, zero_velocity=False)
        if self._floats:
            robot.set_dofs_velocity(qvel[:, :ROOT_DOFS], list(range(ROOT_DOFS)))
        robot.set_dofs_velocity(qvel[:, ROOT_DOFS if self._floats else 0 :], self._dofs)

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        robot = self._robot
        q_rad, dq_rad_s = robot.get_dofs_position(self._dofs).numpy(), robot.get_dofs_velocity(self._dofs).numpy()
        if not self._floats:
            return q_rad, dq_rad_s
        root = robot.get_qpos(list(range(7))).numpy()
        velocity = robot.get_dofs_velocity(list(range(ROOT_DOFS))).numpy()
        return np.concatenate([root, q_rad], axis=1), np.concatenate([velocity, dq_rad_s], axis=1)


def main() -> None:
    """Serve messages; what Genesis prints goes to the standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    world: World | None = None
    while (wanted := receive(sys.stdin.buffer)) is not None:
        try:
            if wanted["request"] == "open":
                world = World(wanted)
                answer: Message = {"simulator": world.name}
            else:
                assert world is not None, "nothing was opened"
                answer = {"step": world.step, "play": world.play}[wanted["request"]](wanted)
        except Exception as error:  # whatever Genesis raises is for the other side to tell
            answer = {"error": f"{type(error).__name__}: {error}"}
        send(answers, answer)


if __name__ == "__main__":
    main()
