"""What stands beside an app-log leaderboard: retention and update, failure attribution, the published metrics."""

from collections.abc import Iterable

import polars as pl

from pipelines.applogs import compat_2026
from pipelines.applogs.board import ARM
from pipelines.applogs.board_tables import ALL, APPLOG_BOARD_TABLES
from pipelines.applogs.retention import retention, value_histories


def _conform(rows: Iterable[pl.DataFrame], table: str) -> pl.DataFrame:
    spec = APPLOG_BOARD_TABLES[table]
    frames = [spec.empty()]
    frames += [frame.select(pl.col(name).cast(dtype) for name, dtype in spec.schema.items()) for frame in rows]
    return pl.concat(frames).sort(spec.sort_by)


def retained(
    units: pl.DataFrame, judged: pl.DataFrame, states: pl.DataFrame, checkpoints: pl.DataFrame, truth: str
) -> pl.DataFrame:
    """Table `applog_retention`: score `mechanical` over all questions, and `score` over the judged ones.

    `units` and `judged` have the columns `ARM`; `states` is `gold_states`, whose values of `truth` count.
    """
    histories = value_histories(states, checkpoints)
    found = []
    for rows, metric in ((units, "mechanical"), (judged, "score")):
        for arm, mine in rows.group_by(ARM, maintain_order=True):
            kept = retention(mine.drop(ARM), histories, truth=truth, score=metric)
            named = [pl.lit(value).alias(name) for name, value in zip(ARM, arm, strict=True)]
            found.append(kept.with_columns(*named, place=pl.col("checkpoint_index") + 1, metric=pl.lit(metric)))
    return _conform(found, "applog_retention")


def attributed(labels: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Table `applog_attribution` of the labels of wrong answers (`attribution.attribute`, with the columns `ARM`)."""
    key = [*ARM, "user_id", "item"]
    named = labels.join(units.select(*key, "task", "family"), on=key).with_columns(
        pl.col("task", "family", "label").cast(pl.String)
    )
    both = pl.concat([named, named.with_columns(family=pl.lit(ALL))])
    place = [*ARM, "task", "family"]
    counts = both.group_by(*place, "label").agg(pl.len().alias("n_items"))
    return _conform(
        [counts.with_columns(share=pl.col("n_items") / pl.col("n_items").sum().over(place))], "applog_attribution"
    )


def published_metrics(arm: tuple[object, ...], units: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """Rows of `applog_compat` of one arm: the published summary, a mean over the users that have the metric."""
    users = compat_2026.summary(compat_2026.checkpoint_metrics(units, standing))
    rows = users.group_by("metric").agg(pl.col("value").mean(), pl.len().alias("n_users"))
    named = [pl.lit(value).alias(name) for name, value in zip(ARM, arm, strict=True)]
    return _conform([rows.with_columns(named)], "applog_compat")
