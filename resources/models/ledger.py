"""The file of model calls: replies and their account in one SQLite database, which several processes may share.

One thread writes. It commits what has gathered while it was committing, so that many
calls share one fsync; nobody is told of a call before its rows are on disk.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import polars as pl

from pipelines.models import ModelStopped
from resources.models import accounting
from resources.models.accounting import CallRow, calls_frame

VERSION = 1
_BUSY_SECONDS = 60.0
_KEYS_AT_ONCE = 500
_ENTRIES_AT_ONCE = 2000
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS replies (
        key TEXT PRIMARY KEY, text TEXT NOT NULL, status TEXT NOT NULL, tokens_in INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL, latency_ms REAL NOT NULL, conceded TEXT NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS vectors (
        key TEXT PRIMARY KEY, batch TEXT NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID""",
    accounting.CREATE,
    f"PRAGMA user_version = {VERSION}",
)


class LedgerError(ModelStopped):
    """The file of model calls cannot be used, so no call may be made; names it and the remedy."""


class Kept(NamedTuple):
    """A reply in the cache."""

    key: str
    text: str
    status: str
    tokens_in: int
    tokens_out: int
    latency_ms: float
    conceded: str


@dataclass
class Entry:
    """What is committed together. `done` is called by the writing thread, with the error if there was one."""

    done: Callable[["Entry", Exception | None], None]
    rows: Sequence[CallRow] = ()
    reply: Kept | None = None
    """Becomes the reply that was there already, when another process was first."""
    vectors: Sequence[tuple[str, str, bytes]] = ()


class Ledger:
    """The database at `path`, made on first use. Raises `LedgerError` for a file of another kind or version."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._gate = threading.Lock()
        self._reader = self._open()
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._closed = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._write, args=(self._open(),), name="model-ledger", daemon=True)
        self._thread.start()

    def find(self, keys: Sequence[str]) -> dict[str, Kept]:
        """The replies that are kept under these keys."""
        found = self._select(f"SELECT {', '.join(Kept._fields)} FROM replies WHERE key IN", keys)
        return {row[0]: Kept(*row) for row in found}

    def find_vectors(self, keys: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Key → (key of the call that brought it, vector)."""
        found = self._select("SELECT key, batch, vector FROM vectors WHERE key IN", keys)
        return {key: (batch, vector) for key, batch, vector in found}

    def submit(self, entry: Entry) -> None:
        """Hand over what is to be committed; returns at once."""
        with self._gate:
            if not self._closed:
                self._queue.put(entry)
                return
        entry.done(entry, self._is_closed())

    def note(self, rows: Sequence[CallRow]) -> None:
        """Hand over rows of calls that cost nothing; returns at once, `flush` says whether they could be written."""
        if rows:
            self.submit(Entry(self._noted, rows))

    def flush(self) -> None:
        """Wait until all that was handed over is on disk. Raises the first `LedgerError` since the last time."""
        ended = threading.Event()
        self.submit(Entry(lambda entry, error: ended.set()))
        ended.wait()
        error, self._error = self._error, None
        if error:
            raise error

    def calls(self, scope: str) -> pl.DataFrame:
        """Table `MODEL_CALLS` of a scope, with all that was handed over before."""
        self.flush()
        return calls_frame(self._read(accounting.READ, (scope,)))

    def close(self) -> None:
        """Commit what was handed over and close the file."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._thread.join()
        with self._lock:
            self._reader.close()

    def _noted(self, _: Entry, error: Exception | None) -> None:
        self._error = self._error or error

    def _is_closed(self) -> LedgerError:
        return LedgerError(f"{self.path} is closed: the engine of model calls has ended")

    def _select(self, query: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            yield from self._read(f"{query} ({','.join('?' * len(some))})", some)

    def _read(self, query: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        with self._lock:
            if self._closed:
                raise self._is_closed()
            try:
                return self._reader.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise LedgerError(f"{self.path} cannot be read: {error}; move it away to start a new one") from error

    def _open(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            connection.execute("PRAGMA synchronous = FULL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, VERSION):
                raise LedgerError(
                    f"{self.path} was written by another version of trailbench ({version}, here {VERSION}); "
                    "move it away to start a new one"
                )
            if not version:
                _patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute("COMMIT")
            return connection
        except sqlite3.DatabaseError as error:
            raise LedgerError(
                f"{self.path} cannot be used as the file of model calls: {error}; "
                "check that it can be written, or move it away to start a new one"
            ) from error

    def _write(self, connection: sqlite3.Connection) -> None:
        open_ = True
        while open_:
            entries: list[Entry] = []
            for item in self._gathered():
                open_ = open_ and item is not None
                entries.extend([item] if item else [])
            error = self._committed(connection, entries)
            for entry in entries:
                # What cannot be written must not take with it what happened to gather beside it.
                entry.done(entry, self._committed(connection, [entry]) if error and len(entries) > 1 else error)
        connection.close()

    def _committed(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> Exception | None:
        try:
            _commit(connection, entries)
        except Exception as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return LedgerError(f"{self.path} cannot be written: {error}; make room or end who holds it")
        return None

    def _gathered(self) -> Iterable[Entry | None]:
        items = [self._queue.get()]
        while items[-1] is not None and len(items) < _ENTRIES_AT_ONCE and not self._queue.empty():
            items.append(self._queue.get())
        return items


def _commit(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    if not any(entry.rows or entry.reply or entry.vectors for entry in entries):
        return
    connection.execute("BEGIN IMMEDIATE")
    keep = f"INSERT INTO replies VALUES ({','.join('?' * len(Kept._fields))}) ON CONFLICT DO NOTHING"
    for entry in entries:
        if entry.reply and not connection.execute(keep, entry.reply).rowcount:
            query = f"SELECT {', '.join(Kept._fields)} FROM replies WHERE key = ?"
            entry.reply = Kept(*connection.execute(query, (entry.reply.key,)).fetchone())
        if entry.vectors:
            connection.executemany("INSERT INTO vectors VALUES (?, ?, ?) ON CONFLICT DO NOTHING", entry.vectors)
    connection.executemany(accounting.WRITE, (row for entry in entries for row in entry.rows))
    connection.execute("COMMIT")


def _patiently(act: Callable[[], object]) -> None:
    # SQLite does not wait by itself where two processes change the journal mode of a new file at once.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            act()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
