"""Paired differences between the predictors of a board, on the targets that all of them were asked."""

import numpy as np
import polars as pl

from pipelines.evaluation import intervals
from pipelines.evaluation.cluster_medians import drawn_median
from pipelines.evaluation.pairs import pair_rows, pairs_of
from pipelines.onchain.board_tables import PREDICTION_TABLES, STATUSES
from pipelines.onchain.layer_matrix import LayerMatrix, layer_matrices
from pipelines.onchain.prediction_board import METRICS_OF
from pipelines.rounding import published

_TABLE = PREDICTION_TABLES["prediction_differences"]


def prediction_differences(
    units: pl.DataFrame, seed: int = 0, resamples: int = intervals.RESAMPLES, flips: int = intervals.FLIPS
) -> pl.DataFrame:
    """Table `prediction_differences`: every pair of methods of every board, layer and metric, reading `all`.

    Differences are `method` − `other`, with wallet-cluster intervals; p is of sign flips of the wallets' summed
    differences. A difference of medians is no sum: its p is of the wallets' sums of +1 where `method` is
    nearer, −1 where `other` is. Holm over all pairs of board, layer and metric. One wallet gives no interval
    and no p.
    """
    tables = [
        _rows(part, metric, seed, resamples, flips) for part in layer_matrices(units) for metric in _metrics(part)
    ]
    rows = pl.concat([_TABLE.empty(), *tables])
    return published(rows).sort(_TABLE.sort_by)


def _metrics(part: LayerMatrix) -> tuple[str, ...]:
    return METRICS_OF[part.layer] if len(part.methods) > 1 else ()


def _rows(part: LayerMatrix, metric: str, seed: int, resamples: int, flips: int) -> pl.DataFrame:
    common = part.rows((part.status != STATUSES.index("missing")).all(axis=1))
    first, second = (np.array(places) for places in zip(*pairs_of(part.methods), strict=True))
    values = np.nan_to_num(common.correct) if metric == "accuracy" else common.error_all
    apart = values[:, first] - values[:, second]
    sums = common.by_wallet(np.sign(-apart) if metric == "medae" else apart)
    sizes = np.broadcast_to(common.by_wallet(np.ones((len(values), 1))), sums.shape)
    if metric == "medae":
        means = _of_medians(common, first, second, seed, resamples)
    else:
        means, _ = intervals.bootstrap(sums, sizes, seed, resamples)
    p = intervals.sign_flip_p(sums, seed, flips)
    rows = pair_rows(part.methods, means, p, len(values), common.n_wallets)
    named = rows.with_columns(board=pl.lit(part.board), layer=pl.lit(part.layer), metric=pl.lit(metric))
    return named.select(pl.col(name).cast(dtype) for name, dtype in _TABLE.schema.items())


def _of_medians(
    part: LayerMatrix, first: "np.typing.NDArray[np.int64]", second: "np.typing.NDArray[np.int64]", seed: int, n: int
) -> intervals.Means:
    drawn = [drawn_median(column, part.wallet, part.n_wallets, seed, n) for column in part.error_all.T]
    value = np.array([one.value for one in drawn])
    resamples = np.array([one.resamples for one in drawn]).T
    enough = np.full(len(first), part.n_wallets >= 2)
    return intervals.with_interval(value[first] - value[second], resamples[:, first] - resamples[:, second], enough)
