"""Pages of a run: all of one run or all of the former one, and nothing that was left over."""

from pathlib import Path

import pytest

from resources import results
from resources.results import Results

OLD, NEW = {"a.html": "old a", "b.html": "old b"}, {"a.html": "new a", "c.html": "new c"}


def held(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in (folder / "users").iterdir()}


def test_pages_of_a_former_run_do_not_stay(tmp_path: Path) -> None:
    written = Results(tmp_path / "run")
    written.write_pages("users", OLD.items())
    assert held(written.folder) == OLD
    written.write_pages("users", NEW.items())
    assert held(written.folder) == NEW
    written.write_pages("users", {}.items())
    assert held(written.folder) == {} and [one.name for one in written.folder.iterdir()] == ["users"]


def test_a_run_that_ends_half_way_leaves_the_former_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Results(tmp_path / "run")
    written.write_pages("users", OLD.items())
    done: list[Path] = []

    def full(path: Path) -> None:
        done.append(path)
        if path.name == "c.html":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "sync", full)
    with pytest.raises(OSError, match="No space left"):
        written.write_pages("users", NEW.items())
    assert held(written.folder) == OLD and len(done) == 2
    monkeypatch.undo()
    written.write_pages("users", NEW.items())
    assert held(written.folder) == NEW and [one.name for one in written.folder.iterdir()] == ["users"]


def test_what_a_killed_run_left_between_the_two_names_is_mended(tmp_path: Path) -> None:
    written = Results(tmp_path / "run")
    written.write_pages("users", OLD.items())
    (written.folder / "users").rename(written.folder / ".users-old")
    written.write_pages("users", NEW.items())
    assert held(written.folder) == NEW and [one.name for one in written.folder.iterdir()] == ["users"]
