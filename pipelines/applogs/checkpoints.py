"""Table `checkpoints`: how much of a log may be known at each one, and the batches between them (reference 2)."""

from collections.abc import Iterator

import polars as pl

from pipelines.applogs.objects import ACTION_OF_API
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.memory.contract import VISIT_COLUMNS, Batch, batch_id

_PLACE = ["user_id", "checkpoint_id"]


class BadCheckpoint(ValueError):
    """A checkpoint that does not fit the log: too much or nothing would be visible."""


def cut(logs: pl.DataFrame, anchors: pl.DataFrame) -> pl.DataFrame:
    """Table `checkpoints` from `app_logs` and where the packs say that the checkpoints lie (`packs.ANCHORS`).

    Logs are visible up to the index, inclusive, when the log there is the named one; when it is another, up to the
    named log. Without an index inside the log: every log at or before the as-of time. Raises `BadCheckpoint` when the
    named log is absent, when the last visible log is later than the as-of time, when nothing is visible, or when a
    pack's user has no logs.
    """
    at = logs.select("user_id", pl.col("position").cast(pl.Int64), "app_log_id", "time")
    sizes = at.group_by("user_id").agg(pl.len().cast(pl.Int64).alias("n_logs"))
    placed = anchors.join(sizes, on="user_id", how="left")
    _refuse(placed, pl.col("n_logs").is_null(), "belong to users without logs")
    indexed = pl.col("log_index").is_between(0, pl.col("n_logs") - 1).fill_null(False)
    found = (
        placed.with_columns(indexed.alias("indexed"))
        .join(
            at.select("user_id", pl.col("position").alias("log_index"), pl.col("app_log_id").alias("there")),
            on=["user_id", "log_index"],
            how="left",
        )
        .join(at.select("user_id", "app_log_id", pl.col("position").alias("named")), on=["user_id", "app_log_id"],
              how="left")
    )  # fmt: skip
    other = pl.col("indexed") & pl.col("app_log_id").is_not_null() & (pl.col("there") != pl.col("app_log_id"))
    _refuse(found, other & pl.col("named").is_null(), "name a log that is not in the log file")
    before = (
        found.join(at.select("user_id", "time"), on="user_id")
        .group_by(_PLACE)
        .agg((pl.col("time") <= pl.col("as_of")).sum().cast(pl.Int64).alias("before"))
    )
    cuts = (
        found.join(before, on=_PLACE)
        .with_columns(
            pl.when(~pl.col("indexed")).then(pl.col("before")).when(other).then(pl.col("named") + 1)
            .otherwise(pl.col("log_index") + 1).alias("n_visible"),
            pl.when(~pl.col("indexed")).then(pl.lit("time")).when(other).then(pl.lit("id"))
            .otherwise(pl.lit("index")).alias("cut_by"),
        )
        .join(
            at.select("user_id", (pl.col("position") + 1).alias("n_visible"), "time",
                      pl.col("app_log_id").alias("last_log_id")),
            on=["user_id", "n_visible"],
            how="left",
        )
    )  # fmt: skip
    _refuse(cuts, pl.col("n_visible") == 0, "lie before the first log")
    _refuse(cuts, pl.col("time") > pl.col("as_of"), "would show logs later than their as-of time")
    table = APPLOG_TABLES["checkpoints"]
    ordered = cuts.sort("user_id", "n_visible", "as_of", "checkpoint_id").with_columns(
        pl.int_range(pl.len()).over("user_id").alias("checkpoint_index")
    )
    return ordered.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())


def visible(logs: pl.DataFrame, checkpoints: pl.DataFrame) -> pl.DataFrame:
    """The logs that may be known at each of `checkpoints`: rows of `app_logs` with `checkpoint_id`, in order."""
    return (
        logs.join(checkpoints.select(*_PLACE, "checkpoint_index", "n_visible"), on="user_id")
        .filter(pl.col("position") < pl.col("n_visible"))
        .sort("user_id", "checkpoint_index", "position")
        .select(*logs.columns, "checkpoint_id")
    )


def segments(logs: pl.DataFrame, checkpoints: pl.DataFrame) -> pl.DataFrame:
    """The logs that each checkpoint adds to the one before: rows of `app_logs` with `checkpoint_id`, in order.

    Logs after the last checkpoint are in none.
    """
    ends = checkpoints.sort("user_id", "n_visible", "checkpoint_index").unique(
        ["user_id", "n_visible"], keep="first", maintain_order=True
    )
    return (
        logs.with_columns((pl.col("position") + 1).alias("through"))
        .sort("user_id", "through")
        .join_asof(
            ends.select("user_id", "checkpoint_id", pl.col("n_visible").alias("through")).sort("user_id", "through"),
            on="through",
            by="user_id",
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("checkpoint_id").is_not_null())
        .sort("user_id", "position")
        .select(*logs.columns, "checkpoint_id")
    )


def segment_batches(
    logs: pl.DataFrame, checkpoints: pl.DataFrame, batch_days: int = 1
) -> Iterator[tuple[str, list[Batch]]]:
    """One user's checkpoints in order, each with the batches of the logs that it adds (none when it adds none).

    A batch is a day of the log's clock, or a span of `batch_days` of them, counted from 1970-01-01 for every user; one
    that a checkpoint cuts makes two. `text` of a visit is the whole log; its domain is the app, its category the API,
    its item what was acted on. Raises `ValueError` for several users.
    """
    if logs["user_id"].n_unique() > 1 or checkpoints["user_id"].n_unique() > 1:
        raise ValueError("batches are made user by user")
    added = segments(logs, checkpoints)
    visits = _visits(added)
    span = (pl.col("time").dt.epoch("d") // batch_days).alias("span")
    days = added.select("user_id", "checkpoint_id", span, "time").with_row_index("row")
    sizes = days.group_by("checkpoint_id", "span", maintain_order=True).agg(
        pl.col("user_id", "row").first(), pl.len(), pl.col("time").first().alias("start"), pl.col("time").last()
    )
    made: dict[str, list[Batch]] = {}
    for index, (owner, _, user, row, n, start, end) in enumerate(sizes.iter_rows()):
        batch = Batch(batch_id(user, index), user, index, start, end, visits.slice(row, n))
        made.setdefault(owner, []).append(batch)
    for checkpoint_id in checkpoints.sort("checkpoint_index")["checkpoint_id"]:
        yield checkpoint_id, made.get(checkpoint_id, [])


def _visits(logs: pl.DataFrame) -> pl.DataFrame:
    action = pl.col("api").replace_strict(ACTION_OF_API, default="n_click")
    key = {"l1": pl.col("app"), "l2": pl.col("api")}
    given = {
        "start": pl.col("time"),
        "end": pl.col("time"),
        "item_id": pl.col("object"),
        **{level: name.str.to_lowercase() for level, name in key.items()},
        **{f"{level}_name": name for level, name in key.items()},
        "brand": pl.lit(None),
        "dwell_seconds": pl.lit(0),
        "text": pl.col("record"),
    }
    return logs.select(given.get(name, action == name).cast(dtype).alias(name) for name, dtype in VISIT_COLUMNS.items())


def _refuse(frame: pl.DataFrame, broken: pl.Expr, what: str) -> None:
    bad = frame.filter(broken.fill_null(False)).sort(_PLACE)
    if bad.height:
        first = bad.row(0, named=True)
        raise BadCheckpoint(
            f"{bad.height} checkpoints {what}, first {first['checkpoint_id']} of {first['user_id']} "
            f"(as of {first['as_of']}, index {first['log_index']}, log {first['app_log_id']}); "
            "give the log file and the pack of one publication"
        )
