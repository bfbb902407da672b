"""The place that is a Ray cluster: every job a Ray task, its folder sent there and back through the object store.

No file system is shared. A job goes to its node with whatever its folder holds, a checkpoint say, and its files come
back while it runs. If the node or Ray's process on it is lost, the job goes to another with what has come back.
The code of haloid must be installed on every node, and be the same; that is checked before anything runs.
"""

from __future__ import annotations

import logging
import socket
import time
from pathlib import Path
from typing import Any

import haloid
from haloid.errors import HaloidError
from haloid.extras import install_command
from haloid.sweeps.child import why_no_outcome
from haloid.sweeps.folder import SweepError
from haloid.sweeps.node import code_identity
from haloid.sweeps.parcel import Packer, Parcel
from haloid.sweeps.place import Notice

PARCELS_EVERY_S = 60.0
"""How often the files that a job has changed come back."""
_LOSSES = 3
"""How often a job is sent to another node before its loss counts as a failure of the job."""
_POLL_S = 0.5
_PROBE_S = 120.0
_KNOCK_S = 10.0
_GOODBYE_S = 10.0

_LOG = logging.getLogger(__name__)


class RayCluster:
    """A Ray cluster; at most `workers` jobs are handed to it at a time, or all, for it to find them machines."""

    def __init__(self, address: str, workers: int | None, threads: int, deadline_unix_s: float) -> None:
        self._ray = _import_ray()
        self._workers = workers
        self._threads = threads
        self._deadline_unix_s = deadline_unix_s
        self._folders: dict[str, Path] = {}
        self._losses: dict[str, int] = {}
        self._streams: dict[Any, str] = {}
        self._begun: set[str] = set()
        self._connected_here = self._connect(address)
        try:
            self._check_nodes()
        except BaseException:
            self.close()
            raise

    def has_room(self) -> bool:
        return self._workers is None or len(self._streams) < self._workers

    def start(self, name: str, folder: Path) -> None:
        self._folders[name] = folder
        self._losses[name] = 0
        self._send(name)

    def wait(self) -> list[Notice]:
        ready, _ = self._ray.wait(list(self._streams), num_returns=1, timeout=_POLL_S)
        news = []
        for stream in ready:
            name = self._streams[stream]
            try:
                message = self._ray.get(next(stream))
            except StopIteration:
                news.append(self._end(stream, "its task ended before the job was done"))
            except self._ray.exceptions.RayTaskError as error:
                cause = error.cause or error
                news.append(self._end(stream, f"its task failed: {type(cause).__name__}: {cause}"))
            except self._ray.exceptions.RayError as error:
                news.append(self._lose(stream, error))
            else:
                news += self._hear(stream, name, message)
        return news

    def withdraw(self) -> list[str]:
        waiting = [(stream, name) for stream, name in self._streams.items() if name not in self._begun]
        for stream, _ in waiting:
            self._ray.cancel(stream)
            del self._streams[stream]
        return [name for _, name in waiting]

    def close(self) -> None:
        for stream in self._streams:
            self._ray.cancel(stream)
        end_s = time.monotonic() + _GOODBYE_S
        for stream in self._streams:
            self._see_off(stream, end_s)
        self._streams.clear()
        if self._connected_here:
            self._ray.shutdown()

    def _see_off(self, stream: Any, end_s: float) -> None:
        """Wait for the end of a cancelled task, in which it stops the job and removes its folder there."""
        while self._ray.wait([stream], timeout=max(0.0, end_s - time.monotonic()))[0]:
            try:
                self._ray.get(next(stream))
            except (StopIteration, self._ray.exceptions.RayError):
                return

    def _connect(self, address: str) -> bool:
        """Whether the connection was made here, and is to be closed here."""
        if self._ray.is_initialized():
            return False
        if address.startswith("ray://"):
            raise SweepError(
                f"The Ray address is {address}; the job files cannot come back through a Ray client. "
                "Run the sweep on a machine of the cluster, with its HOST:PORT or «auto»."
            )
        try:
            _knock(address)
            self._ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise SweepError(
                f"No Ray cluster answers at {address}: {str(error).rstrip('.')}. Start one with «ray start --head», "
                "join it from this machine with «ray start --address HOST:PORT», and give that HOST:PORT or «auto»."
            ) from error
        return True

    def _check_nodes(self) -> None:
        """Raise unless every node that could run a job has the code that runs here."""
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        nodes = [n for n in self._ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= self._threads]
        if not nodes:
            raise SweepError(
                f"No node of the Ray cluster has {self._threads} CPUs for a job; expected at least one. "
                "Add a node, or ask for fewer threads per job."
            )
        probe = self._ray.remote(num_cpus=0)(_node_probe())
        answers = [probe.options(scheduling_strategy=strategy(n["NodeID"], soft=False)).remote() for n in nodes]
        for node, answer in zip(nodes, answers, strict=True):
            try:
                found, here = self._ray.get(answer, timeout=_PROBE_S), code_identity()
            except self._ray.exceptions.RayError as error:
                raise SweepError(
                    f"The Ray node {node['NodeManagerAddress']} does not answer: {error}. See «ray status»."
                ) from error
            if found != here:
                raise SweepError(
                    f"The Ray node {node['NodeManagerAddress']} has haloid {found}; this machine has {here}. "
                    "Install the same haloid on every node."
                )

    def _send(self, name: str) -> None:
        parcel = Packer(self._folders[name]).pack()
        task = self._ray.remote(num_cpus=self._threads, max_retries=0)(_node_task())
        stream = task.options(name=name).remote(
            haloid.__version__, parcel, self._threads, self._deadline_unix_s, PARCELS_EVERY_S
        )
        self._streams[stream] = name

    def _hear(self, stream: Any, name: str, message: Any) -> list[Notice]:
        if isinstance(message, Parcel):
            try:
                message.open_in(self._folders[name])
            except (OSError, HaloidError) as error:
                self._ray.cancel(stream)
                return [self._end(stream, f"its files came back and could not be written: {error}")]
            return []
        if isinstance(message, int):
            return [self._end(stream, why_no_outcome(message))]
        kind = "reported" if name in self._begun else "started"
        self._begun.add(name)
        return [Notice(name, kind, message)]

    def _end(self, stream: Any, text: str) -> Notice:
        name = self._streams.pop(stream)
        self._begun.discard(name)
        return Notice(name, "ended", text)

    def _lose(self, stream: Any, error: Exception) -> Notice:
        """The node is gone, or Ray's process on it: send the job to another, with the files that have come home."""
        name = self._streams[stream]
        self._ray.cancel(stream)  # should it live on after all, as a task whose files alone were lost does
        reason = str(error).splitlines()[0]
        self._losses[name] += 1
        if self._losses[name] > _LOSSES:
            return self._end(stream, f"its node was lost {self._losses[name]} times, the last time: {reason}")
        _LOG.warning("the node of the job %s was lost (%s); the job goes to another", name, reason)
        del self._streams[stream]
        self._begun.discard(name)
        self._send(name)
        return Notice(name, "reported", "its node was lost; it goes on from the files that have come home")


def _knock(address: str) -> None:
    """Raise an OSError unless somebody listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()


def _node_probe() -> Any:
    """The function that tells a node's code. Defined in a function, so that Ray sends the text and not the name."""

    def probe() -> str:
        try:
            from haloid.sweeps.node import code_identity
        except ImportError as error:
            return f"of another time or none: {error}"
        return code_identity()

    return probe


def _node_task() -> Any:
    """The function that runs a job on a node; asks for the version once more, as a node may have joined since."""

    def run_job(version: str, parcel: Any, threads: int, deadline_unix_s: float, parcels_every_s: float) -> Any:
        import ray

        import haloid

        where = f"on the Ray node {ray.get_runtime_context().get_node_id()[:8]} at {ray.util.get_node_ip_address()}"
        if haloid.__version__ != version:
            raise RuntimeError(f"{where} is haloid {haloid.__version__}, and {version} where the sweep was started")
        from haloid.sweeps.node import run_here

        yield where
        yield from run_here(parcel, threads, deadline_unix_s, parcels_every_s)

    return run_job


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise SweepError(f"A Ray cluster needs the package ray: {install_command('cluster')}") from error
    return ray
