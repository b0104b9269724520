"""Markets, outcomes and amounts as people read them."""

import polars as pl

from pipelines.onchain import ids
from pipelines.onchain.wallet_plot import SHARE

FLAT = "flat"


def market_names(markets: pl.DataFrame) -> pl.DataFrame:
    """Names by condition and outcome (`market`, `outcome_name`); numbers where no source describes a market."""
    listed = markets.select(
        "condition_id",
        pl.coalesce("question", ids.hex_text(pl.col("condition_id")).str.head(12)).alias("market"),
        "outcomes",
        pl.int_ranges(pl.col("token_ids").list.len(), dtype=pl.Int16).alias("outcome"),
    ).explode("outcome", empty_as_null=False)
    described = pl.col("outcomes").list.get(pl.col("outcome").cast(pl.Int64), null_on_oob=True)
    return listed.with_columns(pl.coalesce(described, pl.format("outcome {}", "outcome")).alias("outcome_name")).drop(
        "outcomes"
    )


def with_names(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Rows with `condition_id` and `outcome`, named by `market_names`."""
    joined = rows.join(names, on=["condition_id", "outcome"], how="left", maintain_order="left")
    return joined.with_columns(
        pl.coalesce("market", ids.hex_text(pl.col("condition_id")).str.head(12)).alias("market"),
        pl.coalesce("outcome_name", pl.format("outcome {}", "outcome")).alias("outcome_name"),
    )


def with_sides(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Beliefs with `market`, and their `side` (−1: flat) by name as `side_name`."""
    sides = with_names(rows.with_columns(pl.col("side").alias("outcome")), names)
    markets = names.select("condition_id", pl.col("market").alias("of")).unique("condition_id", maintain_order=True)
    return sides.join(markets, on="condition_id", how="left", maintain_order="left").with_columns(
        pl.coalesce("of", "market").alias("market"),
        pl.when(pl.col("side") < 0).then(pl.lit(FLAT)).otherwise("outcome_name").alias("side_name"),
    )


def in_shares(column: str, name: str) -> pl.Expr:
    """An amount in 10⁻⁶ share, in shares."""
    return (pl.col(column) / SHARE).alias(name)
