"""Importing web3 without what a package below it does to the process (ours)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_ONE_AT_A_TIME = Lock()


@contextmanager
def recursion_limit_kept() -> Iterator[None]:
    """Keeps the recursion limit of the process through the imports inside.

    A package below web3 raises it to 100,000 when it is imported. Text nested so deep would then overflow the stack and
    end the process instead of raising `RecursionError`. Threads wait for each other: none keeps a raised limit.
    """
    with _ONE_AT_A_TIME:
        limit = sys.getrecursionlimit()
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)
