"""Files of one experiment for people: tables as CSV and Parquet, the report."""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import polars as pl

from resources.documents import sync, write_atomic


@dataclass(frozen=True)
class Results:
    """A folder of results; every file appears whole or not at all."""

    folder: Path

    def write_tables(self, tables: Mapping[str, pl.DataFrame], for_people: Mapping[str, pl.DataFrame]) -> None:
        """Write each table as `<name>.parquet` and `<name>.csv`; `for_people` replaces what goes into the CSV."""
        with self._alone():
            for name, frame in tables.items():
                part = self.folder / f".{name}.partial"
                frame.write_parquet(part, compression="zstd")
                part.replace(self.folder / f"{name}.parquet")
                self.write_text(f"{name}.csv", for_people.get(name, frame).write_csv())

    def write_pages(self, folder: str, pages: Iterable[tuple[str, str]]) -> None:
        """Let the folder hold these pages (name, text) and nothing else; whoever looks sees those of one run only."""
        with self._alone():
            for left in self.folder.glob(f".{folder}-*"):
                shutil.rmtree(left)
            new, old = (Path(mkdtemp(prefix=f".{folder}-", dir=self.folder)) for _ in range(2))
            for name, text in pages:
                (new / name).write_text(text, encoding="utf-8")
                sync(new / name)
            if (self.folder / folder).exists():
                (self.folder / folder).replace(old)
            new.replace(self.folder / folder)
            sync(self.folder)
            shutil.rmtree(old, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the folder against other runs of the same experiment; they wait."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def write_text(self, name: str, text: str) -> Path:
        """Write a text file and return its path."""
        write_atomic(self.folder / name, text)
        return self.folder / name
