"""Results are written whole or not at all: write beside the destination, then rename.

`atomic_file` and `atomic_directory` check the destination on entry, before any work is done, and yield a path
next to it to write to. When the block ends the result is renamed into place; when it fails, or is interrupted,
what was written is removed and the destination is as it was.

The name of what is written beside the destination holds its process id: the next run removes what a killed one left.
Where the disk is full, the message names the destination.

A directory written here carries `.haloid`, the list of the files in it. An existing directory is replaced only
if that list accounts for everything it holds, so that no other file is ever lost.
"""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from haloid.errors import HaloidError

MANIFEST = ".haloid"
"""Names the files of an output directory, one per line, relative to it."""


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, or of a user's share of it, that has no room."""
NO_FOLDER = (errno.EEXIST, errno.ENOTDIR)
"""Errors where a file is in the place of a folder."""


class OutputError(HaloidError):
    """A destination that cannot be written, or must not be."""

    def __init__(self, path: Path, found: str, next_step: str) -> None:
        super().__init__(f"Cannot write {path}: {found}. {next_step}")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield the path to write to; it becomes `path` when the block ends without an error.

    >>> with atomic_file(Path("result.json")) as beside:  # doctest: +SKIP
    ...     beside.write_text("{}")
    """
    if path.is_dir():
        raise OutputError(path, "it is a directory", "Give the name of a file.")
    destination = path.resolve()  # through a link, so that the link survives
    _make_parent(path, destination)
    with part_beside(destination) as beside:
        with _told_when_full(path):
            yield beside
        _rename(beside, destination, path)


@contextmanager
def part_beside(file: Path) -> Iterator[Path]:
    """A path beside `file` to write to and rename; what is still there when the block ends is removed."""
    beside = _beside(file)
    try:
        yield beside
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield an empty directory to write to; it becomes `path` when the block ends without an error."""
    destination = path.resolve()
    _refuse_foreign(path, destination)
    _make_parent(path, destination)
    beside = _beside(destination)
    try:
        beside.mkdir()
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with _told_when_full(path):
            yield beside
            manifest = "".join(f"{name}\n" for name in sorted(_files(beside)))
            (beside / MANIFEST).write_text(manifest, encoding="utf-8")
        _replace_directory(beside, destination, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _refuse_foreign(path: Path, destination: Path) -> None:
    """Raise unless `path` is free: absent, an empty directory, or a directory that only haloid wrote to."""
    if not destination.exists():
        return
    if not destination.is_dir():
        raise OutputError(path, "it is a file", "Give the name of a directory.")
    if not any(destination.iterdir()):
        return
    elsewhere = "Give another directory, or move this one away."
    manifest = destination / MANIFEST
    if not manifest.is_file():
        raise OutputError(path, "the directory is not empty and was not written by haloid", elsewhere)
    listed = manifest.read_text(encoding="utf-8").splitlines()
    foreign = sorted(_files(destination) - {MANIFEST, *listed})
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise OutputError(path, f"it holds {foreign[0]}{more}, which haloid did not write", elsewhere)


def _replace_directory(beside: Path, destination: Path, path: Path) -> None:
    """Rename `beside` to `destination`; what was there is put back if that fails, removed if it succeeds."""
    if not destination.exists():
        return _rename(beside, destination, path)
    old = _beside(destination)
    _rename(destination, old, path)
    try:
        _rename(beside, destination, path)
    except BaseException:
        old.rename(destination)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _files(folder: Path) -> set[str]:
    """Everything in `folder` but directories, as paths relative to it."""
    return {f.relative_to(folder).as_posix() for f in folder.rglob("*") if not f.is_dir()}


def _beside(destination: Path) -> Path:
    _remove_abandoned(destination)
    return destination.with_name(f".{destination.name}.{os.getpid()}-{secrets.token_hex(4)}.part")


def _remove_abandoned(destination: Path) -> None:
    """Remove what processes that have ended left beside the destination."""
    part = re.compile(rf"\.{re.escape(destination.name)}\.(\d+)-[0-9a-f]{{8}}\.part")
    with suppress(OSError):
        for path in destination.parent.iterdir():
            match = part.fullmatch(path.name)
            if match is None or _is_running(int(match.group(1))):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


@contextmanager
def _told_when_full(path: Path) -> Iterator[None]:
    """Name `path`, not the temporary name of a file within it."""
    try:
        yield
    except (OSError, OutputError) as error:
        full = error.__cause__ if isinstance(error, OutputError) else error
        if not isinstance(full, OSError) or full.errno not in FULL:
            raise
        raise _unwritable(path, full) from full


def _make_parent(path: Path, destination: Path) -> None:
    if not destination.name:
        raise OutputError(path, "it is the root of the file system", "Give another place.")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _rename(source: Path, destination: Path, path: Path) -> None:
    try:
        source.replace(destination)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> OutputError:
    reason = (error.strerror or str(error)).lower()
    return OutputError(path, f"the system says «{reason}»", remedy(error))


def remedy(error: OSError) -> str:
    """What to do about a file that cannot be written."""
    if error.errno in FULL:
        return "Make room, or give another place."
    if error.errno in NO_FOLDER:
        return "A file is where a folder should be: move it away, or give another place."
    if error.errno == errno.ENOENT:
        return "Create the folder, or give another place."
    return "Check the folder above it, or give another place."
