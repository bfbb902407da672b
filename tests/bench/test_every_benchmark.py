"""Every benchmark runs as a command with its smallest settings, and writes what it prints."""

import json
from pathlib import Path

import pytest

from haloid.bench import BENCHMARKS
from haloid.cli import main as cli
from haloid.lab.genesis.process import GenesisMissingError, genesis_python

ARM_LOGS = Path("../shared/data/logs/so101").resolve()
CLIPS = Path("../shared/data/motions").resolve()
OPERATORS = "--sequences 16 --frames 40 --iterations 1 --label-epochs 1 --calibrated-with 4"
SMALLEST = {
    "table2": "--quick",
    "table4": "--robots 1",
    "noise": "--seeds 1",
    "double-support": "--seeds 1 --settings 1",
    "sysid": "--seeds 1 --fragments 2 --rows 5 --sysid-iterations 2",
    "payloads": "--seeds 1",
    "scaling": "--repeats 1 --fragments 2 --rows 4",
    "engines": "--fragments 2 --rows 3 --repeats 1 --no-mjx",
    "excitation": "--multi-sines 1 --runs 1",
    "data": "--seeds 1",
    "second-simulator": "--robots 1 --runs 1 --duration 4 --timestep 0.005",
    "real-arm": f"--logs {ARM_LOGS} --start-gains 998 --runs 2",
    "lab-arm": "--seeds 1 --known 0 --fragments 3",
    "throughput": "--iterations 1 --mjlab-robots 2 --mjlab-steps 1",
    "clips": f"--folder {CLIPS} --only squat_level1 --no-play --iterations 1 --own-iterations 1 --starts 2",
    "controller": "--starts 2 --motions stand",
    "controller-search": "--starts 2 --motions stand --search 1",
    "learning": "--starts 2 --motions stand --iterations 1",
    "learning-time": "--starts 2 --motions stand --iterations 1",
    "table3": "--starts 2 --own-starts 1 --motions stand --iterations 1 --start-iterations 1 --seeds 1",
    "walk": "--hours 0",
    "yaw-jump": "--hours 0",
    "maneuvers": "--hours 0",
    "asap-open-loop": "--stand-ins twin --seeds 1 --learned stand --held-out stand --clips 4 --windows 4 "
    "--transitions 100 --passes 1 --ppo-iterations 1 --ppo-robots 8",
    "asap-closed-loop": "--motions stand --uses ASAP action-noise fixed-point DeltaDynamics identification "
    "--vanilla-iterations 1 --iterations 1 --clips 6 --transitions 100 --windows 4 --passes 1 --starts 2",
    "asap-ablations": "--seeds 1 --learned stand --held-out stand --clips 8 --sizes 2 --horizons-s 0.25 "
    "--penalties 0.1 --windows 8 --transitions 100 --passes 1",
    "gaponet-tracking": f"{OPERATORS} --extrapolate",
    "gaponet-delivery": f"{OPERATORS} --deliveries 1",
    "gaponet-ablations": OPERATORS,
    "gaponet-real": f"--logs {ARM_LOGS} --runs 2 --folds 2 --tested 1 --iterations 1 --label-epochs 1",
}
"""With no time for trainings, the tables of long motions say that they are not trained yet."""
NEEDS = {
    "table2": ["cma"],
    "sysid": ["mujoco.sysid", "cma"],
    "throughput": ["mjlab"],
    **dict.fromkeys(["gaponet-tracking", "gaponet-delivery", "gaponet-ablations", "gaponet-real"], ("torch", "onnx")),
    **dict.fromkeys(
        [
            "clips",
            "controller",
            "controller-search",
            "learning",
            "learning-time",
            "table3",
            "walk",
            "yaw-jump",
            "maneuvers",
            "asap-open-loop",
            "asap-closed-loop",
            "asap-ablations",
        ],
        ("rsl_rl", "mjbatch", "onnxruntime"),
    ),
}


def test_every_benchmark_is_run_here():
    assert set(SMALLEST) == set(BENCHMARKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALLEST)
def test_a_benchmark_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    for package in NEEDS.get(name, []):
        pytest.importorskip(package)
    if name == "second-simulator":
        try:
            genesis_python()
        except GenesisMissingError as error:
            pytest.skip(f"needs Genesis: {error}")
    if name in ("real-arm", "gaponet-real") and not ARM_LOGS.is_dir():
        pytest.skip(f"there are no logs of a real arm in {ARM_LOGS}")
    if name == "clips" and not CLIPS.is_dir():
        pytest.skip(f"there are no clips in {CLIPS}")
    monkeypatch.chdir(tmp_path)  # where trainings and results go by default
    assert cli.main(["bench", name, *SMALLEST[name].split(), "--out", "result"]) == 0
    document = json.loads((tmp_path / "result" / "result.json").read_text(encoding="utf-8"))
    assert document["benchmark"] == name
    assert document["rows"] or "run the command again to go on" in document["notes"][0]
    for target in document["targets"]:
        assert target["target"] in " ".join(capsys.readouterr().out.split())
        break
