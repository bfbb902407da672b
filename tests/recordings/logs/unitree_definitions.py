"""The definitions of Unitree's messages, as an MCAP schema holds them: what the layouts are checked against."""

from haloid.recordings.logs.unitree_messages import LOW_CMD, LOW_STATE

DEFINITIONS = {
    "unitree_hg/msg/IMUState": """\
float32[4] quaternion
float32[3] gyroscope
float32[3] accelerometer
float32[3] rpy
int16 temperature
""",
    "unitree_hg/msg/MotorState": """\
uint8 mode
float32 q
float32 dq
float32 ddq
float32 tau_est
int16[2] temperature
float32 vol
uint32[2] sensor
uint32 motorstate
uint32[4] reserve
""",
    LOW_STATE: """\
uint32[2] version
uint8 mode_pr
uint8 mode_machine
uint32 tick
IMUState imu_state
MotorState[35] motor_state
uint8[40] wireless_remote
uint32[4] reserve
uint32 crc
""",
    "unitree_hg/msg/MotorCmd": """\
uint8 mode
float32 q
float32 dq
float32 tau
float32 kp
float32 kd
uint32 reserve
""",
    LOW_CMD: """\
uint8 mode_pr
uint8 mode_machine
MotorCmd[35] motor_cmd
uint32[4] reserve
uint32 crc
""",
}
"""The .msg texts, by type."""

_PARTS = {LOW_STATE: ("unitree_hg/msg/IMUState", "unitree_hg/msg/MotorState"), LOW_CMD: ("unitree_hg/msg/MotorCmd",)}


def definition_with_parts(type_name: str) -> str:
    """The definition as an MCAP schema holds it: the type's own text, then that of every type inside."""
    parts = [DEFINITIONS[type_name]]
    parts += [f"{'=' * 80}\nMSG: {part.replace('/msg/', '/')}\n{DEFINITIONS[part]}" for part in _PARTS[type_name]]
    return "".join(parts)
