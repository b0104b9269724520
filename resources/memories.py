"""Kept memories: snapshots of methods that cost model calls, by a key of all that the state depends on (ours).

A killed run goes on at the last one, and arms that differ in their budget or reader
share them. They are no results: deleting the folder costs calls, never a number.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from resources.documents import sync


@dataclass(frozen=True)
class KeptMemories:
    """Snapshots under one folder; each appears whole or not at all."""

    folder: Path

    def find(self, key: str) -> Path | None:
        """Folder of a whole snapshot, or None."""
        path = self._path(key)
        return path if path.is_dir() else None

    def keep(self, key: str, write: Callable[[Path], None]) -> None:
        """Let `write` fill a folder and keep it under `key`; a key that is kept already stays as it is."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(prefix=".partial-", dir=path.parent))
        try:
            write(part)
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


def _sync(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            sync(file)
