"""The rubric Core + Detail and its scores (DynamicMem, arXiv:2606.22877: the holistic judge).

A part is worth 0.8 · core + 0.2 · detail / 2. An item is worth the mean of its parts;
one with a gate is worth nothing unless the gate's core is right, and then the mean of
its other parts. A part on which the judge erred is not known: it counts 0 in the score
and 1 in the upper bound, and is never left out.
"""

import polars as pl

from pipelines.evaluation.judging.rubric import Field, Rubric, only_judge

CORE, DETAIL = "core_correct", "detail_quality"
CORE_DETAIL = Rubric(
    name="core_detail",
    instructions="judge/core_detail",
    fields=(Field(CORE, "bool"), Field(DETAIL, "int", low=0, high=2)),
)
CORE_WEIGHT, DETAIL_WEIGHT = 0.8, 0.2


def part_scores(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Verdicts with `score` and `strict_score`, in [0, 1], null where the judge erred.

    `score` is as published, so that a wrong core with good detail is worth something; in `strict_score` it is not.
    """
    core, detail = pl.col(CORE).cast(pl.Float64), pl.col(DETAIL).cast(pl.Float64)
    score = CORE_WEIGHT * core + DETAIL_WEIGHT * detail / 2
    return verdicts.with_columns(score.alias("score"), (core * score).alias("strict_score"))


def item_scores(verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row an item: user_id, item, `score`, `strict_score`, their upper bounds `…_high`, `n_parts`, `n_errors`.

    Sorted by item. Raises `MixedJudges`.
    """
    if verdicts.height:
        only_judge(verdicts)
    names = ("score", "strict_score")
    scored = part_scores(verdicts).with_columns(
        *(pl.col(name).fill_null(1.0).alias(f"{name}_high") for name in names),
        *(pl.col(name).fill_null(0.0) for name in names),
    )
    gate, core = pl.col("gate"), pl.col(CORE)
    opened = core.fill_null(False).filter(gate).all()
    may_open = core.fill_null(True).filter(gate).all()

    def mean(name: str, passes: pl.Expr) -> pl.Expr:
        rest = pl.col(name).filter(~gate)
        return pl.when(passes).then(rest.mean().fill_null(1.0)).otherwise(0.0).alias(name)

    return (
        scored.group_by("user_id", "item")
        .agg(
            *(mean(name, opened) for name in names),
            *(mean(f"{name}_high", may_open) for name in names),
            pl.len().alias("n_parts"),
            (pl.col("status") != "ok").sum().alias("n_errors"),
        )
        .sort("item")
    )
