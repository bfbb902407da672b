"""Column names of robots' tables, as scripts, PlotJuggler and Unitree's tools write them, become channel and joint.

`q_0`, `q[0]`, `q_left_knee_joint`, `left_knee.q`, `/lowstate/motor_state[3]/q` and `motor_cmd[3].kp` all name a channel
of a joint; a number is a motor of the robot, in the order of its SDK or else of its model.
"""

import re
from collections.abc import Sequence

_STATE_WORDS = {"q": "q", "pos": "q", "position": "q", "dq": "dq", "vel": "dq", "velocity": "dq"}
_STATE_WORDS |= {"tau": "tau", "tau_est": "tau", "torque": "tau", "current": "current"}
_COMMAND_WORDS = {"q_des": "target", "q_cmd": "target", "q_target": "target", "target": "target", "action": "target"}
_COMMAND_WORDS |= {"dq_des": "dq_des", "dq_cmd": "dq_des", "tau_ff": "tau_ff", "tau_des": "tau_ff", "tau_cmd": "tau_ff"}
_COMMAND_WORDS |= {"kp": "kp", "kd": "kd"}
_MOTOR_COMMAND_WORDS = {"q": "target", "dq": "dq_des", "tau": "tau_ff", "kp": "kp", "kd": "kd"}
WORDS = _STATE_WORDS | _COMMAND_WORDS
"""What a channel may be called, and the channel: those of a recording, and dq_des and tau_ff of the motor law."""

_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
_MOTOR = re.compile(r"(?:.*[/.])?motor_(state|cmd)s?[\[/._](\d+)\]?[/._](\w+)$")
_WORD_FIRST = re.compile(rf"({_WORD})[\[:/._](\w+)\]?$")
_JOINT_FIRST = re.compile(rf"(\w+?)[/._:]({_WORD})$")
_TIME = re.compile(r"(?:_*(?:time|timestamp|t|stamp))(?:_(s|sec|ms|us|ns))?$")
_TIME_UNITS_S = {None: 1.0, "s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def time_unit_s(column: str) -> float | None:
    """The unit of a time column in s; None where the name is not that of a time."""
    if column.lower() in ("tick", "tick_ms"):
        return 1e-3
    match = _TIME.match(column.lower())
    return _TIME_UNITS_S[match.group(1)] if match else None


def channel_and_joint_of(column: str, joint_names: Sequence[str], motors: Sequence[str]) -> tuple[str, str] | None:
    """The channel and joint that a column holds; None for any other column. `motors`: the joint of each slot."""
    lower = column.strip().lower()
    if match := _MOTOR.match(lower):
        kind, slot, word = match.groups()
        channel = (_MOTOR_COMMAND_WORDS if kind == "cmd" else _STATE_WORDS).get(word)
        joint = _joint(slot, joint_names, motors)
        return (channel, joint) if channel and joint else None
    for pattern, word_group, joint_group in ((_WORD_FIRST, 1, 2), (_JOINT_FIRST, 2, 1)):
        if (match := pattern.match(lower)) and (joint := _joint(match.group(joint_group), joint_names, motors)):
            return WORDS[match.group(word_group)], joint
    return None


def _joint(key: str, joint_names: Sequence[str], motors: Sequence[str]) -> str | None:
    if key.isdecimal():
        key = motors[int(key)].lower() if int(key) < len(motors) else ""
    by_lower = {name.lower(): name for name in joint_names}
    return by_lower.get(key) or by_lower.get(f"{key}_joint")
