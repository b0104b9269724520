"""What is true at a checkpoint, twice: at the moment, and by the last finished event chains (reference 2, 6.2, 9.6–10).

The second lags: a chain counts once its last log is visible. Both come with the
logs that show them; at the moment the evidence is minimal, value by value.
"""

import json

import polars as pl

from pipelines.applogs.json_text import canonical
from pipelines.applogs.state_values import family_of, normalised
from pipelines.applogs.tables import APPLOG_TABLES

TAKES_AWAY = ("drop", "remove", "deleted")
_STATE = ["user_id", "state_key"]
_PLACE = ["user_id", "checkpoint_id", "state_key"]


class BadTimeline(ValueError):
    """Intervals of a state that overlap, end before they begin, or whose value is none."""


def as_of_truth(intervals: pl.DataFrame, evidence: pl.DataFrame, checkpoints: pl.DataFrame) -> pl.DataFrame:
    """Rows of `gold_states` (truth `as_of`): every state whose interval holds the as-of time, from ≤ t < to.

    A set-valued state is the list of its members that are true, in the order of their beginning. `evidence` are the
    visible logs that support what is true; `evidence_previous` those that support only what was; `distractors` those
    that imitate the state. A state that was true before and is not any more is a row `no_longer` without a value.
    Raises `BadTimeline`.
    """
    _check(intervals)
    at = checkpoints.select("user_id", "checkpoint_id", "as_of", "n_visible")
    begun = intervals.join(at, on="user_id").filter(pl.col("valid_from") <= pl.col("as_of"))
    holds = (pl.col("as_of") < pl.col("valid_to")).fill_null(True)
    states = (
        begun.with_columns(holds.alias("holds"))
        .sort(*_PLACE, "valid_from", "value_id")
        .group_by(_PLACE, maintain_order=True)
        .agg(
            pl.col("value").filter("holds").alias("values"),
            pl.col("member").is_not_null().any().alias("is_set"),
        )
    )
    values = [_value(held, is_set) for held, is_set in states.select("values", "is_set").iter_rows()]
    told = states.with_columns(pl.Series("value", values, dtype=pl.String))
    shown = _evidence(begun.with_columns(holds.alias("holds")), evidence, at)
    joined = told.join(shown, on=_PLACE, how="left").with_columns(
        pl.col(name).fill_null(pl.lit([], pl.List(pl.String)))
        for name in ("evidence", "evidence_previous", "distractors")
    )
    return _table(joined, "as_of")


def _value(held: list[str], is_set: bool) -> str | None:
    if not held:
        return None
    read = [json.loads(text) for text in held]
    value = normalised(read if is_set else read[0])
    return None if value is None else canonical(value)


def _check(intervals: pl.DataFrame) -> None:
    rows = intervals.sort(*_STATE, "member", "valid_from", "value_id", nulls_last=False)
    groups = [*_STATE, "member"]
    ends = pl.col("valid_to").shift().over(groups)
    later = pl.int_range(pl.len()).over(groups) > 0
    overlap = later & (ends.is_null() | (ends > pl.col("valid_from")))
    backwards = pl.col("valid_to") <= pl.col("valid_from")
    for broken, what in ((overlap, "overlap"), (backwards, "end before they begin")):
        bad = rows.filter(broken.fill_null(False))
        if bad.height:
            user, key = bad.row(0, named=True)["user_id"], bad.row(0, named=True)["state_key"]
            raise BadTimeline(f"{bad.height} intervals {what}, first of {key} of {user}")


def _evidence(begun: pl.DataFrame, evidence: pl.DataFrame, at: pl.DataFrame) -> pl.DataFrame:
    role = pl.col("role").cast(pl.String)
    seen = evidence.join(at, on="user_id").filter(pl.col("position") < pl.col("n_visible")).sort("position")
    owned = seen.filter(role == "supports").join(begun.select(*_PLACE, "value_id", "holds"), on=[*_PLACE, "value_id"])
    ids = pl.col("app_log_id").sort_by("position")
    supports = owned.group_by(_PLACE).agg(
        ids.filter(pl.col("holds").sort_by("position")).unique(maintain_order=True).alias("evidence"),
        ids.filter(~pl.col("holds").sort_by("position")).unique(maintain_order=True).alias("earlier"),
    )
    imitating = (
        seen.filter(role == "distractor").group_by(_PLACE).agg(ids.unique(maintain_order=True).alias("distractors"))
    )
    return supports.join(imitating, on=_PLACE, how="full", coalesce=True).select(
        *_PLACE,
        "evidence",
        pl.col("earlier").list.set_difference(pl.col("evidence")).alias("evidence_previous"),
        "distractors",
    )


def finished_chain_truth(changes: pl.DataFrame, checkpoints: pl.DataFrame) -> pl.DataFrame:
    """Rows of `gold_states` (truth `finished_chain`), as the published replay makes them.

    Changes are applied when their chain's last log is visible, in the order of those logs; the last value stays until
    another or a drop. Evidence is every log of the state's chains so far, old values' included. A state stays only if
    the chain of its value is valid; one that was dropped is a row `no_longer`.
    """
    at = checkpoints.select("user_id", "checkpoint_id", "n_visible")
    done = (
        changes.join(at, on="user_id")
        .filter(pl.col("end_position") < pl.col("n_visible"))
        .sort(*_PLACE, "end_position", "chain_id", "place")
    )
    takes = pl.col("change_type").str.to_lowercase().is_in(TAKES_AWAY)
    sets = takes | pl.col("value").is_not_null()
    last = pl.col("value").filter(sets).last()
    gone = takes.filter(sets).last().fill_null(True)
    states = done.group_by(_PLACE, maintain_order=True).agg(
        pl.when(~gone).then(last).alias("raw"),
        gone.alias("gone"),
        pl.col("valid").filter(sets).last().fill_null(False).alias("valid"),
        pl.col("evidence").explode().drop_nulls().unique(maintain_order=True).alias("evidence"),
        takes.any().alias("dropped"),
    )
    kept = states.filter((~pl.col("gone") & pl.col("valid")) | (pl.col("gone") & pl.col("dropped")))
    values = [None if raw is None else _value([raw], False) for raw in kept["raw"].to_list()]
    told = kept.with_columns(
        pl.Series("value", values, dtype=pl.String),
        pl.when("gone").then(pl.lit([], pl.List(pl.String))).otherwise("evidence").alias("evidence"),
        pl.lit(None, pl.List(pl.String)).alias("evidence_previous"),
        pl.lit(None, pl.List(pl.String)).alias("distractors"),
    ).filter(pl.col("gone") | pl.col("value").is_not_null())
    return _table(told, "finished_chain")


def _table(states: pl.DataFrame, truth: str) -> pl.DataFrame:
    families = {key: family_of(key) for key in states["state_key"].unique().to_list()}
    table = APPLOG_TABLES["gold_states"]
    rows = states.with_columns(
        pl.lit(truth).alias("truth"),
        pl.col("state_key").replace_strict(families, return_dtype=pl.String).alias("family"),
        pl.when(pl.col("value").is_null()).then(pl.lit("no_longer")).otherwise(pl.lit("value")).alias("expectation"),
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items()).sort(table.sort_by)


def never_true(states: pl.DataFrame, keys: pl.DataFrame, checkpoints: pl.DataFrame, truth: str) -> pl.DataFrame:
    """Rows `never` of `gold_states`: `keys` (user_id, state_key) that no checkpoint of the user knows, at each of them.

    Give the keys of others, or those that distractors imitate; a key that was ever true is passed over.
    """
    ever = states.filter(pl.col("truth").cast(pl.String) == truth).select(_STATE).unique()
    asked = keys.select(_STATE).unique().join(ever, on=_STATE, how="anti")
    rows = asked.join(checkpoints.select("user_id", "checkpoint_id"), on="user_id")
    empty = pl.lit([], pl.List(pl.String))
    named = rows.with_columns(
        pl.lit(None, pl.String).alias("value"),
        *(empty.alias(name) for name in ("evidence", "evidence_previous", "distractors")),
    )
    return _table(named, truth).with_columns(
        pl.lit("never").cast(APPLOG_TABLES["gold_states"].schema["expectation"]).alias("expectation")
    )


def truth_differences(states: pl.DataFrame) -> pl.DataFrame:
    """Where both definitions differ: user_id, checkpoint_id, state_key, `as_of`, `finished_chain` (null: not true)."""
    held = states.filter(pl.col("expectation").cast(pl.String) == "value")
    sides = [
        held.filter(pl.col("truth").cast(pl.String) == truth).select(*_PLACE, pl.col("value").alias(truth))
        for truth in ("as_of", "finished_chain")
    ]
    both = sides[0].join(sides[1], on=_PLACE, how="full", coalesce=True)
    return both.filter(pl.col("as_of").ne_missing(pl.col("finished_chain"))).sort(_PLACE)
