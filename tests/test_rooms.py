"""The rooms of CONTRIBUTING.md: imports run one way, heavy packages stay where they belong, folders stay small."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import haloid

ROOT = Path(haloid.__file__).parent
COMMON = {path.stem for path in ROOT.glob("*.py")}
"""Single files beside the rooms; every room may import them."""
SOURCES = {"robots", "trajectories", "recordings"}
MAY_IMPORT: dict[str, set[str]] = {
    "robots": set(),
    "trajectories": {"robots"},
    "recordings": {"robots", "trajectories"},
    "lab": SOURCES,
    "engines": SOURCES,
    "identify": {*SOURCES, "engines"},
    "excite": {*SOURCES, "lab", "engines", "identify"},
    "motions": {*SOURCES, "lab"},
    "skills": {*SOURCES, "lab", "motions"},
    "gap": {*SOURCES, "lab", "engines", "motions", "skills", "identify"},
    "sweeps": set(),
    "report": {*SOURCES, "lab", "engines", "identify", "excite", "motions", "skills", "gap"},
}
"""The rooms whose imports are limited. `view`, `api`, `bench` and `cli` come after all of them."""
LAST = ("view", "api", "bench", "cli")
"""Each may import what comes before it, here and above."""
HEAVY = {"torch": ("skills", "gap"), "rsl_rl": ("skills", "gap"), "mjlab": ("skills", "gap"), "jax": ("engines",)}
"""Packages, and the only rooms that import them (a benchmark of a peer may import that peer)."""
MOST_FILES = 15


def imports() -> Iterator[tuple[Path, str]]:
    """Every file of the package, with each name it imports."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield path, node.module
            elif isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)


def room(path: Path) -> str | None:
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else None


def rooms_before(name: str) -> set[str]:
    if name in MAY_IMPORT:
        return MAY_IMPORT[name] | COMMON
    return {*MAY_IMPORT, *LAST[: LAST.index(name)], *COMMON}


def test_every_room_has_its_place():
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms <= {*MAY_IMPORT, *LAST}


def test_imports_run_one_way():
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in imports()
        if (here := room(path)) and module.startswith("haloid.") and (there := module.split(".")[1]) != here
        if there not in rooms_before(here)
    ]
    assert not wrong


@pytest.mark.parametrize("package", HEAVY)
def test_heavy_packages_stay_in_their_rooms(package: str):
    wrong = [
        str(path.relative_to(ROOT))
        for path, module in imports()
        if module.split(".")[0] == package and room(path) not in (*HEAVY[package], "bench")
    ]
    assert not wrong


def test_rooms_are_small():
    counts = {
        str(folder.relative_to(ROOT)): sum(1 for file in folder.iterdir() if file.suffix == ".py")
        for folder in [ROOT, *ROOT.rglob("*")]
        if folder.is_dir()
    }
    assert not {folder: count for folder, count in counts.items() if count > MOST_FILES}


def test_import_and_help_load_nothing_heavy():
    heavy = ("torch", "jax", "mujoco", "pinocchio", "matplotlib", "scipy")
    code = (
        "import sys, haloid, haloid.cli.main as m; m.main(['--help']); "
        f"sys.exit(' '.join(p for p in {heavy!r} if p in sys.modules) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
