"""Paired differences between the methods of a board, on the units that both answered or failed (not: never read)."""

import numpy as np
import polars as pl

from pipelines.evaluation import intervals
from pipelines.evaluation.leaderboard import boards
from pipelines.evaluation.pairs import Pair, pair_rows, pairs_of
from pipelines.evaluation.readers import UNIT
from pipelines.evaluation.scores import CHANCE, ORACLE
from pipelines.rounding import published
from pipelines.schema import TABLES, conform


def differences(units: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Table `differences`, every pair of methods of every board and pool: micro recall of `method` − that of `other`.

    The interval is the user-cluster bootstrap's; p is of sign flips of the
    users' differences in hits; Holm over all pairs of the board and pool;
    `separable` when p_holm < 0.05. One common user gives no interval and no p.
    Oracle and chance are no contenders; popularity is.
    """
    tables = [
        _table(key, pool, part, seed)
        for key, board in boards(units)
        for pool, part in _contenders(board).partition_by("pool", as_dict=True, maintain_order=True).items()
    ]
    rows = pl.concat([TABLES["differences"].empty(), *tables])
    return conform(published(rows).lazy(), "differences").collect()


def _contenders(board: pl.DataFrame) -> pl.DataFrame:
    return board.filter(~pl.col("method").is_in([ORACLE, CHANCE])).sort("pool", "method", *UNIT)


def _table(key: tuple[str, int], pool: tuple[object, ...], part: pl.DataFrame, seed: int) -> pl.DataFrame:
    methods = part["method"].unique().sort().to_list()
    if len(methods) < 2:
        return TABLES["differences"].empty()
    hits, positives, n_units, n_users = _paired(part, methods, pairs_of(methods))
    means, _ = intervals.bootstrap(hits, positives, seed)
    rows = pair_rows(methods, means, intervals.sign_flip_p(hits, seed), n_units, n_users)
    named = rows.with_columns(reader=pl.lit(key[0]), budget=pl.lit(key[1]), pool=pl.lit(pool[0]))
    return named.select(pl.col(name).cast(dtype) for name, dtype in TABLES["differences"].schema.items())


def _paired(
    part: pl.DataFrame, methods: list[str], pairs: list[Pair]
) -> tuple[intervals.Matrix, intervals.Matrix, np.ndarray, np.ndarray]:
    """Users × pairs: difference in hits and positives, both on common units; and how many units and users those are."""
    positives = part.filter(pl.col("method") == methods[0]).select(*UNIT, "n_positives").sort(UNIT)
    columns = []
    for method in methods:
        read = part.filter((pl.col("method") == method) & (pl.col("status") != "missing")).select(*UNIT, "n_hit")
        columns.append(positives.join(read, on=UNIT, how="left", maintain_order="left")["n_hit"].to_numpy())
    hit = np.column_stack(columns).astype(np.float64)
    first, second = hit[:, [a for a, _ in pairs]], hit[:, [b for _, b in pairs]]
    common = ~(np.isnan(first) | np.isnan(second))
    asked = common * positives["n_positives"].to_numpy()[:, None].astype(np.float64)
    starts = np.flatnonzero(positives["user_id"].ne_missing(positives["user_id"].shift(1)).to_numpy())
    by_user = np.add.reduceat(np.where(common, first - second, 0.0), starts, axis=0)
    asked_by_user = np.add.reduceat(asked, starts, axis=0)
    return by_user, asked_by_user, common.sum(axis=0), (asked_by_user > 0).sum(axis=0)
