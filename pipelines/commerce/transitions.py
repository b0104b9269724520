"""`transitions`: history up to batch t, outcome in batch t + 1 (paper §3.2)."""

import polars as pl

from pipelines.schema import TABLES


def transitions(batches: pl.DataFrame, cohort: pl.DataFrame) -> pl.DataFrame:
    """One row a pair of consecutive batches of a kept user; batches − users rows in all.

    `quarter` is the start of the last calendar quarter (UTC) that begins at or before the
    end of batch t: its frozen tables hold nothing that happened after t. Takes the tables
    `batches` and `cohort` in any row order, returns `transitions` in its order.
    """
    kept = cohort.filter(pl.col("reason") == "").select("user_id")
    return (
        batches.join(kept, on="user_id", how="semi")
        .sort("user_id", "batch_index")
        .select(
            "user_id",
            pl.col("batch_index").alias("transition_index"),
            pl.col("end").alias("history_end"),
            pl.col("start").shift(-1).over("user_id").alias("target_start"),
            pl.col("end").shift(-1).over("user_id").alias("target_end"),
            pl.col("closed").shift(-1).over("user_id").alias("target_closed"),
            pl.col("end").dt.truncate("1q").alias("quarter"),
        )
        .filter(pl.col("target_start").is_not_null())
        .select(pl.col(name).cast(dtype) for name, dtype in TABLES["transitions"].schema.items())
    )
