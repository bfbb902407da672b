"""Unitree bags: LowState and LowCmd messages of a bag become a `Log` of the robot's joints.

The motor law is tau + kp·(q_des − q) + kd·(dq_des − dq). A recording's servo is kp·(target − q) − kd·dq, so

    target = q_des + (kd·dq_des + tau) / kp        where kp > 0.

Where every kp of the log is 0, the robot was commanded in torque. A message of motor A/B mode (mode_pr 1) is not in
joint space and is refused.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from haloid.recordings.errors import RecordingError, listed, shown
from haloid.recordings.logs.bag import Bag, read_bag
from haloid.recordings.logs.log import Commands, Log, States
from haloid.recordings.logs.unitree_messages import LOW_CMD, LOW_STATE, decode, motor_modes

TARGET_NOTE = "target = q_des + (kd·dq_des + tau_ff)/kp"


def read_unitree_bag(path: Path, joint_names: Sequence[str], motors: Sequence[str]) -> Log:
    """The states and commands of `joint_names`, which must be among `motors`, the joint of each motor slot."""
    slots = _motor_slots(path, joint_names, motors)
    bag = read_bag(path, (LOW_STATE, LOW_CMD))
    state_ns, states = _messages(bag, LOW_STATE, "lowstate", "what the encoders said")
    command_ns, commands = _messages(bag, LOW_CMD, "lowcmd", "what was commanded")
    start_ns = min(state_ns[0], command_ns[0])
    state_s, command_s = 1e-9 * (state_ns - start_ns), 1e-9 * (command_ns - start_ns)
    for type_name, messages in ((LOW_STATE, states), (LOW_CMD, commands)):
        _refuse_motor_mode(path, type_name, messages["mode_pr"])
    motor = states["motor_state"][:, slots]
    return Log(
        source=path,
        joint_names=tuple(joint_names),
        states=States(
            time_s=state_s,
            q_rad=motor["q"].astype(np.float64),
            dq_rad_s=motor["dq"].astype(np.float64),
            tau_nm=motor["tau_est"].astype(np.float64),
            tick_ms=states["tick"].astype(np.int64),
        ),
        commands=_commands(path, command_s, commands, slots, joint_names),
        notes=bag.notes,
    )


def _motor_slots(path: Path, joint_names: Sequence[str], motors: Sequence[str]) -> list[int]:
    unknown = [name for name in joint_names if name not in motors]
    if unknown:
        raise RecordingError(
            str(path),
            found=f"the robot's joint {shown(unknown[0])} has no motor slot",
            expected=f"joints among those of its motor_order ({listed(motors, limit=2)})",
            next_step="Give the robot that was recorded, such as --robot g1, or complete motor_order in its yaml.",
        )
    return [motors.index(name) for name in joint_names]


def _messages(bag: Bag, type_name: str, usual_name: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Log times in ns and the decoded messages of the one topic of a type."""
    candidates = [topic for topic in bag.topics if topic.type_name == type_name and topic.payloads]
    if not candidates:
        raise _no_messages(bag, type_name, what)
    candidates.sort(key=lambda topic: (topic.name.strip("/").removeprefix("rt/") != usual_name, -topic.message_count))
    topic = candidates[0]
    messages, whole = decode(type_name, topic.payloads)
    if not len(messages):
        raise RecordingError(
            str(bag.path),
            f"topic {shown(topic.name)}",
            found=f"none of its {len(whole):,} messages has the layout of {type_name} (the first: "
            f"{len(topic.payloads[0])} bytes)",
            expected="little-endian CDR in the layout of unitree_ros2",
            next_step="The messages are damaged or of another version of the type: record with unitree_ros2's own.",
        )
    if len(messages) < len(whole):
        bag.notes.append(f"{len(whole) - len(messages):,} of {len(whole):,} messages of {topic.name} damaged, left out")
    if len(candidates) > 1:
        others = listed([other.name for other in candidates[1:]])
        bag.notes.append(f"{topic.name} was used, not {others}, which has the same type")
    return np.array(topic.log_time_ns, np.int64)[whole], messages


def _no_messages(bag: Bag, type_name: str, what: str) -> RecordingError:
    message = type_name.rsplit("/", 1)[-1]
    found = f"the bag has no {type_name} messages ({what})"
    topics = [f"{topic.name} ({topic.type_name}, {topic.message_count:,})" for topic in bag.topics]
    found += f"; its topics: {', '.join(topics[:5])}" if topics else "; it has no topics at all"
    same_name = [topic for topic in bag.topics if topic.type_name.endswith(f"/{message}") and topic.message_count]
    next_step = f"Record the topic {'/lowcmd' if type_name == LOW_CMD else '/lowstate'} too."
    if same_name and same_name[0].type_name != type_name:
        family = same_name[0].type_name.split("/")[0]
        next_step = f"The bag is from another robot: haloid reads unitree_hg (G1, H1-2), not {family}."
    elif bag.notes:
        next_step = "Nothing of it could be salvaged: copy the bag again, or record again."
    return RecordingError(str(bag.path), found=found, expected="LowState and LowCmd messages", next_step=next_step)


def _refuse_motor_mode(path: Path, type_name: str, mode_pr: np.ndarray) -> None:
    wrong = np.flatnonzero(mode_pr != 0)
    if len(wrong):
        raise RecordingError(
            str(path),
            f"{type_name}, message {wrong[0] + 1:,}",
            found=f"mode_pr is {mode_pr[wrong[0]]} in {len(wrong):,} of {len(mode_pr):,} messages: motor A/B mode",
            expected="mode_pr 0 (pitch/roll): in A/B mode ankles and waist are not in joint space",
            next_step="Record again with mode_pr 0.",
        )


def _commands(
    path: Path, time_s: np.ndarray, messages: np.ndarray, slots: list[int], joint_names: Sequence[str]
) -> Commands:
    motor = messages["motor_cmd"][:, slots]
    q_des, dq_des, tau, kp, kd = (motor[name].astype(np.float64) for name in ("q", "dq", "tau", "kp", "kd"))
    modes = motor_modes(LOW_CMD, messages)[:, slots]
    enabled = np.asarray(modes.all(axis=1) if modes.any() else np.ones(len(modes), bool))
    if not (kp > 0).any():
        if (kd != 0).any():
            joint = joint_names[int(np.argmax((kd != 0).any(axis=0)))]
            raise RecordingError(
                str(path),
                LOW_CMD,
                found=f"kp is 0 for all joints but kd of {shown(joint)} is not: damping or velocity control",
                expected="position control (kp > 0) or torque control (kp = kd = 0) of all joints",
                next_step="Record while the robot is position-controlled.",
            )
        return Commands(time_s, None, tau_nm=tau, driven=enabled)
    never = [name for name, gains in zip(joint_names, kp.T, strict=True) if not (gains > 0).any()]
    if never:
        raise RecordingError(
            str(path),
            LOW_CMD,
            found=f"kp of {listed(never)} is 0 all the time, while other joints are position-controlled",
            expected="one way of control for all joints",
            next_step="Hold these joints in position too (kp > 0), and record again.",
        )
    driven = np.asarray(enabled & (kp > 0).all(axis=1))
    target = q_des + np.divide(kd * dq_des + tau, kp, out=np.zeros_like(kp), where=kp > 0)
    return Commands(time_s, target, kp=kp, kd=kd, driven=driven)
