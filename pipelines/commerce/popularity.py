"""Popularity of categories before each quarter: a baseline of the scoring side (ours)."""

import polars as pl

from pipelines.commerce.domains import first_quarter_after, quarter_number, quarter_start
from pipelines.schema import TABLES


def popularity(visits: pl.LazyFrame) -> pl.DataFrame:
    """Table `popularity`: visits of all users to a category that ended strictly before a quarter starts.

    Cumulative; quarters run from the first one after any visit to that of the last
    visit, categories without a visit yet have no row. `visits` are those of all
    users of the log.
    """
    table = TABLES["popularity"]
    bounds = visits.select(
        pl.int_ranges(first_quarter_after("end").min(), quarter_number("end").max() + 1).alias("quarter")
    ).explode("quarter", empty_as_null=False, keep_nulls=False)
    added = (
        visits.filter(pl.col("l2").is_not_null())
        .group_by("l1", "l2", first_quarter_after("end").alias("quarter"))
        .agg(pl.len().cast(pl.Int64).alias("added"))
        .collect(engine="streaming")
    )
    categories = added.lazy().select("l1", "l2").unique()
    return (
        categories.join(bounds, how="cross")
        .join(added.lazy(), on=["l1", "l2", "quarter"], how="left", nulls_equal=True)
        .sort("quarter", "l1", "l2", nulls_last=False)
        .with_columns(pl.col("added").fill_null(0).cum_sum().over("l1", "l2").alias("n_visits"))
        .filter(pl.col("n_visits") > 0)
        .with_columns(quarter_start("quarter").alias("quarter"))
        .select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
        .collect()
    )
