"""Dagster's history of runs in SQLite, through connections that stay open while a command drives the DAG.

Dagster opens and closes a database for every event, which also writes its journal back and compiles every statement
anew: for a partition of little data that takes most of the time. The files are Dagster's own; servers beside this
process open them in Dagster's way.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event

BUSY_SECONDS = 60
"""How long a writer waits for another one."""


def open_history(folder: Path) -> dg.DagsterInstance:
    """The instance of `folder` by its `dagster.yaml`; where that names no other storage, with `KeptStorage`."""
    ref = InstanceRef.from_dir(str(folder))
    data = ref.storage_data
    if data is not None and data.class_name == DagsterSqliteStorage.__name__:
        ref = ref._replace(storage_data=ConfigurableClassData(__name__, KeptStorage.__name__, data.config_yaml))
    return dg.DagsterInstance.from_ref(ref)


class KeptStorage(DagsterSqliteStorage):
    """Dagster's storage, with runs and events through open connections."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._run_storage = KeptRuns(self._run_storage._conn_string)
        self._event_log_storage = KeptEvents(self._event_log_storage._base_dir)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> "KeptStorage":
        """By what `dagster.yaml` says; Dagster's own makes Dagster's class whatever `cls` is."""
        return cls.from_local(inst_data=inst_data, **config_value)


class KeptRuns(SqliteRunStorage):
    """One engine for the one database of runs."""

    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(conn_string, inst_data)
        self._engine = _engine(conn_string)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A transaction."""
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the database."""
        self._engine.dispose()
        super().dispose()


class KeptEvents(SqliteEventLogStorage):
    """One engine for the index, and one for the run whose events were written or read last."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: dict[str, Engine] = {}
        self._empty_run = b""
        self._tables: set[str] = set()
        super().__init__(base_dir, inst_data)

    def has_table(self, table_name: str) -> bool:
        """Whether the index has the table; one that is there stays."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            with self._engine_of(shard).begin() as connection:
                yield connection
            if shard != INDEX_SHARD_NAME:
                # What is committed lies in the journal; who shows a run in the UI watches the database itself.
                os.utime(self.path_for_shard(shard))

    def _engine_of(self, shard: str) -> Engine:
        if shard not in self._engines:
            if shard != INDEX_SHARD_NAME:
                for other in self._engines.keys() - {INDEX_SHARD_NAME}:
                    self._engines.pop(other).dispose()
            self._make(shard)
            self._engines[shard] = _engine(self.conn_string_for_shard(shard))
        return self._engines[shard]

    def _make(self, shard: str) -> None:
        """Make the database where it is not there; that of every run begins as that of the first."""
        file = Path(self.path_for_shard(shard))
        if self._empty_run and not file.exists():
            part = file.with_suffix(f".{os.getpid()}")
            part.write_bytes(self._empty_run)
            with suppress(FileExistsError):
                file.hardlink_to(part)
            part.unlink()
        elif shard not in self._initialized_dbs:
            fresh = not file.exists()
            engine = _engine(self.conn_string_for_shard(shard))
            self._initdb(engine)
            engine.dispose()
            if fresh and shard != INDEX_SHARD_NAME:
                self._empty_run = file.read_bytes()
        self._initialized_dbs.add(shard)

    def dispose(self) -> None:
        """Close the databases."""
        while self._engines:
            self._engines.popitem()[1].dispose()
        super().dispose()


def _engine(conn_string: str) -> Engine:
    engine = create_engine(conn_string, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def _(connection: object, _record: object) -> None:
        # With a journal written ahead, a power cut may take the last events of a run, never the database.
        connection.execute("PRAGMA synchronous=NORMAL")  # type: ignore[attr-defined]

    return engine
