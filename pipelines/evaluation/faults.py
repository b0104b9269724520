"""What went wrong, or weakly, behind a row of a leaderboard: said in its flags (ours)."""

import polars as pl

from pipelines.schema import TABLES

NOTES = pl.Schema(
    {name: TABLES["costs"].schema[name] for name in ("method", "reader", "budget")} | {"note": pl.String()}
)
"""What `faults` gives: at most one row a method, reader and budget."""
ARMS = pl.Schema(
    {name: NOTES[name] for name in ("method", "reader", "budget")}
    | {"weak_builder": pl.Boolean(), "weak_reader": pl.Boolean()}
)
"""One row an arm: whether a weak model built its memory, whether one read it."""
COUNTS = pl.Schema({"method": pl.String(), "count": pl.String(), "n": pl.Int64()})
"""What the memories of each method counted, summed over users."""
LOST = "lost"
"""What memories count under a name that begins so is lost: steps, batches."""


def counted(builds: pl.LazyFrame) -> pl.DataFrame:
    """Frame `COUNTS` of the rows of `builds` of all arms, each with its `method`.

    Arms that share a memory count alike, unless one of them lost more.
    """
    each = builds.group_by("method", "user_id", "count").agg(pl.col("n").max())
    summed = each.group_by("method", "count").agg(pl.col("n").sum())
    return summed.sort("method", "count").collect().match_to_schema(COUNTS)


def faults(arms: pl.DataFrame, builds: pl.DataFrame, costs: pl.DataFrame) -> pl.DataFrame:
    """Frame `NOTES` of the arms that are degraded or weak.

    `arms` is frame `ARMS`, `builds` frame `COUNTS`, `costs` the table of that name. A judge's lost calls are told
    beside its verdicts; no recall depends on them.
    """
    lost = builds.filter(pl.col("count").str.starts_with(LOST) & (pl.col("n") > 0) & ~pl.col("count").str.contains(":"))
    lost = (
        lost.sort("method", "count")
        .group_by("method", maintain_order=True)
        .agg(pl.format("degraded: {} {}", "n", pl.col("count").str.replace_all("_", " ")).str.join(", ").alias("lost"))
    )
    cell = ["method", "reader", "budget"]
    failed = (
        costs.filter(pl.col("step") != "judge")
        .group_by(cell)
        .agg(pl.col("n_failed").sum())
        .filter(pl.col("n_failed") > 0)
    )
    failed = failed.select(*cell, pl.format("degraded: {} calls without a whole reply", "n_failed").alias("failed"))
    said = pl.concat_str(
        "lost",
        "failed",
        pl.when(pl.col("weak_builder") | pl.col("weak_reader")).then(pl.lit("weak model")),
        separator="; ",
        ignore_nulls=True,
    )
    return (
        arms.join(lost, on="method", how="left")
        .join(failed, on=cell, how="left")
        .select(*cell, said.alias("note"))
        .filter(pl.col("note") != "")
        .match_to_schema(NOTES)
    )
