"""The files of a job's folder as bytes, so that a job can travel where there is no shared file system.

A `Parcel` is made of what has changed since the last one, and the list of all files there are; opened in another
folder it makes that folder equal to the first, file by file, each written whole or not at all.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from haloid.outputs import atomic_file
from haloid.sweeps.folder import OUTCOME


@dataclass(frozen=True)
class Parcel:
    """The files of a folder, or those of them that changed."""

    names: tuple[str, ...]
    """All files that the folder has."""
    changed: bytes
    """A zip file of those that are new or changed."""

    def open_in(self, folder: Path) -> None:
        """Make `folder` equal to the one that was packed; the outcome comes last, after all files it depends on."""
        with zipfile.ZipFile(io.BytesIO(self.changed)) as archive:
            for name in sorted(archive.namelist(), key=lambda name: name == OUTCOME):
                destination = (folder / name).resolve()
                if not destination.is_relative_to(folder.resolve()):
                    raise ValueError(f"the parcel holds {name}, which lies outside the folder")
                with atomic_file(destination) as beside:
                    beside.write_bytes(archive.read(name))
        for name in _stamps(folder).keys() - set(self.names):
            (folder / name).unlink()


class Packer:
    """Packs a folder again and again, each time what has changed since."""

    def __init__(self, folder: Path, known: bool = False) -> None:
        """With `known`, what is in the folder now is at the other end already."""
        self._folder = folder
        self._sent: dict[str, tuple[int, int]] = _stamps(folder) if known else {}

    def pack(self) -> Parcel | None:
        """A parcel of the changes; None if there are none."""
        found = _stamps(self._folder)
        if found == self._sent:
            return None
        buffer = io.BytesIO()
        packed = {}
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, stamp in found.items():
                try:
                    if self._sent.get(name) != stamp:
                        archive.writestr(name, (self._folder / name).read_bytes())
                    packed[name] = stamp
                except FileNotFoundError:  # removed while we were packing
                    continue
        self._sent = packed
        return Parcel(tuple(packed), buffer.getvalue())


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file was written and how long it is, without those that `atomic_file` is still writing."""
    stamps = {}
    for path in sorted(folder.rglob("*")):
        if path.name.startswith(".") and path.suffix == ".part":
            continue
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        if path.is_file():
            stamps[path.relative_to(folder).as_posix()] = (status.st_mtime_ns, status.st_size)
    return stamps
