"""A job of a sweep, and what the function that does it is given.

A job names a function, `"package.module:function"`, and arguments of plain JSON values. The function is called as
`function(task)` in a process of its own and returns a dictionary of plain JSON values; what is big (a policy, a
checkpoint) it leaves as files in `task.folder`. The folder is the same when the job is run again after a crash, so a
function that finds its checkpoint there can go on from it.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haloid.errors import HaloidError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class JobError(HaloidError):
    """A job that cannot be part of a sweep."""


class Unfinished(Exception):  # noqa: N818 (stopping at a checkpoint is not an error)
    """Raised by a job's function that stopped at a checkpoint before it was done, with a message about its progress.

    The job counts neither as finished nor as failed; the next run of the sweep goes on with it.
    """


@dataclass(frozen=True)
class Job:
    """One piece of a sweep, independent of all others."""

    name: str
    """Names the job in the results, and its folder."""
    function: str
    """Where the work is: "package.module:function", importable wherever the job runs."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """What the function is to do, in plain JSON values; the same name always stands for the same arguments."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise JobError(
                f"The name of a job is {self.name!r}; it becomes the name of a folder: expected 1 to 100 of the "
                "characters A-Z a-z 0-9 . _ + - with a letter or digit first."
            )
        if not _FUNCTION.fullmatch(self.function):
            raise JobError(
                f"The function of the job {self.name} is {self.function!r}; expected «package.module:function»."
            )
        try:
            require_plain(self.arguments)
        except JobError as error:
            raise JobError(f"The arguments of the job {self.name} do not fit in a JSON file: {error}") from error

    def description(self) -> dict[str, Any]:
        """What job.json holds, as it is read back: tuples have become lists."""
        return json.loads(json.dumps({"function": self.function, "arguments": self.arguments}))


@dataclass(frozen=True)
class Task:
    """What a job's function is given."""

    arguments: dict[str, Any]
    """The arguments of the job."""
    folder: Path
    """The job's own folder, with whatever an earlier attempt left in it."""
    threads: int
    """How many threads the job may use; the environment already tells BLAS, OpenMP and torch."""
    report: Callable[[str], None]
    """Report the progress of the job to the sweep, in one line."""
    deadline_unix_s: float = math.inf
    """When the sweep's time is over, on the clock `time.time`."""

    def seconds_left(self) -> float:
        """How long the job should still go on: infinite without a deadline, negative after it.

        Nothing stops a job that takes longer. A job that can should stop at a checkpoint and raise `Unfinished`.
        """
        return self.deadline_unix_s - time.time()


def require_plain(value: Any, place: str = "") -> None:
    """Raise unless `value` is made of dictionaries, lists, strings, finite numbers, booleans and None.

    >>> require_plain({"errors": [0.1, float("nan")]})
    Traceback (most recent call last):
    haloid.sweeps.job.JobError: ['errors'][1] is nan; expected a finite number, or None for what is not known.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise JobError(f"{place or 'the dictionary'} has the key {key!r}; expected a string.")
            require_plain(inner, f"{place}[{key!r}]")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            require_plain(inner, f"{place}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise JobError(f"{place} is {float(value)}; expected a finite number, or None for what is not known.")
    elif not (value is None or isinstance(value, str | int | float)):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise JobError(
            f"{place or 'it'} is of type {kind}; expected a dictionary, list, string, number, boolean or None."
        )
