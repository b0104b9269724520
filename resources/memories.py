"""Kept memories: snapshots of methods that cost model calls, by a key of all that the state depends on (ours).

A killed run goes on at the last one, and arms that differ in their budget or reader
share them. They are no results: deleting the folder costs calls, never a number.
"""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from resources.documents import sync
from resources.drops import sha256

_FILES, _SUMS = "files", "sums.json"


@dataclass(frozen=True)
class KeptMemories:
    """Snapshots under one folder; each appears whole or not at all, with the sum of each of its files."""

    folder: Path

    def find(self, key: str) -> Path | None:
        """Folder of a whole snapshot, or None. A damaged one is set aside, as `.damaged-…`, and no longer found."""
        path = self._path(key)
        if not path.is_dir():
            return None
        if _is_whole(path):
            return path / _FILES
        # Another run may have set it aside meanwhile.
        with suppress(OSError):
            path.rename(Path(mkdtemp(prefix=f".damaged-{key}-", dir=path.parent)))
        return None

    def keep(self, key: str, write: Callable[[Path], None]) -> None:
        """Let `write` fill a folder and keep it under `key`; a key that is kept already stays as it is."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(prefix=".partial-", dir=path.parent))
        try:
            (part / _FILES).mkdir()
            write(part / _FILES)
            (part / _SUMS).write_text(json.dumps(_sums(part)), encoding="utf-8")
            _sync(part)
            part.rename(path)
            sync(path.parent)
        except OSError:
            # Another run was first; its snapshot has the same key and so the same content.
            if not path.is_dir():
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key


def _sums(folder: Path) -> dict[str, str]:
    files = folder / _FILES
    return {path.relative_to(files).as_posix(): sha256(path) for path in sorted(files.rglob("*")) if path.is_file()}


def _is_whole(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / _SUMS).read_text(encoding="utf-8")) == _sums(folder))
    except (OSError, ValueError):
        return False


def _sync(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            sync(file)
