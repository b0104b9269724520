"""Positives: the categories of batch t+1 that count, how familiar they are at t, and which pool asks for them."""

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.commerce.familiarity import familiarity
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.taxonomy import category_text
from pipelines.hashing import key64, key64_column, mix64
from pipelines.schema import POOL, POOLS, TABLES

LIMIT_SALT = key64("limit", "salt")
"""Keeps the choice of positives apart from the draw of distractors."""


def candidate_keys(rows: pl.DataFrame) -> tuple[npt.NDArray[np.uint64], ...]:
    """Keys (user, transition, pool, category) that every draw and order of pools is hashed from."""
    return (
        key64_column(rows["user_id"], "user").to_numpy(),
        rows["transition_index"].cast(pl.UInt64).to_numpy(),
        rows["pool"].to_physical().fill_null(len(POOLS)).cast(pl.UInt64).to_numpy(),
        key64_column(rows.select(category_text()).to_series(), "category").to_numpy(),
    )


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
    labelled = familiarity(signals, visits, batches, transitions, domains, settings).with_columns(
        pl.col("familiarity")
        .replace_strict(
            {"seen": POOLS[0], "familiar": POOLS[0], "related": POOLS[1], "new": POOLS[1]},
            default=None,
            return_dtype=POOL,
        )
        .alias("pool")
    )
    hashes = mix64(LIMIT_SALT, settings.seed, *candidate_keys(labelled))
    group = ["user_id", "transition_index", "pool"]
    return (
        labelled.with_columns(pl.Series("hash", hashes, dtype=pl.UInt64))
        .sort(*group, "hash", "l1", "l2", nulls_last=False)
        .with_columns(
            (pl.col("pool").is_not_null() & (pl.int_range(pl.len()).over(group) < settings.max_positives)).alias("kept")
        )
        .select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
        .sort(table.sort_by, nulls_last=False)
    )
