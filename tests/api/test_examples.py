"""Every function of the front door has an example in its docstring, and the examples do what they say."""

import doctest
from pathlib import Path

import pytest

import haloid
from haloid.lab.aging import Aging
from haloid.lab.excitation import Excitation
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import write_runs
from haloid.robots.description import describe
from haloid.robots.servos import Gains

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WITH_POLICIES = ("evaluate", "load_policy", "train")
FUNCTIONS = [name for name in haloid.__all__ if name not in ("HaloidError", "calibrate", *WITH_POLICIES)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_in_the_docstring(name: str, in_user_folder):
    run_example(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_POLICIES)
def test_the_example_of_a_policy(name: str, in_user_folder: Path):
    for package in ("torch", "rsl_rl", "mjbatch", "onnxruntime", "tensorboard"):
        pytest.importorskip(package)
    from tests.skills.small_training import short_stand

    if not (in_user_folder / "out" / "stand").exists():
        (in_user_folder / "clips").mkdir()
        Path(short_stand(in_user_folder / "clips")).rename(in_user_folder / "clips" / "stand.npz")
        policy = haloid.train("clips/stand.npz", iterations=0, robots=4)
        assert policy.path == Path("out/stand/policy.onnx")
    run_example(name)


@pytest.mark.slow
def test_the_example_of_a_calibration(in_user_folder: Path):
    """Of a worn SO-101 with softer servos than its file says; the model that is saved is the one that was judged."""
    joints = describe("so101").joints
    gains = Gains(dict.fromkeys(joints, 13.0), dict.fromkeys(joints, 0.6))
    arm = LabRobot(robot="so101", clamp=None, gains=gains, aging=Aging(seed=1))
    shaken = Excitation(duration_s=4.0, arm_amplitude_rad=0.4)
    runs = [record(arm, Sensors(noise_rad=5e-4), shaken, seed=seed, name=f"arm-{seed}") for seed in (1, 2)]
    write_runs(runs, Path("logs"), Path("truth"))
    run_example("calibrate")
    found = haloid.calibrate(haloid.read("logs/arm-*.csv"))
    assert found.gap_over_nominal < 0.3
    assert "shoulder_pan" in repr(found)
    found.save("out/arm")
    for model in (found, "out/arm"):
        played = haloid.replay(model, found.found.held_out[0])
        assert played[0].rms_rad == pytest.approx(found.found.judged[0][0].rms_rad, abs=1e-6)
    for call in (haloid.calibrate, lambda names: haloid.replay(found, names)):
        with pytest.raises(haloid.HaloidError, match=r"recordings holds 'logs/arm-1\.csv'; expected recordings\."):
            call("logs/arm-1.csv")


def run_example(name: str) -> None:
    text = haloid.__getattr__(name).__doc__  # not the package's that the function shares its name with
    example = doctest.DocTestParser().get_doctest(text or "", {"haloid": haloid}, name, None, 0)
    assert example.examples, f"haloid.{name} has no example"
    said: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=said.append)
    assert not said, "".join(said)
