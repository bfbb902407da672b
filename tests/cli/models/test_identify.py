"""`haloid identify` as a user meets it: its files, its words, and what it leaves behind when it fails."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from haloid.cli import main as cli

LINKS = ["torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link"]
SMALL = ["--fragments", "4", "--rows", "8"]
FILES = ["calibrated.urdf", "calibrated.xml", "config.yaml", "patch.json", "report.html", "result.json"]


def identify(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "haloid", "identify", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, env=_environment())


def _environment() -> dict[str, str]:
    return os.environ | {"COLUMNS": "80"}


def visible(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name != ".haloid")


@pytest.fixture(scope="module")
def one_stage(made_recordings: Path, tmp_path_factory: pytest.TempPathFactory):
    """The result of one stage, and what the command said."""
    out = tmp_path_factory.mktemp("identified") / "result"
    loaded = [made_recordings / "loaded-1.csv", made_recordings / "loaded-2.csv"]
    done = identify("--loaded", *loaded, "--payload-links", *LINKS, "--stages", "one", *SMALL, "-o", out)
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def test_all_files_are_written(one_stage):
    out, said = one_stage
    assert visible(out) == FILES
    assert f"wrote {out / 'result.json'}\nwrote {out / 'report.html'}" in said


def test_result_has_every_key_of_the_format(one_stage):
    result = json.loads((one_stage[0] / "result.json").read_text())
    assert result["format"] == "haloid-result-1"
    assert result["status"] == "converged"
    assert set(result["links"]) == set(LINKS)
    for link in result["links"].values():
        assert set(link["mass"]) >= {"value", "std", "nominal"}
        assert [len(link["com"][key]) for key in ("value", "std", "nominal")] == [3, 3, 3]
    assert result["joints"] == {} and result["globals"] == {}
    assert set(result["fit"]) >= {"rms_rad_train", "rms_rad_heldout", "rms_rad_nominal"}
    assert isinstance(result["identifiability"], list)
    assert result["seconds"] > 0 and result["engine"] == "analytic"
    assert [Path(entry["file"]).name for entry in result["inputs"]] == ["loaded-1.csv", "loaded-2.csv"]
    assert all(re.fullmatch("[0-9a-f]{64}", entry["sha256"]) for entry in result["inputs"])
    assert result["versions"]["mujoco"].startswith("3.11.")


def test_the_load_is_found(one_stage):
    result = json.loads((one_stage[0] / "result.json").read_text())
    for link, load_kg in zip(LINKS, (6.0, 2.4, 2.0), strict=True):
        mass = result["payload"][link]["mass"]
        assert abs(mass["value"] - load_kg) < 4 * mass["std"] < 0.5
    assert result["fit"]["rms_rad_heldout"] < 0.1 * result["fit"]["rms_rad_nominal"]


def test_inputs_are_named_from_the_results_folder(recordings: Path, tmp_path: Path):
    words = ["--loaded", "loaded-1.csv", "--payload-links", "torso_link", "--stages", "one", *SMALL]
    done = identify(*words, "-o", "../results/one", cwd=recordings)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "one"
    result = json.loads((folder / "result.json").read_text())
    assert (folder / result["inputs"][0]["file"]).resolve() == recordings / "loaded-1.csv"


def test_config_says_how_to_run_it_again(one_stage):
    config = yaml.safe_load((one_stage[0] / "config.yaml").read_text())
    assert config["command"] == "identify"
    assert [Path(file).name for file in config["loaded"]] == ["loaded-1.csv", "loaded-2.csv"]
    assert config["payload_links"] == LINKS
    assert (config["stages"], config["fragments"], config["rows"], config["seed"]) == ("one", 4, 8, 0)


def without_time_and_place(folder: Path) -> dict:
    result = json.loads((folder / "result.json").read_text())
    del result["seconds"]
    for entry in result["inputs"]:
        entry["file"] = Path(entry["file"]).name
    return result


def test_a_run_is_repeated_from_its_config(one_stage, tmp_path: Path, monkeypatch):
    """Every option is in it, files are found from any directory, and options beside it win."""
    from dataclasses import fields

    from haloid.cli.models.identify import Config

    monkeypatch.chdir(tmp_path)
    file = one_stage[0] / "config.yaml"
    config = yaml.safe_load(file.read_text())
    renamed = {"timestep": "timestep_s", "noise": "noise_rad", "payload_size": "payload_size_m"}
    assert {renamed.get(field.name, field.name) for field in fields(Config)} - set(config) == {"out", "config"}
    assert cli.main(["identify", "--config", str(file), "-o", "again"]) == 0
    assert without_time_and_place(tmp_path / "again") == without_time_and_place(one_stage[0])
    assert (
        cli.main(["identify", f"--config={file}", "-o", "other", "--rows", "9", "--payload-links", "torso_link"]) == 0
    )
    other = yaml.safe_load((tmp_path / "other" / "config.yaml").read_text())
    assert other["payload_links"] == ["torso_link"]
    assert (other["rows"], other["fragments"], other["stages"]) == (9, 4, "one")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/tuple [1]", "could not determine a constructor for the tag 'tag:yaml.org,2002:python/tuple' in"),
        ("- a", "its content is \"['a']\""),
        ("a: [", "in line 1"),
        ("command: train", "it was written by haloid train. Expected the config.yaml that haloid identify wrote"),
        ("command: identify\npayload: 3", "there is no option payload"),
        ("command: identify\nrows: 8", "it lacks payload_links"),
        ("loaded: a.csv\npayload_links: [torso_link]", "loaded is 'a.csv'. Expected the names of recordings"),
    ],
)
def test_a_config_that_is_none(tmp_path: Path, refused, text: str, message: str):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    assert message in refused("--config", file)


@pytest.mark.parametrize("words", [[], ["--config"], ["--rows", "8"]])
def test_wrong_usage_is_status_2(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        cli.main(["identify", *words])
    assert stop.value.code == 2


def test_a_pattern_that_matches_nothing_is_told_at_once(tmp_path: Path, refused):
    said = refused("--loaded", tmp_path / "loaded-*.csv", *ONE, out=tmp_path / "new" / "out")
    assert "loaded-*.csv matches no file" in said
    assert not (tmp_path / "new").exists()


def test_the_table_has_one_line_a_quantity_and_fits_80_columns(one_stage):
    lines = one_stage[1].splitlines()
    assert max(map(len, lines)) <= 80
    assert re.search(r"^ torso_link\s*$", one_stage[1], re.MULTILINE)
    assert len([line for line in lines if re.match(r" +mass \(kg\) +\d+\.\d+ +± \d+\.\d+ +\d+\.\d+ *$", line)]) == 3
    assert len([line for line in lines if re.match(r" +CoM [xyz] \(mm\) ", line)]) == 9
    assert "± is half of the 95 % interval. Mass and CoM are the link's with its payload." in lines


def test_the_same_seed_gives_the_same_result(one_stage, made_recordings: Path, tmp_path: Path):
    loaded = [made_recordings / "loaded-1.csv", made_recordings / "loaded-2.csv"]
    out = tmp_path / "again"
    done = identify("--loaded", *loaded, "--payload-links", *LINKS, "--stages", "one", *SMALL, "-o", out)
    assert done.returncode == 0, done.stderr
    assert without_time_and_place(one_stage[0]) == without_time_and_place(out)


def test_centres_of_mass_alone(recordings: Path, tmp_path: Path):
    words = ["--payload-links", "torso_link", "--payload-parameters", "com", "--stages", "one", *SMALL]
    done = identify("--loaded", recordings / "loaded-1.csv", *words, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "mass (kg)" not in done.stdout
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["links"]["torso_link"]["mass"]["std"] == 0.0
    assert "com" not in result["payload"]["torso_link"]


@pytest.mark.slow
def test_two_stages_calibrate_the_joints(recordings: Path, tmp_path: Path):
    data = ["--unloaded", recordings / "unloaded-1.csv", "--loaded", recordings / "loaded-1.csv"]
    done = identify(*data, "--payload-links", *LINKS, *SMALL, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["stages"] == "two"
    assert [entry["stage"] for entry in result["inputs"]] == ["unloaded", "loaded"]
    assert set(result["joints"]["left_knee_joint"]) == {"damping", "frictionloss", "armature"}
    assert len(result["links"]) == 29
    page = (tmp_path / "out" / "report.html").read_text()
    assert "The robot itself" in page


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Runs the command, which must fail with one message and leave nothing; returns the message."""

    def refused(*words: str | Path, out: Path | None = None) -> str:
        out = tmp_path / "out" if out is None else out
        before = visible(out) if out.exists() else None
        beside = visible(out.parent) if out.parent.exists() else None
        assert cli.main(["identify", *map(str, words), "-o", str(out)]) == 1
        assert (visible(out) if out.exists() else None) == before
        assert (visible(out.parent) if out.parent.exists() else None) == beside
        lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("haloid: ")]
        assert len(lines) == 1
        return lines[0]

    return refused


ONE = ["--payload-links", "torso_link", "--stages", "one", *SMALL]


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ({"clamp": "right_ankle_roll_link"}, "changed.csv has clamp 'right_ankle_roll_link' but loaded-1.csv has"),
        ({"support": "double"}, "changed.csv has support 'double' but loaded-1.csv has 'single'"),
    ],
)
def test_recordings_must_agree(recordings: Path, changed, refused, says: dict, message: str):
    said = refused("--loaded", recordings / "loaded-1.csv", changed("loaded-2", **says), *ONE)
    assert message in said
    assert "identify recordings of one robot, clamp and support at a time" in said


def test_recordings_of_two_robots(recordings: Path, changed, refused):
    from haloid.robots.files.write_mjcf import write_mjcf
    from haloid.robots.load import load_spec

    write_mjcf(load_spec("g1"), recordings / "other.xml")
    said = refused("--loaded", recordings / "loaded-1.csv", changed("loaded-2", robot="other.xml"), *ONE)
    assert "changed.csv has robot" in said and "but loaded-1.csv has 'g1'" in said


def test_recordings_with_other_gains(recordings: Path, changed, refused):
    kp = json.loads((recordings / "loaded-2.json").read_text())["kp"] | {"left_knee_joint": 5.0}
    said = refused("--loaded", recordings / "loaded-1.csv", changed("loaded-2", kp=kp), *ONE)
    assert "changed.csv was recorded with kp 5 at left_knee_joint but loaded-1.csv with 600" in said
    assert "give the gains of each run as kp:JOINT columns, or identify runs with the same gains" in said


def test_loaded_given_as_unloaded_by_its_json(recordings: Path, refused):
    data = ["--unloaded", recordings / "loaded-1.csv", "--loaded", recordings / "loaded-2.csv"]
    said = refused(*data, "--payload-links", "torso_link")
    assert "loaded-1.csv was given as unloaded but says payload 'unknown'" in said
    said = refused("--loaded", recordings / "unloaded-1.csv", *ONE)
    assert "unloaded-1.csv was given as loaded but says payload 'none'" in said


@pytest.mark.slow
def test_loaded_given_as_unloaded_by_its_data(recordings: Path, changed, refused):
    data = ["--unloaded", changed("loaded-1", payload="none"), "--loaded", recordings / "loaded-2.csv"]
    said = refused(*data, "--payload-links", *LINKS, "--fragments", "8", "--rows", "12")
    assert "the unloaded recordings do not fit the unloaded robot" in said
    assert "Were loaded recordings given as unloaded, or is it another robot or gain set?" in said


def test_payload_links_that_cannot_be(recordings: Path, refused):
    loaded, rest = ["--loaded", recordings / "loaded-1.csv"], ["--stages", "one"]
    said = refused(*loaded, "--payload-links", "torso", *rest)
    assert "the robot has no link 'torso'; the nearest are: torso_link" in said
    said = refused(*loaded, "--payload-links", "left_ankle_roll_link", *rest)
    assert "the payload link 'left_ankle_roll_link' is the clamped link, whose load no joint feels" in said
    said = refused(*loaded, "--payload-links", "torso_link", "torso_link", *rest)
    assert "a payload link is named twice in torso_link, torso_link" in said


def test_files_that_are_missing(recordings: Path, refused):
    assert "loaded-9.csv" in refused("--loaded", recordings / "loaded-9.csv", *ONE)
    said = refused("--loaded", recordings / "loaded-1.csv", "--payload-links", "torso_link")
    assert "two stages need unloaded recordings to calibrate the robot with; give them with --unloaded" in said


def test_a_robot_that_hardly_moves(recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Standing still, its joints feel masses by gravity, but not where along the vertical they are."""
    words = ["--loaded", recordings / "still.csv", "--payload-links", *LINKS, "--stages", "one", *SMALL]
    assert cli.main(["identify", *map(str, words), "-o", str(tmp_path / "out")]) == 0
    assert re.search(r"torso_link CoM z is known only to ± 0\.\d+ m", capsys.readouterr().out)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert ["torso_link.com.z"] in [blind["parameters"] for blind in result["identifiability"]]
    assert result["links"]["torso_link"]["com"]["std"][2] > 0.05


def test_recordings_that_say_nothing(recordings: Path, refused):
    loaded = ["--loaded", recordings / "still.csv", "--payload-links", *LINKS, "--stages", "one", *SMALL]
    said = refused(*loaded, "--noise", "1")
    assert re.search(r"almost nothing about the payload: even \w+ is known only to ± \d+\.\d kg", said)
    assert "Move arms and waist more, record longer, or name fewer payload links" in said


def test_double_support_needs_a_foot_on_the_floor(changed, refused):
    said = refused("--loaded", changed("loaded-1", support="double"), *ONE)
    assert "right_ankle_roll_link leaves the floor" in said or "does not rest on the floor" in said


def test_parameters_that_do_not_exist(recordings: Path, refused):
    said = refused("--loaded", recordings / "loaded-1.csv", *ONE, "--payload-parameters", "weight")
    assert "the pattern 'torso_link.weight' matches no parameter; expected LINK.{mass,com,inertia}" in said
    data = ["--unloaded", recordings / "unloaded-1.csv", "--loaded", recordings / "loaded-1.csv"]
    said = refused(*data, "--payload-links", "torso_link", "--base-parameters", "*.dampin")
    assert "the pattern '*.dampin' matches no parameter" in said


@pytest.mark.parametrize(
    ("option", "value", "limits"),
    [
        ("--timestep", "0", "1e-05 to 0.1"),
        ("--rows", "1", "3 to 1000"),
        ("--fragments", "0", "1 to 10000"),
        ("--held-out", "0.9", "0 to 0.5"),
        ("--noise", "-1", "1e-09 to 1"),
        ("--robust", "0", "0.1 to 100"),
        ("--iterations", "0", "1 to 1e+06"),
    ],
)
def test_options_out_of_range(recordings: Path, refused, option: str, value: str, limits: str):
    said = refused("--loaded", recordings / "loaded-1.csv", *ONE, option, value)
    assert f"{option} is {value}; expected a number from {limits}" in said


def test_a_folder_with_foreign_files_is_left_alone(recordings: Path, tmp_path: Path, refused):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    said = refused("--loaded", recordings / "loaded-1.csv", *ONE, out=tmp_path / "mine")
    assert "the directory is not empty and was not written by haloid" in said


@pytest.mark.slow
def test_an_interrupted_run_leaves_nothing(recordings: Path, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    words = ["--unloaded", recordings / "unloaded-1.csv", "--loaded", recordings / "loaded-1.csv"]
    slow = ["--rows", "100", "--engine", "finite-difference"]  # so that it cannot end before the signal comes
    command = [*words, "--payload-links", *LINKS, *slow, "-o", tmp_path / "empty" / "out"]
    running = subprocess.Popen(
        [sys.executable, "-m", "haloid", "identify", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stderr is not None
    assert running.stderr.readline() == "Identifying\n"
    assert running.stderr.readline().startswith("Identifying: stage 1")
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 130
    assert said.strip().splitlines()[-1] == "haloid: interrupted"
    assert "Traceback" not in said
    assert list((tmp_path / "empty").iterdir()) == []
