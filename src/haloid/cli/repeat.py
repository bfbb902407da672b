"""`--config FILE`: a command's options from the config.yaml of an earlier run, under those of the command line."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

import tyro

from haloid.config_file import ConfigFileError

Config = TypeVar("Config")
OPTION = "--config"


def parse_with_config(
    config: type[Config],
    command: str,
    words: list[str],
    read: Callable[[Path], Config],
    file: Path | None = None,
    default: Config | None = None,
) -> Config:
    """The options in `words`; the others are as in the file that is given or that they name, if any, or as in
    `default`."""
    file = file or _named(words)
    return tyro.cli(
        config,
        prog=f"haloid {command}",
        description=inspect.cleandoc(config.__doc__ or ""),
        args=words,
        default=(default or tyro.MISSING_NONPROP) if file is None else read(file),
    )


def options_of(config: type[Config], options: dict[str, Any], file: Path) -> Config:
    """The command's options; unknown ones are refused."""
    known = [field.name for field in fields(config)]  # pyright: ignore[reportArgumentType]
    options = {name: value for name, value in options.items() if name != "command"}
    for name in options:
        if name not in known:
            raise ConfigFileError(file, f"there is no option {name}", f"some of {', '.join(known)}")
    missing = [field.name for field in fields(config) if not _has_default(field) and field.name not in options]  # pyright: ignore[reportArgumentType]
    if missing:
        raise ConfigFileError(file, f"it lacks {', '.join(missing)}", "every option of the run")
    return config(**options)


def _has_default(field: Any) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _named(words: list[str]) -> Path | None:
    for number, word in enumerate(words):
        if word.startswith(f"{OPTION}="):
            return Path(word.removeprefix(f"{OPTION}="))
        if word == OPTION and number + 1 < len(words):
            return Path(words[number + 1])
    return None
