"""A worker process as its parent sees it: its reports, its end, and how to stop it.

In comes the folder of a job that is ready for an attempt; out come the lines it reports and, in the end, its exit
status. The same on this machine and on the node of a cluster.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from haloid.sweeps.folder import LOG, REPORTS, attempt_line
from haloid.sweeps.worker import CANNOT_WRITE

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_PATIENCE_S = 5.0


class Child:
    """One attempt at a job, in a process group of its own: Ctrl-C in the terminal does not reach it."""

    def __init__(self, folder: Path, threads: int, deadline_unix_s: float, keep_open: tuple[int, ...] = ()) -> None:
        environment = os.environ | dict.fromkeys(_THREAD_VARIABLES, str(threads))
        environment |= {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
        # -P: files in the current folder must not shadow a package.
        command = [sys.executable, "-P", "-m", "haloid.sweeps.worker", str(folder), str(threads), str(deadline_unix_s)]
        with (folder / LOG).open("ab", buffering=0) as log:
            log.write(attempt_line())
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=keep_open,
                start_new_session=True,
            )
        self._reports = folder / REPORTS
        self._read_bytes = 0

    def reports(self) -> list[str]:
        """The lines that are new since the last call."""
        try:
            with self._reports.open("rb") as file:
                file.seek(self._read_bytes)
                new = file.read()
        except FileNotFoundError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        return whole.decode("utf-8", errors="replace").splitlines()

    def exit_status(self) -> int | None:
        """None while it runs; else as subprocess has it, negative for a signal. Processes it left running are ended."""
        if self._process.returncode is None and self._process.poll() is not None:
            self._end_group()
        return self._process.returncode

    def interrupt(self) -> None:
        """Ask it to stop, as Ctrl-C would; follow with `end`."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)

    def end(self) -> None:
        """Wait a little for the process to end by itself, then kill it and all its children."""
        if self._process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE_S)
            self._end_group()
            self._process.wait()

    def _end_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()


def why_no_outcome(exit_status: int) -> str:
    """What to say about an attempt that ended without writing an outcome."""
    if exit_status == CANNOT_WRITE:
        return "its outcome could not be written; see whether the disk is full, and run the sweep again"
    if exit_status < 0:
        try:
            name = signal.Signals(-exit_status).name
        except ValueError:
            name = "unknown"
        memory = " (the system does that when it is out of memory)" if -exit_status == signal.SIGKILL else ""
        return f"the process was ended by signal {-exit_status}, {name}{memory}; run the sweep again to retry"
    return f"the process ended with status {exit_status} before the job was done; run the sweep again to retry"
