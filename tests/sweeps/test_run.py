"""Sweeps in real processes: results, resuming, kills, Ctrl-C, full disks and deadlines."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from haloid.sweeps.folder import SweepError, SweepFolder
from haloid.sweeps.job import Job
from haloid.sweeps.run import SweepEvent, run_sweep

WORK = "tests.sweeps.work"
PATIENCE_S = 30.0


def squares(*numbers: int, **arguments) -> list[Job]:
    return [Job(f"x{number}", f"{WORK}:square", {"x": number, **arguments}) for number in numbers]


def merged(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def wait_until(condition, what: str) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s, f"waited in vain until {what}"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def free(folder: Path) -> bool:
    try:
        run_sweep([], folder)
    except SweepError:
        return False
    return True


def test_results_by_name_and_merged_in_the_folder(tmp_path):
    events: list[SweepEvent] = []
    outcome = run_sweep(squares(3, 2, 1), tmp_path, workers=2, watch=events.append)
    assert outcome.results == {"x3": {"square": 9}, "x2": {"square": 4}, "x1": {"square": 1}}
    assert list(outcome.results) == ["x3", "x2", "x1"]
    assert outcome.failures == outcome.unfinished == {}
    assert list(merged(tmp_path)) == ["x1", "x2", "x3"]
    assert merged(tmp_path)["x3"] == {"function": f"{WORK}:square", "arguments": {"x": 3}, "result": {"square": 9}}
    assert "squaring 3" in (tmp_path / "jobs/x3/log.txt").read_text()
    assert [e.finished for e in events if e.kind == "finished"] == [1, 2, 3]
    assert all(e.total == 3 for e in events)


def test_the_order_of_the_ends_does_not_show(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    jobs = squares(1, 2)
    run_sweep(jobs, first)
    run_sweep(jobs[::-1], second)
    assert (first / "results.json").read_bytes() == (second / "results.json").read_bytes()


def test_each_result_is_merged_as_it_arrives(tmp_path):
    seen = []

    def watch(event: SweepEvent) -> None:
        if event.kind == "finished":
            seen.append(list(merged(tmp_path)))

    run_sweep(squares(1, 2), tmp_path, watch=watch)
    assert seen == [["x1"], ["x1", "x2"]]


def test_finished_jobs_are_not_run_again_and_others_join(tmp_path):
    run_sweep(squares(1), tmp_path)
    outcome = run_sweep(squares(1, 2), tmp_path)
    assert outcome.results == {"x1": {"square": 1}, "x2": {"square": 4}}
    assert (tmp_path / "jobs/x1/calls.txt").read_text() == "x"
    (tmp_path / "results.json").write_text("{ cut sho")
    run_sweep(squares(1), tmp_path)
    assert list(merged(tmp_path)) == ["x1", "x2"]
    assert (tmp_path / "jobs/x1/calls.txt").read_text() == "x"


def test_changed_arguments_are_refused_and_begin_anew_with_fresh(tmp_path):
    run_sweep(squares(1, 2), tmp_path)
    changed = [Job("x1", f"{WORK}:square", {"x": 5}), *squares(2)]
    with pytest.raises(SweepError) as caught:
        run_sweep(changed, tmp_path)
    assert str(caught.value) == (
        f"The job x1 in {tmp_path} was started with {{'function': '{WORK}:square', 'arguments': {{'x': 1}}}}, "
        f"and now has {{'function': '{WORK}:square', 'arguments': {{'x': 5}}}}. Give the sweep another folder, "
        "or start the changed jobs again with --fresh (it removes their files)."
    )
    assert merged(tmp_path)["x1"]["result"] == {"square": 1}
    assert run_sweep(changed, tmp_path, fresh=True).results == {"x1": {"square": 25}, "x2": {"square": 4}}
    assert (tmp_path / "jobs/x1/calls.txt").read_text() == "x"
    assert (tmp_path / "jobs/x2/calls.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("haloid", "The motion is upside down; expected the head above the feet."),
        ("python", "KeyError: 'python'"),
        (
            "signal",
            "the process was ended by signal 9, SIGKILL (the system does that when it is out of memory); "
            "run the sweep again to retry",
        ),
        ("exit", "the process ended with status 3 before the job was done; run the sweep again to retry"),
        ("full disk", "its outcome could not be written; see whether the disk is full, and run the sweep again"),
        (
            "numpy",
            "tests.sweeps.work:fail returned what does not fit in a JSON file: ['errors'][0]['mean_m'] is of type "
            "numpy.float32; expected a dictionary, list, string, number, boolean or None.",
        ),
        ("list", "tests.sweeps.work:fail returned a list; expected a dictionary."),
    ],
)
def test_a_failure_says_why_and_leaves_the_others(tmp_path, how, message):
    outcome = run_sweep([Job("bad", f"{WORK}:fail", {"how": how}), *squares(2)], tmp_path)
    assert outcome.failures["bad"].message == message
    assert "about to fail" in outcome.failures["bad"].log_tail
    assert outcome.results == {"x2": {"square": 4}}
    assert list(merged(tmp_path)) == ["x2"]


def test_a_function_that_is_not_there(tmp_path):
    jobs = [Job("module", "tests.sweeps.nowhere:run"), Job("function", f"{WORK}:nothing")]
    failures = run_sweep(jobs, tmp_path).failures
    assert failures["module"].message == "ModuleNotFoundError: No module named 'tests.sweeps.nowhere'"
    assert failures["function"].message == "AttributeError: module 'tests.sweeps.work' has no attribute 'nothing'"


def test_a_killed_worker_is_retried_from_its_checkpoint_at_the_next_run(tmp_path):
    jobs = [Job("count", f"{WORK}:count", {"to": 4, "pause_at": 3}), *squares(2)]

    def kill(event: SweepEvent) -> None:
        if event.text.startswith("process "):
            os.kill(int(event.text.split()[1]), signal.SIGKILL)

    outcome = run_sweep(jobs, tmp_path, watch=kill)
    assert outcome.failures["count"].message.startswith("the process was ended by signal 9, SIGKILL")
    assert outcome.results == {"x2": {"square": 4}}
    events: list[SweepEvent] = []
    outcome = run_sweep(jobs, tmp_path, watch=events.append)
    assert outcome.results["count"] == {"attempts": [0, 3]}
    assert [e.text for e in events if e.kind == "reported"] == ["at 4"]


def test_what_a_job_left_running_ends_with_it(tmp_path):
    pids: list[int] = []

    def watch(event: SweepEvent) -> None:
        if event.kind == "reported":
            pids.extend(map(int, event.text.split()))

    run_sweep([Job("parent", f"{WORK}:with_a_child", {"sleep_s": 0.3})], tmp_path, watch=watch)
    assert len(pids) == 2
    wait_until(lambda: not any(map(alive, pids)), "the process that the job left is gone")


DRIVER = """
import signal, sys
from pathlib import Path
from haloid.sweeps.job import Job
from haloid.sweeps.run import run_sweep
signal.signal(signal.SIGINT, signal.default_int_handler)
function, arguments = sys.argv[2], eval(sys.argv[3])
run_sweep([Job("quick", "tests.sweeps.work:square", {"x": 7}), Job("long", function, arguments)], Path(sys.argv[1]),
          watch=lambda e: e.kind == "reported" and print(e.text, flush=True))
"""


def driver(folder: Path, function: str, arguments: dict) -> subprocess.Popen:
    """A sweep of a quick job and a long one in a process of its own, which prints what they report."""
    command = [sys.executable, "-c", DRIVER, str(folder), f"{WORK}:{function}", repr(arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_control_c_lets_the_jobs_end_and_keeps_the_results(tmp_path):
    with driver(tmp_path, "tidy_up", {}) as process:
        assert first_line(process) == "working"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert (tmp_path / "jobs/long/tidied.txt").read_text() == "yes"
    assert list(merged(tmp_path)) == ["quick"]
    assert SweepFolder(tmp_path).outcome("long") is None


def test_when_the_sweep_is_killed_its_processes_end_and_the_folder_is_free_again(tmp_path):
    with driver(tmp_path, "with_a_child", {"sleep_s": 600}) as process:
        pids = [int(word) for word in first_line(process).split()]
        process.kill()
    wait_until(lambda: not any(map(alive, pids)), "the job and its child are gone")
    wait_until(lambda: free(tmp_path), "the last process has let go of the folder")
    assert list(merged(tmp_path)) == ["quick"]
    assert run_sweep([Job("quick", f"{WORK}:square", {"x": 7})], tmp_path).results == {"quick": {"square": 49}}


def test_two_sweeps_do_not_share_a_folder(tmp_path):
    with driver(tmp_path, "tidy_up", {}) as process:
        assert first_line(process) == "working"
        with pytest.raises(SweepError) as caught:
            run_sweep(squares(1), tmp_path)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert str(caught.value).startswith(f"A sweep is at work in {tmp_path} already: process {process.pid} on ")
    assert str(caught.value).endswith(". Wait for it, or give another folder.")
    assert run_sweep(squares(1), tmp_path).results == {"x1": {"square": 1}}


def test_a_full_disk_leaves_the_old_results_until_there_is_room(tmp_path, caplog):
    run_sweep(squares(0), tmp_path)
    before = (tmp_path / "results.json").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    seen = {}

    def watch(event: SweepEvent) -> None:
        if (event.job, event.kind) == ("x1", "started"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), hard))
        if (event.job, event.kind) == ("x1", "finished"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            seen["when full"] = (tmp_path / "results.json").read_bytes()

    try:
        outcome = run_sweep(squares(0, 1, 2), tmp_path, watch=watch)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert seen["when full"] == before
    assert "results.json could not be written (" in caplog.text
    assert list(outcome.results) == list(merged(tmp_path)) == ["x0", "x1", "x2"]


def test_no_job_is_started_after_the_deadline_and_running_ones_may_stop(tmp_path):
    jobs = [Job("count", f"{WORK}:count", {"to": 1000, "step_s": 0.1}), *squares(1, 2)]
    outcome = run_sweep(jobs, tmp_path, deadline_s=1.5)
    reached = int((tmp_path / "jobs/count/checkpoint.txt").read_text())
    assert 0 < reached < 1000
    assert outcome.unfinished == {"count": f"stopped at {reached}"}
    assert outcome.results == outcome.failures == {}
    assert run_sweep(jobs[1:], tmp_path).results == {"x1": {"square": 1}, "x2": {"square": 4}}


def test_a_job_that_does_not_stop_is_waited_for(tmp_path):
    outcome = run_sweep(squares(1, 2, sleep_s=1.5), tmp_path, deadline_s=1.0)
    assert outcome.results == {"x1": {"square": 1}}
    assert outcome.failures == outcome.unfinished == {}


def test_threads_and_surroundings(tmp_path):
    found = run_sweep([Job("look", f"{WORK}:surroundings")], tmp_path, threads_per_job=3).results["look"]
    assert found == {"threads": 3, "environment": ["3", "3", "3"], "stdin": "", "endless": True}


@pytest.mark.parametrize("numbers", [{"workers": 0}, {"threads_per_job": 0}])
def test_at_least_one_of_each(tmp_path, numbers):
    with pytest.raises(SweepError, match="expected at least 1 of each"):
        run_sweep(squares(1), tmp_path, **numbers)


def test_two_jobs_of_one_name(tmp_path):
    with pytest.raises(SweepError) as caught:
        run_sweep([*squares(1), Job("X1", f"{WORK}:square", {"x": 2})], tmp_path)
    assert str(caught.value) == ("Two jobs are called X1 (case does not count); expected a name of its own for each.")


def test_the_sweep_itself_loads_no_heavy_package():
    heavy = "{'ray', 'torch', 'mujoco', 'numpy', 'matplotlib'}"
    code = f"import sys, haloid.sweeps.run, haloid.sweeps.worker; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
