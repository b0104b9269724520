"""A false home folder for a method to find, watched by the kernel (ours).

Where a method runs behind the wall, the real folders are out of its view. During an
audit a decoy lies in their place: files of the same names that hold nothing. Whoever
opens one of them tried to, whatever library did the opening.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

_SETTLE_SECONDS = 0.3
"""How long the kernel's last notices may take to arrive."""
_FILES_PER_FOLDER = 3


class Decoy:
    """The false folder and what was opened in it."""

    def __init__(self, folder: Path, real: Path) -> None:
        self.folder, self._real, self._seen = folder, real, _Seen()

    @classmethod
    @contextmanager
    def of(cls, real: Path) -> Iterator["Decoy"]:
        """Make a decoy of the folder `real`, watch it, and remove it at the end."""
        with tempfile.TemporaryDirectory(prefix="decoy-") as place:
            decoy = cls(Path(place) / "home", real)
            _imitate(real, decoy.folder)
            observer = Observer()
            observer.schedule(decoy._seen, str(decoy.folder), recursive=True)
            observer.start()
            try:
                yield decoy
            finally:
                observer.stop()
                observer.join()

    def opened(self) -> list[str]:
        """What was opened so far, as names in the real folder."""
        time.sleep(_SETTLE_SECONDS)
        return sorted(str(self._real / Path(path).relative_to(self.folder)) for path in set(self._seen.paths))


class _Seen(FileSystemEventHandler):
    def __init__(self) -> None:
        self.paths: list[str] = []

    def on_any_event(self, event: FileSystemEvent) -> None:
        if not event.is_directory:
            self.paths.append(str(event.src_path))


def _imitate(real: Path, decoy: Path) -> None:
    """The same folders, and in each a few files of the same names that hold one empty column."""
    decoy.mkdir(parents=True)
    for wall in ("store", "gold"):
        for folder in [real / wall, *sorted(path for path in (real / wall).rglob("*") if path.is_dir())]:
            target = decoy / folder.relative_to(real)
            target.mkdir(parents=True, exist_ok=True)
            for file in sorted(path for path in folder.glob("*") if path.is_file())[:_FILES_PER_FOLDER]:
                _fake(target / file.name)
    shutil.copymode(real, decoy)


def _fake(path: Path) -> None:
    if path.suffix == ".parquet":
        pl.DataFrame({"user_id": ["nobody"]}).write_parquet(path)
    else:
        path.write_text("{}")
