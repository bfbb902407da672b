"""The trainings behind the tables of skills: which there are, how one is cut and goes on, and a small real sweep."""

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.words import assert_words

pytest.importorskip("onnx")

from haloid.bench.skills import jobs as skill_jobs
from haloid.bench.skills.jobs import Sweep, name_of, sweep_of, train_job, trained_policies
from haloid.bench.skills.maneuvers import Maneuvers
from haloid.bench.skills.payload_methods import methods
from haloid.bench.skills.table3 import Table3
from haloid.errors import HaloidError
from haloid.sweeps.job import Job, Task, Unfinished
from haloid.sweeps.run import Failure, SweepOutcome


def silent(_: str) -> None: ...


def sweep_in(folder: Path, **settings: Any) -> Sweep:
    return Sweep(**({"folder": folder, "workers": 1, "ray_address": None, "hours": None} | settings))


class Sweeps:
    """Stands where `run_sweep` does and keeps what it was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **outcome: Any) -> None:
        self.jobs: dict[str, Job] = {}
        """Of the last sweep."""
        self.asked: list[dict[str, Job]] = []
        """Of every sweep."""
        self.settings: dict[str, Any] = {}
        self._outcome = SweepOutcome(**outcome)
        monkeypatch.setattr(skill_jobs, "run_sweep", self._run)

    def _run(self, jobs: list[Job], folder: Path, **settings: Any) -> SweepOutcome:
        self.jobs, self.settings = {job.name: job for job in jobs}, {"folder": folder, **settings}
        self.asked.append(self.jobs)
        return self._outcome


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "dance.npz").touch()
    return tmp_path / "clips" / "dance.npz"


def test_a_file_is_called_after_its_stem_and_an_own_motion_by_its_name():
    assert name_of("side-kick") == "side-kick"
    assert name_of("clips/dance1_subject2.csv") == "dance1_subject2"
    assert name_of("/clips/walk.npz") == "walk"


def test_all_motions_are_learned_by_every_method_and_seed_from_a_common_start(folder, clip, monkeypatch):
    sweeps = Sweeps(monkeypatch, results={"squat-and-1-more-start": {}})
    monkeypatch.chdir(clip.parent)
    sweep = sweep_in(folder, iterations=7, fresh=False, seeds=2, start_iterations=5)
    trained_policies(["squat", "dance.npz"], sweep, silent)
    start = sweeps.asked[0]["squat-and-1-more-start"].arguments
    assert (start["motions"], start["iterations"], start["start"]) == (["squat", str(clip)], 5, None)
    assert (start["randomisation"], start["patch"]) == ("nominal", None)
    names = [f"squat-and-1-more-{method}-{seed}" for seed in (0, 1) for method in ("wdr", "cm", "halo")]
    assert list(sweeps.jobs) == names  # whole seeds first
    assert {job.function for job in sweeps.jobs.values()} == {"haloid.bench.skills.jobs:train_job"}
    known = methods(folder, silent, worn=True)
    for name, job in sweeps.jobs.items():
        method, seed = name.split("-")[-2:]
        assert job.arguments == {
            "motions": ["squat", str(clip)],
            "actions": "feedforward",
            "randomisation": "wide" if method == "wdr" else "nominal",
            "patch": known[method].patch,
            "iterations": 7,
            "difficulty": 1.0,
            "noise": 1.0,
            "delay_s": 0.005,
            "state_estimation": False,
            "seed": int(seed),
            "start": str((folder / "jobs" / "squat-and-1-more-start" / "training").resolve()),
        }
    cm, halo = (sweeps.jobs[f"squat-and-1-more-{method}-0"].arguments["patch"] for method in ("cm", "halo"))
    assert cm != halo


def test_another_load_has_trainings_of_its_own(folder, monkeypatch, tmp_path):
    sweeps = Sweeps(monkeypatch)
    known = []
    monkeypatch.setattr(skill_jobs, "methods", lambda *_, **chosen: known.append(chosen) or methods(folder, silent))
    trained_policies(["squat"], sweep_in(folder, iterations=7, fresh=False, start=tmp_path, setting=2), silent)
    assert list(sweeps.jobs) == [f"squat-{method}-setting-2-0" for method in ("wdr", "cm", "halo")]
    assert known == [{"worn": True, "setting": 2}]


def test_a_start_that_is_given_is_not_trained_and_one_that_is_not_finished_is_waited_for(folder, monkeypatch, tmp_path):
    sweeps = Sweeps(monkeypatch)
    trained_policies(["squat"], sweep_in(folder, iterations=7, fresh=False, start=tmp_path), silent)
    assert len(sweeps.asked) == 1
    assert sweeps.jobs["squat-halo-0"].arguments["start"] == str(tmp_path.resolve())
    assert trained_policies(["squat"], sweep_in(folder, iterations=7, fresh=False), silent) == {"squat": {}}
    assert list(sweeps.jobs) == ["squat-start"]


def test_controllers_have_a_job_for_each_motion_and_no_start(folder, monkeypatch):
    sweeps = Sweeps(monkeypatch)
    trained_policies(["squat", "wave"], sweep_in(folder, iterations=0, fresh=False, actions="controller"), silent)
    assert list(sweeps.jobs) == [
        f"{motion}-{method}-controller" for motion in ("squat", "wave") for method in ("wdr", "cm", "halo")
    ]
    arguments = sweeps.jobs["wave-halo-controller"].arguments
    assert (arguments["motions"], arguments["noise"], arguments["start"]) == (["wave"], 0.2, None)


def test_the_settings_of_the_command_are_those_of_the_sweep(folder, monkeypatch):
    sweeps = Sweeps(monkeypatch)
    config = Maneuvers(iterations=5, hours=1.5, workers=3, ray="auto", fresh=True, folder=folder)
    expected = Sweep(folder, workers=3, ray_address="auto", hours=1.5, iterations=5, fresh=True, start_iterations=2000)
    expected = replace(expected, state_estimation=True)  # mjlab's own task
    assert sweep_of(config) == expected
    trained_policies(["squat"], sweep_of(config), silent)
    del sweeps.settings["watch"]
    assert sweeps.settings.pop("deadline_s") == pytest.approx(5400.0, abs=60.0)
    assert sweeps.settings == {"folder": folder, "workers": 3, "ray_address": "auto", "fresh": True}
    trained_policies(["squat"], sweep_of(Table3(folder=folder)), silent)
    assert sweeps.settings["deadline_s"] is None


def test_only_finished_trainings_have_policies(folder, monkeypatch):
    Sweeps(
        monkeypatch,
        results={f"squat-and-1-more-{job}": {} for job in ("start", "wdr-0", "halo-0", "wdr-1")},
        unfinished={"squat-and-1-more-cm-0": "at iteration 3 of 7"},
    )
    found = trained_policies(["squat", "wave"], sweep_in(folder, iterations=7, fresh=False, seeds=2), silent)
    files = [folder / "jobs" / f"squat-and-1-more-wdr-{seed}" / "policy.onnx" for seed in (0, 1)]
    assert found == {"squat": {"wdr": files}, "wave": {"wdr": files}}, "one policy follows both"


def test_a_failed_training_is_told_with_its_reason(folder, monkeypatch):
    Sweeps(monkeypatch, results={"squat-start": {}}, failures={"squat-cm-0": Failure("the disk is full", "")})
    with pytest.raises(HaloidError, match=r"^1 trainings failed; squat-cm-0: the disk is full\. See its log\.txt$"):
        trained_policies(["squat"], sweep_in(folder, iterations=7, fresh=False), silent)


def test_motions_that_cannot_be_trained_are_told_before_anything_is_done(clip, tmp_path: Path):
    sweep = sweep_in(tmp_path / "untouched", iterations=7, fresh=False)
    with pytest.raises(HaloidError) as refusal:
        trained_policies(["squat", "sqat"], sweep, silent)
    assert_words(str(refusal.value), "No motion 'sqat'", "Did you mean squat?")
    own = clip.rename(clip.with_name("walk.npz"))
    with pytest.raises(HaloidError) as refusal:
        trained_policies(["walk", str(own)], sweep, silent)
    assert_words(str(refusal.value), f"two motions are called walk: walk and {own}.", "rename a file")
    assert not sweep.folder.exists()


def test_no_time_trains_nothing_and_is_no_error(folder):
    found = trained_policies(["squat"], sweep_in(folder, iterations=1, hours=0.0, fresh=False), silent)
    assert found == {"squat": {}}


@pytest.fixture
def stand(tmp_path: Path) -> str:
    """Half a second of standing; only with what a training needs."""
    for package in ("torch", "rsl_rl", "mjbatch", "onnxruntime", "tensorboard"):
        pytest.importorskip(package)
    from tests.skills.small_training import short_stand

    return short_stand(tmp_path)


@pytest.mark.slow
def test_a_training_cut_by_the_deadline_goes_on_to_the_same_end(stand, folder, tmp_path: Path, monkeypatch):
    from tests.skills.small_training import differing_lines

    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.task.task import TaskConfig
    from haloid.skills.training.run_config import read_config

    monkeypatch.setattr("haloid.skills.task.task.TaskConfig", partial(TaskConfig, robots=8))
    patch = methods(folder, silent)["halo"].patch
    arguments = {
        "motions": [stand],
        "start": None,
        "randomisation": "wide",
        "patch": patch,
        "iterations": 3,
        "difficulty": 0.5,
    }
    arguments |= {"noise": 0.2, "delay_s": 0.005, "seed": 4, "actions": "feedforward"}
    arguments |= {"state_estimation": True}
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    cut.mkdir()
    whole.mkdir()
    reports: list[str] = []

    def slowly(report: str) -> None:
        """The first iteration ends after the second that a training is given however late it is."""
        reports.append(report)
        time.sleep(1.1)

    with pytest.raises(Unfinished, match=r"^at iteration 1 of 3$"):
        train_job(Task(arguments, cut, 1, slowly, deadline_unix_s=time.time() - 60))
    assert not (cut / "policy.onnx").exists()
    result = train_job(Task(arguments, cut, 1, reports.append))
    assert result["iterations"] == 3
    assert [report.partition(":")[0] for report in reports] == [f"iteration {number} of 3" for number in (1, 2, 3)]
    assert_words(reports[0], " mm, failures ", "/s, ", " steps/s")

    train_job(Task(arguments, whole, 1, silent))
    assert differing_lines(cut / "training", whole / "training") == []
    config = read_config(cut / "training")
    task = config.task
    assert (config.iterations, config.difficulty, config.threads, task.threads) == (3, 0.5, 1, 1)
    assert (task.motions, task.randomisation, task.seed) == ((stand,), "wide", 4)
    assert (task.noise, task.delay_s, task.state_estimation) == (0.2, 0.005, True)
    assert task.model == str(cut / "patch.json")
    assert json.loads((cut / "patch.json").read_text()) == patch
    assert DeployedPolicy(cut / "policy.onnx").facts.motions == ("short-stand",)


@pytest.mark.slow
def test_a_sweep_from_a_clip_to_the_table(stand, folder):
    """As `haloid bench table3` and `controller` do it, with two runs and no iteration."""
    from haloid.bench.skills import controller, table3
    from haloid.bench.skills.controller import ControllerBench

    config = Table3(
        iterations=0, start_iterations=0, seeds=1, starts=2, own_starts=1, seed=3, motions=(stand,), agile=(stand,)
    )
    config = replace(config, folder=folder)
    said: list[str] = []
    outcome = table3.run(config, said.append)
    assert "1 of 1 trainings done; short-stand-start finished" in said
    assert "1 of 3 trainings done; short-stand-wdr-0 finished" in said
    assert said[-6:-3] == [f"running short-stand, {name}" for name in ("WDR", "CM", "HALO")]
    assert said[-1] == "running short-stand, HALO, on its own distribution"
    rows = {row["method"]: row for row in outcome.rows}
    assert list(rows) == ["wdr", "cm", "halo"]
    assert all((row["motion"], row["kind"], row["runs"]) == ("short-stand", "agile", 2) for row in outcome.rows)
    errors = {method: row["e_g_mpjpe_mm"] for method, row in rows.items()}
    assert all(1 < error < 500 for error in errors.values())
    assert len(set(errors.values())) == 3, "three policies, of three robots"
    cm = json.loads((folder / "jobs" / "short-stand-cm-0" / "patch.json").read_text())
    assert cm == json.loads((folder / "identified-worn" / "calibrated-mass.json").read_text())
    assert not (folder / "jobs" / "short-stand-wdr-0" / "patch.json").exists(), "it trains on the nominal robot"

    said.clear()
    again = table3.run(config, said.append)
    assert again.rows == outcome.rows
    assert len(said) == 6, "what is trained is only run again"

    controllers = controller.run(ControllerBench(starts=2, seed=3, motions=(stand,), folder=folder), silent)
    assert [row["method"] for row in controllers.rows] == ["wdr", "cm", "halo"]
    assert (folder / "jobs" / "short-stand-halo-controller" / "policy.onnx").is_file()
    assert controllers.rows != outcome.rows
    assert controllers.headline["halo_success"] == 1.0

    with pytest.raises(HaloidError) as refusal:
        trained_policies([stand], sweep_in(folder, iterations=1, fresh=False, state_estimation=True), silent)
    assert_words(
        str(refusal.value),
        f"The job short-stand-wdr-0 in {folder} was started with",
        "'iterations': 0",
        "and now has",
        "'iterations': 1",
        "So have 2 more jobs.",
        "--fresh",
    )
