"""What stands beside an app-log leaderboard: retention and update, failure attribution, the published metrics."""

from collections.abc import Iterable

import polars as pl

from pipelines.applogs import compat_2026
from pipelines.applogs.answers import ITEM
from pipelines.applogs.board import ARM, on_boards
from pipelines.applogs.board_tables import ALL, APPLOG_BOARD_TABLES
from pipelines.applogs.retention import retention, value_histories
from pipelines.applogs.tables import FAILURES
from pipelines.evaluation.judging.agreement import kappa_interval, tables_by_user
from pipelines.rounding import published


def _conform(rows: Iterable[pl.DataFrame], table: str) -> pl.DataFrame:
    spec = APPLOG_BOARD_TABLES[table]
    frames = [spec.empty()]
    frames += [frame.select(pl.col(name).cast(dtype) for name, dtype in spec.schema.items()) for frame in rows]
    return published(pl.concat(frames)).sort(spec.sort_by)


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
    """Table `applog_attribution` of the labels of wrong answers, with the columns `ARM`, `by`, user_id, item, label.

    Those by rule are `attribution.attribute`, those by a judge `labels_by_judge`.
    """
    key = [*ARM, *ITEM]
    named = labels.join(units.select(*key, "task", "family"), on=key).with_columns(
        pl.col("by", "task", "family", "label").cast(pl.String)
    )
    both = pl.concat([named, named.with_columns(family=pl.lit(ALL))])
    place = [*ARM, "by", "task", "family"]
    counts = both.group_by(*place, "label").agg(pl.len().alias("n_items"))
    return _conform(
        [counts.with_columns(share=pl.col("n_items") / pl.col("n_items").sum().over(place))], "applog_attribution"
    )


def labels_by_judge(failures: pl.DataFrame) -> pl.DataFrame:
    """Labels by a judge, from `applog_failures` with the columns `ARM`; an error or `untold` stands as one."""
    label = pl.coalesce(pl.col("label").cast(pl.String), "status")
    return failures.select(*ARM, *ITEM, pl.lit("judge").alias("by"), label.alias("label"))


def label_agreement(labels: pl.DataFrame, units: pl.DataFrame, judge: str, weak: bool, seed: int = 0) -> pl.DataFrame:
    """Table `applog_agreement` from the labels by rule and by the `judge` (as for `attributed`), over all methods.

    An answer to which no text was delivered, as those of rules, is left out: no judge was asked of it. The bootstrap of
    kappa draws users. `units` are all of the experiment's, which tell the boards.
    """
    arms = on_boards(units.select(ARM).unique())
    key = [*ARM, *ITEM]
    wide = labels.filter(pl.col("by") == "judge", pl.col("label") != "untold").join(
        labels.filter(pl.col("by") == "rule").select(*key, pl.col("label").cast(pl.String).alias("first")), on=key
    )
    placed = wide.join(units.select(*key, pl.col("task").cast(pl.String)), on=key).join(arms, on=ARM)
    rows = [
        _agreed(part, seed) | {"board": board, "task": task, "judge": judge, "weak": weak}
        for (board, task), part in placed.rename({"label": "second"}).group_by("board", "task", maintain_order=True)
    ]
    made = pl.DataFrame(rows, schema=APPLOG_BOARD_TABLES["applog_agreement"].schema)
    return _conform([made], "applog_agreement")


def _agreed(labelled: pl.DataFrame, seed: int) -> dict[str, object]:
    """Of judged answers with their labels by rule (`first`) and by judge (`second`)."""
    both = labelled.filter(pl.all_horizontal(pl.col("first", "second").is_in(list(FAILURES))))
    equal = both.filter(pl.col("first") == pl.col("second")).height
    value, low, high = kappa_interval(tables_by_user(both, FAILURES), seed)
    return {
        "n_judged": labelled.height,
        "n_errors": labelled.filter(pl.col("second") == "judge_error").height,
        "n_both": both.height,
        "n_equal": equal,
        "n_users": both["user_id"].n_unique(),
        "agreement": equal / both.height if both.height else None,
        "kappa": value,
        "kappa_low": low,
        "kappa_high": high,
    }


def published_metrics(arm: tuple[object, ...], units: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """Rows of `applog_compat` of one arm: the published summary, a mean over the users that have the metric."""
    users = compat_2026.summary(compat_2026.checkpoint_metrics(units, standing))
    rows = users.group_by("metric").agg(pl.col("value").mean(), pl.len().alias("n_users"))
    named = [pl.lit(value).alias(name) for name, value in zip(ARM, arm, strict=True)]
    return _conform([rows.with_columns(named)], "applog_compat")
