"""Scores over questions: by checkpoint, task and family; then over checkpoints and users (reference 5.3, 9.17).

Means over questions count every question. A checkpoint at which nothing was answered
was not run: its scores are null, and so is every mean that needs it.
"""

import polars as pl

from pipelines.applogs.tables import UNIT_STATUSES

ALL = "all"
MEANS = (
    "score",
    "compat_score",
    "score_bound",
    "points",
    "mechanical",
    "list_precision",
    "list_recall",
    "evidence_precision",
    "evidence_recall",
    "evidence_f1",
    "stale_evidence",
)
PLACE = ["user_id", "checkpoint_id"]


def checkpoint_scores(units: pl.DataFrame) -> pl.DataFrame:
    """One row a user, checkpoint, task, expectation and family (`all` and each): counts, and means over questions.

    Columns: `n_items`, one `n_<status>` a status, `coverage` (answered or abstained / asked), `run`; of every score
    its macro mean over questions under its own name, and for `score`, `compat_score`, `mechanical` also `…_micro`
    (over fields) and `…_families` (mean of the families' macro means; in rows of family `all`). A score that some
    question lacks is null, as is every score of a checkpoint that was not run.
    """
    kinds = [*PLACE, "task", "expectation"]
    texts = pl.col("family", "task", "expectation", "status").cast(pl.String)
    # A checkpoint was run when anything of it was answered, whatever the cell.
    rows = units.with_columns(texts).with_columns((pl.col("status") != "missing").any().over(PLACE).alias("run"))
    each = _means(rows, [*kinds, "family"])
    whole = _means(rows.with_columns(family=pl.lit(ALL)), [*kinds, "family"])
    weighed = ("score", "compat_score", "mechanical")
    families = each.group_by(kinds).agg(_whole_mean(name).alias(f"{name}_families") for name in weighed)
    empty = [pl.lit(None, pl.Float64).alias(f"{name}_families") for name in weighed]
    return pl.concat(
        [whole.join(families, on=kinds, how="left"), each.with_columns(empty)], how="vertical"
    ).sort(*kinds, pl.col("family") != ALL, "family")  # fmt: skip


def _means(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    n_fields = pl.col("n_fields")
    micro = [
        pl.when((pl.col(name).null_count() == 0) & (n_fields.sum() > 0))
        .then((pl.col(name) * n_fields).sum() / n_fields.sum())
        .alias(f"{name}_micro")
        for name in ("score", "compat_score", "mechanical")
    ]  # fmt: skip
    counted = rows.group_by(by).agg(
        pl.len().alias("n_items"),
        pl.col("run").all(),
        *((pl.col("status") == status).sum().alias(f"n_{status}") for status in UNIT_STATUSES),
        *(_whole_mean(name).alias(name) for name in MEANS),
        *micro,
    )
    run = pl.col("run")
    scores = [*MEANS, *(f"{name}_micro" for name in ("score", "compat_score", "mechanical"))]
    return counted.with_columns(
        ((pl.col("n_ok") + pl.col("n_abstained")) / pl.col("n_items")).alias("coverage"),
        *(pl.when(run).then(pl.col(name)).alias(name) for name in scores),
    )


def _whole_mean(name: str) -> pl.Expr:
    """Mean of a column; null when a value is."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean())


def over_checkpoints(scores: pl.DataFrame, name: str) -> pl.DataFrame:
    """Mean over each user's checkpoints, then over users, of score `name` in rows of `checkpoint_scores`.

    One row a task, expectation and family: `value` (null when some checkpoint has none), `n_users`, `n_checkpoints`,
    `n_not_run`, the checkpoints missing.
    """
    kinds = ["task", "expectation", "family"]
    users = scores.group_by("user_id", *kinds).agg(
        _whole_mean(name).alias("value"), pl.len().alias("n"), (~pl.col("run")).sum().alias("not_run")
    )
    return (
        users.group_by(kinds)
        .agg(
            _whole_mean("value").alias("value"),
            pl.len().alias("n_users"),
            pl.col("n").sum().alias("n_checkpoints"),
            pl.col("not_run").sum().alias("n_not_run"),
        )
        .sort(kinds)
    )
