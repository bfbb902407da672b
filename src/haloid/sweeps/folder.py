"""The folder of a sweep: what is to be done, what is done, and who is at work.

    FOLDER/results.json            the results of all finished jobs, by name; written again as each arrives
    FOLDER/jobs/NAME/job.json      the job's function and arguments
    FOLDER/jobs/NAME/log.txt       what its attempts printed
    FOLDER/jobs/NAME/reports.txt   what the last attempt reported, one line each
    FOLDER/jobs/NAME/outcome.json  how the last attempt ended; written by the attempt itself, as the last thing it does
    FOLDER/jobs/NAME/...           the job's own files

The outcomes count, and `results.json` is made from them: whatever is killed, at any time, the next run finds each job
either finished or not. Every file is written whole or not at all.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.sweeps.job import Job

RESULTS, JOBS = "results.json", "jobs"
JOB, LOG, REPORTS, OUTCOME = "job.json", "log.txt", "reports.txt", "outcome.json"
_LOCK = ".lock"
_TAIL_LINES = 20


class SweepError(HaloidError):
    """A sweep that cannot be run as asked."""


class SweepFolder:
    """The files of one sweep."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def job(self, name: str) -> Path:
        return self.path / JOBS / name

    def admit(self, jobs: Sequence[Job], *, fresh: bool) -> None:
        """Raise if a job's name stands for something else in this folder; with `fresh`, remove what it stood for."""
        twice = _first_double([job.name for job in jobs])
        if twice is not None:
            raise SweepError(f"Two jobs are called {twice} (case does not count); expected a name of its own for each.")
        changed = [(job, found) for job in jobs if (found := self._other_description(job)) is not None]
        if changed and not fresh:
            job, found = changed[0]
            more = f" So have {len(changed) - 1} more jobs." if len(changed) > 1 else ""
            raise SweepError(
                f"The job {job.name} in {self.path} was started with {found}, and now has {job.description()}.{more} "
                "Give the sweep another folder, or start the changed jobs again with --fresh (it removes their files)."
            )
        for job, _ in changed:
            shutil.rmtree(self.job(job.name))

    def begin(self, job: Job) -> Path:
        """Make the job's folder ready for an attempt, keep the files of earlier ones, and return it."""
        folder = self.job(job.name)
        for stale in (OUTCOME, REPORTS):
            (folder / stale).unlink(missing_ok=True)
        write_json(folder / JOB, job.description())
        return folder

    def result(self, job: Job) -> dict[str, Any] | None:
        """The result of the job if it was finished, with these arguments; else None."""
        outcome = self.outcome(job.name)
        if outcome is None or outcome["status"] != "finished":
            return None
        return outcome["result"] if _read_json(self.job(job.name) / JOB) == job.description() else None

    def outcome(self, name: str) -> dict[str, Any] | None:
        """How the last attempt at the job ended; None if it has not, or was killed first."""
        return _read_json(self.job(name) / OUTCOME)

    def log_tail(self, name: str) -> str:
        """The last lines that the last attempt printed."""
        try:
            text = (self.job(name) / LOG).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        last_attempt = text.rpartition(_ATTEMPT)[2].partition("\n")[2]
        return "\n".join(last_attempt.splitlines()[-_TAIL_LINES:])

    def merge(self) -> None:
        """Write `results.json` again: every finished job of the folder, in the order of the names."""
        merged = {}
        for folder in sorted((self.path / JOBS).iterdir()) if (self.path / JOBS).is_dir() else []:
            outcome = self.outcome(folder.name)
            if outcome is not None and outcome["status"] == "finished":
                merged[folder.name] = {**(_read_json(folder / JOB) or {}), "result": outcome["result"]}
        write_json(self.path / RESULTS, merged)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Yield the descriptor of the lock; raise if another sweep holds it.

        Processes that do the jobs inherit the descriptor, so the folder stays locked until the last of them is gone,
        even if the sweep was killed with no chance to end them.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / _LOCK).open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "another process"
                raise SweepError(
                    f"A sweep is at work in {self.path} already: {holder}. Wait for it, or give another folder."
                ) from None
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()}")
            lock.flush()
            yield lock.fileno()

    def _other_description(self, job: Job) -> dict[str, Any] | None:
        """What the job's name stands for in this folder, if it is not this job."""
        found = _read_json(self.job(job.name) / JOB)
        return None if found is None or found == job.description() else found


_ATTEMPT = "== attempt of "


def attempt_line() -> bytes:
    """The line that begins an attempt in log.txt."""
    return f"{_ATTEMPT}{time.strftime('%Y-%m-%d %H:%M:%S')} on {socket.gethostname()} ==\n".encode()


def write_json(path: Path, value: Any) -> None:
    with atomic_file(path) as beside:
        beside.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None if the file is absent or was cut short, as when the machine lost its power."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _first_double(names: Sequence[str]) -> str | None:
    seen = set()
    for name in names:
        if name.casefold() in seen:
            return name
        seen.add(name.casefold())
    return None
