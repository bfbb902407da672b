"""The process of one job: `python -m haloid.sweeps.worker FOLDER THREADS DEADLINE_UNIX_S`.

Reads job.json in the folder, calls the function, and writes how it ended to outcome.json. What the function prints
goes where standard output goes, which is log.txt. Standard input shows that the parent lives: when it
ends, the process and all its children end too.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import haloid
from haloid.errors import HaloidError
from haloid.sweeps.folder import JOB, OUTCOME, REPORTS, write_json
from haloid.sweeps.job import JobError, Task, Unfinished, require_plain

CANNOT_WRITE = os.EX_IOERR
"""The exit status of a worker that could not write its outcome."""


def main(folder: Path, threads: int, deadline_unix_s: float) -> int:
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what a shell starts with «&»
    job = json.loads((folder / JOB).read_text(encoding="utf-8"))
    began_s = time.monotonic()
    outcome = _attempt(job, Task(job["arguments"], folder, threads, _Reports(folder / REPORTS), deadline_unix_s))
    outcome |= {
        "seconds": round(time.monotonic() - began_s, 3),
        "haloid": haloid.__version__,
        "host": socket.gethostname(),
    }
    try:
        write_json(folder / OUTCOME, outcome)
    except (OSError, HaloidError):
        _print_traceback()
        return CANNOT_WRITE
    return 0


def _attempt(job: dict[str, Any], task: Task) -> dict[str, Any]:
    """Call the job's function; a failure of any kind becomes a message, and its traceback goes to the log."""
    try:
        module, _, name = job["function"].partition(":")
        result = getattr(importlib.import_module(module), name)(task)
        if not isinstance(result, dict):
            raise JobError(f"{job['function']} returned a {type(result).__name__}; expected a dictionary.")
        try:
            require_plain(result)
        except JobError as error:
            raise JobError(f"{job['function']} returned what does not fit in a JSON file: {error}") from error
        return {"status": "finished", "result": result}
    except Unfinished as stop:
        return {"status": "unfinished", "message": str(stop)}
    except HaloidError as error:
        _print_traceback()
        return {"status": "failed", "message": str(error)}
    except Exception as error:
        _print_traceback()
        return {"status": "failed", "message": f"{type(error).__name__}: {error}"}


class _Reports:
    """Appends what a job reports to a file, one line each."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, text: str) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as reports:
                reports.write(" ".join(text.split()) + "\n")
        except OSError:  # a full disk may have room again by the time the result is written
            _print_traceback()


def _print_traceback() -> None:
    with suppress(OSError):  # the disk that is full may be the log's
        traceback.print_exc()


def _end_with_parent() -> None:
    """Wait for the end of standard input in a thread of its own, and leave the job an empty one."""
    parent = os.dup(0)
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)

    def watch() -> None:
        while os.read(parent, 1024):
            pass
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
