"""`trailbench synth`: synthetic users side by side in several processes, each written when it is made."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pipelines.applogs.synthesis.cards import card
from resources.child_processes import end_with
from resources.synthetic_users import (
    Plan,
    UsersRefused,
    finished,
    measures_of,
    users_folder,
    write_statistics,
    write_user,
)
from trailbench.console import Steps

WORTH_USERS = 8
"""Users from which several processes pay: each takes about a second to start."""


def synthesise(to: Path, plan: Plan, users: Iterable[int], workers: int | None, step: Steps) -> dict[str, Any]:
    """Write users by their index from 0 into a folder; those that are there already are kept as they are.

    `workers` are processes (None: one a core where that pays); the bytes do not depend on them. Returns how many were
    made and kept, and the statistics card of all users in the folder. Raises `UsersRefused`.
    """
    with users_folder(to, plan):
        wanted = list(users)
        missing = [index for index in wanted if not finished(to, index)]
        step.expect(len(missing) + 1)
        count = workers or (os.cpu_count() or 1 if len(missing) >= WORTH_USERS else 1)
        _write(to, plan, missing, min(count, len(missing)), step)
        step("statistics")
        measured = measures_of(to)
        rows = card(measured).to_dicts()
        write_statistics(to, rows, len(measured))
    return {
        "folder": str(to),
        "made": len(missing),
        "kept": len(wanted) - len(missing),
        "users": len(measured),
        "statistics": rows,
    }


def _write(to: Path, plan: Plan, users: list[int], workers: int, step: Callable[[str], object]) -> None:
    if workers <= 1:
        for number, index in enumerate(users, start=1):
            write_user(to, plan, index)
            step(f"user {number:,} of {len(users):,}")
        return
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=end_with, initargs=(os.getpid(),)
    ) as pool:
        waiting, written = iter(users), 0
        running: set[Future[None]] = set()
        try:
            while True:
                # No more than a few are handed out at a time, so that an error or an interrupt ends soon.
                for index in islice(waiting, 2 * workers - len(running)):
                    running.add(pool.submit(write_user, to, plan, index))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    one.result()
                    written += 1
                    step(f"user {written:,} of {len(users):,}")
        except BrokenProcessPool as error:
            raise UsersRefused("a worker was ended from outside; run the command again, it goes on there") from error
        finally:
            for one in running:
                one.cancel()
