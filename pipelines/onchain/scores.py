"""Table `prediction_units`: every target of the frozen set held against its prediction (paper §A.1; statuses ours).

The targets decide the set: one without a prediction is `missing`, one whose answer cannot
be used keeps its status, and neither ever leaves the denominator. Two readings come of it:
- `valid`: targets with a usable answer only;
- `all`: a target without one is wrong, its confidence error is 1, and its amount counts as 0.
"""

from typing import Literal

import polars as pl

from pipelines.onchain.board_tables import PREDICTION_STATUSES, PREDICTION_TABLES

Layer = Literal["belief", "trade"]
LAYERS: tuple[Layer, ...] = ("belief", "trade")
EVALUATOR_VERSION = "1"
"""Enters every comparison; raised when a number could come out differently."""
_TARGET = ["wallet", "event"]


class BadPredictions(ValueError):
    """Predictions that do not belong to the frozen targets, or that break the table's contract."""


def units(targets: pl.DataFrame, predictions: pl.DataFrame, layer: Layer, *, method: str, reader: str) -> pl.DataFrame:
    """Table `prediction_units` of one arm and layer: one row for every row of `targets`.

    `targets` are rows of `belief_instances` or `trade_instances` of one or several splits: pass those that
    were asked. `correct` compares the side, flat being a side of its own, or the direction; `error` is
    |confidence − label| or |amount − label|. An answer said to be ok that lacks a value or has one out of
    range is invalid. Raises `BadPredictions` on an unknown status, a target answered twice, or an answer
    that names no target.
    """
    answers = predictions.filter(pl.col("layer").cast(pl.String) == layer)
    event, label, size = ("cut_event", "side", "confidence") if layer == "belief" else ("event", "direction", "amount")
    asked = targets.select(
        "wallet",
        pl.col(event).alias("event"),
        "condition_id",
        "split",
        pl.col(label).alias("label"),
        pl.col(size).alias("size"),
        pl.col("action").cast(pl.String) if layer == "trade" else pl.lit(None, pl.String).alias("action"),
    )
    _refuse(answers, asked, layer)
    rows = asked.join(answers.select(*_TARGET, "status", label, size), on=_TARGET, how="left", suffix="_given")
    given = pl.col(size)
    usable = pl.col(label).is_not_null() & (given >= 0)
    if layer == "belief":
        usable &= (given <= 1).fill_null(False)
    ok = pl.col("status") == "ok"
    # Amounts are compared as integers: a difference of two non-negative ones cannot overflow.
    error = (given - pl.col("size")).abs().cast(pl.Float64)
    without = pl.lit(1.0) if layer == "belief" else pl.col("size").cast(pl.Float64)
    judged = rows.with_columns(
        pl.when(ok & ~usable.fill_null(False))
        .then(pl.lit("invalid"))
        .otherwise(pl.col("status").fill_null("missing"))
        .alias("status")
    ).with_columns(
        pl.when(ok).then(pl.col(label) == pl.col("label")).alias("correct"),
        pl.when(ok).then(error).alias("error"),
        pl.when(ok).then(error).otherwise(without).alias("error_all"),
        pl.lit(method).alias("method"),
        pl.lit(reader).alias("reader"),
        pl.lit(layer).alias("layer"),
    )
    table = PREDICTION_TABLES["prediction_units"]
    return judged.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items()).sort(table.sort_by)


def _refuse(answers: pl.DataFrame, asked: pl.DataFrame, layer: Layer) -> None:
    if unknown := sorted(set(answers["status"].unique()) - set(PREDICTION_STATUSES)):
        raise BadPredictions(f"{layer}: unknown status {unknown}; one of {', '.join(PREDICTION_STATUSES)}")
    if twice := answers.height - answers.select(_TARGET).n_unique():
        raise BadPredictions(f"{layer}: {twice} targets are answered twice; a method answers each target once")
    if strays := answers.join(asked, on=_TARGET, how="anti").height:
        raise BadPredictions(f"{layer}: {strays} answers name no target; predictions and targets are of other releases")
