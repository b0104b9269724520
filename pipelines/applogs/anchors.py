"""Where the checkpoints of a user lie that no task pack names: the calendar of the published set (reference 2)."""

import polars as pl

from pipelines.applogs.packs import ANCHORS

_NAMES = {1: "monthly", 3: "quarterly"}
_LAST_DAY = 28
"""Anchors lie on this day of the month at the latest, so that every month has them."""


def calendar_anchors(logs: pl.DataFrame, months: int) -> pl.DataFrame:
    """`packs.ANCHORS` of every user of `app_logs`: each so many `months` after the first log, and at the last log.

    An anchor stands for the last log at or before it, whose time is the moment that questions are about. The first
    log alone makes no checkpoint, and months without a log none of their own. The ids are `cal_quarterly_001`, …
    """
    ordered = logs.select("user_id", "position", "app_log_id", "time").sort("user_id", "time", "position")
    span = ordered.group_by("user_id", maintain_order=True).agg(
        pl.col("time").first().alias("start"), pl.col("time").last().alias("end")
    )
    # Day 29 and later would move from month to month; the first anchor is clamped, and the others follow it.
    day = pl.min_horizontal(pl.col("start").dt.day(), pl.lit(_LAST_DAY, pl.Int8))
    clamped = pl.col("start").dt.replace(day=day)
    after = (pl.col("end").dt.year() - pl.col("start").dt.year()) * 12 + pl.col("end").dt.month().cast(pl.Int32)
    steps = (after - pl.col("start").dt.month().cast(pl.Int32)) // months
    calendar = (
        span.with_columns(clamped.alias("start"), pl.int_ranges(1, steps + 1).alias("step"))
        .explode("step", empty_as_null=False)
        .select("user_id", _later(pl.col("start"), pl.col("step") * months).alias("anchor"), "end")
        .filter(pl.col("anchor") < pl.col("end"))
        .select("user_id", "anchor")
    )
    anchors = pl.concat([calendar, span.select("user_id", pl.col("end").alias("anchor"))]).sort("user_id", "anchor")
    cuts = anchors.join_asof(
        ordered.with_columns(pl.col("time").alias("anchor")),
        on="anchor",
        by="user_id",
        strategy="backward",
        check_sortedness=False,
    ).unique(["user_id", "position"], keep="first", maintain_order=True)
    cuts = cuts.filter((pl.col("position") > 0) | (pl.len().over("user_id") == 1))
    number = pl.int_range(1, pl.len() + 1).over("user_id").cast(pl.String).str.pad_start(3, "0")
    name = _NAMES.get(months, f"{months}_months")
    return cuts.select(
        "user_id",
        pl.format(f"cal_{name}_{{}}", number).alias("checkpoint_id"),
        pl.col("position").cast(pl.Int64).alias("log_index"),
        "app_log_id",
        pl.col("time").alias("as_of"),
    ).select(pl.col(column).cast(dtype) for column, dtype in ANCHORS.items())


def _later(moment: pl.Expr, months: pl.Expr) -> pl.Expr:
    return moment.dt.offset_by(pl.concat_str(months.cast(pl.String), pl.lit("mo")))
