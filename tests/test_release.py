"""What is released: the same bytes from every build, with every file that the package reads, and the same version."""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import haloid

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[1]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "src")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="needs a checkout"),
]


def build(folder: Path) -> Path:
    """The distributions of a copy of the tree, whose files have other dates than the checkout's."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    for name in BUILT_FROM:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, tree / name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copy
            )
        else:
            shutil.copy(source, tree / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist")],
        cwd=tree,
        check=True,
        capture_output=True,
    )
    return folder / "dist"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("first"))


def test_two_builds_are_the_same_to_the_byte(dist: Path, tmp_path: Path):
    again = build(tmp_path)
    names = sorted(file.name for file in dist.iterdir())
    assert names == [f"haloid-{haloid.__version__}-py3-none-any.whl", f"haloid-{haloid.__version__}.tar.gz"]
    digests = [[hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names] for folder in (dist, again)]
    assert digests[0] == digests[1]


def test_wheel_and_sdist_hold_every_file_of_the_package(dist: Path):
    files = {
        file.relative_to(ROOT / "src").as_posix()
        for file in (ROOT / "src").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        assert files <= set(wheel.namelist())
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {f"src/{file}" for file in files} <= names
    assert {"pyproject.toml", "LICENSE", "NOTICE"} <= names


def test_the_citation_has_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == haloid.__version__
