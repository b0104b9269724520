"""Scores of predictions on frozen targets (paper §A.1): accuracy and errors, by wallet and over all.

Every target of a split is a unit of every method. A unit without a reading is invalid
(not in the form asked for), failed (no reply) or missing, and is counted. Two readings stand side by side:
- `valid`: units with a reading only;
- `all`: a unit without a reading is wrong, its confidence error is 1, and its amount counts as 0.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.evaluation import intervals
from pipelines.hashing import key64, mix64
from pipelines.onchain.ordering import Ints, codes, starts_of

Layer = Literal["belief", "trade"]
Reals = npt.NDArray[np.float64]
READINGS = ("valid", "all")
STATUSES = ("ok", "invalid", "failed", "missing")
DECIMALS = 9
_BY = ["layer", "method", "interface", "split"]
_UNIT = ["wallet", "event"]

SCORES: dict[str, pl.DataType | type[pl.DataType]] = {
    "layer": pl.String,
    "method": pl.String,
    "interface": pl.String,
    "split": pl.String,
    "reading": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "by_wallet": pl.Float64,
    "by_wallet_low": pl.Float64,
    "by_wallet_high": pl.Float64,
    "n_units": pl.Int64,
    "n_wallets": pl.Int64,
    **{f"n_{status}": pl.Int64 for status in STATUSES},
}
"""Columns of `scores`. `n_units` are those the metric looks at, n_ok … n_missing are of the split."""


def units(targets: pl.DataFrame, predictions: pl.DataFrame, layer: Layer) -> pl.DataFrame:
    """One row a method, interface and target: status, `correct`, `error`, `error_all`, `correct_all`.

    `targets` are rows of `belief_instances` or `trade_instances`. `correct` compares the side, flat being a
    side of its own, or the direction; `error` is |confidence − label| or |amount − label|, both null
    without a reading. Raises `ValueError` when a target is answered twice or an answer names no target.
    """
    answers = predictions.filter(pl.col("layer").cast(pl.String) == layer)
    keys = ["method", "interface", *_UNIT]
    if answers.select(keys).is_duplicated().any():
        raise ValueError(f"{layer}: a target is answered twice by one method and interface")
    event, label, size = ("cut_event", "side", "confidence") if layer == "belief" else ("event", "direction", "amount")
    asked = targets.select(
        "wallet",
        pl.col(event).alias("event"),
        pl.col("split").cast(pl.String),
        pl.col(label).alias("label"),
        pl.col(size).cast(pl.Float64).alias("size"),
    )
    strays = answers.join(asked, on=_UNIT, how="anti")
    if strays.height:
        raise ValueError(f"{layer}: {strays.height} answers name no target, the first of method {strays['method'][0]}")
    rows = (
        answers.select("method", "interface")
        .unique()
        .join(asked, how="cross")
        .join(answers.select(*keys, "status", label, size), on=keys, how="left", suffix="_given")
        .with_columns(pl.col("status").fill_null("missing"), layer=pl.lit(layer))
    )
    given = pl.col(size).cast(pl.Float64)
    ok = pl.col("status") == "ok"
    without = pl.lit(1.0) if layer == "belief" else pl.col("size")
    hit, error = (pl.col(label) == pl.col("label")).cast(pl.Int64), (given - pl.col("size")).abs()
    return rows.select(
        *_BY,
        *_UNIT,
        "status",
        pl.when(ok).then(hit).alias("correct"),
        pl.when(ok).then(error).alias("error"),
        pl.when(ok).then(hit).otherwise(0).alias("correct_all"),
        pl.when(ok).then(error).otherwise(without).alias("error_all"),
    ).sort(*_BY, *_UNIT)


def scores(units: pl.DataFrame, seed: int = 0, resamples: int = intervals.RESAMPLES) -> pl.DataFrame:
    """One row a method, interface, split, reading and metric, columns `SCORES`; null where nothing was asked.

    Metrics: `accuracy` (final side, or direction) and `mae` (mean absolute error) of both layers, and for
    trades `medae` (median absolute error; of an even number of errors the mean of the middle two).
    `value` is over all units, `by_wallet` the mean of the wallets' own; both have 95 % intervals of wallets
    resampled whole, from the same keyed draws as every interval of the benchmark. Fewer than two wallets
    give no interval.
    """
    rows = [
        row
        for key, part in units.partition_by(_BY, as_dict=True, maintain_order=True).items()
        for row in _rows([str(name) for name in key], part, seed, resamples)
    ]
    board = pl.DataFrame(rows, schema=SCORES, orient="row")
    return board.with_columns(pl.col(pl.Float64).fill_nan(None).round(DECIMALS))


def _rows(key: list[str], part: pl.DataFrame, seed: int, resamples: int) -> Iterator[tuple[Any, ...]]:
    status = dict(part["status"].value_counts().iter_rows())
    counts = [status.get(name, 0) for name in STATUSES]
    for reading in READINGS:
        suffix = "_all" if reading == "all" else ""
        asked = part.filter(pl.col(f"error{suffix}").is_not_null())
        wallets, wallet = codes(asked["wallet"])
        shape = (reading, asked.height, len(wallets))
        columns = [asked[f"correct{suffix}"].cast(pl.Float64).to_numpy(), asked[f"error{suffix}"].to_numpy()]
        if len(wallets):
            sums = np.array([np.bincount(wallet, weights=column) for column in columns], np.float64).T
            sizes = np.repeat(np.bincount(wallet).astype(np.float64)[:, None], 2, axis=1)
            micro, macro = intervals.bootstrap(_matrix(sums), _matrix(sizes), seed, resamples)
            for place, metric in enumerate(("accuracy", "mae")):
                numbers = [float(of[place]) for mean in (micro, macro) for of in (mean.value, mean.low, mean.high)]
                yield _row(key, metric, shape, numbers, counts)
        else:
            for metric in ("accuracy", "mae"):
                yield _row(key, metric, shape, [np.nan] * 6, counts)
        if key[0] == "trade":
            numbers = _medians(wallet, columns[1], seed, resamples) if len(wallets) else [np.nan] * 6
            yield _row(key, "medae", shape, numbers, counts)


def _row(
    key: list[str], metric: str, shape: tuple[str, int, int], numbers: list[float], counts: list[int]
) -> tuple[Any, ...]:
    reading, n_units, n_wallets = shape
    return (*key, reading, metric, *numbers, n_units, n_wallets, *counts)


def _medians(wallet: Ints, error: Reals, seed: int, resamples: int) -> list[float]:
    order = np.lexsort((error, wallet))
    starts = starts_of(wallet[order])
    own = np.array([np.median(part) for part in np.split(error[order], starts[1:-1])])
    n = len(own)
    _, macro = intervals.bootstrap(_matrix(own), np.ones((n, 1)), seed, resamples)
    by_wallet = [float(of[0]) for of in (macro.value, macro.low, macro.high)]
    ranked = np.argsort(error, kind="stable")
    whole = float(np.median(error))
    if n < 2:
        return [whole, np.nan, np.nan, *by_wallet]
    drawn = np.empty(resamples)
    key = key64("bootstrap", "interval")
    for resample in range(resamples):
        # The draws of `intervals.bootstrap`: the high 32 bits of the hash choose a wallet.
        words = mix64(key, seed, np.full(1, resample, np.uint64), np.arange(n, dtype=np.uint64))
        times = np.bincount(((words >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.int64), minlength=n)
        drawn[resample] = _weighted_median(error, ranked, wallet, times)
    tail = (1 - intervals.LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return [whole, float(low), float(high), *by_wallet]


def _matrix(values: Reals) -> intervals.Matrix:
    return values.reshape(len(values), -1)


@nb.njit(cache=True)
def _weighted_median(value: Reals, ranked: Ints, group: Ints, times: Ints) -> Any:
    """Median of the values, each as often as its group was drawn."""
    total = 0
    for i in range(group.shape[0]):
        total += times[group[i]]
    lower, upper = (total - 1) // 2, total // 2
    seen = 0
    first = np.nan
    for i in range(ranked.shape[0]):
        seen += times[group[ranked[i]]]
        if seen > lower and np.isnan(first):
            first = value[ranked[i]]
        if seen > upper:
            return (first + value[ranked[i]]) / 2
    return first
