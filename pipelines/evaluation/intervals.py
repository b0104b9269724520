"""Intervals and tests over users: the user is the unit that is sampled (ours).

Every draw is a keyed hash of (seed, resample, place), so that a number depends on
the set of users and the seed alone: not on row order, library version or threads.
Rows of every matrix are users, in the order of their ids.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pipelines.hashing import key64, mix64

RESAMPLES = 2000
FLIPS = 9999
EXACT_USERS = 12
"""Up to this many users all sign patterns are tried."""
LEVEL = 0.95
_CELLS = 4_000_000

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Means:
    """A mean (or median) with its interval, one entry a column; NaN where undefined."""

    value: Vector
    low: Vector
    high: Vector


def micro(numerators: Matrix, denominators: Matrix) -> Vector:
    """Ratio of sums over users; NaN where nothing was asked."""
    out: Vector = _ratio(numerators.sum(axis=0), denominators.sum(axis=0))
    return out


def macro(numerators: Matrix, denominators: Matrix) -> Vector:
    """Mean over users of each user's own ratio; users that were asked nothing are no part of it."""
    asked = denominators > 0
    out: Vector = _ratio(_ratio(numerators, denominators, 0.0).sum(axis=0), asked.sum(axis=0))
    return out


def bootstrap(numerators: Matrix, denominators: Matrix, seed: int, resamples: int = RESAMPLES) -> tuple[Means, Means]:
    """Micro and macro means with percentile intervals of `LEVEL`; users are resampled whole.

    A column in which fewer than two users were asked anything has no interval (NaN).
    """
    asked = (denominators > 0).astype(np.float64)
    stacked = np.concatenate([numerators, denominators, _ratio(numerators, denominators, 0.0), asked], axis=1)
    sums = np.concatenate([counts @ stacked for counts in draws(len(numerators), seed, resamples)], axis=0)
    num, den, ratios, users = np.split(sums, 4, axis=1)
    enough = asked.sum(axis=0) >= 2
    return (
        with_interval(micro(numerators, denominators), _ratio(num, den), enough),
        with_interval(macro(numerators, denominators), _ratio(ratios, users), enough),
    )


def sign_flip_p(differences: Matrix, seed: int, flips: int = FLIPS) -> Vector:
    """Two-sided p of each column's sum under random signs of the users' differences.

    All 2^n patterns for n ≤ `EXACT_USERS`, else `flips` keyed ones and the
    observed one.
    """
    n = len(differences)
    observed = np.abs(differences.sum(axis=0))
    # A hair of slack: sums of the same numbers in another order must count as equal.
    slack = 1e-9 + 1e-12 * np.abs(differences).sum(axis=0)
    at_least = np.zeros(differences.shape[1])
    patterns = 1 << n if n <= EXACT_USERS else flips
    step = max(1, _CELLS // max(n, 1))
    for start in range(0, patterns, step):
        rows = np.arange(start, min(start + step, patterns), dtype=np.uint64)[:, None]
        places = np.arange(n, dtype=np.uint64)[None, :]
        bits = (rows >> places) if n <= EXACT_USERS else mix64(key64("flip", "interval"), seed, rows, places)
        signs = 1.0 - 2.0 * (bits & np.uint64(1)).astype(np.float64)
        at_least += (np.abs(signs @ differences) >= observed - slack).sum(axis=0)
    return at_least / patterns if n <= EXACT_USERS else (at_least + 1) / (patterns + 1)


def holm(p: Vector) -> Vector:
    """Holm's step-down adjustment of p over all tests given; NaN stay NaN and are not counted."""
    adjusted = np.full(len(p), np.nan)
    valid = np.flatnonzero(~np.isnan(p))
    order = valid[np.argsort(p[valid], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def bands(separable: "np.typing.NDArray[np.bool_]") -> list[int]:
    """Tie bands of methods sorted best first: a band ends at the first method separable from the band's first.

    `separable[i, j]` says that methods i and j differ. Bands count from 1.
    """
    out: list[int] = []
    first, band = 0, 1
    for place in range(len(separable)):
        if separable[first, place]:
            first, band = place, band + 1
        out.append(band)
    return out


def draws(n: int, seed: int, resamples: int = RESAMPLES) -> "list[Matrix]":
    """How often each of n users is drawn in each resample, in blocks of resamples."""
    step = max(1, _CELLS // max(n, 1))
    key = key64("bootstrap", "interval")
    blocks = []
    for start in range(0, resamples, step):
        rows = np.arange(start, min(start + step, resamples), dtype=np.uint64)[:, None]
        words = mix64(key, seed, rows, np.arange(n, dtype=np.uint64)[None, :])
        # Multiply and shift: the high 32 bits choose a user without the bias of a remainder.
        users = ((words >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
        flat = (users + (rows - np.uint64(start)) * np.uint64(n)).astype(np.int64).ravel()
        blocks.append(np.bincount(flat, minlength=len(rows) * n).reshape(len(rows), n).astype(np.float64))
    return blocks


def with_interval(value: Vector, resampled: Matrix, enough: "np.typing.NDArray[np.bool_]") -> Means:
    """The values with percentile intervals of `LEVEL` from their resamples (rows), where there is `enough`."""
    tail = (1 - LEVEL) / 2
    low, high = np.full(len(value), np.nan), np.full(len(value), np.nan)
    for column in np.flatnonzero(enough):
        drawn = resampled[:, column]
        low[column], high[column] = np.quantile(drawn[~np.isnan(drawn)], [tail, 1 - tail])
    return Means(value, low, high)


def _ratio(numerator: Any, denominator: Any, otherwise: float = np.nan) -> Any:
    out = np.full(np.shape(numerator), otherwise, dtype=np.float64)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)
