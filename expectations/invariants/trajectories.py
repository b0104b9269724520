"""Invariants of `visits`, `batches`, `cohort` and `transitions`."""

from datetime import timedelta

import polars as pl

from expectations.invariants import slow
from expectations.invariants.rules import (
    Frames,
    among,
    lacking,
    never,
    not_checked,
    numbered,
    ordered,
    rows_of,
    same_rows,
    sampled_users,
    starts,
)
from pipelines.commerce.settings import CommerceSettings
from pipelines.findings import Finding
from pipelines.schema import TABLES

COUNTERS = [f"n_{action}" for action in slow.COUNTED]


def visits(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Time never runs back, no two visits that should be one, none that should be two; companion `events`."""
    frame = frames["visits"]
    same_user = ~starts("user_id")
    gap = pl.col("start") - pl.col("end").shift()
    limit = timedelta(minutes=settings.visit_gap_minutes)
    n_events = pl.sum_horizontal(COUNTERS)
    findings = [
        ordered("visits", frame),
        numbered(frame, "visit_index", ["user_id"]),
        never(
            "monotone",
            "a visit starts no earlier than the user's last one ended",
            frame,
            same_user & (gap < timedelta(0)),
        ),
        never(
            "gap",
            "two neighbouring visits to one item are more than the visit gap apart",
            frame,
            same_user & (pl.col("item_id") == pl.col("item_id").shift()) & (gap <= limit),
        ),
        never("counted", "a visit has at least one event", frame, n_events < 1),
        never(
            "span",
            "a visit is no longer than its events at the visit gap allow",
            frame,
            pl.col("end") - pl.col("start") > (n_events - 1) * limit,
        ),
    ]
    if missing := lacking(frames, "events"):
        return [*findings, not_checked("events_conserved", *missing), not_checked("borders", *missing)]
    return [*findings, _events_conserved(frame, frames["events"]), _visit_borders(frame, frames["events"], settings)]


def _events_conserved(frame: pl.LazyFrame, events: pl.LazyFrame) -> Finding:
    kept = events.filter(pl.col("action").is_in(list(slow.COUNTED)))
    columns = ["user_id", *COUNTERS]
    expected = kept.group_by("user_id").agg(
        (pl.col("action") == action).sum().cast(pl.Int64).alias(f"n_{action}") for action in slow.COUNTED
    )
    found = frame.group_by("user_id").agg(pl.col(COUNTERS).cast(pl.Int64).sum())
    return same_rows(
        "events_conserved", "counters add up to the user's events, action by action", found, expected, columns
    )


def _visit_borders(frame: pl.LazyFrame, events: pl.LazyFrame, settings: CommerceSettings) -> Finding:
    users = sampled_users(events)
    again = [
        {"user_id": user, **visit}
        for user, rows in rows_of(events, users, TABLES["events"].sort_by).items()
        for visit in slow.visits(rows, settings)
    ]
    columns = ["user_id", "visit_index", "start", "end", "item_id", *COUNTERS]
    schema = {name: TABLES["visits"].schema[name] for name in columns}
    expected = pl.LazyFrame(again, schema=schema)
    found = frame.join(users.lazy(), on="user_id", how="semi").select(columns)
    return same_rows("borders", "visits of sampled users come out of the slow path too", found, expected, columns)


def batches(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Contiguous batches over all visits; borders exactly where the rule puts them; companion `visits`."""
    frame = frames["batches"]
    first = starts("user_id")
    last = first.shift(-1, fill_value=True)
    next_start, next_first = pl.col("start").shift(-1), pl.col("first_visit").shift(-1)
    eligible = (pl.col("n_visits") >= settings.batch_visits) | (
        next_start - pl.col("start") >= timedelta(days=settings.batch_days)
    )
    pause = timedelta(minutes=settings.batch_gap_minutes)
    findings = [
        ordered("batches", frame),
        numbered(frame, "batch_index", ["user_id"]),
        never(
            "contiguous",
            "a batch begins at the visit after the last one; the first at visit 0",
            frame,
            (first & (pl.col("first_visit") != 0))
            | (~last & (next_first != pl.col("first_visit") + pl.col("n_visits"))),
        ),
        never("closed", "every batch but a user's last is closed", frame, pl.col("closed") == last),
        never(
            "eligible", "a closed batch holds the visits or the days that the rule asks for", frame, ~last & ~eligible
        ),
        never("pause", "a closed batch is followed by the pause", frame, ~last & (next_start - pl.col("end") <= pause)),
    ]
    if missing := lacking(frames, "visits"):
        return [*findings, *(not_checked(name, *missing) for name in ("covering", "earliest", "borders"))]
    stream = frames["visits"]
    return [
        *findings,
        _covering(frame, stream),
        _earliest(frame, stream, settings),
        _batch_borders(frame, stream, settings),
    ]


def _visits_in(frame: pl.LazyFrame, stream: pl.LazyFrame) -> pl.LazyFrame:
    """Every visit with the batch it falls into."""
    bounds = frame.select(
        "user_id", "batch_index", pl.col("first_visit").alias("visit_index"), pl.col("start").alias("batch_start")
    )
    return (
        stream.select("user_id", "visit_index", "start", "end")
        .join(bounds, on=["user_id", "visit_index"], how="left")
        .sort("user_id", "visit_index")
        .with_columns(pl.col("batch_index", "batch_start").forward_fill().over("user_id"))
    )


def _covering(frame: pl.LazyFrame, stream: pl.LazyFrame) -> Finding:
    found = frame.select("user_id", "batch_index", "start", "end", pl.col("n_visits").cast(pl.Int64))
    expected = (
        _visits_in(frame, stream)
        .group_by("user_id", "batch_index")
        .agg(pl.col("start").min(), pl.col("end").last(), pl.len().cast(pl.Int64).alias("n_visits"))
    )
    columns = ["user_id", "batch_index", "start", "end", "n_visits"]
    description = "batches hold every visit once, and start and end with them"
    return same_rows("covering", description, found, expected, columns)


def _earliest(frame: pl.LazyFrame, stream: pl.LazyFrame, settings: CommerceSettings) -> Finding:
    inside = _visits_in(frame, stream).with_columns(
        pl.int_range(pl.len()).over("user_id", "batch_index").alias("before"),
        pl.col("end").shift().over("user_id", "batch_index").alias("last_end"),
    )
    eligible = (pl.col("before") >= settings.batch_visits) | (
        pl.col("start") - pl.col("batch_start") >= timedelta(days=settings.batch_days)
    )
    paused = pl.col("start") - pl.col("last_end") > timedelta(minutes=settings.batch_gap_minutes)
    return never("earliest", "no batch runs over a border", inside, (pl.col("before") > 0) & eligible & paused)


def _batch_borders(frame: pl.LazyFrame, stream: pl.LazyFrame, settings: CommerceSettings) -> Finding:
    users = sampled_users(stream)
    again = [
        (user, *batch)
        for user, rows in rows_of(stream, users, ["user_id", "visit_index"]).items()
        for batch in slow.batches(rows, settings)
    ]
    columns = ["user_id", "first_visit", "n_visits", "closed"]
    schema = {name: TABLES["batches"].schema[name] for name in columns}
    expected = pl.LazyFrame(again, schema=schema, orient="row")
    found = frame.join(users.lazy(), on="user_id", how="semi").select(columns)
    return same_rows("borders", "batches of sampled users come out of the slow path too", found, expected, columns)


def cohort(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Kept exactly from the threshold on; counts are those of the companions `visits` and `batches`."""
    frame = frames["cohort"]
    kept = pl.col("reason") == ""
    findings = [
        ordered("cohort", frame),
        never(
            "threshold",
            "a user is kept from the threshold of valid visits on, and only then",
            frame,
            kept != (pl.col("n_valid_visits") >= settings.cohort_visits),
        ),
    ]
    for name, count, companion, column in (
        ("n_visits", pl.len(), "visits", "n_visits"),
        ("n_valid_visits", pl.col("l2").is_not_null().sum(), "visits", "n_valid_visits"),
        ("n_batches", pl.len(), "batches", "n_batches"),
        ("n_events", pl.len(), "events", "n_events"),
    ):
        if missing := lacking(frames, companion):
            findings.append(not_checked(f"count({name})", *missing))
            continue
        expected = frames[companion].group_by("user_id").agg(count.cast(pl.Int64).alias(column))
        found = frame.select("user_id", pl.col(column).cast(pl.Int64))
        absent = found.join(expected, on="user_id", how="anti").filter(pl.col(column) == 0)
        expected = pl.concat([expected, absent.select(expected.collect_schema().names())])
        description = f"{column} counts the user's rows in {companion}"
        findings.append(same_rows(f"count({name})", description, found, expected, ["user_id", column]))
    return findings


def transitions(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """One row a pair of neighbouring batches of a kept user; companions `batches`, `cohort`."""
    frame = frames["transitions"]
    pause = timedelta(minutes=settings.batch_gap_minutes)
    findings = [
        ordered("transitions", frame),
        numbered(frame, "transition_index", ["user_id"]),
        never(
            "quarter",
            "quarter is the last one that begins at or before the end of batch t",
            frame,
            pl.col("quarter") != pl.col("history_end").dt.truncate("1q"),
        ),
        never(
            "pause",
            "outcome follows history after the pause",
            frame,
            pl.col("target_start") - pl.col("history_end") <= pause,
        ),
    ]
    if missing := lacking(frames, "batches", "cohort"):
        return [*findings, *(not_checked(name, *missing) for name in ("pairs", "batches_minus_users", "cohort_only"))]
    kept = frames["cohort"].filter(pl.col("reason") == "").select("user_id")
    taken = frames["batches"].join(kept, on="user_id", how="semi")
    target = taken.select(
        "user_id",
        (pl.col("batch_index") - 1).alias("transition_index"),
        pl.col("start").alias("target_start"),
        pl.col("end").alias("target_end"),
        pl.col("closed").alias("target_closed"),
    )
    history = taken.select(
        "user_id", pl.col("batch_index").alias("transition_index"), pl.col("end").alias("history_end")
    )
    columns = ["user_id", "transition_index", "history_end", "target_start", "target_end", "target_closed"]
    expected = history.join(target, on=["user_id", "transition_index"])
    counts = pl.concat(
        [
            frame.select(pl.len().cast(pl.Int64).alias("transitions")),
            taken.select((pl.len().cast(pl.Int64) - pl.col("user_id").n_unique()).alias("batches_minus_users")),
        ],
        how="horizontal",
    )
    return [
        *findings,
        same_rows(
            "pairs", "each pair of neighbouring batches of a kept user is one transition", frame, expected, columns
        ),
        never(
            "batches_minus_users",
            "transitions = batches − users of the cohort",
            counts,
            pl.col("transitions") != pl.col("batches_minus_users"),
        ),
        among("cohort_only", "only users of the cohort have transitions", frame, kept, ["user_id"]),
    ]
