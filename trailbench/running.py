"""Drive the DAG from this process: the same jobs that the UI launches, one after another."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.storage.dagster_run import DagsterRunStatus, RunsFilter
from sqlalchemy.exc import DatabaseError

from resources.documents import write_atomic
from trailbench.run_history import open_history

PROCESS_TAG = "trailbench/process"
Progress = Callable[[str], None]
Materialised = dict[str, dict[str, Any]]
"""Asset → metadata of what it materialised."""


class RunFailed(RuntimeError):
    """A run of the DAG failed; the text is the cause, for a person."""


@contextmanager
def dagster_instance(home: Path) -> Iterator[dg.DagsterInstance]:
    """The instance of a home folder (`<home>/dagster`), made once, with runs of dead processes closed.

    Raises `RunFailed` when its databases are damaged or cannot be written.
    """
    folder = home / "dagster"
    os.environ["DAGSTER_HOME"] = str(folder)
    try:
        with _open_instance(folder) as instance:
            close_dead_runs(instance)
            yield instance
    except DatabaseError as error:
        raise RunFailed(_database_fault(folder, str(error.orig))) from error


def _database_fault(folder: Path, says: str) -> str:
    if "not a database" in says or "malformed" in says:
        return (
            f"{folder}: a database in it is damaged ({says}); move the folder away and run the command again: it "
            "holds the history of runs only, tables and releases stay"
        )
    return f"{folder}: its databases cannot be used ({says}); look for free space and write permission there"


def _open_instance(folder: Path) -> dg.DagsterInstance:
    """One process at a time: two that make the databases of a fresh instance at once damage it for good."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "open.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        config = folder / "dagster.yaml"
        if not config.exists():
            write_atomic(config, instance_config().read_text(encoding="utf-8"))
        instance = open_history(folder)
        # Every database is made when it is first asked.
        instance.get_runs(limit=1)
        instance.get_dynamic_partitions("drop")
        instance.all_instigator_state()
        return instance


def instance_config() -> Path:
    """The instance configuration that ships with the project."""
    return Path(__file__).resolve().parent.parent / "dagster.yaml"


def close_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Fail the runs of killed processes and free their pool slots, which else would block the next run for ever."""
    unfinished = RunsFilter(
        statuses=[DagsterRunStatus.STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.NOT_STARTED]
    )
    closed = []
    for run in instance.get_runs(filters=unfinished):
        process = run.tags.get(PROCESS_TAG)
        if process is None or _alive(process):
            continue
        instance.report_run_failed(run, message=f"the process {process} that drove this run is gone")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        closed.append(run.run_id)
    return closed


def close_orphaned_runs(instance: dg.DagsterInstance) -> list[str]:
    """Fail the runs of servers that are gone; to be called only while no server of the home folder is alive.

    Dagster cannot see that a run's process was killed and would count it as running for
    ever; a crashed run is started again by the daemon.
    """
    unfinished = RunsFilter(
        statuses=[
            DagsterRunStatus.STARTED,
            DagsterRunStatus.STARTING,
            DagsterRunStatus.CANCELING,
        ]
    )
    orphans = [run for run in instance.get_runs(filters=unfinished) if PROCESS_TAG not in run.tags]
    for run in orphans:
        if run.status == DagsterRunStatus.CANCELING:
            instance.report_run_canceled(run, message="the servers that drove this run are gone")
        else:
            instance.report_run_failed(run, message="the servers that drove this run are gone")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in orphans]


def this_process() -> str:
    """Process id with its start time, so that a reused id is not taken for the same process."""
    return f"{os.getpid()}@{_started(os.getpid())}"


def _alive(process: str) -> bool:
    number, _, started = process.partition("@")
    return number.isdigit() and _started(int(number)) == started


def _started(number: int) -> str:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        pass
    try:
        os.kill(number, 0)
    except (OSError, OverflowError):
        return "gone"
    return ""


def run_job(
    instance: dg.DagsterInstance, job: str, axes: Mapping[str, str], tags: Mapping[str, str] | None = None
) -> Materialised:
    """Run one job for one partition here and now; asset → metadata of what it materialised.

    Raises `RunFailed` with the cause when a step failed.
    """
    from assets.definitions import defs

    key = dg.MultiPartitionKey(dict(axes)) if len(axes) > 1 else next(iter(axes.values()))
    result = defs.resolve_job_def(job).execute_in_process(
        instance=instance,
        partition_key=key,
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        # The daemon could not start it again: it knows only runs of its own code server.
        tags={PROCESS_TAG: this_process(), "dagster/max_retries": "0", **(tags or {})},
    )
    if not result.success:
        raise RunFailed(_cause(result, job, axes))
    return {
        event.asset_key.to_user_string(): {name: value.value for name, value in event.materialization.metadata.items()}
        for event in result.all_events
        if event.is_step_materialization and event.asset_key is not None
    }


def _cause(result: dg.ExecuteInProcessResult, job: str, axes: Mapping[str, str]) -> str:
    where = f"{job} of {', '.join(f'{axis} {key}' for axis, key in axes.items())}"
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            if failure.user_failure_data and failure.user_failure_data.description:
                return f"{where}: {failure.user_failure_data.description}"
            chain = [] if failure.error is None else [failure.error]
            while chain and chain[-1].cause is not None:
                chain.append(chain[-1].cause)
            if any(error.cls_name == "DagsterExecutionInterruptedError" for error in chain):
                return f"{where} was interrupted; run the command again, it goes on there"
            # What Dagster wraps, not what that came from: who raised it from another error said more.
            said = [error for error in chain if not (error.cls_name or "").startswith("Dagster")] or chain
            if said:
                return f"{where}: {said[0].message.partition(': ')[2].strip() or said[0].message.strip()}"
    return f"{where} failed; see its run in the UI"
