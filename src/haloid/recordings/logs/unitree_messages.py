"""Unitree's `unitree_hg` messages: their exact layout on the wire (CDR, little endian).

In: payloads of a bag. Out: structured arrays that view them, thousands of messages at once.

CDR aligns every number to its own size, counted from the end of the 4-byte encapsulation header, and pads no struct at
its end. An IMUState therefore ends on an odd multiple of 2, and the `mode` byte of the first motor stands right behind
it; all other fields of the 35 motors lie at one stride.
"""

from collections.abc import Sequence

import numpy as np

MOTOR_SLOTS = 35
CDR_HEADER = bytes([0, 1, 0, 0])
"""Plain CDR, little endian."""
_LITTLE_ENDIAN_CDR = (0x01, 0x07)
"""Second byte of the header: CDR and XCDR2, which lay out these messages alike."""

LOW_STATE = "unitree_hg/msg/LowState"
LOW_CMD = "unitree_hg/msg/LowCmd"


def _layout(itemsize: int, **fields: tuple[object, int]) -> np.dtype:
    formats, offsets = zip(*fields.values(), strict=True)
    return np.dtype(
        {"names": list(fields), "formats": list(formats), "offsets": list(offsets), "itemsize": itemsize}  # type: ignore[arg-type]
    )


_IMU = _layout(
    54,
    quaternion=(("<f4", 4), 0),
    gyroscope=(("<f4", 3), 16),
    accelerometer=(("<f4", 3), 28),
    rpy=(("<f4", 3), 40),
    temperature=("<i2", 52),
)
_MOTOR_STATE = _layout(
    56,
    q=("<f4", 4),
    dq=("<f4", 8),
    ddq=("<f4", 12),
    tau_est=("<f4", 16),
    temperature=(("<i2", 2), 20),
    vol=("<f4", 24),
    sensor=(("<u4", 2), 28),
    motorstate=("<u4", 36),
    reserve=(("<u4", 4), 40),
)
_MOTOR_CMD = _layout(
    28, q=("<f4", 4), dq=("<f4", 8), tau=("<f4", 12), kp=("<f4", 16), kd=("<f4", 20), reserve=("<u4", 24)
)
LAYOUTS = {
    LOW_STATE: _layout(
        2092,
        header=(("u1", 4), 0),
        version=(("<u4", 2), 4),
        mode_pr=("u1", 12),
        mode_machine=("u1", 13),
        tick=("<u4", 16),
        imu_state=(_IMU, 20),
        motor_state=((_MOTOR_STATE, MOTOR_SLOTS), 72),
        wireless_remote=(("u1", 40), 2032),
        reserve=(("<u4", 4), 2072),
        crc=("<u4", 2088),
    ),
    LOW_CMD: _layout(
        1004,
        header=(("u1", 4), 0),
        mode_pr=("u1", 4),
        mode_machine=("u1", 5),
        motor_cmd=((_MOTOR_CMD, MOTOR_SLOTS), 4),
        reserve=(("<u4", 4), 984),
        crc=("<u4", 1000),
    ),
}
"""The payload of a message, encapsulation header included. The motors' `mode` is not a field: see `MODE_OFFSETS`."""

_FIRST_MODE = {LOW_STATE: 74, LOW_CMD: 6}
MODE_OFFSETS = {
    name: np.array([_FIRST_MODE[name], *(base + stride * motor for motor in range(1, MOTOR_SLOTS))])
    for name, base, stride in ((LOW_STATE, 72, 56), (LOW_CMD, 4, 28))
}
"""Where the payload holds each motor's `mode`: the first is not at the stride of the others."""


def decode(type_name: str, payloads: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """The whole messages among `payloads` as one structured array, and `(count,)` which of them those are.

    A payload may have up to three bytes of padding behind it, as some recorders write.
    """
    layout = LAYOUTS[type_name]
    whole = np.array([0 <= len(p) - layout.itemsize < 4 and p[1] in _LITTLE_ENDIAN_CDR for p in payloads], bool)
    buffer = b"".join(p[: layout.itemsize] for p, good in zip(payloads, whole, strict=True) if good)
    return np.frombuffer(buffer, layout), whole


def motor_modes(type_name: str, messages: np.ndarray) -> np.ndarray:
    """(T, 35) the `mode` of every motor."""
    payload_bytes = np.ascontiguousarray(messages).view(np.uint8).reshape(len(messages), -1)
    return payload_bytes[:, MODE_OFFSETS[type_name]]
