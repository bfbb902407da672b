"""config.yaml, the settings of a run: read as plain values, and anything else is refused with a message."""

from pathlib import Path
from typing import Any

import yaml

from haloid.errors import HaloidError


class ConfigFileError(HaloidError):
    def __init__(self, file: Path, found: str, expected: str) -> None:
        super().__init__(f"{file} does not hold the settings of a run: {found}. Expected {expected}")


def read_config_file(file: Path, command: str) -> dict[str, Any]:
    """What the config.yaml that `haloid COMMAND` wrote says. Nothing in the file is run."""
    expected = f"the config.yaml that haloid {command} wrote"
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigFileError(file, f"the system says «{(error.strerror or str(error)).lower()}»", expected) from error
    except UnicodeDecodeError as error:
        raise ConfigFileError(file, "it is not text", expected) from error
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise ConfigFileError(file, f"{problem}{where}", f"plain YAML, {expected}") from error
    if not isinstance(values, dict):
        raise ConfigFileError(file, f"its content is {str(values)[:40]!r}", expected)
    if values.get("command", command) != command:
        raise ConfigFileError(file, f"it was written by haloid {values['command']}", expected)
    return values
