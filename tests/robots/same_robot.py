"""Two compiled models are the same robot: equal kinematics, mass matrix and forces at random states, joint by name."""

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.robots.inertia import Payload, attach, read_links, write_links


@dataclass(frozen=True)
class State:
    qpos: dict[str, np.ndarray]
    qvel: dict[str, np.ndarray]
    ctrl: dict[str, float]


def random_states(model: mujoco.MjModel, seed: int = 0, count: int = 5) -> list[State]:
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(count):
        qpos, qvel = {}, {}
        for j in range(model.njnt):
            name, free = model.joint(j).name, model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
            qpos[name] = rng.uniform(-1, 1, 7 if free else 1)
            if free:
                qpos[name][3:] /= np.linalg.norm(qpos[name][3:])
            qvel[name] = rng.normal(size=6 if free else 1)
        states.append(State(qpos, qvel, {model.actuator(a).name: rng.uniform(-1, 1) for a in range(model.nu)}))
    return states


def at(model: mujoco.MjModel, state: State) -> mujoco.MjData:
    data = mujoco.MjData(model)
    for name, value in state.qpos.items():
        data.joint(name).qpos = value
        data.joint(name).qvel = state.qvel[name]
    for name, value in state.ctrl.items():
        if model.nu:
            data.actuator(name).ctrl = value
    mujoco.mj_forward(model, data)
    return data


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    return full


def dynamics(model: mujoco.MjModel, state: State, joints: list[str], bodies: list[str]) -> dict[str, np.ndarray]:
    """What a robot does in a state, in the order of these names."""
    data = at(model, state)
    dofs = np.concatenate(
        [np.arange(model.nv)[model.joint(name).dofadr[0] :][: len(state.qvel[name])] for name in joints]
    )
    return {
        "mass matrix": mass_matrix(model, data)[np.ix_(dofs, dofs)],
        "bias force": data.qfrc_bias[dofs],
        "passive force": data.qfrc_passive[dofs],
        "actuator force": data.qfrc_actuator[dofs],
        "body positions": np.array([data.body(name).xpos for name in bodies]),
        "body rotations": np.array([data.body(name).xmat for name in bodies]),
        "centres of mass": np.array([data.body(name).xipos for name in bodies]),
    }


def largest_difference(expected: mujoco.MjModel, found: mujoco.MjModel, states: list[State]) -> dict[str, float]:
    """Relative to each quantity's largest number, over all states."""
    joints = [expected.joint(j).name for j in range(expected.njnt)]
    bodies = [expected.body(i).name for i in range(1, expected.nbody)]
    worst: dict[str, float] = {}
    for state in states:
        one, other = (dynamics(model, state, joints, bodies) for model in (expected, found))
        for key in one:
            scale = np.max(np.abs(one[key]), initial=0.0) or 1.0
            worst[key] = max(worst.get(key, 0.0), float(np.max(np.abs(one[key] - other[key]), initial=0.0) / scale))
    return worst


def assert_same_robot(expected: mujoco.MjModel, found: mujoco.MjModel, rtol: float) -> None:
    worst = largest_difference(expected, found, random_states(expected))
    assert max(worst.values()) <= rtol, worst


def change_like_an_identification(spec: mujoco.MjSpec, seed: int) -> None:
    """Every link gets a payload and every joint a damping, friction and armature of seventeen digits."""
    rng = np.random.default_rng(seed)
    links = read_links(spec)
    heavy = {name: link for name, link in links.items() if link.mass_kg > 0}
    changed = {
        n: attach(v, Payload(rng.uniform(0.1, 1) * v.mass_kg, rng.normal(size=3) * 0.05)) for n, v in heavy.items()
    }
    write_links(spec, changed)
    for joint in spec.joints:
        if joint.type != mujoco.mjtJoint.mjJNT_FREE:
            joint.damping[0], joint.frictionloss, joint.armature = rng.uniform(0, 0.3, 3)
