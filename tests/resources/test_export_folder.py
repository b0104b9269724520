"""Folders that leave the project: whole or not at all, and never in the place of anything else."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from resources import export_folder as module
from resources.export_folder import LISTING, FolderRefused, export_folder


def write(to: Path, text: str = "one") -> None:
    with export_folder(to, {"export": "test"}) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file.txt").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_folder_appears_whole_with_its_listing_and_is_replaced_whole(tmp_path: Path) -> None:
    to = tmp_path / "new" / "out"
    write(to)
    listing = json.loads((to / LISTING).read_text())
    # sha256 of "one"
    assert listing == {
        "export": "test",
        "files": {"deep/file.txt": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"},
    }
    with export_folder(to, {"export": "test"}) as folder:
        (folder / "other.txt").write_text("two")
        assert (to / "deep" / "file.txt").read_text() == "one", "the earlier one is there until the end"
    assert names(to) == ["other.txt", LISTING] and names(tmp_path / "new") == ["out", "out/other.txt", f"out/{LISTING}"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out")
    assert names(tmp_path / "out") == ["deep", "deep/file.txt", LISTING]


def test_what_fails_leaves_the_earlier_folder_and_nothing_else(tmp_path: Path) -> None:
    to = tmp_path / "out"
    write(to)
    for _ in range(2):
        with pytest.raises(RuntimeError), export_folder(to, {"export": "test"}) as folder:
            (folder / "half.txt").write_text("half")
            raise RuntimeError
        assert names(to) == ["deep", "deep/file.txt", LISTING] and names(tmp_path)[0] == "out"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(RuntimeError), export_folder(tmp_path / "none", {}) as folder:
        raise RuntimeError
    assert not (tmp_path / "none").exists()


def test_a_rename_that_fails_gives_the_earlier_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to, renamed = tmp_path / "out", Path.rename
    write(to)

    def rename(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError("no space")
        return renamed(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="no space"):
        write(to, "two")
    assert (to / "deep" / "file.txt").read_text() == "one" and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    to = tmp_path / "out"
    write(to)
    to.rename(tmp_path / ".out.replaced")
    (tmp_path / ".out.partial").mkdir()
    (tmp_path / ".out.partial" / "half.txt").write_text("half")
    (tmp_path / ".out.partial" / LISTING).touch()
    with pytest.raises(RuntimeError), export_folder(to, {}):
        raise RuntimeError
    assert (to / "deep" / "file.txt").read_text() == "one" and [path.name for path in tmp_path.iterdir()] == ["out"]
    (tmp_path / ".out.replaced").mkdir()
    write(to, "two")
    assert (to / "deep" / "file.txt").read_text() == "two" and [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("listing", [None, "{", "[]", '{"files": 7}', '{"files": {"note.txt": "00"}}'])
def test_a_folder_of_somebody_else_is_refused(listing: str | None, tmp_path: Path) -> None:
    to = tmp_path / "theirs"
    to.mkdir()
    (to / "note.txt").write_text("mine")
    if listing is not None:
        (to / LISTING).write_text(listing)
    with pytest.raises(FolderRefused, match="another folder"):
        write(to)
    assert (to / "note.txt").read_text() == "mine" and [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_what_python_wrote_when_the_code_in_it_was_run_stands_in_nobodys_way(tmp_path: Path) -> None:
    to = tmp_path / "run"
    with export_folder(to, {"export": "test"}) as folder:
        (folder / "said.py").write_text("SAID = 7\n")
    known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([sys.executable, "-c", "import said"], cwd=to, env=known, check=True)
    (compiled,) = to.rglob("*.pyc")
    beside = compiled.with_name("notes.txt")
    beside.write_text("mine")
    with pytest.raises(FolderRefused, match=r"notes\.txt was not written by the export"):
        write(to, "two")
    beside.unlink()
    write(to)
    assert names(to) == ["deep", "deep/file.txt", LISTING]


def test_what_was_added_changed_or_linked_since_is_not_thrown_away(tmp_path: Path) -> None:
    added, changed, linked, file = (tmp_path / name for name in ("added", "changed", "linked", "file"))
    for to in (added, changed):
        write(to)
    (added / "logs").mkdir()
    (added / "logs" / "run.json").write_text("{}")
    with pytest.raises(FolderRefused, match=r"logs/run\.json was not written by the export"):
        write(added)
    (changed / "deep" / "file.txt").write_text("edited")
    with pytest.raises(FolderRefused, match=r"deep/file\.txt was changed"):
        write(changed)
    linked.symlink_to(added)
    file.write_text("x")
    for to in (linked, file):
        with pytest.raises(FolderRefused, match="no folder"):
            write(to)
    assert (added / "logs" / "run.json").read_text() == "{}" and file.read_text() == "x"


def test_an_empty_folder_or_a_pipe_in_an_export_is_not_thrown_away(tmp_path: Path) -> None:
    for name, make in (("folder", Path.mkdir), ("pipe", os.mkfifo)):
        to = tmp_path / f"with-{name}"
        write(to)
        make(to / "deep" / name)
        with pytest.raises(FolderRefused, match=f"deep/{name} was not written by the export"):
            write(to, "two")
        assert (to / "deep" / name).exists() and (to / "deep" / "file.txt").read_text() == "one"


@pytest.mark.parametrize("place", [".out.partial", ".out.replaced", ".out.lock"])
@pytest.mark.parametrize("what", ["file", "link", "folder", "pipe"])
def test_what_stands_in_a_place_that_an_export_needs_is_left_alone(place: str, what: str, tmp_path: Path) -> None:
    theirs, beside = tmp_path / "theirs", tmp_path / place
    if what == "file":
        beside.write_text("theirs")
    elif what == "link":
        theirs.write_text("theirs")
        beside.symlink_to(theirs)
    elif what == "pipe":
        os.mkfifo(beside)
    else:
        beside.mkdir()
        (beside / "note.txt").write_text("theirs")
    with pytest.raises(FolderRefused, match=rf"\{place} is in the way"):
        write(tmp_path / "out")
    kept = beside / "note.txt" if what == "folder" else beside
    assert (kept.is_fifo() if what == "pipe" else kept.read_text() == "theirs") and not (tmp_path / "out").exists()


@pytest.mark.parametrize("to", [".", "..", "../here", "/", "new/.."])
def test_where_one_is_is_not_replaced(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FolderRefused, match="where you are"):
        write(Path(to))
    assert [path.name for path in tmp_path.iterdir()] == ["here"] and not any((tmp_path / "here").iterdir())


def test_a_folder_that_was_filled_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    to = tmp_path / "out"
    with pytest.raises(FolderRefused, match="not empty"), export_folder(to, {}) as folder:
        (folder / "a.txt").write_text("a")
        to.mkdir()
        (to / "theirs.txt").write_text("theirs")
    assert names(to) == ["theirs.txt"] and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_large_files_are_hashed_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "whole")
    monkeypatch.setattr(module, "_BLOCK", 2)
    write(tmp_path / "blocks")
    assert (tmp_path / "whole" / LISTING).read_bytes() == (tmp_path / "blocks" / LISTING).read_bytes()


def test_two_exports_never_write_to_one_folder_at_a_time(tmp_path: Path) -> None:
    to = tmp_path / "out"
    with export_folder(to, {"export": "first"}) as folder:
        (folder / "gold.txt").write_text("for some")
        with pytest.raises(FolderRefused, match=r"another export writes to .*out; wait for it"):
            write(to)
        write(tmp_path / "beside")
        assert (folder / "gold.txt").read_text() == "for some"
    assert names(to) == ["gold.txt", LISTING]
    # What a killed export leaves keeps nobody out.
    (tmp_path / ".out.lock").touch()
    write(to)
    assert names(to) == ["deep", "deep/file.txt", LISTING] and sorted(one.name for one in tmp_path.iterdir()) == [
        "beside",
        "out",
    ]


def test_many_exports_at_once_each_end_whole_or_refused(tmp_path: Path) -> None:
    to = tmp_path / "out"

    def one(number: int) -> str:
        try:
            with export_folder(to, {"export": str(number)}) as folder:
                (folder / f"{number}.txt").write_text(str(number))
        except FolderRefused as error:
            return str(error)
        return "whole"

    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(one, range(64)))
    busy = f"another export writes to {to}; wait for it, or name another folder"
    assert set(ended) <= {"whole", busy} and "whole" in ended
    said = json.loads((to / LISTING).read_text())
    assert names(to) == sorted([f"{said['export']}.txt", LISTING]) and list(said["files"]) == [f"{said['export']}.txt"]
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
