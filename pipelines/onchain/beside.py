"""Work on the pieces of a stream in several threads, answers in the order of the pieces."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def beside(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """`map(work, items)`, with `threads` pieces at work; one more than that is taken ahead of the answer awaited.

    Without that one a thread would stand idle whenever its piece is done before the one awaited.
    What `work` raises is raised at its place in the order, what `items` raises at once.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                if len(waiting) > threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(work, item))
                # What the work lets go of is not held here while the next one is read.
                del item
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
