"""What the labels of a release look like, by layer and split, beside the paper's counts (paper §A.3)."""

from typing import Any

import polars as pl

from pipelines.onchain.beliefs import FLAT
from pipelines.onchain.tables import ACTIONS, SPLITS

PAPER_INSTANCES = {
    ("belief", "train"): 99_012,
    ("belief", "validation"): 21_213,
    ("belief", "test"): 21_220,
    ("belief", "all"): 141_445,
    ("trade", "train"): 1_040_094,
    ("trade", "validation"): 222_939,
    ("trade", "test"): 222_939,
    ("trade", "all"): 1_485_972,
}
"""Instances of the paper's 2,000 evaluation wallets."""

LABELS: dict[str, pl.DataType | type[pl.DataType]] = {
    "layer": pl.String,
    "split": pl.String,
    "instances": pl.Int64,
    "wallets": pl.Int64,
    "paper": pl.Int64,
    "flat": pl.Float64,
    "flat_full": pl.Float64,
    "tied": pl.Float64,
    "flips": pl.Float64,
    "buys": pl.Float64,
    "median_amount": pl.Float64,
    **dict.fromkeys(ACTIONS, pl.Float64),
}
"""Columns of `label_statistics`; shares of the instances but for counts and the median, which is in 10⁻⁶ share."""


def label_statistics(beliefs: pl.DataFrame, trades: pl.DataFrame) -> pl.DataFrame:
    """One row a layer and split, and one (`all`) a layer, of the evaluation wallets; columns `LABELS`.

    `flips` is the share of beliefs whose side is another one in the full ledger than in the trade-only ledger,
    `flat_full` the share that holds nothing there. What a layer does not have, and shares of nothing, are null.
    """
    belief = {
        "flat": (pl.col("side") == FLAT).mean(),
        "flat_full": (pl.col("side_full") == FLAT).mean(),
        "tied": pl.col("tie").mean(),
        "flips": pl.col("flips").mean(),
    }
    trade = {
        "buys": (pl.col("direction").cast(pl.String) == "BUY").mean(),
        "median_amount": pl.col("amount").median(),
        **{action: (pl.col("action").cast(pl.String) == action).mean() for action in ACTIONS},
    }
    rows = []
    for layer, instances, shares in (("belief", beliefs, belief), ("trade", trades, trade)):
        evaluated = instances.filter(pl.col("cohort").cast(pl.String) == "evaluation")
        for split in (*SPLITS, "all"):
            part = evaluated if split == "all" else evaluated.filter(pl.col("split").cast(pl.String) == split)
            rows.append(_row(layer, split, part, shares))
    return pl.DataFrame(rows, schema=LABELS, orient="row")


def _row(layer: str, split: str, part: pl.DataFrame, shares: dict[str, pl.Expr]) -> tuple[Any, ...]:
    values = part.select(expression.cast(pl.Float64).alias(name) for name, expression in shares.items()).to_dicts()[0]
    row = {
        "layer": layer,
        "split": split,
        "instances": part.height,
        "wallets": part["wallet"].n_unique(),
        "paper": PAPER_INSTANCES[layer, split],
        **values,
    }
    return tuple(row.get(name) for name in LABELS)
