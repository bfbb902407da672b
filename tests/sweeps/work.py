"""What the jobs of the tests do."""

import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np

from haloid.errors import HaloidError
from haloid.sweeps.job import Task, Unfinished


def square(task: Task) -> dict:
    """Also counts its calls in its folder."""
    calls = task.folder / "calls.txt"
    calls.write_text((calls.read_text() if calls.exists() else "") + "x")
    time.sleep(task.arguments.get("sleep_s", 0))
    print("squaring", task.arguments["x"])
    return {"square": task.arguments["x"] ** 2}


def surroundings(task: Task) -> dict:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "threads": task.threads,
        "environment": [os.environ[name] for name in names],
        "stdin": sys.stdin.read(),
        "endless": task.seconds_left() == float("inf"),
    }


def fail(task: Task) -> dict:
    print("about to fail")
    if task.arguments["how"] == "haloid":
        raise HaloidError("The motion is upside down; expected the head above the feet.")
    if task.arguments["how"] == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    if task.arguments["how"] == "exit":
        os._exit(3)
    if task.arguments["how"] == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        return {"lost": True}
    if task.arguments["how"] == "numpy":
        return {"errors": [{"mean_m": np.float32(0.5)}]}
    if task.arguments["how"] == "list":
        return [1]  # type: ignore
    raise KeyError(task.arguments["how"])


def count(task: Task) -> dict:
    """Count to `to`, a checkpoint at each step; says where each attempt began. Waits at `pause_at` the first time."""
    checkpoint, attempts = task.folder / "checkpoint.txt", task.folder / "attempts.txt"
    reached = int(checkpoint.read_text()) if checkpoint.exists() else 0
    with attempts.open("a") as file:
        file.write(f"{reached}\n")
    first = reached == 0
    while reached < task.arguments["to"]:
        reached += 1
        checkpoint.with_suffix(".new").write_text(str(reached))
        checkpoint.with_suffix(".new").replace(checkpoint)
        task.report(f"at {reached}")
        if first and reached == task.arguments.get("pause_at"):
            while True:
                task.report(f"process {os.getpid()}")
                time.sleep(0.5)
        time.sleep(task.arguments.get("step_s", 0))
        if task.seconds_left() < 0:
            raise Unfinished(f"stopped at {reached}")
    return {"attempts": [int(line) for line in attempts.read_text().split()]}


def with_a_child(task: Task) -> dict:
    """Start a process that outlives us, and tell both numbers."""
    child = subprocess.Popen(["sleep", "600"])
    task.report(f"{os.getpid()} {child.pid}")
    time.sleep(task.arguments["sleep_s"])
    return {}


def tidy_up(task: Task) -> dict:
    """Leaves a mark if it is given the time to end."""
    try:
        task.report("working")
        time.sleep(600)
    finally:
        (task.folder / "tidied.txt").write_text("yes")
    return {}


def carry(task: Task) -> dict:
    """A file in, other files out: deep, big, and one removed."""
    (task.folder / "deep" / "er").mkdir(parents=True)
    (task.folder / "deep" / "er" / "policy.onnx").write_bytes(bytes(range(256)) * 4096)
    given = (task.folder / "given.txt").read_text()
    (task.folder / "given.txt").unlink()
    time.sleep(task.arguments["sleep_s"])
    return {"given": given}
