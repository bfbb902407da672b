"""A job on a node of the cluster: unpack its folder, run it in a process of its own, send back what changes.

In comes the folder as a parcel; out comes a stream of what happens: the reports, from time to time the files that
changed (so that a checkpoint survives the node), and in the end the rest of the files and the exit status. Nothing
here knows Ray.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import haloid
from haloid.sweeps.child import Child
from haloid.sweeps.parcel import Packer, Parcel

_POLL_S = 0.1


def code_identity() -> str:
    """The version of haloid and a digest of all its files: the same on two machines that run the same code."""
    root = Path(haloid.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{haloid.__version__} ({digest.hexdigest()[:12]})"


def run_here(
    parcel: Parcel, threads: int, deadline_unix_s: float, parcels_every_s: float
) -> Iterator[str | Parcel | int]:
    """Run the job of the parcel; yield reports as text, changed files as parcels and, last, the exit status."""
    with tempfile.TemporaryDirectory(prefix="haloid-job-") as temporary:
        folder = Path(temporary)
        parcel.open_in(folder)
        packer = Packer(folder, known=True)
        child = Child(folder, threads, deadline_unix_s)
        try:
            yield from _follow(child, packer, parcels_every_s)
        finally:
            child.interrupt()
            child.end()


def _follow(child: Child, packer: Packer, parcels_every_s: float) -> Iterator[Any]:
    sent_s = time.monotonic()
    while True:
        status = child.exit_status()  # before the reports and files, so that none is missed
        for line in child.reports():  # noqa: UP028 (Ray sends into generators, and a list takes nothing)
            yield line
        if status is not None or time.monotonic() - sent_s >= parcels_every_s:
            changed = packer.pack()
            if changed is not None:
                yield changed
            sent_s = time.monotonic()
        if status is not None:
            yield status
            return
        time.sleep(_POLL_S)
