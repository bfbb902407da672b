"""What the settings of a stage may be; anything else is refused with a message, whether it comes from a command or not.

In: a dataclass of settings. Its annotations give the choices and the kinds of values, a table the limits of its
numbers. Messages name a setting as the commands' options do, which leave out its unit: `timestep_s` is --timestep.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, get_args, get_origin, get_type_hints

from haloid.errors import HaloidError

Limits = Mapping[str, tuple[float, float]]
"""The least and the greatest value of each number."""


class SettingError(HaloidError):
    def __init__(self, name: str, found: str, expected: str) -> None:
        option = re.sub("_(s|m|rad)$", "", name).replace("_", "-")
        super().__init__(f"--{option} is {found}; expected {expected}")


def check_settings(settings: Any, limits: Limits, names: Mapping[str, Iterable[str]] | None = None) -> None:
    """Raise `SettingError` for the first value that its field may not have.

    `names` are the choices of settings whose annotation does not list them.
    """
    for name, kinds in _kinds(type(settings)).items():
        value = getattr(settings, name)
        if not (value is None and type(None) in kinds):
            _check(name, value, kinds, limits.get(name), list((names or {}).get(name, ())))


def _check(
    name: str, value: object, kinds: tuple[Any, ...], limits: tuple[float, float] | None, choices: list[str]
) -> None:
    choices = choices + [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices and value not in choices:
        raise SettingError(name, repr(value), " or ".join(map(repr, choices)))
    if any(get_origin(kind) is tuple for kind in kinds) and not _is_names(value):
        raise SettingError(name, repr(value), "a tuple of names")
    if limits is not None:
        _check_number(name, value, *limits, whole=int in kinds)


def _check_number(name: str, value: object, low: float, high: float, whole: bool) -> None:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise SettingError(name, repr(value), f"a number from {low:g} to {high:g}")
    if not low <= float(value) <= high:
        raise SettingError(name, f"{value:g}", f"a number from {low:g} to {high:g}")
    if whole and not isinstance(value, Integral):
        raise SettingError(name, f"{value:g}", f"a whole number from {low:g} to {high:g}")


def _is_names(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(name, str) for name in value)


@cache
def _kinds(settings: type) -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(settings)
    return {field.name: tuple(_alternatives(hints[field.name])) for field in fields(settings)}


def _alternatives(hint: Any) -> Iterator[Any]:
    if isinstance(hint, types.UnionType):
        yield from get_args(hint)
    else:
        yield hint
