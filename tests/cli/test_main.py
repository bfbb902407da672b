"""The words and exit statuses of `haloid` itself, most of them through a tiny command registered for the test."""

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import haloid
from haloid.cli import main as cli
from haloid.errors import HaloidError
from haloid.outputs import atomic_directory

HEAVY = ("mujoco", "pinocchio", "matplotlib", "scipy", "torch", "jax")


@dataclass(frozen=True)
class Config:
    """Weigh the load in kilograms.

    Example:
        haloid weigh --links 3
    """

    links: int = 1
    """How many links to weigh."""


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Config], None]], None]:
    """Make `haloid weigh` run the given function."""

    def register(run: Callable[[Config], None]) -> None:
        module = ModuleType("haloid.cli.weigh")
        module.__dict__.update(Config=Config, run=run)
        monkeypatch.setitem(sys.modules, "haloid.cli.weigh", module)
        monkeypatch.setitem(cli.COMMANDS, "weigh", "weigh")

    return register


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "haloid", *words], capture_output=True, text=True, timeout=60)


def test_options_reach_the_command(register):
    seen: list[Config] = []
    register(seen.append)
    assert cli.main(["weigh", "--links", "3"]) == 0
    assert seen == [Config(links=3)]


def test_error_is_one_message_and_status_1(register, capsys: pytest.CaptureFixture[str]):
    def run(config: Config) -> None:
        raise HaloidError("There is no link torso. Links: torso_link, pelvis. Give one of these to --payload-links.")

    register(run)
    assert cli.main(["weigh"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "haloid: There is no link torso. Links: torso_link, pelvis. Give one of these to --payload-links.\n"
    )


def test_missing_file_is_one_message_and_status_1(register, capsys: pytest.CaptureFixture[str]):
    register(lambda config: open("no/such/log.csv"))  # noqa: PTH123, SIM115
    assert cli.main(["weigh"]) == 1
    assert capsys.readouterr().err == "haloid: No such file or directory: no/such/log.csv\n"


def test_a_mistake_of_ours_keeps_its_traceback(register):
    def run(config: Config) -> None:
        raise ZeroDivisionError

    register(run)
    with pytest.raises(ZeroDivisionError):
        cli.main(["weigh"])


def test_interrupt_is_one_line_and_status_130(register, capsys: pytest.CaptureFixture[str]):
    def run(config: Config) -> None:
        raise KeyboardInterrupt

    register(run)
    assert cli.main(["weigh"]) == 130
    assert capsys.readouterr().err == "haloid: interrupted\n"


def test_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["dmeo"]) == 2
    commands = ", ".join(cli.COMMANDS)
    assert capsys.readouterr().err == (
        f"haloid: There is no command dmeo. Did you mean demo? Commands: {commands}. See haloid --help.\n"
    )


def test_option_before_the_command(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["--seed", "3"]) == 2
    assert capsys.readouterr().err.startswith("haloid: There is no option --seed. Commands: ")


@pytest.mark.parametrize("words", [["--link", "3"], ["--links", "many"], ["surplus"]])
def test_wrong_option_is_status_2(register, words: list[str], capsys: pytest.CaptureFixture[str]):
    register(lambda config: None)
    with pytest.raises(SystemExit) as stop:
        cli.main(["weigh", *words])
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words[-1] in captured.err


def test_wrong_option_names_the_nearest(register, capsys: pytest.CaptureFixture[str]):
    register(lambda config: None)
    with pytest.raises(SystemExit):
        cli.main(["weigh", "--link", "3"])
    assert "--links INT" in capsys.readouterr().err


def test_help_of_a_command_is_its_docstring_and_its_fields(register, capsys: pytest.CaptureFixture[str]):
    register(lambda config: None)
    with pytest.raises(SystemExit) as stop:
        cli.main(["weigh", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: haloid weigh [-h] [--links INT]\n")
    assert "Weigh the load in kilograms.\n\nExample:\n    haloid weigh --links 3\n" in out
    assert "How many links to weigh. (default: 1)" in out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_a_summary_and_an_example(name: str):
    text = cli._help(cli._module(name))
    assert text.splitlines()[0].endswith(".")
    assert re.search(rf"\n\nExamples?:\n    haloid {name}\b", text)


def test_help_lists_every_command_and_loads_nothing_heavy():
    code = f"""
import sys
from haloid.cli.main import main
main(["--help"])
print("LOADED", [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert all(f"\n  {name} " in done.stdout for name in cli.COMMANDS)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.endswith("LOADED []\n")


def test_no_command_shows_where_to_start_on_stderr():
    done = command()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == cli.ORIENTATION + "\n"
    assert all(name in cli.COMMANDS for name in re.findall(r"^  haloid (\w+)", cli.ORIENTATION, re.MULTILINE))


def test_completion_knows_every_command_and_its_options():
    done = command("--tyro-print-completion", "bash")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in cli.COMMANDS)
    assert "--payload-links" in done.stdout


def test_completion_offers_options_and_values_and_nothing_else(tmp_path: Path):
    script = tmp_path / "haloid"
    script.write_text(command("--tyro-print-completion", "bash").stdout)
    for words, offered in ((["identi"], ["identify"]), (["train", "--act"], ["--actions"])):
        line = ["haloid", *words]
        code = f"source {script}; COMP_WORDS=({' '.join(line)}); COMP_CWORD={len(words)}; _tyro_haloid; "
        done = subprocess.run(["bash", "-c", code + 'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True)
        assert done.stdout.splitlines() == offered, done.stderr


def test_version():
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"haloid {haloid.__version__}\n")


def test_reader_that_leaves_is_no_traceback():
    read_end, write_end = os.pipe()
    os.close(read_end)
    line = [sys.executable, "-m", "haloid", "--help"]
    done = subprocess.run(line, stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_terminal_that_lacks_letters_shows_question_marks():
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [sys.executable, "-m", "haloid", "inspect", "größe.csv"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert "gr" in ended.stderr and "e.csv" in ended.stderr


def test_a_full_disk_without_a_name(register, capsys):
    def run(_: Config) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    register(run)
    assert cli.main(["weigh"]) == 1
    assert "No space left on device: a file could not be written" in capsys.readouterr().err


def test_a_file_in_the_place_of_a_folder(register, capsys, tmp_path):
    def run(_: Config) -> None:
        (tmp_path / "file" / "out").mkdir(parents=True)

    (tmp_path / "file").touch()
    register(run)
    assert cli.main(["weigh"]) == 1
    assert "A file is where a folder should be: move it away, or give another place." in capsys.readouterr().err


def test_sigterm_ends_the_command_in_good_order(register, capsys, tmp_path):
    def run(_: Config) -> None:
        with atomic_directory(tmp_path / "out"):
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()

    register(run)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert cli.main(["weigh"]) == 143
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "haloid: terminated" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_closed_standard_output_is_no_error():
    ended = subprocess.run(f"{sys.executable} -m haloid --version >&-", shell=True, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
