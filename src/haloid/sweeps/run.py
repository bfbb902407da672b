"""Run a sweep: start what is not finished yet, merge each result as it arrives, leave the rest for the next run.

In come independent jobs and a folder; out come the results by name. A job that is finished is not run again; one that
failed, was killed or stopped at a checkpoint is, in the folder it left behind.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from haloid.cores import usable_cores
from haloid.errors import HaloidError
from haloid.sweeps.folder import RESULTS, SweepError, SweepFolder
from haloid.sweeps.job import Job
from haloid.sweeps.place import Notice, Place, Processes

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Failure:
    """Why a job failed."""

    message: str
    """The message of its error, or how its process ended."""
    log_tail: str
    """The last lines it printed."""


@dataclass(frozen=True)
class SweepOutcome:
    """The outcome of one run of a sweep; a job that there was no time for is in none of the three."""

    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the finished jobs returned, from this run and earlier ones."""
    failures: dict[str, Failure] = field(default_factory=dict)
    """Jobs that failed in this run; the next run tries them again."""
    unfinished: dict[str, str] = field(default_factory=dict)
    """Jobs that stopped at a checkpoint, with what they said; the next run goes on with them."""


@dataclass(frozen=True)
class SweepEvent:
    """Something to show while the sweep runs."""

    kind: Literal["started", "reported", "finished", "failed", "unfinished"]
    job: str
    text: str
    """Where it started, what it reports, why it failed or how far it came; empty for a finished job."""
    finished: int
    """How many jobs are finished, with those of earlier runs."""
    total: int
    """How many jobs the sweep has."""


def run_sweep(
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int | None = None,
    ray_address: str | None = None,
    threads_per_job: int | None = None,
    deadline_s: float | None = None,
    fresh: bool = False,
    watch: Callable[[SweepEvent], None] = lambda event: None,
) -> SweepOutcome:
    """Run the jobs that are not finished in `folder` yet and return what is known of all of them.

    workers: how many run at a time; by default one on this machine, as many as it has room for on a cluster.
    ray_address: of a Ray cluster, "HOST:PORT" or "auto", instead of processes on this machine.
    threads_per_job: by default an even share of this machine's cores; on a cluster one, and what Ray sets aside.
    deadline_s: no job is started when this many seconds are over, and `Task.seconds_left` tells the running ones.
    fresh: jobs whose arguments have changed lose their files and start again; otherwise they are an error.
    watch: called at every start, report and end. An error that it raises stops the sweep.
    """
    if (workers is not None and workers < 1) or (threads_per_job is not None and threads_per_job < 1):
        raise SweepError(
            f"The sweep has {workers} workers and {threads_per_job} threads per job; expected at least 1 of each."
        )
    deadline_unix_s = math.inf if deadline_s is None else time.time() + deadline_s
    sweep_folder = SweepFolder(folder.absolute())
    with sweep_folder.locked() as lock:
        sweep_folder.admit(jobs, fresh=fresh)
        sweep = _Sweep(jobs, sweep_folder, watch)
        if not sweep.waiting:
            sweep.merge()
            return sweep.outcome()
        if ray_address is None:
            threads = threads_per_job or max(1, usable_cores() // (workers or 1))
            place = Processes(workers or 1, threads, deadline_unix_s, lock)
        else:
            from haloid.sweeps.ray_cluster import RayCluster

            place = RayCluster(ray_address, workers, threads_per_job or 1, deadline_unix_s)
        try:
            sweep.run(place, deadline_unix_s)
        finally:
            place.close()
            sweep.merge()
    return sweep.outcome()


class _Sweep:
    """The jobs of one run and the state of each."""

    def __init__(self, jobs: Sequence[Job], folder: SweepFolder, watch: Callable[[SweepEvent], None]) -> None:
        self._folder = folder
        self._watch = watch
        self._order = [job.name for job in jobs]
        self._results: dict[str, dict[str, Any]] = {}
        self._failures: dict[str, Failure] = {}
        self._unfinished: dict[str, str] = {}
        self.waiting: deque[Job] = deque()
        for job in jobs:
            result = folder.result(job)
            if result is None:
                self.waiting.append(job)
            else:
                self._results[job.name] = result

    def run(self, place: Place, deadline_unix_s: float) -> None:
        running: set[str] = set()
        while True:
            if time.time() >= deadline_unix_s:
                self.waiting.clear()
                running.difference_update(place.withdraw())
            while self.waiting and place.has_room():
                job = self.waiting.popleft()
                if self._start(job, place):
                    running.add(job.name)
            if not running:
                return
            for notice in place.wait():
                if notice.kind == "ended":
                    running.discard(notice.name)
                    self._end(notice)
                else:
                    self._tell(notice.kind, notice.name, notice.text)

    def merge(self) -> None:
        """Bring `results.json` up to date; if that fails the old one stays, and the next job that ends tries again."""
        try:
            self._folder.merge()
        except (OSError, HaloidError) as error:
            _LOG.warning(
                "%s could not be written (%s). The results are in the folders of the jobs; "
                "run the sweep again when there is room to have them merged.",
                self._folder.path / RESULTS,
                str(error).rstrip("."),
            )

    def outcome(self) -> SweepOutcome:
        """Everything in the order of the jobs, whatever the order of their ends."""
        known = [self._results, self._failures, self._unfinished]
        return SweepOutcome(*({n: part[n] for n in self._order if n in part} for part in known))

    def _start(self, job: Job, place: Place) -> bool:
        """Whether the job could be started; a full disk, or no memory for a process, fails this job alone."""
        try:
            place.start(job.name, self._folder.begin(job))
        except (OSError, HaloidError) as error:
            self._fail(job.name, f"it could not be started: {error}")
            return False
        return True

    def _end(self, notice: Notice) -> None:
        name = notice.name
        outcome = self._folder.outcome(name) or {"status": "failed", "message": notice.text}
        if outcome["status"] == "finished":
            self._results[name] = outcome["result"]
            self.merge()
        elif outcome["status"] == "unfinished":
            self._unfinished[name] = outcome["message"]
        else:
            return self._fail(name, outcome["message"])
        self._tell(outcome["status"], name, outcome.get("message", ""))

    def _fail(self, name: str, message: str) -> None:
        self._failures[name] = Failure(message, self._folder.log_tail(name))
        _LOG.warning("the job %s failed: %s", name, message)
        self._tell("failed", name, message)

    def _tell(self, kind: Any, name: str, text: str) -> None:
        self._watch(SweepEvent(kind, name, text, len(self._results), len(self._order)))
