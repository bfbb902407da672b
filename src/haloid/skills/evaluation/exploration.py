"""Skills, exploration: a deployed policy drives the lab robot in closed loop while it is recorded (HALO III-A).

In: a `DeployedPolicy` that was trained with a clamped foot. Out: the lab's `Policy`, which turns what the lab robot's
sensors show into the observation of training (observations.py, without noise: the lab's sensors bring their own) and
the file's actions into joint targets.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from haloid.errors import HaloidError
from haloid.lab.closed_loop import Policy, Senses
from haloid.lab.excitation import Reference as LabReference
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.observations import History, Sensed, actor_observation, observation_terms, term_columns
from haloid.skills.task.reference import CONTROL_HZ, Poses

_BODY_FIELDS = ("body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w")


def lab_policy(policy: DeployedPolicy, joint_names: Sequence[str], clamp: str | None, imu_site: str) -> Policy:
    """`policy` for a lab robot with these joints, this clamp and this IMU."""
    facts = policy.facts
    if facts.clamp is None or facts.clamp != clamp:
        trained = f"with {facts.clamp} clamped" if facts.clamp else "without a clamp"
        raise HaloidError(
            f"{policy.path} was trained {trained} and the robot is clamped at {clamp}; expected the same. Train one "
            f"for it: haloid train --motion excitation --clamp {clamp} --randomisation wide --learn-arms"
        )
    if facts.state_estimation:
        raise HaloidError(
            f"{policy.path} sees its place and its linear velocity, which the lab robot does not measure; "
            "train without --state-estimation"
        )
    if facts.phase:
        raise HaloidError(
            f"{policy.path} sees the phase of its motion alone, which the lab robot does not tell; train without "
            "--preset asap"
        )
    if set(joint_names) != set(facts.joint_names):
        other = ", ".join(sorted(set(joint_names) ^ set(facts.joint_names)))
        raise HaloidError(f"{policy.path} and the robot differ in the joints {other}; use the robot it was made for")
    policy.motion_row(None)
    to_robot = [facts.joint_names.index(name) for name in joint_names]
    q_rad, dq_rad_s = (table[:, to_robot].astype(float) for table in (policy.clip.joint_pos, policy.clip.joint_vel))
    motion = LabReference(
        joint_names=tuple(joint_names),
        time_s=np.arange(len(q_rad)) / CONTROL_HZ,
        q_rad=q_rad,
        dq_rad_s=dq_rad_s,
        ddq_rad_s2=np.gradient(dq_rad_s, 1.0 / CONTROL_HZ, axis=0),
    )
    return Policy(lambda: _Driver(policy, joint_names), motion, facts.anchor, imu_site)


class _Driver:
    """The policy between the lab robot's sensors and its targets; it remembers its last action."""

    def __init__(self, policy: DeployedPolicy, joint_names: Sequence[str]) -> None:
        facts = policy.facts
        self._policy = policy
        self._to_policy = [list(joint_names).index(name) for name in facts.joint_names]
        self._to_robot = [facts.joint_names.index(name) for name in joint_names]
        self._anchor = facts.body_names.index(facts.anchor)
        self._action = np.zeros((1, len(facts.joint_names)), dtype=np.float32)
        self._history = History(1, facts.history, term_columns(len(facts.joint_names), state_estimation=False))

    def __call__(self, senses: Senses) -> np.ndarray:
        frame = np.array([min(senses.row + 1, self._policy.frames - 1)])
        observation = self._observe(senses, frame)
        self._action = self._policy.actions(observation, frame)
        return self._policy.targets_rad(self._action)[0, self._to_robot]

    def _observe(self, senses: Senses, frame: np.ndarray) -> np.ndarray:
        nowhere = np.zeros((1, 1, 3), dtype=np.float32)
        robot = Poses(
            joint_pos=senses.q_rad[None, self._to_policy].astype(np.float32),
            joint_vel=senses.dq_rad_s[None, self._to_policy].astype(np.float32),
            body_pos_w=nowhere,
            body_quat_w=senses.anchor_quat_wxyz[None, None].astype(np.float32),
            body_lin_vel_w=nowhere,
            body_ang_vel_w=nowhere,
        )
        clip = self._policy.clip.at(frame)
        wanted = replace(clip, **{name: getattr(clip, name)[:, [self._anchor]] for name in _BODY_FIELDS})
        no_bias = np.zeros_like(self._action)
        sensed = Sensed(np.zeros((1, 3)), senses.gyro_rad_s[None], self._action, no_bias)
        default = self._policy.facts.default_joint_pos_rad.astype(np.float32)
        terms = observation_terms(robot, sensed, wanted, default, 0)
        return self._history.after(actor_observation(terms, no_bias, False, None))
