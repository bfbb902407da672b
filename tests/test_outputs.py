import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from haloid.outputs import MANIFEST, OutputError, atomic_directory, atomic_file


def names(folder: Path) -> set[str]:
    return {f.name for f in folder.iterdir()}


def write(path: Path, files: dict[str, str]) -> None:
    with atomic_directory(path) as out:
        for name, text in files.items():
            (out / name).parent.mkdir(exist_ok=True)
            (out / name).write_text(text)


def test_file_appears_only_when_the_block_ends(tmp_path: Path):
    path = tmp_path / "deep" / "result.json"
    with atomic_file(path) as beside:
        beside.write_text("{}")
        assert not path.exists()
    assert path.read_text() == "{}"
    assert names(path.parent) == {"result.json"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failed_file_leaves_the_old_one(tmp_path: Path, error: type[BaseException]):
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(error), atomic_file(path) as beside:
        beside.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == {"result.json"}


def test_file_through_a_link_keeps_the_link(tmp_path: Path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    with atomic_file(link) as beside:
        beside.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_file_where_a_directory_is(tmp_path: Path):
    with pytest.raises(OutputError, match=r"it is a directory\. Give the name of a file\."), atomic_file(tmp_path):
        pass


def test_directory_appears_whole_with_its_list_of_files(tmp_path: Path):
    write(tmp_path / "out", {"a.txt": "a", "sub/b.txt": "b"})
    assert names(tmp_path) == {"out"}
    assert (tmp_path / "out" / MANIFEST).read_text() == "a.txt\nsub/b.txt\n"


def test_directory_of_ours_is_replaced(tmp_path: Path):
    write(tmp_path / "out", {"old.txt": ""})
    write(tmp_path / "out", {"new.txt": ""})
    assert names(tmp_path / "out") == {"new.txt", MANIFEST}
    assert names(tmp_path) == {"out"}


def test_empty_directory_is_used(tmp_path: Path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", {"a.txt": ""})
    assert (tmp_path / "out" / "a.txt").exists()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failed_directory_leaves_the_old_one(tmp_path: Path, error: type[BaseException]):
    write(tmp_path / "out", {"old.txt": ""})
    with pytest.raises(error), atomic_directory(tmp_path / "out") as out:
        (out / "half.txt").write_text("")
        raise error
    assert names(tmp_path / "out") == {"old.txt", MANIFEST}
    assert names(tmp_path) == {"out"}


def test_directory_of_somebody_else_is_refused_before_any_work(tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputError) as caught:
        write(tmp_path, {"a.txt": ""})
    assert str(caught.value) == (
        f"Cannot write {tmp_path}: the directory is not empty and was not written by haloid. "
        "Give another directory, or move this one away."
    )
    assert names(tmp_path) == {"thesis.tex"}


def test_directory_of_ours_with_a_file_of_somebody_else_is_refused(tmp_path: Path):
    write(tmp_path / "out", {"a.txt": ""})
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"it holds notes\.txt, which haloid did not write\."):
        write(tmp_path / "out", {"a.txt": ""})
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_directory_where_a_file_is(tmp_path: Path):
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match=r"it is a file\. Give the name of a directory\."):
        write(tmp_path / "out", {})


def test_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"A file is where a folder should be: move it away, or give another place\."):
        write(tmp_path / "file" / "out", {})


def test_root_is_refused():
    with pytest.raises(OutputError, match="not written by haloid"):
        write(Path("/"), {})


@pytest.fixture(scope="module")
def dead_process() -> int:
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path, dead_process: int):
    abandoned = tmp_path / f".out.{dead_process}-0123abcd.part"
    abandoned.mkdir()
    (abandoned / "half.txt").write_text("half")
    (tmp_path / f".result.json.{dead_process}-0123abcd.part").write_text("half")
    running, foreign = tmp_path / f".out.{os.getpid()}-0123abcd.part", tmp_path / ".out.mine.part"
    running.mkdir()
    foreign.write_text("mine")
    write(tmp_path / "out", {"a.txt": "a"})
    assert names(tmp_path) == {"out", running.name, foreign.name, f".result.json.{dead_process}-0123abcd.part"}
    with atomic_file(tmp_path / "result.json") as beside:
        beside.write_text("{}")
    assert names(tmp_path) == {"out", "result.json", running.name, foreign.name}


@pytest.mark.parametrize("context", [atomic_file, atomic_directory])
def test_a_full_disk_is_told_with_the_name_of_the_result(tmp_path: Path, context):
    with pytest.raises(OutputError) as caught, context(tmp_path / "result"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert str(caught.value) == (
        f"Cannot write {tmp_path / 'result'}: the system says «no space left on device». "
        "Make room, or give another place."
    )
    assert names(tmp_path) == set()


def test_a_disk_that_is_full_within_a_directory_is_told_with_the_name_of_the_directory(tmp_path: Path):
    result = tmp_path / "result"
    with pytest.raises(OutputError) as caught, atomic_directory(result) as beside, atomic_file(beside / "a.xml"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert str(caught.value).startswith(f"Cannot write {result}: the system says «no space left on device».")
    with pytest.raises(OutputError, match="it is a directory"), atomic_directory(result) as beside, atomic_file(beside):
        pass


def test_other_errors_of_the_system_are_not_ours(tmp_path: Path):
    with pytest.raises(ConnectionError), atomic_file(tmp_path / "result"):
        raise ConnectionError("the network is gone")
