"""Sweeps on a real local Ray cluster of two nodes with one CPU each, no files shared between them and the sweep."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.sweeps.conftest import ROOT

import haloid
from haloid.sweeps import ray_cluster
from haloid.sweeps.folder import SweepError
from haloid.sweeps.job import Job
from haloid.sweeps.run import SweepEvent, run_sweep

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow
WORK = "tests.sweeps.work"


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)  # the nodes inherit it
    size: Any = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args=size | {"include_dashboard": False})
    try:
        second = cluster.add_node(**size)
        cluster.wait_for_nodes()
        yield cluster, second
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def started(events: list[SweepEvent], name: str) -> list[str]:
    return [e.text for e in events if (e.job, e.kind) == (name, "started")]


def test_a_result_from_each_node_with_its_files(cluster, tmp_path):
    address = cluster[0].address
    jobs = [Job(name, f"{WORK}:carry", {"sleep_s": 4}) for name in ("a", "b")]
    for job in jobs:
        (tmp_path / "jobs" / job.name).mkdir(parents=True)
        (tmp_path / "jobs" / job.name / "given.txt").write_text(f"for {job.name}")
    jobs.append(Job("bad", f"{WORK}:fail", {"how": "haloid"}))
    events: list[SweepEvent] = []
    outcome = run_sweep(jobs, tmp_path, ray_address=address, watch=events.append)
    assert outcome.results == {"a": {"given": "for a"}, "b": {"given": "for b"}}
    assert outcome.failures["bad"].message == "The motion is upside down; expected the head above the feet."
    assert "about to fail" in outcome.failures["bad"].log_tail
    assert started(events, "a")[0].startswith("on the Ray node ")
    assert started(events, "a") != started(events, "b")
    for name in ("a", "b"):
        folder = tmp_path / "jobs" / name
        assert (folder / "deep/er/policy.onnx").read_bytes() == bytes(range(256)) * 4096
        assert not (folder / "given.txt").exists()
    assert not ray.is_initialized()


@pytest.mark.parametrize(
    ("address", "found"),
    [("127.0.0.1:1", "[Errno 111] Connection refused"), ("nonsense", "Invalid address format: nonsense")],
)
def test_an_address_where_nobody_is(tmp_path, address, found):
    with pytest.raises(SweepError) as caught:
        run_sweep([Job("a", f"{WORK}:square", {"x": 1})], tmp_path, ray_address=address)
    assert str(caught.value) == (
        f"No Ray cluster answers at {address}: {found}. Start one with «ray start --head», join it from this machine "
        "with «ray start --address HOST:PORT», and give that HOST:PORT or «auto»."
    )


@pytest.fixture(scope="module")
def connected(cluster):
    """A connection that outlives the sweeps."""
    ray.init(address=cluster[0].address, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("connected")
def test_a_node_with_other_code_is_refused(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_cluster, "code_identity", lambda: "0.0.1 (0123456789ab)")
    with pytest.raises(SweepError) as caught:
        run_sweep([Job("a", f"{WORK}:square", {"x": 1})], tmp_path, ray_address=cluster[0].address)
    assert f" has haloid {haloid.__version__} (" in str(caught.value)
    assert str(caught.value).endswith("; this machine has 0.0.1 (0123456789ab). Install the same haloid on every node.")


@pytest.mark.usefixtures("connected")
def test_what_waits_for_a_machine_at_the_deadline_is_not_started(cluster, tmp_path):
    jobs = [Job(name, f"{WORK}:count", {"to": 1000, "step_s": 0.1}) for name in ("a", "b", "c")]
    outcome = run_sweep(jobs, tmp_path, ray_address=cluster[0].address, deadline_s=8)
    assert len(outcome.unfinished) == 2 and outcome.results == outcome.failures == {}
    for name, text in outcome.unfinished.items():
        assert text == f"stopped at {(tmp_path / 'jobs' / name / 'checkpoint.txt').read_text()}"


@pytest.mark.usefixtures("connected")
def test_a_lost_process_and_a_lost_node_do_not_lose_what_was_done(cluster, tmp_path, monkeypatch):
    """Ray's process of one job is killed with -9, and the node of the other; both go on from their checkpoints."""
    cluster, second = cluster
    monkeypatch.setattr(ray_cluster, "PARCELS_EVERY_S", 0.3)
    jobs = [Job(name, f"{WORK}:count", {"to": 4, "pause_at": 3}) for name in ("a", "b")]
    checkpoints = [tmp_path / "jobs" / job.name / "checkpoint.txt" for job in jobs]
    nodes: dict[str, str] = {}
    pids: dict[str, int] = {}
    events: list[SweepEvent] = []

    def watch(event: SweepEvent) -> None:
        events.append(event)
        if event.kind == "started":
            nodes.setdefault(event.job, event.text.split()[4])
        at_home = all(path.exists() and path.read_text() == "3" for path in checkpoints)
        if at_home and event.text.startswith("process ") and event.job not in pids:
            pids[event.job] = pid = int(event.text.split()[1])
            if second.node_id.startswith(nodes[event.job]):
                cluster.remove_node(second, allow_graceful=False)
            else:
                os.kill(parent(pid), signal.SIGKILL)

    outcome = run_sweep(jobs, tmp_path, ray_address=cluster.address, watch=watch)
    assert len(set(nodes.values())) == 2 and len(pids) == 2
    assert outcome.results == {name: {"attempts": [0, 3]} for name in ("a", "b")}
    losses = [e.job for e in events if e.text == "its node was lost; it goes on from the files that have come home"]
    assert sorted(losses) == ["a", "b"]
    deadline_s = time.monotonic() + 20
    while any(map(alive, pids.values())) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert not any(map(alive, pids.values()))


def alive(pid: int) -> bool:
    """A zombie that nobody has waited for yet is dead."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
