"""`batches`: consecutive visits of a user, closed at a natural pause (paper §A.1.1)."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit

from pipelines.commerce.codes import Array
from pipelines.commerce.settings import CommerceSettings
from pipelines.schema import TABLES

SECOND = 1_000_000
"""Microseconds."""


@dataclass(frozen=True)
class BatchArrays:
    """Batches of consecutive users: `first`/`end` are rows of their visits, `bounds` their batches per user."""

    bounds: Array
    first: Array
    end: Array
    closed: Array


@njit(cache=True, nogil=True)
def _close(
    bounds: Array, start: Array, end: Array, batch_visits: int, batch_span: int, batch_gap: int
) -> tuple[Array, Array, Array]:
    first = np.empty(len(start), dtype=np.int64)
    closed = np.empty(len(start), dtype=np.bool_)
    of_user = np.empty(len(bounds), dtype=np.int64)
    n = 0
    for u in range(len(bounds) - 1):
        of_user[u] = n
        for v in range(bounds[u], bounds[u + 1]):
            if v > bounds[u]:
                opened = first[n - 1]
                eligible = v - opened >= batch_visits or start[v] - start[opened] >= batch_span
                pause = start[v] - end[v - 1] > batch_gap and start[v] // SECOND != end[v - 1] // SECOND
                if not (eligible and pause):
                    continue
                closed[n - 1] = True
            first[n], closed[n] = v, False
            n += 1
    of_user[-1] = n
    return of_user, first[:n], closed[:n]


def close_batches(bounds: Array, start: Array, end: Array, settings: CommerceSettings) -> BatchArrays:
    """Batches of users whose visits `bounds[u]` … `bounds[u + 1]` have these times (µs)."""
    of_user, first, closed = _close(
        bounds,
        start,
        end,
        settings.batch_visits,
        settings.batch_days * 86_400 * SECOND,
        settings.batch_gap_minutes * 60 * SECOND,
    )
    return BatchArrays(of_user, first, np.append(first, len(start))[1:], closed)


def batch_table(batches: BatchArrays, bounds: Array, users: pl.Series, start: Array, end: Array) -> pl.DataFrame:
    """The `batches` table; `users` holds one text a user, the other columns one value a visit."""
    per_user = np.diff(batches.bounds)
    schema = TABLES["batches"].schema
    return pl.DataFrame(
        {
            "user_id": users.gather(np.repeat(np.arange(len(per_user)), per_user)),
            "batch_index": np.arange(len(batches.first)) - np.repeat(batches.bounds[:-1], per_user),
            "start": pl.Series(start[batches.first]).cast(schema["start"]),
            "end": pl.Series(end[batches.end - 1]).cast(schema["end"]),
            "first_visit": batches.first - np.repeat(bounds[:-1], per_user),
            "n_visits": batches.end - batches.first,
            "closed": batches.closed,
        },
    ).cast(dict(schema))  # type: ignore[arg-type]


def user_bounds(users: pl.Series) -> tuple[Array, pl.Series]:
    """Where each user's rows start in a column that is sorted by user (and its end), and the users."""
    runs = users.rle_id().to_numpy()
    starts = np.flatnonzero(np.diff(runs, prepend=np.uint32(0xFFFFFFFF)))
    return np.append(starts, len(users)).astype(np.int64), users.gather(starts)


def batches(visits: pl.DataFrame, settings: CommerceSettings) -> pl.DataFrame:
    """Group the visits of each user into batches (paper §A.1.1).

    A batch becomes eligible once it holds `batch_visits` visits or, read at the next
    visit's start (ours), `batch_days` days after its first visit's start. An eligible batch
    closes before a visit that starts more than `batch_gap_minutes` after the last visit's
    end; visits of one second are never parted. The last batch of a user stays, with
    `closed` false. Takes the table `visits` in any row order, returns `batches` in its order.
    """
    ordered = visits.select("user_id", "visit_index", "start", "end").sort("user_id", "visit_index")
    bounds, users = user_bounds(ordered["user_id"])
    start, end = (ordered[name].to_physical().to_numpy() for name in ("start", "end"))
    return batch_table(close_batches(bounds, start, end, settings), bounds, users, start, end)
