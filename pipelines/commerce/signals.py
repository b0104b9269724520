"""Strong signals: the categories of batch t + 1 that count as wanted, and by which act (paper §3.3)."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit

from pipelines.commerce.batches import SECOND
from pipelines.commerce.codes import NO_DWELL, Array, ranked
from pipelines.commerce.settings import CommerceSettings
from pipelines.schema import TABLES

FLAGS = ("favourite", "cart", "purchase", "deep_browse")
SCHEMA = pl.Schema(
    {name: TABLES["positives"].schema[name] for name in ("user_id", "transition_index", "l1", "l2", *FLAGS)}
)
"""Columns of `signals`: the part of `positives` that needs no history."""


@dataclass(frozen=True)
class SignalArrays:
    """One entry a category of a target batch with a strong signal, in table order.

    `target` is the position of the batch in the arrays that were asked for, l1 and l2 are ranks.
    """

    target: Array
    l1: Array
    l2: Array
    flags: Array


@njit(cache=True, nogil=True)
def _signals(
    first: Array,
    end: Array,
    item: Array,
    l1: Array,
    l2: Array,
    start: Array,
    stop: Array,
    counts: Array,
    dwell: Array,
    deep_events: int,
    deep_span: int,
    deep_dwell: int,
    deep_visits: int,
) -> tuple[Array, Array, Array]:
    size = 0
    for t in range(len(first)):
        size += end[t] - first[t]
    target = np.empty(size, dtype=np.int64)
    category = np.empty(size, dtype=np.int64)
    flags = np.empty((4, size), dtype=np.bool_)
    n = 0
    for t in range(len(first)):
        lo, hi = first[t], end[t]
        again = np.zeros(hi - lo, dtype=np.bool_)
        by_item = np.argsort(item[lo:hi], kind="mergesort")
        run = 0
        for k in range(1, hi - lo + 1):
            if k == hi - lo or item[lo + by_item[k]] != item[lo + by_item[run]]:
                if k - run >= deep_visits:
                    again[by_item[run:k]] = True
                run = k
        key = (l1[lo:hi].astype(np.int64) << 32) | l2[lo:hi].astype(np.int64)
        by_category = np.argsort(key, kind="mergesort")
        last = np.int64(-1)
        for k in range(hi - lo):
            i = by_category[k]
            v = lo + i
            if l2[v] == 0:
                continue
            favourite, cart, purchase = counts[2, v] > 0, counts[3, v] > 0, counts[4, v] > 0
            deep = counts[1, v] >= deep_events or dwell[v] >= deep_dwell or stop[v] - start[v] >= deep_span or again[i]
            if not (favourite or cart or purchase or deep):
                continue
            if key[i] != last:
                last = key[i]
                target[n], category[n] = t, last
                flags[:, n] = False
                n += 1
            flags[0, n - 1] |= favourite
            flags[1, n - 1] |= cart
            flags[2, n - 1] |= purchase
            flags[3, n - 1] |= deep
    return target[:n], category[:n], flags[:, :n]


def find_signals(
    first: Array,
    end: Array,
    *,
    item: Array,
    l1: Array,
    l2: Array,
    start: Array,
    stop: Array,
    counts: Array,
    dwell_ms: Array,
    settings: CommerceSettings,
) -> SignalArrays:
    """Strong signals of the batches whose visits are rows `first[t]` … `end[t] - 1` of the other arrays."""
    seconds = settings.deep_browse_seconds
    target, category, flags = _signals(
        first,
        end,
        item,
        l1,
        l2,
        start,
        stop,
        counts,
        dwell_ms,
        settings.deep_browse_events,
        seconds * SECOND,
        seconds * 1000,
        settings.deep_browse_visits,
    )
    return SignalArrays(target, category >> 32, category & 0xFFFFFFFF, flags)


def signal_table(
    signals: SignalArrays, users: pl.Series, transition_index: Array, l1: pl.Series, l2: pl.Series
) -> pl.DataFrame:
    """The frame of `signals`; `users` and `transition_index` hold one value a signal, l1 and l2 texts by rank."""
    columns = {
        "user_id": users,
        "transition_index": transition_index,
        "l1": l1.gather(signals.l1),
        "l2": l2.gather(signals.l2),
        **dict(zip(FLAGS, signals.flags, strict=True)),
    }
    return pl.DataFrame(columns).cast(dict(SCHEMA))  # type: ignore[arg-type]


def signals(
    visits: pl.DataFrame, batches: pl.DataFrame, transitions: pl.DataFrame, settings: CommerceSettings
) -> pl.DataFrame:
    """Categories of batch t + 1 with a favourite, a cart, a purchase or a deep browse (paper §3.3).

    A deep browse (ours) is a visit with `deep_browse_events` browse events, or with
    `deep_browse_seconds` of dwell or span, or to an item visited `deep_browse_visits`
    times in the batch. Shallow clicks alone never count, nor visits without a category.
    Takes the tables in any row order; returns user_id, transition_index, l1, l2, favourite,
    cart, purchase, deep_browse, in the order of the first four (nulls first).
    """
    targets = (
        batches.select(
            "user_id",
            pl.col("batch_index").alias("__batch"),
            pl.col("first_visit").alias("__first"),
            pl.col("n_visits").alias("__n"),
        )
        .join(
            transitions.select("user_id", "transition_index", (pl.col("transition_index") + 1).alias("__batch")),
            on=["user_id", "__batch"],
        )
        .sort("user_id", "transition_index")
    )
    ordered = visits.join(targets.select("user_id").unique(), on="user_id", how="semi").sort("user_id", "visit_index")
    offsets = ordered.with_row_index("__row").group_by("user_id").agg(pl.col("__row").min().cast(pl.Int64))
    first = (
        targets.join(offsets, on="user_id", how="left", maintain_order="left")
        .select(pl.col("__row") + pl.col("__first"))["__row"]
        .to_numpy()
    )
    item, l1, l2 = (ranked(ordered[name]) for name in ("item_id", "l1", "l2"))
    found = find_signals(
        first,
        first + targets["__n"].cast(pl.Int64).to_numpy(),
        item=item.ranks,
        l1=l1.ranks,
        l2=l2.ranks,
        start=ordered["start"].to_physical().to_numpy(),
        stop=ordered["end"].to_physical().to_numpy(),
        counts=np.stack(
            [ordered[name].to_numpy() for name in ("n_click", "n_browse", "n_favourite", "n_cart", "n_purchase")]
        ),
        dwell_ms=(ordered["dwell_seconds"] * 1000).fill_null(NO_DWELL).to_numpy(),
        settings=settings,
    )
    return signal_table(
        found,
        targets["user_id"].gather(found.target),
        targets["transition_index"].gather(found.target).to_numpy(),
        l1.texts,
        l2.texts,
    )
