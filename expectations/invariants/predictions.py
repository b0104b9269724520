"""Invariants of `predictions`, `prediction_units`, `prediction_board` and `prediction_differences`."""

from typing import Any

import polars as pl

from expectations.invariants.rules import Frames, among, lacking, never, no_rows, not_checked, ordered, same_rows
from pipelines.findings import Finding
from pipelines.onchain.board_tables import STATUSES

TARGET = ["layer", "wallet", "event"]
_ANSWER = {"belief": ("side", "confidence"), "trade": ("direction", "amount")}
_GROUP = ["board", "layer", "metric", "reading", "group_kind", "group"]
_BOARD = ["board", "layer", "metric"]
_HAIR = 1e-6
"""Published numbers are rounded, so that they agree to a hair only, and large ones to as much of their size."""


def predictions(frames: Frames, settings: Any) -> list[Finding]:
    """Total order; an answer exactly where one is claimed, of its own layer; companion `histories`: the targets."""
    frame = frames["predictions"]
    layer, ok = pl.col("layer").cast(pl.String), pl.col("status") == "ok"
    wrong = pl.any_horizontal(
        pl.col(name).is_not_null() != (ok & (layer == of)) for of, names in _ANSWER.items() for name in names
    )
    findings = [
        ordered("predictions", frame),
        never("answered", "side and confidence, or direction and amount, exactly where the status is ok", frame, wrong),
        no_rows(
            "answered_once",
            "a method answers a target once",
            frame.filter(pl.struct("method", "reader", *TARGET).is_duplicated()),
        ),
    ]
    if missing := lacking(frames, "histories"):
        return [*findings, not_checked("of_a_target", *missing)]
    return [*findings, among("of_a_target", "every prediction is of a target", frame, frames["histories"], TARGET)]


def prediction_units(frames: Frames, settings: Any) -> list[Finding]:
    """Total order; judged exactly where an answer can be used; companion `predictions`: each of them is in a unit."""
    frame = frames["prediction_units"]
    ok, belief = pl.col("status") == "ok", pl.col("layer").cast(pl.String) == "belief"
    findings = [
        ordered("prediction_units", frame),
        never(
            "judged",
            "correct and error are known exactly where the status is ok, and error_all is the error there",
            frame,
            (pl.col("correct").is_null() == ok)
            | (pl.col("error").is_null() == ok)
            | (ok & (pl.col("error") != pl.col("error_all"))),
        ),
        never(
            "confidence",
            "an error of a confidence is at most 1, and 1 without a usable answer",
            frame,
            belief & ((pl.col("error_all") > 1) | (~ok & (pl.col("error_all") != 1))),
        ),
        never("action", "trades have an action, beliefs none", frame, pl.col("action").is_null() != belief),
    ]
    if missing := lacking(frames, "predictions"):
        return [*findings, not_checked("of_a_prediction", *missing)]
    key = ["method", "reader", *TARGET]
    given = frame.filter(pl.col("status") != "missing")
    made = frames["predictions"].join(frame, on=TARGET, how="semi")
    return [*findings, same_rows("of_a_prediction", "whatever was answered is in a unit, once", given, made, key)]


def prediction_board(frames: Frames, settings: Any) -> list[Finding]:
    """Numbers that agree with their counts, ranks with values; companion `prediction_units`: counted again."""
    frame = frames["prediction_board"]
    total = pl.sum_horizontal(f"n_{status}" for status in STATUSES)
    reading, metric = pl.col("reading").cast(pl.String), pl.col("metric").cast(pl.String)
    whole = (pl.col("group_kind").cast(pl.String) == "all") & (reading == "all")
    worth = pl.when(metric == "accuracy").then(pl.col("value")).otherwise(-pl.col("value"))
    facts = ["place", "total", "n_units", "n_wallets"]
    of_all = frame.filter(reading == "all").with_columns(total.alias("total"))
    same = of_all.group_by(_GROUP).agg(pl.col(facts).n_unique())
    findings = [
        ordered("prediction_board", frame),
        *(
            never(
                f"interval({name})",
                f"{name} has an interval whose two ends are known together, and lies in it",
                frame,
                (pl.col(low).is_null() != pl.col(high).is_null())
                | _differ(pl.col(name), pl.col(name).clip(pl.col(low), pl.col(high))),
                "warning",
            )
            for name, low, high in (("value", "low", "high"), ("by_wallet", "by_wallet_low", "by_wallet_high"))
        ),
        never(
            "shares",
            "accuracies are shares, and so are errors of confidences",
            frame,
            ((metric == "accuracy") | (pl.col("layer").cast(pl.String) == "belief")) & (pl.col("value") > 1),
        ),
        never(
            "valued",
            "a value is known exactly where a target counts",
            frame,
            pl.col("value").is_null() == (pl.col("n_units") > 0),
        ),
        never(
            "best",
            "in reading all the best case is no worse than the value; in reading valid there is none",
            frame,
            (pl.col("best").is_null() != ((reading == "valid") | (total == 0)))
            | (_sign(metric) * (pl.col("best") - pl.col("value")) < -_HAIR),
        ),
        never(
            "statuses",
            "reading all counts every target, reading valid those with status ok, and coverage is their share",
            frame,
            (pl.col("n_units") != pl.when(reading == "all").then(total).otherwise(pl.col("n_ok")))
            | _differ(pl.col("coverage"), pl.col("n_ok") / total),
        ),
        never(
            "competes",
            "rank and band stand over all targets in reading all, and nowhere else",
            frame,
            (pl.col("rank").is_not_null() != whole) | (pl.col("band").is_not_null() != whole),
        ),
        no_rows(
            "ranks",
            "a rank is 1 + the methods with a better value, and no band is above one of a better rank",
            frame.filter(whole)
            .with_columns(worth.rank("min", descending=True).over(_BOARD).alias("expected"))
            .sort(*_BOARD, "rank", "band")
            .filter((pl.col("rank") != pl.col("expected")) | (pl.col("band") < pl.col("band").shift().over(_BOARD))),
        ),
        no_rows(
            "same_units",
            "all methods of a group stand on the same targets",
            same.filter(pl.any_horizontal(pl.col(name) > 1 for name in facts)),
        ),
    ]
    if missing := lacking(frames, "prediction_units"):
        return [*findings, not_checked("counts", *missing)]
    cell = ["method", "reader", "layer"]
    counts = [f"n_{status}" for status in STATUSES]
    added = frames["prediction_units"].group_by(cell).agg(
        (pl.col("status") == status).sum().cast(pl.Int64).alias(f"n_{status}") for status in STATUSES
    )  # fmt: skip
    found = frame.filter(whole & (metric == "accuracy")).select(*cell, *counts).unique()
    return [*findings, same_rows("counts", "statuses are those of the units", found, added, [*cell, *counts])]


def prediction_differences(frames: Frames, settings: Any) -> list[Finding]:
    """Pairs by name, p that can be; companion `prediction_board`: one row a pair, and the difference of its values."""
    frame = frames["prediction_differences"]
    p_holm = pl.col("p_holm")
    findings = [
        ordered("prediction_differences", frame),
        never("by_name", "the first of a pair comes first by name", frame, pl.col("method") >= pl.col("other")),
        never(
            "interval",
            "both ends of an interval are known together",
            frame,
            pl.col("low").is_null() != pl.col("high").is_null(),
        ),
        never(
            "separable",
            "separable says that p_holm is below 0.05, and p is known with its correction",
            frame,
            (pl.col("separable") != (p_holm < 0.05).fill_null(False)) | (pl.col("p").is_null() != p_holm.is_null()),
        ),
    ]
    if missing := lacking(frames, "prediction_board"):
        return [*findings, *(not_checked(name, *missing) for name in ("pairs", "of_values"))]
    values = (
        frames["prediction_board"]
        .filter((pl.col("group_kind").cast(pl.String) == "all") & (pl.col("reading").cast(pl.String) == "all"))
        .select(*_BOARD, "method", "value", "n_missing")
    )
    pairs = values.join(
        values.rename({"method": "other", "value": "__value", "n_missing": "__missing"}), on=_BOARD
    ).filter(pl.col("method") < pl.col("other"))
    pair = [*_BOARD, "method", "other"]
    missed = pl.col("n_missing").sum().over(_BOARD)
    asked = values.with_columns(missed.alias("__missed")).select(*_BOARD, "__missed").unique()
    return [
        *findings,
        same_rows("pairs", "each two methods of a board are compared once by each metric", frame, pairs, pair),
        never(
            "of_values",
            "where every method was asked every target, the difference is that of their values",
            frame.join(pairs, on=pair, maintain_order="left").join(asked, on=_BOARD, maintain_order="left"),
            (pl.col("__missed") == 0)
            & _differ(pl.col("difference"), pl.col("value") - pl.col("__value"), "value", "__value"),
        ),
    ]


def _sign(metric: pl.Expr) -> pl.Expr:
    return pl.when(metric == "accuracy").then(1).otherwise(-1)


def _differ(one: pl.Expr, other: pl.Expr, *of: str) -> pl.Expr:
    """Further apart than rounding explains, that of the columns `of` included; null where either is.

    Figures have ten digits (`rounding.published`).
    """
    return (one - other).abs() > _HAIR * pl.max_horizontal(
        1.0, one.abs() * 1e-2, *(pl.col(name).abs() * 1e-2 for name in of)
    )


PREDICTIONS = {
    "predictions": predictions,
    "prediction_units": prediction_units,
    "prediction_board": prediction_board,
    "prediction_differences": prediction_differences,
}
