"""Invariants of a parsed drop: `events` and `rejects`."""

import polars as pl

from expectations.invariants.rules import Frames, never, no_rows, ordered
from pipelines.commerce.categories import category_key
from pipelines.commerce.settings import CommerceSettings
from pipelines.findings import Finding
from pipelines.hashing import bucket_of


def events(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Total order, buckets that are the user's hash, category keys that are the normalised names."""
    frame = frames["events"]
    return [
        ordered("events", frame),
        _buckets(frame),
        _keys(frame, "l1"),
        _keys(frame, "l2"),
    ]


def rejects(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Total order."""
    return [ordered("rejects", frames["rejects"])]


def conserved(rows_in: int, events: int, rejects: int, duplicates: int) -> Finding:
    """Rows read = events + rejects + dropped duplicates."""
    observed = f"{rows_in} in, {events} events + {rejects} rejects + {duplicates} duplicates"
    return Finding(
        "conserved",
        rows_in == events + rejects + duplicates,
        "error",
        observed,
        "rows in = events + rejects + dropped duplicates",
    )


def _buckets(frame: pl.LazyFrame) -> Finding:
    users = frame.select("user_id", "bucket").unique().sort("user_id", "bucket").collect()
    expected = pl.Series("expected", [bucket_of(user) for user in users["user_id"].to_list()], dtype=pl.UInt8)
    return never(
        "bucket",
        "bucket is the keyed hash of the user",
        users.with_columns(expected).lazy(),
        pl.col("bucket") != pl.col("expected"),
    )


def _keys(frame: pl.LazyFrame, level: str) -> Finding:
    name = f"{level}_name"
    forms = frame.filter(pl.col(name).is_not_null()).select(level, name).unique().sort(level, name).collect()
    expected = pl.Series("expected", [category_key(text) or None for text in forms[name].to_list()], dtype=pl.String)
    wrong = forms.with_columns(expected).lazy().filter(pl.col(level).ne_missing(pl.col("expected")))
    return no_rows(f"key({level})", f"{level} is {name} after NFKC, trim, single spaces, casefold", wrong)
