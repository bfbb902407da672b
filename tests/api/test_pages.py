"""The Python in README and docs runs, with small settings, in a folder that holds what it reads."""

import re
import shutil
from pathlib import Path

import pytest
from tests.small_recordings import write_small_recordings

from haloid.lab.excitation import Excitation
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.rollout import rollout_of_run
from haloid.lab.sensors import Sensors
from haloid.lab.truth import write_runs
from haloid.robots.description import describe
from haloid.trajectories.rollout_file import write_rollout

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
BLOCKS = [(page.name, block) for page in PAGES if page.is_file() for block in BLOCK.findall(page.read_text("utf-8"))]
TRAINING = 'haloid.train("walk", model=result, minutes=15)'
SHORT_TRAINING = 'haloid.train("stand.npz", model=result, iterations=0, robots=4)'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    (folder / "logs").mkdir()
    (folder / "out").mkdir()
    write_small_recordings(folder / "logs")
    shutil.copy(describe("g1").model_file, folder / "g1.xml")
    robot = LabRobot(support="double")
    recording, truth = record(robot, Sensors(noise_rad=5e-4), Excitation(duration_s=2.0), seed=1, name="double")
    write_runs([(recording, truth)], folder / "out", folder / "out")
    write_rollout(rollout_of_run(robot, truth), folder / "out" / "loaded.rollout.npz")
    return folder


def test_there_is_code_to_run():
    assert {"README.md", "tutorial.md", "rollouts.md"} <= {page for page, _ in BLOCKS}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_the_code_runs(page: str, block: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    block = block.replace("payload_links=[", "fragments=4, rows=8, payload_links=[")  # seconds instead of a minute
    if "haloid.train" in block:
        for package in ("torch", "rsl_rl", "mjbatch", "onnxruntime", "tensorboard"):
            pytest.importorskip(package)
        from tests.skills.small_training import short_stand

        assert TRAINING in block, f"{page} trains otherwise than this test expects"
        block = block.replace(TRAINING, SHORT_TRAINING)
        Path(short_stand(folder)).rename(folder / "stand.npz")
    exec(compile(block, page, "exec"), {})
