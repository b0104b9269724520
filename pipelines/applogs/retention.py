"""Retention and update: what became of the right values between checkpoints, and how each kind is answered."""

import polars as pl

from pipelines.applogs.tables import HISTORY

_KEY = ["user_id", "truth", "state_key"]


def value_histories(states: pl.DataFrame, checkpoints: pl.DataFrame) -> pl.DataFrame:
    """What became of each state that is true at a checkpoint: its key, checkpoint_id, checkpoint_index and `history`.

    first: at C1. At a later Ck, compared with the right values before: retained: the same in every checkpoint C1…Ck;
    updated: another one in Ck−1; changed_earlier: the same in Ck−1 and not so since C1; new: none in Ck−1.
    `states` is the table `gold_states`; its values are canonical, so equal values have equal texts.
    """
    order = checkpoints.select("user_id", "checkpoint_id", "checkpoint_index")
    rows = (
        states.filter(pl.col("expectation") == "value")
        .join(order, on=["user_id", "checkpoint_id"])
        .sort(*_KEY, "checkpoint_index")
    )
    index, value = pl.col("checkpoint_index"), pl.col("value")
    adjacent = index.shift().over(_KEY) == index - 1
    same = (adjacent & (value.shift().over(_KEY) == value)).fill_null(False)
    changed = (adjacent & (value.shift().over(_KEY) != value)).fill_null(False)
    since_first = ((index == 0) | same).cast(pl.Int8).cum_min().over(_KEY) == 1
    history = (
        pl.when(index == 0).then(pl.lit("first")).when(since_first).then(pl.lit("retained"))
        .when(changed).then(pl.lit("updated")).when(same).then(pl.lit("changed_earlier")).otherwise(pl.lit("new"))
    )  # fmt: skip
    return rows.select(*_KEY, "checkpoint_id", "checkpoint_index", history.cast(HISTORY).alias("history"))


def retention(
    units: pl.DataFrame, histories: pl.DataFrame, *, truth: str, score: str, task: str = "state_completion"
) -> pl.DataFrame:
    """Mean of `score` over the states of each history: one row a checkpoint, family (`all` and each) and history.

    Columns checkpoint_index, family, history, n_items, `n_missing`, value: the mean over users of each user's mean over
    states; null when a question has no such score, or when a user with such states did not run the checkpoint.
    """
    kept = histories.filter(pl.col("truth").cast(pl.String) == truth)
    rows = (
        units.filter(pl.col("task").cast(pl.String) == task)
        .join(kept, on=["user_id", "state_key", "checkpoint_id"])
        .with_columns(pl.col("family").cast(pl.String), missing=pl.col("status") == "missing")
    )
    ran = rows.group_by("user_id", "checkpoint_index").agg((~pl.col("missing")).any().alias("run"))
    both = pl.concat([rows, rows.with_columns(family=pl.lit("all"))]).join(ran, on=["user_id", "checkpoint_index"])
    by = ["checkpoint_index", "family", "history"]
    usable = pl.col("run").all() & (pl.col(score).null_count() == 0)
    users = both.group_by(*by, "user_id").agg(
        pl.len().alias("n_items"),
        pl.col("missing").sum().alias("n_missing"),
        pl.when(usable).then(pl.col(score).mean()).alias("value"),
    )
    whole = pl.when(pl.col("value").null_count() == 0).then(pl.col("value").mean())
    return (
        users.group_by(by)
        .agg(pl.col("n_items", "n_missing").sum(), whole.alias("value"))
        .sort("checkpoint_index", pl.col("family") != "all", "family", "history")
    )
