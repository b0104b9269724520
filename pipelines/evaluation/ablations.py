"""Ablations: the configurations of a memory beside its plain one, on the same units (ours)."""

import json

import polars as pl

from pipelines.evaluation.experiment import LABEL, Experiment, Value

CONFIGURATIONS = pl.Schema(
    {"place": pl.UInt32(), "memory": pl.String(), "method": pl.String(), "config": pl.String(), "plain": pl.Boolean()}
)
"""One row a configuration, in the order of `place`; `method` is its name in tables, `plain` what others are held to."""

_BOARD = ["reader", "budget", "pool"]
_RECALL = ("recall", "recall_low", "recall_high", "tokens")
_PAIRED = ("difference", "low", "high", "p", "p_holm", "separable")


def configurations(experiment: Experiment) -> pl.DataFrame:
    """Frame `CONFIGURATIONS` of the memories that an experiment runs in several configurations, in the file's order.

    Plain is the first configuration that sets nothing, or else the first of all; a label sets nothing.
    """
    rows: list[tuple[int, str, str, str, bool]] = []
    for memory in experiment.methods:
        own = [(label, config) for label, name, config in experiment.configured() if name == memory]
        plain = next((label for label, config in own if not set(config) - {LABEL}), own[0][0])
        if len(own) > 1:
            rows += [(len(rows) + at, memory, one, _said(config), one == plain) for at, (one, config) in enumerate(own)]
    return pl.DataFrame(rows, schema=CONFIGURATIONS, orient="row")


def ablations(board: pl.DataFrame, differences: pl.DataFrame, configured: pl.DataFrame) -> pl.DataFrame:
    """Recall of every configuration, and how far it is from that of its memory's plain one: one row a configuration,
    reader, budget and pool.

    Made of published rows alone: tables `leaderboard` and `differences`, and frame `CONFIGURATIONS`. Columns: memory,
    reader, budget, pool, method, kind, config, plain, recall with its 95 % interval, tokens (mean of the readouts),
    `plain_recall`; `difference` = recall − that of the plain one, on the units that both read, with its interval `low`
    and `high`, p of sign flips, `p_holm` (Holm over all pairs of the board and pool, as in `differences`) and
    `separable`: all null for the plain one, and where they were not compared. Sorted by place of the memory, reader,
    budget, pool, plain first, place of the configuration.
    """
    whole = board.filter(pl.col("group_kind").cast(pl.String) == "all").with_columns(
        pl.col("pool", "kind").cast(pl.String)
    )
    plain = configured.filter("plain").select("memory", pl.col("method").alias("other"))
    level = whole.select(*_BOARD, other="method", plain_recall="recall")
    return (
        configured.with_columns(pl.col("place").min().over("memory").alias("first"))
        .join(plain, on="memory", how="left")
        .join(whole.select(*_BOARD, "method", "kind", *_RECALL), on="method", how="inner")
        .join(level, on=[*_BOARD, "other"], how="left")
        .join(_both_ways(differences), on=[*_BOARD, "method", "other"], how="left")
        .sort("first", *_BOARD, ~pl.col("plain"), "place")
        .select("memory", *_BOARD, "method", "kind", "config", "plain", *_RECALL, "plain_recall", *_PAIRED)
    )


def _both_ways(differences: pl.DataFrame) -> pl.DataFrame:
    """Every pair as it stands and turned round: the difference and the ends of its interval change sign."""
    pairs = differences.with_columns(pl.col("pool").cast(pl.String)).select(*_BOARD, "method", "other", *_PAIRED)
    turned = pairs.with_columns(
        method="other",
        other="method",
        difference=0 - pl.col("difference"),
        low=0 - pl.col("high"),
        high=0 - pl.col("low"),
    )
    return pl.concat([pairs, turned])


def _said(config: dict[str, Value]) -> str:
    """A configuration as text; its label is no part of it."""
    said = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in config.items() if name != LABEL]
    return ", ".join(said) or "defaults"
