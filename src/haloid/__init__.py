"""haloid: from the log of a humanoid that carries an unknown load to a calibrated model with error bars."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from haloid.errors import HaloidError

if TYPE_CHECKING:
    from haloid.api.calibration import calibrate, replay
    from haloid.api.identification import identify
    from haloid.api.logs import inspect, read, record
    from haloid.api.models import load_motion, load_robot
    from haloid.api.result import Result, load_result
    from haloid.api.skills import evaluate, load_policy, train

__version__ = "0.2.0"
__all__ = [
    "HaloidError",
    "Result",
    "calibrate",
    "evaluate",
    "identify",
    "inspect",
    "load_motion",
    "load_policy",
    "load_result",
    "load_robot",
    "read",
    "record",
    "replay",
    "train",
]

_ROOMS = {
    "read": "logs",
    "inspect": "logs",
    "record": "logs",
    "identify": "identification",
    "calibrate": "calibration",
    "replay": "calibration",
    "Result": "result",
    "load_result": "result",
    "load_robot": "models",
    "load_motion": "models",
    "train": "skills",
    "load_policy": "skills",
    "evaluate": "skills",
}
"""Each function of the front door and its module in `haloid.api`, which is imported when it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'haloid' has no attribute {name!r}")
    return getattr(import_module(f"haloid.api.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class CallablePackage(ModuleType):
    """A package that shares its name with a function of the front door, and can be called like it."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return __getattr__(self.__name__.rpartition(".")[2])(*args, **settings)
