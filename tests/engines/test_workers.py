"""Workers: the same work in and out of processes, errors that come home, and processes that end."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.engines.scenes import tree_scene

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.workers import Workers
from haloid.errors import HaloidError

PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def without_jax(monkeypatch: pytest.MonkeyPatch):
    """Tests of the MJX engine may have imported it."""
    monkeypatch.delitem(sys.modules, "jax", raising=False)


class Plain:
    """An engine of nothing but a simulator."""

    class simulator:  # noqa: N801
        @staticmethod
        def use_one_thread() -> None:
            pass

    factor = 3


def multiply(engine, piece):
    return os.getpid(), engine.factor * piece


def fail(engine, piece):
    if piece == 2:
        raise HaloidError("piece 2 cannot be done")
    return piece


def sensitivities(engine, piece):
    physics, columns, fragments, q0, v0 = piece
    found = engine.jacobian(physics, columns, fragments, q0, v0)
    return found.readings, found.by_parameter, found.by_state


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_pieces(processes):
    with Workers(Plain(), processes) as workers:
        found = workers.map(multiply, range(20))
    assert [value for _, value in found] == [3 * piece for piece in range(20)]
    elsewhere = {pid for pid, _ in found} != {os.getpid()}
    assert elsewhere == (processes == 2)


def test_a_single_piece_stays_here():
    with Workers(Plain(), 2) as workers:
        assert workers.map(multiply, [5]) == [(os.getpid(), 15)]
        assert workers.map(multiply, []) == []


def test_a_process_with_jax_is_not_forked(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    with Workers(Plain(), 2) as workers:  # JAX may come between
        monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
        assert workers.map(multiply, range(4)) == [(os.getpid(), 3 * piece) for piece in range(4)]
    assert caplog.messages == [
        "JAX was imported, and a process that runs it cannot be forked: one core does the work. To use all, do this "
        "before JAX is imported, or in a process without it"
    ]


def test_an_engine_finds_the_same_in_other_processes():
    scene = tree_scene(1)
    engine = AnalyticEngine(scene.simulator)
    pieces = [
        (scene.physics, scene.columns(), scene.fragments.chosen(np.array([b])), scene.q0[[b]], scene.v0[[b]])
        for b in (0, 1)
    ]
    with Workers(engine, 2) as workers:
        there = workers.map(sensitivities, pieces)
    here = [sensitivities(engine, piece) for piece in pieces]
    for one, two in zip(here, there, strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_reaches_the_caller(processes):
    with Workers(Plain(), processes) as workers:
        with pytest.raises(HaloidError, match=r"^piece 2 cannot be done$"):
            workers.map(fail, range(5))
        assert workers.map(fail, [0, 1]) == [0, 1]  # and they go on working


def test_leaving_ends_the_processes():
    before = set(multiprocessing.active_children())
    with Workers(Plain(), 2) as workers:
        workers.map(multiply, range(4))
        started = set(multiprocessing.active_children()) - before
        assert started
    deadline = time.monotonic() + PATIENCE_S
    while any(process.is_alive() for process in started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(process.is_alive() for process in started)


def test_an_error_inside_ends_the_processes_too():
    before = set(multiprocessing.active_children())
    with pytest.raises(HaloidError), Workers(Plain(), 2) as workers:
        workers.map(fail, range(5))
    deadline = time.monotonic() + PATIENCE_S
    while set(multiprocessing.active_children()) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert set(multiprocessing.active_children()) <= before


KILLED = """
import os, signal, sys, time
from tests.engines.test_workers import Plain, Workers, own_process

with Workers(Plain(), 2) as workers:
    print(*set(workers.map(own_process, range(8))), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def own_process(_engine: Plain, _piece: int) -> int:
    return os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork")
def test_the_processes_end_with_a_parent_that_was_killed():
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=root, capture_output=True, text=True, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    started = [int(number) for number in killed.stdout.split()]
    assert started
    deadline = time.monotonic() + PATIENCE_S
    while any(_runs(process) for process in started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(process) for process in started)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # whoever adopted it has yet to ask how it ended
