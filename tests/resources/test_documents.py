"""Small documents: who may read them, and what a failure leaves."""

import os
from pathlib import Path

import pytest

from resources.documents import write_atomic, write_new


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_document_may_be_read_by_those_whom_the_umask_lets(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_atomic(tmp_path / "report.html", "one")
        write_new(tmp_path / "card.json", "two")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("report.html", "card.json")] == [mode, mode]


def test_what_cannot_be_written_leaves_the_old_text_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    write_atomic(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(file, "half \ud800")
    assert ([path.name for path in tmp_path.iterdir()], file.read_text()) == (["report.html"], "old")


def test_what_was_written_first_stays(tmp_path: Path) -> None:
    write_new(tmp_path / "card.json", "first")
    write_new(tmp_path / "card.json", "second")
    assert ([path.name for path in tmp_path.iterdir()], (tmp_path / "card.json").read_text()) == (
        ["card.json"],
        "first",
    )
