"""`cohort`: who is in the benchmark, and why others are not (paper §A.1.1)."""

import polars as pl

from pipelines.commerce.settings import CommerceSettings
from pipelines.schema import TABLES

NO_VISITS = "only cancel and refund events"


def too_few(settings: CommerceSettings) -> str:
    """The reason of users below the threshold."""
    return f"fewer than {settings.cohort_visits} valid visits"


def with_reason(counts: pl.DataFrame, settings: CommerceSettings) -> pl.DataFrame:
    """The table `cohort` from one row of counts a user."""
    reason = (
        pl.when(pl.col("n_visits") == 0)
        .then(pl.lit(NO_VISITS))
        .when(pl.col("n_valid_visits") < settings.cohort_visits)
        .then(pl.lit(too_few(settings)))
        .otherwise(pl.lit(""))
    )
    return (
        counts.with_columns(reason.alias("reason"))
        .select(pl.col(name).cast(dtype) for name, dtype in TABLES["cohort"].schema.items())
        .sort("user_id")
    )


def cohort(
    events: pl.LazyFrame, visits: pl.DataFrame, batches: pl.DataFrame, settings: CommerceSettings
) -> pl.DataFrame:
    """Count events, visits, valid visits and batches of every user of `events`.

    A visit is valid when it has a category (level 2). A user with at least `cohort_visits`
    valid visits over the whole log is kept: `reason` is empty. Returns the table `cohort`.
    """
    per_user = events.group_by("user_id").agg(pl.len().alias("n_events")).collect(engine="streaming")
    visited = visits.group_by("user_id").agg(
        pl.len().alias("n_visits"), pl.col("l2").is_not_null().sum().alias("n_valid_visits")
    )
    batched = batches.group_by("user_id").agg(pl.len().alias("n_batches"))
    counts = per_user.join(visited, on="user_id", how="left").join(batched, on="user_id", how="left")
    return with_reason(counts.with_columns(pl.col("n_visits", "n_valid_visits", "n_batches").fill_null(0)), settings)
