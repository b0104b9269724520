"""Groups of users by activity, and of units by validity."""

import polars as pl

from pipelines.evaluation.readers import UNIT
from pipelines.evaluation.scores import ANSWERED

LOW_ACTIVITY, HIGH_ACTIVITY = 3, 16
"""The paper's least and most active groups: at most 3 batches, at least 16 (A.2)."""
QUANTILES = 4


def activity_groups(units: pl.DataFrame) -> pl.DataFrame:
    """Which activity groups each user belongs to: columns user_id, group_kind, group, place (order of the groups).

    `activity` groups are quarters of the users by number of batches: all users
    of one count share the quarter of their middle rank, so no tie is split and
    a quarter may be absent. `activity_fixed` groups are the paper's ≤ 3 and ≥ 16.
    """
    users = units.select("user_id", "n_batches").unique()
    counts = (
        users.group_by("n_batches")
        .len()
        .sort("n_batches")
        .with_columns(
            ((pl.col("len").cum_sum() * 2 - pl.col("len")) * QUANTILES // (2 * pl.col("len").sum())).alias("q")
        )
    )
    spans = counts.group_by("q").agg(pl.min("n_batches").alias("low"), pl.max("n_batches").alias("high"))
    quarters = (
        users.join(counts.select("n_batches", "q"), on="n_batches")
        .join(spans, on="q")
        .select(
            "user_id",
            pl.lit("activity").alias("group_kind"),
            pl.when(pl.col("low") == pl.col("high"))
            .then(pl.format("{} batches", "low"))
            .otherwise(pl.format("{}–{} batches", "low", "high"))
            .alias("group"),
            pl.col("q").cast(pl.Int32).alias("place"),
        )
    )
    low = users.filter(pl.col("n_batches") <= LOW_ACTIVITY).select("user_id", *_fixed(f"≤ {LOW_ACTIVITY} batches", 0))
    high = users.filter(pl.col("n_batches") >= HIGH_ACTIVITY).select(
        "user_id", *_fixed(f"≥ {HIGH_ACTIVITY} batches", 1)
    )
    return pl.concat([quarters, low, high]).sort("group_kind", "place", "user_id")


FIXED_GROUPS = pl.DataFrame(
    {
        "group_kind": ["activity_fixed"] * 2,
        "group": [f"≤ {LOW_ACTIVITY} batches", f"≥ {HIGH_ACTIVITY} batches"],
        "place": pl.Series([0, 1], dtype=pl.Int32),
    }
)
"""Shown even when no user is in them."""


def valid_for_all(units: pl.DataFrame) -> pl.DataFrame:
    """The rows of units that every method answered; group analyses compare on these (paper §5)."""
    unanswered = units.filter(~pl.col("status").is_in(ANSWERED)).select(UNIT).unique()
    return units.join(unanswered, on=UNIT, how="anti")


def _fixed(group: str, place: int) -> list[pl.Expr]:
    return [
        pl.lit("activity_fixed").alias("group_kind"),
        pl.lit(group).alias("group"),
        pl.lit(place, dtype=pl.Int32).alias("place"),
    ]
