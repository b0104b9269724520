"""Pages of a run: all of one run or all of the former one, and nothing that was left over."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
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


def test_runs_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    written = Results(tmp_path / "run")
    frame = pl.DataFrame({"n": range(1_000)})

    def one(number: int) -> None:
        written.write_tables({"board": frame}, {})
        written.write_pages("users", (NEW if number % 2 else OLD).items())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(40)))
    assert held(written.folder) in (OLD, NEW)
    assert sorted(one.name for one in written.folder.iterdir()) == ["board.csv", "board.parquet", "users"]
    assert pl.read_parquet(written.folder / "board.parquet").equals(frame)
