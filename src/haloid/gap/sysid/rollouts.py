"""Identification from rollouts: the parameters with which replays of recorded targets stay with the recording.

In: real data of a robot on its feet, the nominal robot. Out: `Parameters`: gains, armature, damping and friction of
every joint, masses of torso and hands, the torso's centre of mass, with a Gaussian prior around the model's own.
Windows of 0.1, 0.25 and 0.5 s are replayed in MuJoCo once for each kind of parameter (a joint's own parameters are
moved in all joints at once, and its own answer counts). A Gauss–Newton step is taken as far as the bodies come nearer
to the recording. This is the strong form of ASAP's SysID baseline (grid.py), on the data that the delta models have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haloid.gap.replays.data import RealData
from haloid.gap.replays.simulator import Simulator, body_errors_mm, replay
from haloid.gap.sysid.parameters import OWN, Parameters, fields_of, no_change
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot

LENGTHS_S = (0.1, 0.25, 0.5)
OWN_NUDGES = np.array([0.05, 0.05, 0.1, 0.1, 0.1])
OWN_PRIOR = np.array([0.3, 0.3, 0.3, 0.5, 0.5])
"""Standard deviations, in the units of `OWN`."""
MASS_NUDGE_KG, COM_NUDGE_M = 0.2, 0.005
MASS_PRIOR_KG, COM_PRIOR_M = 2.0, 0.03
ERROR_RAD = 0.02
"""What replays are off by for other reasons."""
VELOCITY_WEIGHT_S = 0.05
SHARES = (1.0, 0.5, 0.2)
UNEXPLAINED = 4.0


def identify_rollouts(
    robot: TrackedRobot,
    data: RealData,
    *,
    windows: int = 64,
    passes: int = 2,
    seed: int = 0,
    threads: int = 0,
    say: Callable[[str], None] = lambda detail: None,
) -> Parameters:
    random, parameters = np.random.default_rng(seed), no_change(robot)
    rounds = [length_s for length_s in LENGTHS_S for _ in range(passes)]
    for number, length_s in enumerate(rounds):
        steps = round(length_s * CONTROL_HZ)
        firsts = data.windows(steps, stride=max(steps // 4, 1))
        firsts = random.choice(firsts, min(windows, len(firsts)), replace=False)
        own, shared = _step(robot, parameters, data, firsts, steps, threads)
        tries = [parameters, *(parameters.moved(share * own, share * shared) for share in SHARES)]
        errors = errors_mm(robot, tries, data, firsts, steps, threads)
        parameters = tries[int(np.argmin(errors))]
        say(f"round {number + 1} of {len(rounds)}: {length_s:g} s, {errors[0]:.1f} → {errors.min():.1f} mm")
    return parameters


def errors_mm(
    robot: TrackedRobot, variants: list[Parameters], data: RealData, firsts: np.ndarray, steps: int, threads: int
) -> np.ndarray:
    """(variants,) mean distance of the bodies from the recording."""
    simulator = Simulator(robot, len(firsts) * len(variants), threads, fields_of(robot, variants, len(firsts)))
    played = replay(simulator, data, np.tile(firsts, len(variants)), steps)
    return body_errors_mm(played, robot, data, firsts)


def _step(
    robot: TrackedRobot, parameters: Parameters, data: RealData, firsts: np.ndarray, steps: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """The Gauss–Newton step of own and shared parameters."""
    variants, nudges = [parameters], []
    for kind, nudge in enumerate(OWN_NUDGES):
        own = np.zeros_like(parameters.own)
        own[:, kind] = nudge
        variants.append(parameters.moved(own, np.zeros_like(parameters.shared)))
        nudges.append(nudge)
    sizes = np.repeat([MASS_NUDGE_KG, COM_NUDGE_M], [len(parameters.masses_kg), 3])
    for column, nudge in enumerate(sizes):
        variants.append(parameters.moved(np.zeros_like(parameters.own), nudge * np.eye(len(sizes))[column]))
        nudges.append(nudge)
    off, slope = answers(robot, variants, np.array(nudges), data, firsts, steps, threads)
    joints, own_number, number = off.shape[2], len(OWN), len(OWN) * off.shape[2] + len(sizes)
    normal, right = np.zeros((number, number)), np.zeros(number)
    for joint in range(joints):
        columns = np.r_[joint * own_number : (joint + 1) * own_number, joints * own_number : number]
        matrix = slope[:, :, :, joint].transpose(0, 2, 1).reshape(-1, len(nudges)) / ERROR_RAD
        normal[np.ix_(columns, columns)] += matrix.T @ matrix
        right[columns] -= matrix.T @ off[:, :, joint].ravel() / ERROR_RAD
    prior = np.concatenate([np.tile(OWN_PRIOR, joints), np.repeat([MASS_PRIOR_KG, COM_PRIOR_M], [len(sizes) - 3, 3])])
    now = np.concatenate([parameters.own.ravel(), parameters.shared])
    step = np.linalg.solve(normal + np.diag(prior**-2.0), right - now / prior**2)
    return step[: joints * own_number].reshape(joints, own_number), step[joints * own_number :]


def answers(
    robot: TrackedRobot,
    variants: list[Parameters],
    nudges: np.ndarray,
    data: RealData,
    firsts: np.ndarray,
    steps: int,
    threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(2 steps, W, n) how far joints are off, and (2 steps, variants − 1, W, n) by how much more for each nudge."""
    simulator = Simulator(robot, len(firsts) * len(variants), threads, fields_of(robot, variants, len(firsts)))
    played = replay(simulator, data, np.tile(firsts, len(variants)), steps)
    states = np.concatenate([played.qpos[1:, :, 7:], VELOCITY_WEIGHT_S * played.qvel[1:, :, 6:]])
    states = states.reshape(2 * steps, len(variants), len(firsts), -1)
    rows = firsts + np.arange(1, steps + 1)[:, None]
    real = np.concatenate([data.qpos[rows, 7:], VELOCITY_WEIGHT_S * data.qvel[rows, 6:]])
    off = states[:, 0] - real
    squared = (off**2).mean(axis=(0, 2))
    trust = np.sqrt(1.0 / (1.0 + squared / (UNEXPLAINED * np.median(squared) + 1e-12)))
    slope = (states[:, 1:] - states[:, :1]) / nudges[:, None, None]
    return off * trust[:, None], slope * trust[:, None]
