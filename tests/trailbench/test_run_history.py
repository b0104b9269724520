"""The history of runs through kept connections: the same files as Dagster's own, seen at once by whoever watches."""

import sqlite3
import time
from pathlib import Path

import dagster as dg
from dagster._core.storage.event_log import SqliteEventLogStorage

from trailbench.run_history import KeptEvents, KeptRuns, open_history


@dg.op
def speak(context: dg.OpExecutionContext) -> None:
    """Leaves an event of its own."""
    context.log.info("spoken")


@dg.job
def speaking() -> None:
    """One step."""
    speak()


def test_servers_read_and_watch_what_is_written_while_the_connections_are_open(tmp_path: Path) -> None:
    with dg.DagsterInstance.from_config(str(tmp_path)) as servers, open_history(tmp_path) as ours:
        assert isinstance(ours.event_log_storage, KeptEvents) and isinstance(ours.run_storage, KeptRuns)
        assert type(servers.event_log_storage) is SqliteEventLogStorage
        seen: list[str] = []
        run = ours.create_run_for_job(speaking)
        ours.report_engine_event("first", run)
        servers.watch_event_logs(run.run_id, None, lambda entry, _: seen.append(entry.message))
        for number in range(3):
            ours.report_engine_event(f"then {number}", run)
            deadline = time.monotonic() + 30
            while f"then {number}" not in seen and time.monotonic() < deadline:
                time.sleep(0.01)
        assert seen == ["first", "then 0", "then 1", "then 2"]
        assert [record.dagster_run.run_id for record in servers.get_run_records()] == [run.run_id]


def test_every_run_has_a_whole_database_and_only_the_last_one_is_open(tmp_path: Path) -> None:
    with open_history(tmp_path) as ours:
        runs = [speaking.execute_in_process(instance=ours).run_id for _ in range(3)]
        storage = ours.event_log_storage
        assert isinstance(storage, KeptEvents) and set(storage._engines) == {"index", runs[-1]}
        spoken = [[e.message for e in ours.all_logs(run) if e.message == "spoken"] for run in runs]
        assert spoken == [["spoken"]] * 3
    files = {run: tmp_path / "history" / "runs" / f"{run}.db" for run in runs}
    assert [str(path) for path in files[runs[0]].parent.iterdir() if path.suffix != ".db"] == []
    shapes, stamps = [], []
    for file in files.values():
        with sqlite3.connect(file) as connection:
            shapes.append(connection.execute("select name, sql from sqlite_master order by name").fetchall())
            stamps.append(connection.execute("select * from alembic_version").fetchall())
            assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert shapes[0] == shapes[1] == shapes[2] and stamps[0] == stamps[1] == stamps[2] and stamps[0]


def test_another_storage_is_left_as_the_configuration_names_it(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(
        "event_log_storage:\n"
        "  module: dagster._core.storage.event_log\n"
        "  class: ConsolidatedSqliteEventLogStorage\n"
        f"  config: {{base_dir: {tmp_path / 'events'}}}\n"
        "run_storage:\n"
        "  module: dagster._core.storage.runs\n"
        "  class: SqliteRunStorage\n"
        f"  config: {{base_dir: {tmp_path / 'runs'}}}\n"
    )
    with open_history(tmp_path) as ours:
        assert type(ours.event_log_storage).__name__ == "ConsolidatedSqliteEventLogStorage"
        assert speaking.execute_in_process(instance=ours).success
