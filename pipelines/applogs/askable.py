"""Which of what is true at a checkpoint the visible logs tell at all; only that may be asked (ours).

A state that lasts may be told long after it began (`synthesis.tellings`), and a change just before
a checkpoint may not be told yet: to ask for it would ask for a guess.
"""

import polars as pl

_PLACE = ["user_id", "checkpoint_id", "state_key"]


def askable(
    states: pl.DataFrame, intervals: pl.DataFrame, evidence: pl.DataFrame, logs: pl.DataFrame, checkpoints: pl.DataFrame
) -> pl.DataFrame:
    """Rows of `gold_states` (truth `as_of`) that can be known from the logs that are visible at their checkpoint.

    A value: each of its intervals (each member of a collection) has a visible log that supports it. What is true
    `no_longer`: every interval that ended last, at one time, has a log after its end that tells of it. What was
    `never` true is kept.
    """
    at = checkpoints.select("user_id", "checkpoint_id", "as_of", "n_visible")
    owners = ["user_id", "state_key", "value_id"]
    told = evidence.join(logs.select("user_id", "position", "time"), on=["user_id", "position"]).select(
        *owners, "position", "time", pl.col("role").cast(pl.String)
    )
    begun = intervals.join(at, on="user_id").filter(pl.col("valid_from") <= pl.col("as_of"))
    holds = (pl.col("as_of") < pl.col("valid_to")).fill_null(True)
    seen = told.join(at, on="user_id").filter(pl.col("position") < pl.col("n_visible"))
    supported = seen.filter(pl.col("role") == "supports").select(*owners, "checkpoint_id").unique()
    value = _all_of(begun.filter(holds), supported)
    last = begun.filter(~holds & (pl.col("valid_to") == pl.col("valid_to").max().over(_PLACE)))
    ended = (
        seen.filter(pl.col("role") == "cause")
        .join(last.select(*owners, "checkpoint_id", "valid_to"), on=[*owners, "checkpoint_id"])
        .filter(pl.col("time") >= pl.col("valid_to"))
        .select(*owners, "checkpoint_id")
        .unique()
    )
    known = pl.concat(
        [
            value.with_columns(pl.lit("value").alias("expectation")),
            _all_of(last, ended).with_columns(pl.lit("no_longer").alias("expectation")),
        ]
    )
    kind = states.with_columns(pl.col("expectation").cast(pl.String).alias("kind"))
    kept = kind.join(known.rename({"expectation": "kind"}), on=[*_PLACE, "kind"], how="semi")
    never = kind.filter(pl.col("kind") == "never")
    return pl.concat([kept, never]).drop("kind").sort(_PLACE)


def _all_of(intervals: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """States of which every one of the intervals is told."""
    keys = ["user_id", "state_key", "value_id", "checkpoint_id"]
    untold = intervals.join(told, on=keys, how="anti")
    return intervals.select(_PLACE).unique().join(untold, on=_PLACE, how="anti")
