"""The leaderboard of an on-chain release: predictors on the same frozen targets (paper §A.1; intervals ours)."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.evaluation import intervals
from pipelines.evaluation.cluster_medians import drawn_median, user_medians
from pipelines.evaluation.groups import quarters
from pipelines.evaluation.pairs import ranks
from pipelines.onchain.board_tables import PREDICTION_TABLES, READINGS, STATUSES
from pipelines.onchain.contenders import WITHOUT_HISTORY, is_control
from pipelines.onchain.layer_matrix import LayerMatrix, layer_matrices
from pipelines.onchain.ordering import Bools
from pipelines.onchain.tables import ACTIONS
from pipelines.rounding import published

LOWER_IS_BETTER = {"accuracy": False, "mae": True, "medae": True}
METRICS_OF = {"belief": ("accuracy", "mae"), "trade": ("accuracy", "mae", "medae")}
_CELL = ["board", "layer", "metric"]
_TABLE = PREDICTION_TABLES["prediction_board"]


def prediction_board(
    units: pl.DataFrame,
    differences: pl.DataFrame,
    seed: int = 0,
    resamples: int = intervals.RESAMPLES,
    weak: Collection[str] = (),
) -> pl.DataFrame:
    """Table `prediction_board` of `prediction_units`, with ranks and bands from `prediction_differences`.

    `value` is over all targets, `by_wallet` the mean of the wallets' own; both have 95 % intervals of wallets
    resampled whole. `medae` of an even count is the mean of the middle two. Groups stand in reading `all`
    only: quarters of wallets by how many targets they have, and the action of a trade. `best` is the value
    were every target without a usable answer right, so the truth lies between it and `value`. Rows of the
    readers in `weak` are flagged as such.

    Raises `ValueError` when `units` is empty, has a row twice, or when methods of a board cover different targets.
    """
    if units.is_empty():
        raise ValueError("no targets to rank: no target of the frozen set belongs to the sampled wallets")
    rows = [row for part in layer_matrices(units) for row in _layer(part, differences, seed, resamples)]
    frame = pl.DataFrame(rows, schema=_TABLE.schema, orient="row")
    return _flagged(published(frame), weak).sort(_TABLE.sort_by)


def _layer(part: LayerMatrix, differences: pl.DataFrame, seed: int, resamples: int) -> Iterator[tuple[object, ...]]:
    for kind, place, name, kept in _groups(part):
        group = part if kind == "all" else part.rows(kept)
        for reading in READINGS if kind == "all" else ("all",):
            for row in _cells(group, reading, seed, resamples):
                ranked = _ranks(group, row, differences) if (kind, reading) == ("all", "all") else {}
                for m, method in enumerate(part.methods):
                    named = {
                        "board": part.board,
                        "layer": part.layer,
                        "reading": reading,
                        "group_kind": kind,
                        "place": place,
                        "group": name,
                        "method": method,
                        "reader": part.readers[m],
                        "kind": "control" if is_control(method) else "method",
                        "flags": "",
                        **{column: values if column == "metric" else values[m] for column, values in row.items()},
                        **ranked.get(method, {}),
                    }
                    yield tuple(named.get(column) for column in _TABLE.columns)


def _groups(part: LayerMatrix) -> Iterator[tuple[str, int, str, Bools]]:
    """Kind, place, name of every group, and which targets are in it; the whole first."""
    yield "all", 0, "all", np.ones(part.targets.height, np.bool_)
    per_wallet = part.targets.group_by("wallet").agg(pl.len().alias("n"))
    of_wallets = part.targets.join(quarters(per_wallet, "n", "targets"), on="wallet", how="left", maintain_order="left")
    for place, name in of_wallets.select("place", "group").unique().sort("place").iter_rows():
        yield "activity", place, name, (of_wallets["place"] == place).to_numpy()
    if part.layer == "trade":
        for place, name in enumerate(ACTIONS):
            yield "action", place, name, (part.targets["action"] == name).to_numpy()


def _cells(part: LayerMatrix, reading: str, seed: int, resamples: int) -> Iterator[dict[str, Any]]:
    """One mapping a metric: column → its values by method."""
    known = ~np.isnan(part.error)
    counted = known if reading == "valid" else np.ones_like(known)
    error = part.error if reading == "valid" else part.error_all
    hits = np.where(known, part.correct, 0.0)
    statuses = {f"n_{name}": (part.status == place).sum(axis=0) for place, name in enumerate(STATUSES)}
    shape = {
        "coverage": _share(known.sum(axis=0), len(known)),
        "n_units": counted.sum(axis=0),
        "n_wallets": (part.by_wallet(counted.astype(np.float64)) > 0).sum(axis=0),
        **statuses,
    }
    sizes = part.by_wallet(counted.astype(np.float64))
    spared = np.where(known, error, 0.0)
    sums = {"accuracy": hits, "mae": np.where(counted, error, 0.0)}
    bests = {"accuracy": np.where(known, hits, 1.0), "mae": spared}
    for metric, values in sums.items():
        micro, macro = intervals.bootstrap(part.by_wallet(values), sizes, seed, resamples)
        best = _share(bests[metric].sum(axis=0), len(known))
        yield _cell(metric, micro, macro, best if reading == "all" else None, shape)
    if part.layer == "trade":
        micro, macro = _medians(part, error, seed, resamples)
        best = np.array([np.median(column) if len(column) else np.nan for column in spared.T])
        yield _cell("medae", micro, macro, best if reading == "all" else None, shape)


def _cell(
    metric: str,
    micro: intervals.Means,
    macro: intervals.Means,
    best: npt.NDArray[np.float64] | None,
    shape: dict[str, Any],
) -> dict[str, Any]:
    return {
        "metric": metric,
        "value": micro.value,
        "low": micro.low,
        "high": micro.high,
        "by_wallet": macro.value,
        "by_wallet_low": macro.low,
        "by_wallet_high": macro.high,
        "best": np.full(len(micro.value), np.nan) if best is None else best,
        **shape,
    }


def _medians(
    part: LayerMatrix, error: intervals.Matrix, seed: int, resamples: int
) -> tuple[intervals.Means, intervals.Means]:
    drawn = [drawn_median(column, part.wallet, part.n_wallets, seed, resamples) for column in error.T]
    own = np.array([user_medians(column, part.wallet, part.n_wallets) for column in error.T]).T
    asked = ~np.isnan(own)
    value = np.array([one.value for one in drawn])
    micro = intervals.with_interval(value, np.array([one.resamples for one in drawn]).T, asked.sum(axis=0) >= 2)
    _, macro = intervals.bootstrap(np.where(asked, own, 0.0), asked.astype(np.float64), seed, resamples)
    return micro, macro


def _ranks(part: LayerMatrix, row: dict[str, Any], differences: pl.DataFrame) -> dict[str, dict[str, object]]:
    metric = str(row["metric"])
    mine = differences.filter(
        (pl.col("board") == part.board)
        & (pl.col("layer").cast(pl.String) == part.layer)
        & (pl.col("metric").cast(pl.String) == metric)
    )
    value = np.asarray(row["value"], np.float64)
    return ranks(part.methods, value, mine, lower_is_better=LOWER_IS_BETTER[metric])


def _share(count: npt.NDArray[Any], of: int) -> npt.NDArray[np.float64]:
    return count / of if of else np.full(len(count), np.nan)


def _flagged(board: pl.DataFrame, weak: Collection[str]) -> pl.DataFrame:
    """Methods that are no better than knowing nothing of the wallet or than the best baseline; answers that lack."""
    headline = (pl.col("group_kind") == "all") & (pl.col("reading") == "all")
    lower = pl.col("metric").replace_strict(LOWER_IS_BETTER, return_dtype=pl.Boolean)
    worth = pl.when(lower).then(-pl.col("value")).otherwise(pl.col("value"))
    whole = board.with_columns(worth.alias("worth")).filter(headline)
    blind = whole.filter(pl.col("method") == WITHOUT_HISTORY).select(*_CELL, pl.col("worth").alias("blind"))
    rules = (
        whole.filter((pl.col("kind") == "control") & (pl.col("method") != WITHOUT_HISTORY))
        .sort("worth", "method", descending=[True, False])
        .group_by(_CELL, maintain_order=True)
        .agg(pl.col("worth").first().alias("rule"), pl.col("method").first().alias("best_rule"))
    )
    levels = board.with_columns(worth.alias("worth")).join(blind, on=_CELL, how="left", maintain_order="left")
    levels = levels.join(rules, on=_CELL, how="left", maintain_order="left")
    judged = headline & (pl.col("kind") == "method")
    flags = [
        pl.when(judged & (pl.col("worth") <= pl.col("blind"))).then(pl.lit("no better than without history")),
        pl.when(judged & (pl.col("worth") <= pl.col("rule"))).then(pl.format("no better than {}", pl.col("best_rule"))),
        pl.when(pl.col("coverage") < 1).then(pl.lit("coverage < 1")),
        pl.when(pl.col("reader").is_in(list(weak))).then(pl.lit("weak model")),
    ]
    return levels.with_columns(pl.concat_str(flags, separator="; ", ignore_nulls=True).alias("flags")).select(
        board.columns
    )
