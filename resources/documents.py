"""Small local documents, written so that a reader sees the old or the new text, never a part."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex


def write_atomic(path: Path, text: str) -> None:
    """Write `text` to `path` through a temporary file in the same folder, fsync and rename."""
    _write(path, text, lambda part: part.replace(path))


def write_new(path: Path, text: str) -> None:
    """As `write_atomic`, but what another process wrote first stays."""

    def link(part: Path) -> None:
        with suppress(FileExistsError):
            path.hardlink_to(part)
        part.unlink()

    _write(path, text, link)


def sync(path: Path) -> None:
    """Have what was written to a file, or the names in a folder, outlive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, text: str, place: Callable[[Path], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not by `tempfile`, whose files nobody else may read: a report is for others, as far as the umask lets them.
    part = path.parent / f".{token_hex(8)}.tmp"
    try:
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        place(part)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
