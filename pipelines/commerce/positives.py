"""Positives: the categories of batch t+1 that count, how familiar they are at t, and which pool asks for them."""

import numpy as np
import polars as pl

from pipelines.commerce.familiarity import classify, familiarity_column, history_for, locate
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.tables import POOL, POOLS
from pipelines.commerce.taxonomy import category_text
from pipelines.commerce.walks import Ints, Words
from pipelines.hashing import key64, key64_column, mix64
from pipelines.schema import TABLES

LIMIT_SALT = key64("limit", "salt")
"""Keeps the choice of positives apart from the draw of distractors."""


def positives(
    signals: pl.DataFrame,
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    transitions: pl.LazyFrame,
    domains: pl.LazyFrame,
    settings: CommerceSettings,
) -> pl.DataFrame:
    """Table `positives`: every category with a strong signal in batch t+1 (paper §3.3).

    `signals` holds one row a (user, transition, category of batch t+1) with the four
    flags. remember asks for seen and familiar ones, infer for related and new ones
    (paper §A.1.2), none for unconnected ones. At most `settings.max_positives` a
    pool are kept (ours): those of smallest keyed hash of (limit, seed, user,
    transition, pool, category). Raises `ValueError` when a signal names a
    transition that is not in the table.
    """
    table = TABLES["positives"]
    if signals.is_empty():
        return table.empty()
    past = history_for(signals, visits, batches, transitions, domains)
    rows = locate(signals, past)
    step, category = rows["step"].to_numpy(), rows["category"].to_numpy()
    codes = classify(rows, past, settings)
    pool = np.minimum(codes // 2, len(POOLS)).astype(np.int64)
    keys = (
        key64_column(past.transitions["user_id"], "user").to_numpy()[step],
        past.transitions["transition_index"].cast(pl.UInt64).to_numpy()[step],
        pool.astype(np.uint64),
        key64_column(past.categories.select(category_text()).to_series(), "category").to_numpy()[category],
    )
    kept = (pool < len(POOLS)) & (
        _rank(step * (len(POOLS) + 1) + pool, mix64(LIMIT_SALT, settings.seed, *keys)) < settings.max_positives
    )
    return (
        signals[rows["row"].to_numpy()]
        .with_columns(
            familiarity_column(codes),
            pl.Series("pool", [*POOLS, None], dtype=POOL).gather(pool),
            pl.Series("kept", kept),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
    )


def _rank(group: Ints, hashes: Words) -> Ints:
    """Place of every row among those of its group by hash, from 0; equal hashes keep their order."""
    order = np.lexsort((hashes, group))
    ordered = group[order]
    start = np.searchsorted(ordered, ordered)
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - start
    return rank
