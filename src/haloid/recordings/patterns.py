"""Names of files as users give them: as they are, or with * and ? for many."""

from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path

from haloid.errors import HaloidError


def matching_files(names: Iterable[str | Path]) -> list[Path]:
    """The files in order; a pattern that matches none is refused, a name without one is not looked up."""
    files: list[Path] = []
    for name in names:
        path = Path(name).expanduser()
        if path.exists() or not has_magic(str(path)):
            files.append(path)
            continue
        matched = sorted(glob(str(path), recursive=True))  # noqa: PTH207
        if not matched:
            single = Path(str(path).replace("-*", ""))
            meant = f"Did you mean {single}?" if single.is_file() else "Check the folder"
            raise HaloidError(f"{name} matches no file. Expected the names of recordings or logs. {meant}")
        files += map(Path, matched)
    return files
