"""`visits`: consecutive events of a user on one item, at most 30 minutes apart (paper §A.1.1).

Events become rows of five integers whose lexicographic order is the total order of
the user's stream; each user's rows are put beside each other, sorted, and merged in
one pass. Users are split into ranges of equal weight, so that the rows of one range
stay in the processor's cache and ranges run on all threads.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import polars as pl
from numba import njit

from pipelines.commerce.codes import N_COUNTED, NO_DWELL, Array, EventCodes, event_codes
from pipelines.commerce.settings import CommerceSettings
from pipelines.schema import TABLES

MINUTE = 60_000_000
"""Microseconds."""
COUNTERS = ("n_click", "n_browse", "n_favourite", "n_cart", "n_purchase")
_RANGE_ROWS = 1_500_000
_T = TypeVar("_T")

# Columns of a row of the sorted stream; all but the last are the order.
_WHEN, _WHAT, _CATEGORY, _DETAIL, _DWELL = range(5)
_LOW = np.int64(0xFFFFFFFF)


@dataclass(frozen=True)
class UserRange:
    """Users `lo` … `hi - 1` (ranks from 0) and where each one's counted events start in the range."""

    lo: int
    hi: int
    starts: Array


@dataclass(frozen=True)
class VisitArrays:
    """Visits of a range of users in table order: ranks for texts, µs for times, ms for dwell.

    `bounds[u]` … `bounds[u + 1]` are the visits of user `lo + u`; `contested` says that
    events which tie up to their category differ in brand.
    """

    lo: int
    bounds: Array
    start: Array
    end: Array
    item: Array
    l1: Array
    l2: Array
    brand: Array
    counts: Array
    dwell: Array
    contested: bool


@njit(cache=True, nogil=True)
def _count_events(user: Array, user_rank: Array, action: Array, n_users: int) -> tuple[Array, Array]:
    every = np.zeros(n_users, dtype=np.int64)
    counted = np.zeros(n_users, dtype=np.int64)
    for i in range(len(user)):
        u = user_rank[user[i]] - 1
        every[u] += 1
        if action[i] < N_COUNTED:
            counted[u] += 1
    return every, counted


@njit(cache=True, nogil=True)
def _gather_rows(
    lo: int,
    hi: int,
    starts: Array,
    user: Array,
    user_rank: Array,
    time: Array,
    action: Array,
    item: Array,
    item_rank: Array,
    l1: Array,
    l1_rank: Array,
    l2: Array,
    l2_rank: Array,
    detail: Array,
    detail_rank: Array,
    dwell: Array,
) -> Array:
    """Rows of the users of a range, each user's beside each other, in input order."""
    rows = np.empty((starts[-1], 5), dtype=np.int64)
    slot = starts.copy()
    for i in range(len(user)):
        u = np.int64(user_rank[user[i]]) - 1
        if u < lo or u >= hi or action[i] >= N_COUNTED:
            continue
        k = slot[u - lo]
        slot[u - lo] += 1
        act = np.int64(action[i])
        # click and browse share the first rank; the action itself decides only after the item.
        rows[k, 0] = time[i] * 4 + max(act - 1, 0)
        rows[k, 1] = (np.int64(item_rank[item[i]]) << 3) | act
        rows[k, 2] = (np.int64(l1_rank[l1[i]]) << 32) | np.int64(l2_rank[l2[i]])
        rows[k, 3] = detail_rank[detail[i]]
        rows[k, 4] = dwell[i]
    return rows


@njit(cache=True, nogil=True, inline="always")
def _before(rows: Array, a: int, b: int) -> bool:
    for column in range(4):
        if rows[a, column] != rows[b, column]:
            return bool(rows[a, column] < rows[b, column])
    return False


@njit(cache=True, nogil=True)
def _sort_users(rows: Array, starts: Array) -> Array:
    """Positions of the rows in total order, user by user (merge sort; sorted stretches cost one look)."""
    n_users = len(starts) - 1
    longest = 0
    for u in range(n_users):
        longest = max(longest, starts[u + 1] - starts[u])
    order = np.arange(starts[-1])
    spare = np.empty(longest, dtype=np.int64)
    for u in range(n_users):
        lo, hi = starts[u], starts[u + 1]
        ascending = True
        for i in range(lo + 1, hi):
            if _before(rows, i, i - 1):
                ascending = False
                break
        if ascending:
            continue
        for block in range(lo, hi, 16):
            for i in range(block + 1, min(block + 16, hi)):
                row = order[i]
                j = i
                while j > block and _before(rows, row, order[j - 1]):
                    order[j] = order[j - 1]
                    j -= 1
                order[j] = row
        width = 16
        while width < hi - lo:
            for left in range(lo, hi - width, 2 * width):
                middle, right = left + width, min(left + 2 * width, hi)
                if not _before(rows, order[middle], order[middle - 1]):
                    continue
                n_left = middle - left
                spare[:n_left] = order[left:middle]
                a, b, k = 0, middle, left
                while a < n_left:
                    if b < right and _before(rows, order[b], spare[a]):
                        order[k] = order[b]
                        b += 1
                    else:
                        order[k] = spare[a]
                        a += 1
                    k += 1
            width *= 2
    return order


@njit(cache=True, nogil=True)
def _merge_events(
    rows: Array, order: Array, starts: Array, gap: int, brand_of: Array
) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array, bool]:
    """One pass over the sorted stream. Arrays are as long as the events: pages never written cost nothing."""
    n = len(order)
    start = np.empty(n, dtype=np.int64)
    end = np.empty(n, dtype=np.int64)
    item = np.empty(n, dtype=np.uint32)
    l1 = np.empty(n, dtype=np.uint32)
    l2 = np.empty(n, dtype=np.uint32)
    brand = np.empty(n, dtype=np.uint32)
    dwell = np.empty(n, dtype=np.int64)
    counts = np.empty((N_COUNTED, n), dtype=np.int32)
    bounds = np.empty(len(starts), dtype=np.int64)
    contested = False
    v = -1
    for u in range(len(starts) - 1):
        bounds[u] = v + 1
        for k in range(starts[u], starts[u + 1]):
            r = order[k]
            time = rows[r, 0] >> 2
            this = rows[r, 1] >> 3
            if k == starts[u] or this != item[v] or time - end[v] > gap:
                v += 1
                start[v] = time
                item[v] = this
                l1[v], l2[v], brand[v] = 0, 0, 0
                dwell[v] = NO_DWELL
                counts[:, v] = 0
            elif not contested:
                p = order[k - 1]
                contested = (
                    rows[p, 3] != rows[r, 3]
                    and rows[p, 0] == rows[r, 0]
                    and rows[p, 1] == rows[r, 1]
                    and rows[p, 2] == rows[r, 2]
                )
            end[v] = time
            counts[rows[r, 1] & 7, v] += 1
            if l2[v] == 0 and rows[r, 2] & 0xFFFFFFFF:
                l1[v], l2[v] = rows[r, 2] >> 32, rows[r, 2] & 0xFFFFFFFF
            if brand[v] == 0:
                brand[v] = brand_of[rows[r, 3]]
            if rows[r, 4] != NO_DWELL:
                dwell[v] = rows[r, 4] + (0 if dwell[v] == NO_DWELL else dwell[v])
    n_visits = v + 1
    bounds[-1] = n_visits
    return (
        bounds,
        start[:n_visits],
        end[:n_visits],
        item[:n_visits],
        l1[:n_visits],
        l2[:n_visits],
        brand[:n_visits],
        counts[:, :n_visits],
        dwell[:n_visits],
        contested,
    )


def count_events(codes: EventCodes) -> tuple[Array, Array]:
    """Events of every user (rank order): all, and those that enter visits."""
    n_users = len(codes.texts["user_id"]) - 1
    every, counted = _count_events(codes.codes["user_id"], codes.rank["user_id"], codes.action, n_users)
    return every, counted


def user_ranges(counted: Array, rows: int = _RANGE_ROWS) -> list[UserRange]:
    """Split users into consecutive ranges of about `rows` events; no result depends on where."""
    ends = np.cumsum(counted)
    total = int(ends[-1]) if len(ends) else 0
    n_ranges = max(1, -(-total // rows))
    cuts = np.searchsorted(ends, np.arange(1, n_ranges) * (total / n_ranges)) + 1
    edges = np.unique(np.concatenate([[0], np.minimum(cuts, len(counted)), [len(counted)]]))
    return [
        UserRange(int(lo), int(hi), np.concatenate([[0], np.cumsum(counted[lo:hi])]).astype(np.int64))
        for lo, hi in pairwise(edges)
    ]


def merge_range(codes: EventCodes, users: UserRange, settings: CommerceSettings) -> VisitArrays:
    """Visits of the users of one range."""
    rows = _gather_rows(
        users.lo,
        users.hi,
        users.starts,
        codes.codes["user_id"],
        codes.rank["user_id"],
        codes.time,
        codes.action,
        codes.codes["item_id"],
        codes.rank["item_id"],
        codes.codes["l1"],
        codes.rank["l1"],
        codes.codes["l2"],
        codes.rank["l2"],
        codes.detail,
        codes.rank["detail"],
        codes.dwell,
    )
    order = _sort_users(rows, users.starts)
    return VisitArrays(
        users.lo, *_merge_events(rows, order, users.starts, settings.visit_gap_minutes * MINUTE, codes.brand_of)
    )


def over_ranges(ranges: list[UserRange], work: Callable[[UserRange], _T]) -> Iterator[_T]:
    """Do `work` on every range, on as many threads as Polars uses; results in range order."""
    with ThreadPoolExecutor(max_workers=pl.thread_pool_size()) as pool:
        yield from pool.map(work, ranges)


def visit_table(visits: VisitArrays, texts: dict[str, pl.Series]) -> pl.DataFrame:
    """The `visits` table of a range: ranks become texts again."""
    per_user = np.diff(visits.bounds)
    user = np.repeat(np.arange(visits.lo + 1, visits.lo + 1 + len(per_user), dtype=np.uint32), per_user)
    index = np.arange(len(user), dtype=np.int32) - np.repeat(visits.bounds[:-1].astype(np.int32), per_user)
    schema = TABLES["visits"].schema
    columns = {
        "user_id": texts["user_id"].gather(user),
        "visit_index": index,
        "start": pl.Series(visits.start).cast(schema["start"]),
        "end": pl.Series(visits.end).cast(schema["end"]),
        "item_id": texts["item_id"].gather(visits.item),
        "l1": texts["l1"].gather(visits.l1),
        "l2": texts["l2"].gather(visits.l2),
        "brand": texts["brand"].gather(visits.brand),
        **dict(zip(COUNTERS, visits.counts, strict=True)),
        "dwell_seconds": visits.dwell,
    }
    dwell = pl.col("dwell_seconds")
    return pl.DataFrame(columns, schema=schema).with_columns(
        pl.when(dwell != NO_DWELL).then(dwell // 1000).alias("dwell_seconds")
    )


def visits(events: pl.LazyFrame, settings: CommerceSettings) -> pl.DataFrame:
    """Merge consecutive events of a user on one item into visits (paper §A.1.1).

    Cancel and refund events are dropped first. Within a user events follow each other by
    time, action rank (click and browse < favourite < cart < purchase), item, then action
    and the remaining content columns, nulls first. A visit goes on while the item stays
    and the gap since its last event is at most `visit_gap_minutes`. Its category is that
    of its first event with a level 2, its brand that of its first event with a brand;
    `dwell_seconds` is null when no event recorded a dwell. Returns the table `visits` of
    all users in its order.

    Raises `ValueError` when a user, item, time or action is null.
    """
    for with_names in (False, True):
        codes = event_codes(events, with_names=with_names)
        _, counted = count_events(codes)
        merged = list(over_ranges(user_ranges(counted), lambda users: merge_range(codes, users, settings)))  # noqa: B023
        # Brands of events that tie up to the category need the written names to order them: rare, so read on demand.
        if not any(part.contested for part in merged):
            break
    return pl.concat([TABLES["visits"].empty(), *(visit_table(part, codes.texts) for part in merged)])
