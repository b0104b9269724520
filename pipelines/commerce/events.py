"""`events` and `rejects`: every accepted log row in one vocabulary, every other with its reason.

Rows in = events + rejects + dropped duplicates, asserted. Nothing depends on the
order of rows or files, on file names or on the machine's time zone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipelines.commerce.categories import dotted_names, key_column
from pipelines.commerce.drop_files import chunks, lookup_table, tell_apart
from pipelines.commerce.instants import instants, relative_instants, scaled, whole
from pipelines.commerce.mapping import Columns, Mapping
from pipelines.commerce.merging import in_total_order, merge_drops
from pipelines.commerce.reading import LINE, RAW, RAW_LIMIT, SourceError
from pipelines.commerce.sources import SOURCES
from pipelines.commerce.tables import ACTION
from pipelines.hashing import bucket_column
from pipelines.schema import TABLES, conform
from pipelines.tables import TIME

PRICE_DIGITS = 6
UNDECIDABLE_MINUTES = 15
"""When no two events of a user lie closer than this, the gap rules cannot be decided (ours)."""
UNKNOWN_ACTION = "action unknown"
"""Reason of rows whose action the mapping does not know."""
SHOWN_ACTIONS = 5
"""Of those actions, how many are told; the most frequent (ours)."""
_FILE = "__file"

__all__ = ["Capabilities", "Drop", "merge_drops", "read_drop"]


@dataclass(frozen=True)
class Capabilities:
    """What a log can say: category levels, a real or made clock, how finely it tells time."""

    l1: bool
    l2: bool
    clock: str
    """real | synthetic; with a synthetic clock nothing may compare users in time."""
    resolution: str
    """second | minute | hour | day"""


@dataclass(frozen=True)
class Drop:
    """What one drop holds.

    `events` and `rejects` are the tables of these names, in their total order.
    `counts` has rows_in, events, rejects, duplicates, dst_ambiguous, dst_moved and
    lookup_conflicts; `reasons` the rejects by reason; `warnings` what a user should know.
    """

    events: pl.DataFrame
    rejects: pl.DataFrame
    counts: dict[str, int]
    reasons: dict[str, int]
    warnings: tuple[str, ...]
    capabilities: Capabilities


def read_drop(files: Sequence[Path], mapping: Mapping) -> Drop:
    """Read all files of one drop (logs, lookup tables, files to ignore; folders already expanded).

    Raises `SourceError` (file, line, what, remedy) for a file that is no such log:
    another format or header, empty, binary, cut off, wrongly encoded. Single bad rows
    become `rejects`.
    """
    told = tell_apart(files, mapping)
    notes = list(told.notes)
    tables: dict[str, pl.DataFrame] = {}
    conflicts = 0
    for lookup in mapping.lookups:
        if lookup.name in told.lookups:
            tables[lookup.name], more = lookup_table(lookup, told.lookups[lookup.name], mapping)
            conflicts += more
    if conflicts:
        notes.append(f"{conflicts} rows of lookup tables contradict another; the smallest stands")

    counts: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    accepted, refused, raw_rows = [], [], []
    for path in told.logs:
        n_rows = 0
        for piece in chunks(path, mapping, mapping.names):
            n_rows += piece.n_rows
            refused.append(piece.rejects.select(pl.lit(path.name).alias("file"), "line", "reason", "raw"))
            rows = _joined(piece.rows, mapping, tables).with_columns(pl.lit(path.name).alias(_FILE))
            if mapping.time.relative:
                raw_rows.append(rows)
            else:
                events, rejects = _typed(rows, mapping, counts, unknown, path)
                accepted.append(events)
                refused.append(rejects)
        counts["rows_in"] += n_rows
        if not n_rows:
            notes.append(f"{path.name}: a header and no rows")
    if raw_rows:
        events, rejects = _typed(pl.concat(raw_rows), mapping, counts, unknown, told.logs[0])
        accepted.append(events)
        refused.append(rejects)
    if mapping not in SOURCES.values():
        notes += _unknown_actions(unknown)
    return _drop(accepted, refused, counts, conflicts, notes, mapping)


def _drop(
    accepted: list[pl.DataFrame],
    refused: list[pl.DataFrame],
    counts: Counter[str],
    conflicts: int,
    notes: list[str],
    mapping: Mapping,
) -> Drop:
    spec = TABLES["events"]
    events = pl.concat(accepted) if accepted else spec.empty().drop("bucket")
    read = events.height
    events = in_total_order(
        events.with_columns(bucket_column(events["user_id"])), distinct=mapping.duplicates == "drop"
    )
    rejects = conform(pl.concat([TABLES["rejects"].empty(), *refused]).lazy(), "rejects").collect()
    result = {
        "rows_in": counts["rows_in"],
        "events": events.height,
        "rejects": rejects.height,
        "duplicates": read - events.height,
        "dst_ambiguous": counts["dst_ambiguous"],
        "dst_moved": counts["dst_moved"],
        "lookup_conflicts": conflicts,
    }
    if result["rows_in"] != result["events"] + result["rejects"] + result["duplicates"]:
        raise AssertionError(f"rows are not conserved: {result}")
    by_reason = rejects.group_by("reason").len().sort("len", "reason", descending=[True, False])
    reasons = dict(by_reason.iter_rows())
    if mapping.positional and counts["rows_in"] and not read and "time out of window" not in reasons:
        # Without a header only the rows themselves can tell that this is another log.
        what = f"no row can be read as {mapping.name} ({next(iter(reasons))})"
        raise SourceError(rejects["file"][0], rejects["line"][0], what, "Check the source name and the columns")
    capabilities = _capabilities(events, mapping)
    return Drop(
        events,
        rejects,
        result,
        reasons,
        (*notes, *_warnings(events, result, capabilities, mapping)),
        capabilities,
    )


def _joined(rows: pl.DataFrame, mapping: Mapping, tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Rows with the columns of the lookups; a value in the log itself stands."""
    for lookup in mapping.lookups:
        table = tables.get(lookup.name)
        for name in lookup.columns:
            if name not in rows.columns:
                rows = rows.with_columns(pl.lit(None, pl.String).alias(name))
        if table is None:
            continue
        taken = [name for name in lookup.columns if name != lookup.key]
        right = table.select(
            pl.col(lookup.key).alias("__key"), *(pl.col(name).alias(f"__right_{name}") for name in taken)
        )
        rows = rows.join(right, left_on=lookup.log_column, right_on="__key", how="left", maintain_order="left")
        rows = rows.with_columns(pl.coalesce(name, f"__right_{name}").alias(name) for name in taken)
        rows = rows.drop(f"__right_{name}" for name in taken)
    return rows


def _typed(
    rows: pl.DataFrame, mapping: Mapping, counts: Counter[str], unknown: Counter[str], path: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Text rows → events and rejects; counts what is odd, and rows by an action that is `unknown`."""
    fields = {field: getattr(mapping.columns, field) for field in Columns.model_fields}
    frame = rows.select(
        *(_first_value(rows, names, mapping.missing).alias(field) for field, names in fields.items()),
        LINE,
        _FILE,
        RAW,
    )
    clock = mapping.time.relative
    if clock:
        timed = rows.with_columns(frame["user"].alias("__user"))
        times = relative_instants(timed, "__user", clock).to_frame()
        times = times.with_columns(ambiguous=pl.lit(False), moved=pl.lit(False), absent=pl.lit(False))
    else:
        text = rows.select(_first_value(rows, mapping.time.column, mapping.missing).alias("time"))["time"]
        times = instants(text, mapping.time).with_columns(text.is_null().alias("absent"))
    frame = frame.hstack(times).with_columns(**_values(mapping))
    frame = _with_categories(frame, mapping, path).with_columns(_reason(mapping).alias("reason"))
    if frame["reason"].null_count() == frame.height:
        good, bad = frame, frame.clear()
    else:
        good, bad = frame.filter(pl.col("reason").is_null()), frame.filter(pl.col("reason").is_not_null())
    counts["dst_ambiguous"] += int(good["ambiguous"].sum())
    counts["dst_moved"] += int(good["moved"].sum())
    odd = bad.filter(pl.col("reason") == UNKNOWN_ACTION).group_by("action").len()
    unknown.update(dict(odd.iter_rows()))
    if bad.height and bad[RAW].null_count():
        as_json = rows.filter(frame["reason"].is_not_null()).select(_as_json(rows).alias(RAW))
        bad = bad.with_columns(as_json.to_series())
    rejects = bad.select(
        pl.col(_FILE).alias("file"),
        pl.col(LINE).alias("line"),
        "reason",
        pl.col(RAW).str.slice(0, RAW_LIMIT).alias("raw"),
    )
    events = good.select(
        pl.col("user").alias("user_id"),
        "time",
        pl.col("event_action").alias("action"),
        pl.col("item").alias("item_id"),
        "l1",
        "l2",
        "l1_name",
        "l2_name",
        "brand",
        pl.col("price_millionths").alias("price"),
        pl.col("units").alias("quantity"),
        "dwell_ms",
        pl.col("session").alias("session_id"),
    )
    return events, rejects


def _as_json(rows: pl.DataFrame) -> pl.Expr:
    """The row as JSON, for formats whose rows are no text."""
    return pl.struct(name for name in rows.columns if not name.startswith("__")).struct.json_encode()


def _first_value(rows: pl.DataFrame, names: Sequence[str], missing: Sequence[str]) -> pl.Expr:
    """The first of the columns that holds a value: neither null nor blank nor a spelling of missing."""
    values = []
    for name in names:
        if name not in rows.columns:
            continue
        value = pl.col(name)
        if rows.schema[name] == pl.String:
            nothing = value.is_in(["", *missing]) | (value.str.strip_chars() == "")
            value = pl.when(nothing.not_()).then(value)
        values.append(value)
    if not values:
        return pl.lit(None, pl.String)
    return values[0] if len(values) == 1 else pl.coalesce(values)


def _values(mapping: Mapping) -> dict[str, pl.Expr]:
    """Numbers and the action, null where absent or unreadable."""

    def text(field: str) -> pl.Expr:
        return pl.col(field).str.replace(",", ".", literal=True) if mapping.decimal == "," else pl.col(field)

    action: pl.Expr = pl.lit(mapping.action, ACTION)
    if mapping.actions:
        texts, actions = list(mapping.actions), pl.Series(list(mapping.actions.values()), dtype=ACTION)
        action = pl.col("action").replace_strict(texts, actions, default=None, return_dtype=ACTION)
    cancelled = pl.lit(False)
    if mapping.nonpositive_quantity == "cancel":
        cancelled = (whole(text("quantity")) <= 0).fill_null(False)
    if mapping.cancel_prefix:
        cancelled = cancelled | pl.col("session").str.starts_with(mapping.cancel_prefix).fill_null(False)
    return {
        "price_millionths": scaled(text("price"), PRICE_DIGITS),
        "units": whole(text("quantity")),
        "dwell_ms": scaled(text("dwell"), 0),
        "event_action": pl.when(cancelled).then(pl.lit("cancel", ACTION)).otherwise(action),
    }


def _reason(mapping: Mapping) -> pl.Expr:
    """Why a row is refused, null when it is not; the first that applies."""
    start, end = (pl.lit(bound).cast(TIME) for bound in mapping.time.window)
    checks = [
        (pl.col("user").is_null(), "user missing"),
        (pl.col("item").is_null(), "item missing"),
        (pl.col("absent"), "time missing"),
        (pl.col("time").is_null(), "time unreadable"),
    ]
    if mapping.actions:
        checks += [
            (pl.col("action").is_null(), "action missing"),
            (pl.col("event_action").is_null(), UNKNOWN_ACTION),
        ]
    checks.append(((pl.col("time") < start) | (pl.col("time") >= end), "time out of window"))
    numbers = {"price": "price_millionths", "quantity": "units", "dwell": "dwell_ms"}
    for field, parsed in numbers.items():
        if getattr(mapping.columns, field):
            checks.append((pl.col(field).is_not_null() & pl.col(parsed).is_null(), f"{field} unreadable"))
    if mapping.nonpositive_quantity == "reject":
        checks.append(((pl.col("units") <= 0).fill_null(False), "quantity not positive"))
    expression = pl.lit(None, pl.String)
    for condition, reason in reversed(checks):
        expression = pl.when(condition).then(pl.lit(reason)).otherwise(expression)
    return expression


def _with_categories(frame: pl.DataFrame, mapping: Mapping, path: Path) -> pl.DataFrame:
    """Names as written and keys; where the log has two levels a row without the first has none."""
    l1, l2 = pl.col("l1"), pl.col("l2")
    if mapping.columns.dotted:
        l1, l2 = dotted_names(mapping.category_separator)
    if domain := mapping.domain_of(path.name):
        l1 = pl.coalesce(l1, pl.lit(domain))
    frame = frame.with_columns(l1.alias("l1_name"), l2.alias("l2_name"))
    frame = frame.with_columns(key_column(frame["l1_name"]).alias("l1"), key_column(frame["l2_name"]).alias("l2"))
    if mapping.has_l1:
        frame = frame.with_columns(pl.when(pl.col("l1").is_not_null()).then(pl.col("l2")).alias("l2"))
    return frame.with_columns(
        pl.when(pl.col(key).is_not_null()).then(pl.col(f"{key}_name")).alias(f"{key}_name") for key in ("l1", "l2")
    )


def _capabilities(events: pl.DataFrame, mapping: Mapping) -> Capabilities:
    empty = events.is_empty()
    return Capabilities(
        l1=mapping.has_l1 and (empty or events["l1"].null_count() < events.height),
        l2=mapping.has_l2 and (empty or events["l2"].null_count() < events.height),
        clock="synthetic" if mapping.time.relative else "real",
        resolution=mapping.resolution,
    )


def _warnings(events: pl.DataFrame, counts: dict[str, int], capabilities: Capabilities, mapping: Mapping) -> list[str]:
    notes = []
    if not capabilities.l1:
        notes.append("no first category level: only seen against unseen can be asked, infer pools are refused")
    if not capabilities.l2:
        notes.append("no second category level: the build stops after batches")
    if capabilities.clock == "synthetic":
        notes.append("the clock is made from gaps: tables that compare users in time are off")
    if capabilities.resolution in ("hour", "day"):
        notes.append(f"times tell the {capabilities.resolution} only: gaps of 15 and 30 minutes cannot be decided")
    elif _smallest_gap_minutes(events) > UNDECIDABLE_MINUTES:
        notes.append("no user has two times within 15 minutes: gaps of 15 and 30 minutes cannot be decided")
    if counts["dst_ambiguous"] or counts["dst_moved"]:
        notes.append(
            f"clock changes in {mapping.time.zone}: {counts['dst_ambiguous']} times occur twice and are taken as the "
            f"earlier, {counts['dst_moved']} do not exist and are moved forward"
        )
    return notes


def _unknown_actions(unknown: Counter[str]) -> list[str]:
    """What a person who wrote the mapping can do about actions that it does not know, most rows first."""
    told = sorted(unknown.items(), key=lambda one: (-one[1], one[0]))
    remedy = "add it to `actions:` of the mapping, or leave it rejected"
    notes = [
        f"action {text[:40]!r} ({rows} row{'' if rows == 1 else 's'}): {remedy}" for text, rows in told[:SHOWN_ACTIONS]
    ]
    more = len(told) - SHOWN_ACTIONS
    return [*notes, f"{more} more actions that the mapping does not know"] if more > 0 else notes


def _smallest_gap_minutes(events: pl.DataFrame) -> float:
    """Smallest time greater than zero between two events of a user; 0 when no user has two times."""
    gap = pl.col("time").diff()
    same = pl.col("user_id") == pl.col("user_id").shift()
    gaps = events.select(gap.filter(same & (gap > pl.duration(microseconds=0))).min().alias("gap"))["gap"]
    smallest = gaps.item()
    return 0.0 if smallest is None else smallest.total_seconds() / 60
