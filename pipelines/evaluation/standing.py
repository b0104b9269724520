"""Whether a leaderboard can be believed: the rows whose right value is known beforehand (ours)."""

import polars as pl

from pipelines.evaluation.leaderboard import EMPTY
from pipelines.evaluation.scores import ORACLE
from pipelines.findings import Finding, Severity

CREDIBLE = {
    "oracle_is_one": "the row that reads the gold finds every positive",
    "empty_is_chance": "the row without memory stands within the interval around chance",
    "frequency_knows_seen": "frequency_profile beats chance on seen categories",
}


def credibility(board: pl.DataFrame) -> list[Finding]:
    """One finding a name of `CREDIBLE`; a row that is not on the board has nothing to fail.

    The interval of `empty` holds chance in 95 % of releases only, so that check warns.
    """
    whole = board.filter(pl.col("group_kind") == "all")
    ceiling = whole.filter(pl.col("method") == ORACLE)
    none = whole.filter((pl.col("method") == EMPTY) & pl.col("recall_low").is_not_null())
    outside = none.filter((pl.col("chance") < pl.col("recall_low")) | (pl.col("chance") > pl.col("recall_high")))
    seen = board.filter((pl.col("method") == "frequency_profile") & (pl.col("group") == "seen"))
    below = seen.filter(pl.col("recall") <= pl.col("chance"))
    return [
        _finding("oracle_is_one", "error", ceiling, ceiling.filter(pl.col("recall") != 1.0), "recall"),
        _finding("empty_is_chance", "warning", none, outside, "recall", "chance"),
        _finding("frequency_knows_seen", "warning", seen, below, "recall", "chance"),
    ]


def _finding(name: str, severity: Severity, rows: pl.DataFrame, failed: pl.DataFrame, *columns: str) -> Finding:
    bad = None if failed.is_empty() else failed.select("reader", "budget", "pool", *columns)
    return Finding(name, failed.is_empty(), severity, _listed(rows, *columns), CREDIBLE[name], bad)


def _listed(rows: pl.DataFrame, *columns: str) -> str:
    shown = [f"{row['pool']}: " + ", ".join(f"{name} {row[name]}" for name in columns) for row in rows.to_dicts()]
    return "; ".join(shown) or "not on this board"
