"""`candidates`: the wallets of a shard with their features, and what the filters leave of their sequences."""

from typing import TypeVar

import polars as pl

from pipelines.onchain.positions import FOLLOWED, follow
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.step_tables import STEP_TABLES
from pipelines.onchain.wallets import assess, log_features

Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


def candidates(
    trades: pl.DataFrame, appearances: pl.DataFrame, pools: pl.DataFrame, settings: OnchainSettings
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Tables `candidates`, `sequences` and `filter_counts` of a shard.

    `trades` and `appearances` are those of its wallets up to the last block; pools are contracts, no wallets.
    """
    contracts = pools["pool"].implode()
    seen = appearances.filter(~pl.col("wallet").is_in(contracts))
    held = trades.filter(~pl.col("wallet").is_in(contracts))
    made = assess(log_features(seen.lazy()), follow(held.select(FOLLOWED)), settings)
    tables = (STEP_TABLES[name] for name in ("candidates", "sequences", "filter_counts"))
    wallets, left, counts = (
        rows.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
        for rows, table in zip(made, tables, strict=True)
    )
    return wallets, left, counts


def up_to(rows: Rows, settings: OnchainSettings) -> Rows:
    """Rows up to the last block, the border included."""
    return rows.filter(pl.col("block_number") <= settings.last_block)
