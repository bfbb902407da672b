"""Workers: map a function over pieces of work in forked processes, each with its own copy of an engine.

Pinocchio's Python calls hold the interpreter, so threads would wait for each other; forked processes do not. Where
forking is not available (or with one core) the work runs here, one piece after the other, with the same result. So it
does once JAX was imported: its threads may hold locks that nobody in a forked process would ever release.
"""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController

from haloid.cores import usable_cores

_PR_SET_PDEATHSIG = 1
"""Linux's prctl(2): the signal that a process gets when the thread that forked it ends."""

_LOG = logging.getLogger(__name__)

_engine: Any = None
_blas = ThreadpoolController()


class Workers(AbstractContextManager):
    """`map(function, pieces)` calls `function(engine, piece)`; results come in the order of the pieces."""

    def __init__(self, engine: Any, processes: int | None = None) -> None:
        self._engine = engine
        self.processes = processes or usable_cores()
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Callable[[Any, Any], Any], pieces: Iterable[Any]) -> list[Any]:
        pieces = list(pieces)
        if self._pool is None and self.processes > 1 and len(pieces) > 1 and _may_fork():
            context = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(
                self.processes, mp_context=context, initializer=_adopt, initargs=(self._engine,)
            )
        if self._pool is None or len(pieces) < 2:
            with _blas.limit(limits=1):
                return [function(self._engine, piece) for piece in pieces]
        return list(self._pool.map(_call, [function] * len(pieces), pieces))

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _may_fork() -> bool:
    if "fork" not in multiprocessing.get_all_start_methods() or os.uname().sysname != "Linux":
        return False
    if "jax" in sys.modules:
        _LOG.warning(
            "JAX was imported, and a process that runs it cannot be forked: one core does the work. To use all, do "
            "this before JAX is imported, or in a process without it"
        )
        return False
    return True


def _adopt(engine: Any) -> None:
    """In a new process: keep the inherited engine, whose rollout threads did not survive the fork."""
    global _engine
    _end_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # only the parent handles it as the command does
    engine.simulator.use_one_thread()
    _engine = engine
    _blas.limit(limits=1)


def _end_with_parent() -> None:
    """Has the system end this process with its parent, even if the parent is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # it ended before this took effect
        os._exit(1)


def _call(function: Callable[[Any, Any], Any], piece: Any) -> Any:
    return function(_engine, piece)
