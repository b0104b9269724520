"""Work on several users at once, whose rows are the same as one after another (ours)."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

Result = TypeVar("Result")
LOOK_SECONDS = 1.0
"""An interrupt that comes just as a wait begins is seen when it ends, so no wait is longer."""


def side_by_side(users: Sequence[str], work: Callable[[str, Callable[[], bool]], Result], threads: int) -> list[Result]:
    """`work` of every user, in their order; it is given the user and a question: must it stop?

    What one raises stops the others at their next question and is raised. With one thread nothing leaves the
    caller's thread.
    """
    stop = Event()

    def guarded(user: str) -> Result:
        try:
            return work(user, stop.is_set)
        except BaseException:
            stop.set()
            raise

    if threads == 1:
        return [guarded(user) for user in users]
    pool, waits = ThreadPoolExecutor(threads), True
    try:
        return _results([pool.submit(guarded, user) for user in users])
    except BaseException as error:
        # Interrupted while threads wait for replies, which may take minutes: who made the model ends its calls, and
        # with them the threads.
        waits = isinstance(error, Exception)
        raise
    finally:
        stop.set()
        pool.shutdown(wait=waits, cancel_futures=True)


def _results(futures: Sequence["Future[Result]"]) -> list[Result]:
    while True:
        done, left = wait(futures, LOOK_SECONDS, FIRST_EXCEPTION)
        if not left or any(one.exception() for one in done):
            return [one.result() for one in futures]
