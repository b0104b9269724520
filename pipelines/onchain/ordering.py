"""The order of events on a chain, and integer codes for wallets and markets.

An event comes before another when its block, then its log index is smaller: a log
index counts over the whole block, so it also orders the transactions, and it is there
where a source gives no transaction index. `misplaced` finds logs that contradict this.
"""

from collections.abc import Sequence

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LOG_BITS = 31
"""A place is block · 2³¹ + log index: one integer that orders all events of a chain."""


def place(block: str = "block_number", log: str = "log_index") -> pl.Expr:
    """The place of an event as one integer; null when either part is."""
    return pl.col(block).cast(pl.Int64) * (1 << LOG_BITS) + pl.col(log).cast(pl.Int64)


def places(frame: pl.DataFrame) -> Ints:
    """`place` of every row, from block_number and log_index (neither null)."""
    return frame.select(place()).to_series().to_numpy()


def misplaced(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows whose transaction index is smaller than that of an earlier log of the same block; empty when sound."""
    known = frame.filter(pl.col("tx_index").is_not_null()).sort("block_number", "log_index")
    return known.filter(pl.col("tx_index") < pl.col("tx_index").cum_max().over("block_number"))


def in_order(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The frame sorted by columns that no two rows share; one that stands in that order already is not moved."""
    rises = pl.lit(False)
    for name in reversed(by):
        before = pl.col(name).shift()
        rises = (before < pl.col(name)) | ((before == pl.col(name)) & rises)
    # A null is ordered by the sort alone.
    if frame.select(rises.slice(1).fill_null(False).all().alias("rises")).item():
        return frame.rechunk()
    return frame.sort(by)


def codes(values: pl.Series, among: pl.Series | None = None) -> tuple[pl.Series, Ints]:
    """The distinct values, ascending, and for every row the place of its value among them; -1 for a null.

    With `among` (distinct, ascending) the codes are places in it, and -1 for a value that it lacks.
    """
    encoded = values.to_arrow().dictionary_encode()
    distinct = pl.Series("value", encoded.dictionary, dtype=values.dtype)
    keys = distinct.sort().alias(values.name) if among is None else among
    table = pl.DataFrame({"value": keys, "code": np.arange(len(keys), dtype=np.int64)})
    code = distinct.to_frame().join(table, on="value", how="left", maintain_order="left")["code"].fill_null(-1)
    # The last entry is that of a null.
    return keys, np.append(code.to_numpy(), -1)[encoded.indices.fill_null(len(distinct)).to_numpy()]


def runs(values: pl.Series) -> Ints:
    """For every row the number of the run of equal values that it is in, from 0."""
    return values.rle_id().cast(pl.Int64).to_numpy()


def starts_of(*groups: Ints) -> Ints:
    """Places where a run of equal codes begins, and the number of rows as the last entry."""
    n = len(groups[0])
    if n == 0:
        return np.zeros(1, np.int64)
    changed = np.zeros(n, np.bool_)
    changed[0] = True
    for group in groups:
        changed[1:] |= group[1:] != group[:-1]
    return np.append(np.flatnonzero(changed), n).astype(np.int64)


def run_of(starts: Ints) -> Ints:
    """For every row the number of its run."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))


def number_in_run(starts: Ints) -> Ints:
    """For every row its number in its run, from 0."""
    rows: Ints = np.arange(starts[-1], dtype=np.int64)
    return rows - np.repeat(starts[:-1], np.diff(starts))


@nb.njit(cache=True)
def grouped(order: Ints, group: Ints, n_groups: int) -> Ints:
    """The row numbers of `order` put side by side by group, in the order they had (a counting sort).

    Groups are 0 … n_groups − 1, one a row. Raises `ValueError` for a row of another one.
    """
    at = np.zeros(n_groups + 1, np.int64)
    for row in order:
        if group[row] < 0 or group[row] >= n_groups:
            raise ValueError("a row belongs to no group: its wallet or market is missing")
        at[group[row] + 1] += 1
    for i in range(n_groups):
        at[i + 1] += at[i]
    out = np.empty(order.shape[0], np.int64)
    for row in order:
        out[at[group[row]]] = row
        at[group[row]] += 1
    return out
