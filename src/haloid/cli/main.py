"""The command `haloid`: finds the command's module, reads its options, runs it and turns errors into exit statuses.

A command is one line in COMMANDS and the module named there, which holds

- `Config`, a frozen dataclass that tyro turns into options. Its docstring is the command's `--help`, word for
  word: a first line for the list of commands and, at the end, an example. Field docstrings describe the options;
- `run(config)`, which does the work and raises `HaloidError` when it cannot;
- where options depend on more than `Config` says, `parse(words)`, which returns a `Config` or an exit status.

Heavy imports (mujoco, pinocchio, matplotlib) go inside `run`, so that `--help` answers at once.

Exit statuses: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted, 143 terminated.
"""

import importlib
import inspect
import io
import logging
import os
import signal
import sys
import textwrap
import threading
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

import tyro

import haloid
from haloid.cli import console
from haloid.cli.words import LINE_WIDTH, listing, unknown
from haloid.errors import HaloidError
from haloid.outputs import FULL, NO_FOLDER, remedy

COMMANDS = {
    "demo": "models.demo",
    "excite": "logs.excite",
    "record": "logs.record",
    "inspect": "logs.inspect",
    "convert": "logs.convert",
    "reconstruct": "logs.reconstruct",
    "rollouts": "logs.rollouts",
    "identify": "models.identify",
    "calibrate": "models.calibrate",
    "replay": "models.replay",
    "robots": "models.robots",
    "motions": "skills.motions",
    "train": "skills.train",
    "evaluate": "skills.evaluate",
    "export": "skills.export",
    "delta": "delta.commands",
    "view": "view",
    "bench": "bench",
    "doctor": "doctor",
}
"""Each command and its module in `haloid.cli`, in the order of `haloid --help`."""

ORIENTATION = """\
haloid finds what a humanoid carries from the log of its joints, and makes
controllers and policies for it.

  haloid demo               the whole job on a simulated robot: start here
  haloid view out/demo      see its result move in the browser
  haloid inspect LOG        what your own log is worth
  haloid identify --help    from logs to a calibrated model with error bars
  haloid doctor             what this installation can do, and what it lacks

All commands: haloid --help"""


def main(argv: list[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    logging.basicConfig(handlers=[console.LogHandler(logging.WARNING)])
    _prepare_process()
    try:
        status = _dispatch(words)
        if sys.stdout is not None:  # None where it was closed from the start
            sys.stdout.flush()  # a closed pipe shows here, not while Python shuts down
        return status
    except HaloidError as error:
        console.error(str(error))
        return 1
    except BrokenPipeError:
        # The reader of our output left. Give the interpreter somewhere to flush what is left to.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is None and error.errno not in FULL:
            raise
        advice = f". {remedy(error)}" if error.errno in (*FULL, *NO_FOLDER) else ""
        console.error(f"{error.strerror}: {error.filename or 'a file could not be written'}{advice}")
        return 1
    except Terminated:
        console.error("terminated")
        return 143
    except KeyboardInterrupt:
        console.error("interrupted")
        return 130


class Terminated(KeyboardInterrupt):
    """SIGTERM: what is half-written is removed on the way out, as after Ctrl-C."""


def _prepare_process() -> None:
    """A terminal that lacks a letter shows a question mark for it, and SIGTERM ends the command cleanly."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(_signal: int, _frame: object) -> None:
    raise Terminated


def _dispatch(words: list[str]) -> int:
    match words:
        case ["--version"]:
            print(f"haloid {haloid.__version__}")
        case ["--help" | "-h"]:
            print(_overview())
        case []:
            print(ORIENTATION, file=sys.stderr)
            return 2
        case ["--tyro-print-completion", shell]:
            _print_completion(shell)
        case [name, *rest] if name in COMMANDS:
            config = parsed(name, rest)
            if isinstance(config, int):
                return config
            _module(name).run(config)
        case [name, *_]:
            console.error(unknown(name, "command", COMMANDS, "haloid --help", also=["--version"]))
            return 2
    return 0


def parsed(name: str, words: list[str]) -> Any:
    """The configuration of a command, or an exit status where there is nothing to run."""
    module = _module(name)
    if hasattr(module, "parse"):
        return module.parse(words)
    return tyro.cli(module.Config, prog=f"haloid {name}", description=_help(module), args=words)


def _print_completion(shell: str) -> None:
    """Print a script that lets bash, zsh or tcsh complete commands and options."""
    # The options of a benchmark depend on which it is: bench is completed by its name alone.
    configs = {name: (dict if name == "bench" else _module(name).Config) for name in COMMANDS}
    script = io.StringIO()
    try:
        with redirect_stdout(script):
            tyro.extras.subcommand_cli_from_dict(configs, prog="haloid", args=["--tyro-print-completion", shell])
    except SystemExit as ended:
        if ended.code:
            raise
    # Of a help text with two lines, bash would offer the second as a word.
    for line in script.getvalue().splitlines():
        print(line.replace("\\n", " ") if line.startswith("COMPLETION_SPEC = ") else line)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"haloid.cli.{COMMANDS[name]}")


def _help(module: ModuleType) -> str:
    return inspect.cleandoc(module.Config.__doc__)


def _overview() -> str:
    return "\n".join(
        [
            "usage: haloid COMMAND [OPTIONS]",
            "",
            textwrap.fill(haloid.__doc__ or "", LINE_WIDTH),
            "",
            "commands:",
            *listing({name: _help(_module(name)).splitlines()[0] for name in COMMANDS}),
            "",
            "options:",
            "  --help     show this, or with a command its options and an example",
            "  --version  show the version",
            "  --tyro-print-completion bash|zsh|tcsh",
            "             print a script for the shell to complete commands and options",
        ]
    )
