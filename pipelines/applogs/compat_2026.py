"""The published numbers by their published names (reference 5.3 to 5.6): `compat = "dynamicmem-2026"`.

As published, a checkpoint without a prediction has no row, and summaries are plain
means over the rows there are; beside them stand the strict ones of `summary`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from pipelines.applogs.evidence import evidence_scores
from pipelines.applogs.state_values import aligned, template

COMPAT = "dynamicmem-2026"
_TOKEN = re.compile(r"[a-z0-9_]+")
_PLACE = ["user_id", "checkpoint_id"]
_OVERLAPS = ("precision", "recall", "f1")


def checkpoint_metrics(units: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """One row a user, run checkpoint and metric: user_id, checkpoint_id, `metric`, `value`. Sorted.

    `units` and `standing` of published items; metrics that need a judge are absent without one.
    """
    told = _values(standing).join(
        standing.select("user_id", "item", *evidence_scores(cited="retrieved", prefix="retrieval")),
        on=["user_id", "item"], how="right",
    )  # fmt: skip
    rows = units.filter(pl.col("expectation") == "value").join(told, on=["user_id", "item"], how="left")
    ran = rows.group_by(_PLACE).agg((pl.col("status") != "missing").any().alias("run")).filter("run")
    rows = rows.join(ran, on=_PLACE, how="semi")
    state = rows.filter(pl.col("task") == "state_completion").group_by(_PLACE)
    service = rows.filter(pl.col("task") == "personalised_service").group_by(_PLACE)
    weight, score = pl.col("n_fields"), pl.col("compat_score")
    answered = pl.col("status") == "ok"
    wide = [
        state.agg(
            ((score * weight).sum() / weight.sum()).alias("snapshot_holistic_score"),
            pl.col("points").mean().alias("snapshot_point_score_mean_on_expected"),
            pl.col("value_f1").mean().alias("snapshot_value_f1_mean_on_expected"),
            pl.col("value_exact").mean().alias("snapshot_value_accuracy_on_expected"),
            pl.col("value_exact").all().cast(pl.Float64).alias("snapshot_exact_match"),
            *(pl.col(f"{kind}_{name}").mean().alias(f"snapshot_{kind}_{name}_mean_on_expected")
              for kind in ("evidence", "retrieval") for name in _OVERLAPS),
            pl.col("evidence_exact").mean().alias("snapshot_evidence_exact_match_mean_on_expected"),
            score.null_count().alias("unjudged"),
        ),
        service.agg(
            score.mean().alias("rq3_apply_holistic_score"),
            pl.col("points").mean().alias("rq3_apply_answer_point_score_mean"),
            *(pl.col(f"{kind}_{name}").mean().alias(f"rq3_apply_{kind}_{name}")
              for kind in ("evidence", "retrieval") for name in _OVERLAPS),
            answered.mean().alias("rq3_apply_key_coverage"),
            answered.sum().cast(pl.Float64).alias("rq3_apply_item_count"),
            score.null_count().alias("unjudged"),
        ),
    ]  # fmt: skip
    long = []
    for frame in wide:
        judged = [name for name in frame.columns if name.endswith("_holistic_score")]
        kept = frame.with_columns(pl.when(pl.col("unjudged") == 0).then(pl.col(name)).alias(name) for name in judged)
        long.append(kept.drop("unjudged").unpivot(index=_PLACE, variable_name="metric", value_name="value"))
    return pl.concat(long).filter(pl.col("value").is_not_null()).sort(*_PLACE, "metric")


def summary(metrics: pl.DataFrame) -> pl.DataFrame:
    """One row a user and metric, named `…_mean`: the plain mean over the checkpoints that have it."""
    named = metrics.with_columns(pl.concat_str("metric", pl.lit("_mean")).alias("metric"))
    return named.group_by("user_id", "metric").agg(pl.col("value").mean()).sort("user_id", "metric")


def value_f1(gold: Any, given: Any) -> float:
    """F1 of the words of all leaf values, names and order aside; both empty 1, one empty 0."""
    right, said = _tokens(gold), _tokens(given)
    if not right or not said:
        return float(not right and not said)
    return 2 * (right & said).total() / (right.total() + said.total())


def _tokens(value: Any) -> "Counter[str]":
    return Counter(token for leaf in _leaves(value) for token in _TOKEN.findall(leaf.lower()))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


def _values(standing: pl.DataFrame) -> pl.DataFrame:
    """`value_f1` and `value_exact` of each state item whose right value is told; the answer in the template's shape."""
    rows = standing.filter((pl.col("task") == "state_completion") & pl.col("reference").is_not_null())
    f1, exact = [], []
    for reference, answer in rows.select("reference", "answer").iter_rows():
        gold = json.loads(reference)
        given = None if answer is None else aligned(template(gold), json.loads(answer))
        f1.append(value_f1(gold, given))
        exact.append(gold == given)
    return rows.select("user_id", "item").with_columns(
        pl.Series("value_f1", f1, dtype=pl.Float64), pl.Series("value_exact", exact, dtype=pl.Boolean)
    )
