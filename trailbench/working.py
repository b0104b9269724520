"""Run many partitions of the DAG, in this process or in several when the work is worth their start."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import dagster as dg

from resources.child_processes import end_with
from trailbench.running import Materialised, Progress, RunFailed, dagster_instance, run_job

MOST_WORKERS = 4
"""SQLite takes few writers at once, and a worker holds up to 2 GB."""
WORTH_BYTES = 20_000_000
"""Bytes of log from which several processes pay: each costs about 8 s to start."""
WORTH_USERS = 100
"""Evaluated users from which several processes pay."""
WORTH_CELLS = 40
"""Partitions from which they pay whatever is in them: a run of the DAG takes a second or more by itself."""


@dataclass(frozen=True)
class Work:
    """One partition of one job, and what to call it."""

    job: str
    axes: Mapping[str, str]
    says: str


def workers_for(worth: bool) -> int:
    """How many processes to use."""
    return min(MOST_WORKERS, os.cpu_count() or 1) if worth else 1


class Workers:
    """Runs partitions; results are the same whatever their number, because a partition is the unit of work."""

    def __init__(self, instance: dg.DagsterInstance, pool: ProcessPoolExecutor | None) -> None:
        self.instance, self._pool = instance, pool

    def run(self, work: Sequence[Work], progress: Progress) -> list[Materialised]:
        """Run all of `work`, in any order; raises the first `RunFailed`, and starts nothing more then.

        Returns what `run_job` says of each, in the order in which they ended.
        """
        found = []
        if self._pool is None or len(work) == 1:
            for one in work:
                progress(one.says)
                found.append(run_job(self.instance, one.job, one.axes))
            return found
        running = {self._pool.submit(_run, one): one for one in work}
        try:
            for done in as_completed(running):
                found.append(done.result())
                progress(running[done].says)
            return found
        except BrokenProcessPool as error:
            raise RunFailed("a worker was ended from outside; run the command again, it goes on there") from error
        finally:
            for waiting in running:
                waiting.cancel()


@contextmanager
def workers(instance: dg.DagsterInstance, home: Path, count: int) -> Iterator[Workers]:
    """`count` processes over one home folder; they end with this process, however it ends."""
    if count == 1:
        yield Workers(instance, None)
        return
    with ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_start, initargs=(str(home), os.getpid())
    ) as pool:
        yield Workers(instance, pool)


def _start(home: str, parent: int) -> None:
    end_with(parent)
    os.environ["TRAILBENCH_HOME"] = home


def _run(work: Work) -> Materialised:
    with dagster_instance(Path(os.environ["TRAILBENCH_HOME"])) as instance:
        return run_job(instance, work.job, work.axes)
