"""Medians over units with intervals over users: the user is what is sampled (ours).

The draws are those of `intervals`. `value` holds one number a unit, NaN where
the method gave none; `user` the number of each unit's user, 0 … n−1, the same for
every method of a board. A median of an even count is the mean of the middle two.
"""

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from pipelines.evaluation import intervals

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """A median over all units, and that of every resample of users; NaN where no unit counts."""

    value: float
    resamples: Reals


def drawn_median(value: Reals, user: Ints, n_users: int, seed: int, resamples: int = intervals.RESAMPLES) -> Drawn:
    """The median over units, all of equal weight, and over the units of users resampled whole."""
    kept = ~np.isnan(value)
    order = np.argsort(value[kept], kind="stable")
    ranked, of = value[kept][order], user[kept][order]
    blocks = [_medians(ranked, of, counts.astype(np.int64)) for counts in intervals.draws(n_users, seed, resamples)]
    return Drawn(float(np.median(ranked)) if len(ranked) else np.nan, np.concatenate(blocks))


def user_medians(value: Reals, user: Ints, n_users: int) -> Reals:
    """Each user's own median; NaN for a user without a number."""
    kept = ~np.isnan(value)
    order = np.lexsort((value[kept], user[kept]))
    ranked = value[kept][order]
    sizes = np.bincount(user[kept], minlength=n_users)
    first = np.cumsum(sizes) - sizes
    out = np.full(n_users, np.nan)
    some = np.flatnonzero(sizes)
    lower, upper = first[some] + (sizes[some] - 1) // 2, first[some] + sizes[some] // 2
    out[some] = (ranked[lower] + ranked[upper]) / 2
    return out


@nb.njit(cache=True)
def _medians(ranked: Reals, user: Ints, times: npt.NDArray[np.int64]) -> Any:
    """Median of each row of `times`: every unit counts as often as its user was drawn."""
    out = np.full(times.shape[0], np.nan)
    sizes = np.zeros(times.shape[1], np.int64)
    for i in range(user.shape[0]):
        sizes[user[i]] += 1
    for row in range(times.shape[0]):
        total = 0
        for one in range(times.shape[1]):
            total += sizes[one] * times[row, one]
        if total == 0:
            continue
        lower, upper = (total - 1) // 2, total // 2
        seen = 0
        first = np.nan
        for i in range(ranked.shape[0]):
            seen += times[row, user[i]]
            if seen > lower and np.isnan(first):
                first = ranked[i]
            if seen > upper:
                out[row] = (first + ranked[i]) / 2
                break
    return out
