"""How far two labellings of the same things agree: Cohen's kappa (1960), its interval a bootstrap over users."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.evaluation.intervals import LEVEL, draws

Counts = npt.NDArray[np.float64]


def kappa(counts: Counts) -> Counts:
    """Of tables of counts, first labelling by second (…, k, k); NaN where agreement by chance is certain."""
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    n = rows.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (rows * columns).sum(axis=-1) / n**2
        equal = np.trace(counts, axis1=-2, axis2=-1) / n
        found: Counts = np.where(expected < 1, (equal - expected) / (1 - expected), np.nan)
    return found


def kappa_interval(by_user: Counts, seed: int) -> tuple[float | None, float | None, float | None]:
    """Kappa of tables of users (users, k, k) together, and the ends of its 95 % interval.

    All are None where kappa is undefined, the ends with one user.
    """
    value = float(kappa(by_user.sum(axis=0)))
    if np.isnan(value):
        return None, None, None
    if len(by_user) < 2:
        return value, None, None
    sums = np.concatenate([np.tensordot(times, by_user, axes=1) for times in draws(len(by_user), seed)])
    low, high = np.nanquantile(kappa(sums), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return value, float(low), float(high)


def tables_by_user(pairs: pl.DataFrame, labels: Sequence[str]) -> Counts:
    """Counts (users, k, k) of `pairs`: columns `user_id`, `first` and `second`, two of the k `labels`."""
    users = pairs.select("user_id").unique().sort("user_id").with_row_index("user")
    place = {label: n for n, label in enumerate(labels)}
    at = pairs.join(users, on="user_id").select(
        "user",
        *(pl.col(name).cast(pl.String).replace_strict(place, return_dtype=pl.Int64) for name in ("first", "second")),
    )
    counts = np.zeros((users.height, len(labels), len(labels)))
    np.add.at(counts, tuple(at.to_numpy().T), 1)
    return counts
