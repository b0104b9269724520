"""Whether a leaderboard can be believed: the rows whose right value is known beforehand (ours)."""

from typing import Literal

import polars as pl

from pipelines.evaluation.leaderboard import EMPTY
from pipelines.evaluation.scores import ORACLE

CREDIBLE = {
    "oracle_is_one": "the row that reads the gold finds every positive",
    "empty_is_chance": "the row without memory stands within the interval around chance",
    "frequency_knows_seen": "frequency_profile beats chance on seen categories",
}

Outcome = tuple[bool, Literal["error", "warning"], str]


def credibility(board: pl.DataFrame) -> dict[str, Outcome]:
    """Check → (passed, severity, what was observed); a row that is not on the board has nothing to fail.

    The interval of `empty` holds chance in 95 % of releases only, so that check warns.
    """
    whole = board.filter(pl.col("group_kind") == "all")
    ceiling = whole.filter(pl.col("method") == ORACLE)
    none = whole.filter((pl.col("method") == EMPTY) & pl.col("recall_low").is_not_null())
    outside = none.filter((pl.col("chance") < pl.col("recall_low")) | (pl.col("chance") > pl.col("recall_high")))
    seen = board.filter((pl.col("method") == "frequency_profile") & (pl.col("group") == "seen"))
    below = seen.filter(pl.col("recall") <= pl.col("chance"))
    return {
        "oracle_is_one": ((ceiling["recall"] == 1.0).all(), "error", _listed(ceiling, "recall")),
        "empty_is_chance": (outside.is_empty(), "warning", _listed(none, "recall", "chance")),
        "frequency_knows_seen": (below.is_empty(), "warning", _listed(seen, "recall", "chance")),
    }


def _listed(rows: pl.DataFrame, *columns: str) -> str:
    shown = [f"{row['pool']}: " + ", ".join(f"{name} {row[name]}" for name in columns) for row in rows.to_dicts()]
    return "; ".join(shown) or "not on this board"
