"""What a readout's tokens and a method's model calls buy: recall against budget, and recall beside cost (ours).

Both are made of published rows (`leaderboard`, `costs`); nothing is computed again.
"""

import polars as pl

_CURVE = ["reader", "pool", "method"]
_ARM = ["method", "reader", "budget"]
_RECALL = ("recall", "recall_low", "recall_high")
_AMOUNTS = ("n_calls", "prompt_tokens", "reply_tokens", "seconds", "cost")


class UnlikeUnits(ValueError):
    """Budgets of one curve that were not asked the same pools."""


def token_curve(board: pl.DataFrame) -> pl.DataFrame:
    """Recall of every method at every budget it was read under, with its 95 % interval: one row a point.

    Columns: reader, pool, method, kind, `budget` (tokens allowed), `tokens` (mean of those read), recall with
    `recall_low` and `recall_high`, chance, and `gain`: recall less that at the next smaller budget, null at the
    smallest. Rows that read nothing (oracle, popularity, chance) have no curve. Sorted by reader, pool, method, budget.

    Raises `UnlikeUnits` when the budgets of a reader and pool differ in their units: their recalls are then of unlike
    things.
    """
    whole = _arms(board)
    asked = whole.group_by("reader", "pool").agg(pl.struct("n_units", "n_positives").n_unique().alias("n"))
    if unlike := asked.filter(pl.col("n") > 1).sort("reader", "pool").select("reader", "pool").rows():
        shown = ", ".join(f"{pool} read by {reader}" for reader, pool in unlike)
        raise UnlikeUnits(f"budgets were asked different units: {shown}; evaluate them on the same users and pools")
    return (
        whole.sort(*_CURVE, "budget")
        .with_columns((pl.col("recall") - pl.col("recall").shift(1).over(_CURVE)).alias("gain"))
        .select(*_CURVE, "kind", "budget", "tokens", *_RECALL, "chance", "gain")
    )


def beside_cost(board: pl.DataFrame, costs: pl.DataFrame) -> pl.DataFrame:
    """Recall of every arm beside what its model calls took: one row a reader, pool, method and budget.

    Columns: reader, pool, method, budget, kind, recall with its interval; of building the memory and of reading it, one
    by one, `build_…` and `read_…`, and of both together: `n_calls`, `prompt_tokens`, `reply_tokens`, `seconds` (summed
    latencies), `cost` (USD, null where a model has no price); `frontier`: no other arm of the same reader and pool has
    at least its recall for at most its cost, and one of the two strictly; null without a cost.

    An arm without calls took nothing. Reading is that of all pools of the arm, as they are asked together.
    """
    points = _arms(board).select("reader", "pool", "method", "budget", "kind", *_RECALL)
    for prefix, steps in (("build_", ["build"]), ("read_", ["read"]), ("", ["build", "read"])):
        took = _took(costs.filter(pl.col("step").is_in(steps)), prefix)
        points = points.join(took, on=_ARM, how="left").with_columns(
            # An arm that is not in `costs` made no call; one that is and has no price keeps its null.
            pl.when(pl.col(f"{prefix}n_calls").is_null()).then(0).otherwise(pl.col(name)).alias(name)
            for name in took.columns[len(_ARM) :]
        )
    points = points.with_row_index("point")
    beaten = (
        points.join(points, on=["reader", "pool"], how="inner", suffix="_other")
        .filter(
            (pl.col("recall_other") >= pl.col("recall"))
            & (pl.col("cost_other") <= pl.col("cost"))
            & ((pl.col("recall_other") > pl.col("recall")) | (pl.col("cost_other") < pl.col("cost")))
        )
        .select("point")
        .unique()
    )
    on_it = pl.when(pl.col("cost").is_not_null()).then(~pl.col("point").is_in(beaten["point"].implode()))
    return points.with_columns(on_it.alias("frontier")).drop("point").sort("reader", "pool", "method", "budget")


def _arms(board: pl.DataFrame) -> pl.DataFrame:
    """The rows of whole boards that read a memory."""
    read = (pl.col("group_kind").cast(pl.String) == "all") & (pl.col("kind").cast(pl.String) != "scoring side")
    return board.filter(read).with_columns(pl.col("pool", "kind").cast(pl.String))


def _took(costs: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """Sums over models and steps by arm, sorted before adding, so that no order shows; no price is no sum."""
    unpriced = pl.col("cost").is_null().any()
    return (
        costs.group_by(_ARM)
        .agg(
            pl.col("n_calls", "prompt_tokens", "reply_tokens").sum(),
            pl.col("seconds").sort().sum(),
            pl.when(~unpriced).then(pl.col("cost").sort().sum()).alias("cost"),
        )
        .rename({name: f"{prefix}{name}" for name in _AMOUNTS})
    )
