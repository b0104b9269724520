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
    quartered = quarters(users, "n_batches", "batches").drop("n_batches")
    low = users.filter(pl.col("n_batches") <= LOW_ACTIVITY).select("user_id", *_fixed(f"≤ {LOW_ACTIVITY} batches", 0))
    high = users.filter(pl.col("n_batches") >= HIGH_ACTIVITY).select(
        "user_id", *_fixed(f"≥ {HIGH_ACTIVITY} batches", 1)
    )
    return pl.concat([quartered, low, high]).sort("group_kind", "place", "user_id")


def quarters(users: pl.DataFrame, n: str, what: str) -> pl.DataFrame:
    """Rows of users with their quarter by the count in column `n`: adds `group_kind` (activity), `group`, `place`.

    All users of one count share the quarter of their middle rank; `what` is counted.
    """
    counts = (
        users.group_by(n)
        .len()
        .sort(n)
        .with_columns(
            ((pl.col("len").cum_sum() * 2 - pl.col("len")) * QUANTILES // (2 * pl.col("len").sum()))
            .cast(pl.Int32)
            .alias("place")
        )
        .with_columns(pl.col(n).min().over("place").alias("low"), pl.col(n).max().over("place").alias("high"))
    )
    named = counts.select(
        n,
        pl.lit("activity").alias("group_kind"),
        pl.when(pl.col("low") == pl.col("high"))
        .then(pl.format("{} {}", "low", pl.lit(what)))
        .otherwise(pl.format("{}–{} {}", "low", "high", pl.lit(what)))
        .alias("group"),
        "place",
    )
    return users.join(named, on=n)


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
