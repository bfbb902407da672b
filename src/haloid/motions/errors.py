"""What is wrong with a motion's file: found, expected, next step."""

from pathlib import Path

from haloid.errors import HaloidError


class MotionFileError(HaloidError):
    """A file that cannot be read as a motion."""

    def __init__(self, path: Path, *, found: str, expected: str, next_step: str):
        super().__init__(f"{path}: {found}. Expected {expected}. {next_step}")
