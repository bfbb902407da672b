"""Where jobs run: what a place promises the sweep, and the place that is processes on this machine.

A sweep starts jobs while the place has room and asks it again and again what has happened. The files of a job are in
its folder when the place says that the job has ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from haloid.sweeps.child import Child, why_no_outcome

_POLL_S = 0.1


@dataclass(frozen=True)
class Notice:
    """Something that a place has to tell about a job."""

    name: str
    kind: Literal["started", "reported", "ended"]
    text: str
    """Where it started, what it reported, or why it ended if the job itself could not say."""


class Place(Protocol):
    """Somewhere to run jobs."""

    def has_room(self) -> bool:
        """Whether another job may be started now."""
        ...

    def start(self, name: str, folder: Path) -> None:
        """Begin an attempt at the job that is described in the folder."""
        ...

    def wait(self) -> list[Notice]:
        """What has happened; returns after a moment even if nothing has."""
        ...

    def withdraw(self) -> list[str]:
        """Take back the jobs that wait for a free machine, and return their names."""
        ...

    def close(self) -> None:
        """Stop what still runs."""
        ...


class Processes:
    """Processes on this machine, `workers` at a time."""

    def __init__(self, workers: int, threads: int, deadline_unix_s: float, lock: int) -> None:
        self._workers = workers
        self._threads = threads
        self._deadline_unix_s = deadline_unix_s
        self._lock = lock
        self._children: dict[str, Child] = {}
        self._news: list[Notice] = []

    def has_room(self) -> bool:
        return len(self._children) < self._workers

    def start(self, name: str, folder: Path) -> None:
        self._children[name] = Child(folder, self._threads, self._deadline_unix_s, (self._lock,))
        self._news.append(Notice(name, "started", "on this machine"))

    def wait(self) -> list[Notice]:
        news, self._news = self._news, []
        for name, child in list(self._children.items()):
            status = child.exit_status()  # before the reports, so that none is missed
            news += [Notice(name, "reported", line) for line in child.reports()]
            if status is not None:
                del self._children[name]
                news.append(Notice(name, "ended", why_no_outcome(status)))
        if not news:
            time.sleep(_POLL_S)
        return news

    def withdraw(self) -> list[str]:
        return []

    def close(self) -> None:
        for child in self._children.values():
            child.interrupt()
        for child in self._children.values():
            child.end()
        self._children.clear()
