"""The command `haloid`: finds the command's module, reads its options, runs it and turns errors into exit statuses.

A command NAME is the module `haloid/cli/NAME.py` (dashes become underscores) and one entry in COMMANDS. It holds

- `Config`, a frozen dataclass that tyro turns into options. Its docstring is the command's `--help`, word for
  word: a first line for the list of commands and, at the end, an example. Field docstrings describe the options;
- `run(config)`, which does the work and raises `HaloidError` when it cannot.

Heavy imports (mujoco, pinocchio, matplotlib) go inside `run`, so that `--help` answers at once.

Exit statuses: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.
"""

import difflib
import importlib
import inspect
import logging
import os
import sys
import textwrap
from types import ModuleType

import tyro

import haloid
from haloid.cli import console
from haloid.errors import HaloidError

COMMANDS: tuple[str, ...] = (
    *("demo", "excite", "record", "inspect", "convert", "reconstruct", "identify"),
    *("motions", "train", "evaluate", "export", "bench"),
)
"""In the order of `haloid --help`."""
LINE_WIDTH = 80


def main(argv: list[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    logging.basicConfig(handlers=[console.LogHandler(logging.WARNING)])
    try:
        status = _dispatch(words)
        sys.stdout.flush()  # a closed pipe shows here, not while Python shuts down
        return status
    except HaloidError as error:
        console.error(str(error))
        return 1
    except BrokenPipeError:
        # The reader of our output left. Give the interpreter somewhere to flush what is left to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        console.error(f"{error.strerror}: {error.filename}")
        return 1
    except KeyboardInterrupt:
        console.error("interrupted")
        return 130


def _dispatch(words: list[str]) -> int:
    match words:
        case ["--version"]:
            print(f"haloid {haloid.__version__}")
        case ["--help" | "-h"]:
            print(_overview())
        case []:
            print(_overview(), file=sys.stderr)
            return 2
        case [name, *rest] if name in COMMANDS:
            module = _module(name)
            config = tyro.cli(module.Config, prog=f"haloid {name}", description=_help(module), args=rest)
            module.run(config)
        case [name, *_]:
            console.error(_unknown(name))
            return 2
    return 0


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"haloid.cli.{name.replace('-', '_')}")


def _help(module: ModuleType) -> str:
    return inspect.cleandoc(module.Config.__doc__)


def _overview() -> str:
    indent = max(map(len, COMMANDS)) + 4
    summaries = [
        textwrap.fill(
            _help(_module(name)).splitlines()[0],
            LINE_WIDTH,
            initial_indent=f"  {name}".ljust(indent),
            subsequent_indent=" " * indent,
        )
        for name in COMMANDS
    ]
    return "\n".join(
        [
            "usage: haloid COMMAND [OPTIONS]",
            "",
            textwrap.fill(haloid.__doc__ or "", LINE_WIDTH),
            "",
            "commands:",
            *summaries,
            "",
            "options:",
            "  --help     show this, or with a command its options and an example",
            "  --version  show the version",
        ]
    )


def _unknown(name: str) -> str:
    what = "option" if name.startswith("-") else "command"
    near = difflib.get_close_matches(name, [*COMMANDS, "--help", "--version"], n=1)
    guess = f" Did you mean {near[0]}?" if near else ""
    return f"There is no {what} {name}.{guess} Commands: {', '.join(COMMANDS)}. See haloid --help."
