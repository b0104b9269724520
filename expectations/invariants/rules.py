"""The few shapes that invariants take, each giving one finding with the rows that break it."""

from collections.abc import Mapping, Sequence

import polars as pl

from pipelines.findings import MAX_FAILED_ROWS, Finding, Severity
from pipelines.hashing import key64_column
from pipelines.schema import TABLES

Frames = Mapping[str, pl.LazyFrame]
SAMPLE_USERS = 32
"""Users whose rows the slow paths derive again."""


def no_rows(name: str, description: str, violations: pl.LazyFrame, severity: Severity = "error") -> Finding:
    """Holds when the frame of violations is empty."""
    count, first = pl.collect_all([violations.select(pl.len()), violations.head(MAX_FAILED_ROWS)])
    failed = count.item()
    return Finding(name, failed == 0, severity, f"{failed} rows fail", description, first if failed else None)


def never(name: str, description: str, frame: pl.LazyFrame, bad: pl.Expr, severity: Severity = "error") -> Finding:
    """Holds when `bad` is true in no row; it may look at neighbouring rows."""
    marks = bad.fill_null(False)
    failed = frame.select(marks.sum()).collect().item()
    rows = None
    if failed:
        marked = frame.with_columns(marks.alias("__bad"))
        rows = marked.filter(pl.col("__bad")).drop("__bad").head(MAX_FAILED_ROWS).collect()
    return Finding(name, not failed, severity, f"{failed} rows fail", description, rows)


def same_rows(
    name: str, description: str, found: pl.LazyFrame, expected: pl.LazyFrame, columns: Sequence[str]
) -> Finding:
    """Holds when both frames have the same rows in these columns, as often; `__more` > 0 means too many found."""
    both = pl.concat(
        [
            found.select(*columns, pl.lit(1, pl.Int64).alias("__more")),
            expected.select(*columns, pl.lit(-1, pl.Int64).alias("__more")),
        ],
        how="vertical_relaxed",
    )
    summed = both.group_by(columns).agg(pl.col("__more").sum())
    return no_rows(name, description, summed.filter(pl.col("__more") != 0).sort(columns))


def among(name: str, description: str, found: pl.LazyFrame, allowed: pl.LazyFrame, columns: Sequence[str]) -> Finding:
    """Holds when every row of `found` has its values of these columns in `allowed`."""
    return no_rows(name, description, found.join(allowed, on=list(columns), how="anti", nulls_equal=True))


def not_checked(name: str, *companions: str) -> Finding:
    """Says that a check could not be made, rather than passing it over."""
    return Finding(name, False, "info", f"not checked: {', '.join(companions)} not given", "needs companion tables")


def lacking(frames: Frames, *companions: str) -> list[str]:
    """Companions that were not given."""
    return [name for name in companions if name not in frames]


def ordered(table: str, frame: pl.LazyFrame) -> Finding:
    """The rows stand in the table's total order, nulls first."""
    smaller = pl.lit(False)
    # From the last column to the first, so that the expression stays as long as the order.
    for name in reversed(TABLES[table].sort_by):
        now, before = pl.col(name), pl.col(name).shift()
        less = (now < before).fill_null(False) | (now.is_null() & before.is_not_null())
        smaller = less | (now.eq_missing(before) & smaller)
    columns = ", ".join(TABLES[table].sort_by)
    # Before the first row stands nothing, which is no larger value.
    return never("ordered", f"rows stand in the order of {columns}", frame, smaller & (pl.int_range(pl.len()) > 0))


def starts(*columns: str) -> pl.Expr:
    """True on the first row of each run of equal values."""
    changed = pl.lit(False)
    for name in columns:
        changed = changed | pl.col(name).ne_missing(pl.col(name).shift())
    return changed | (pl.int_range(pl.len()) == 0)


def numbered(frame: pl.LazyFrame, column: str, within: Sequence[str]) -> Finding:
    """The column counts 0, 1, 2 … within each run of equal values."""
    expected = pl.when(starts(*within)).then(0).otherwise(pl.col(column).shift() + 1)
    description = f"{column} counts from 0 without a gap within {', '.join(within)}"
    return never(f"numbered({column})", description, frame, pl.col(column) != expected)


def sampled_users(frame: pl.LazyFrame, users: int = SAMPLE_USERS) -> pl.DataFrame:
    """The users of smallest keyed hash, as a frame to join with."""
    every = frame.select("user_id").unique().collect()
    hashed = every.with_columns(key64_column(every["user_id"], "audit").alias("hash"))
    return hashed.sort("hash", "user_id").head(users).select("user_id").sort("user_id")


def rows_of(frame: pl.LazyFrame, users: pl.DataFrame, order: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    """Rows of the sampled users as plain dictionaries, by user."""
    chosen = frame.join(users.lazy(), on="user_id", how="semi").sort(order).collect()
    by_user: dict[str, list[dict[str, object]]] = {user: [] for user in users["user_id"].to_list()}
    for row in chosen.iter_rows(named=True):
        by_user[row["user_id"]].append(row)
    return by_user
