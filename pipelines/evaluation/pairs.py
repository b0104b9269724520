"""Pairs of methods of one board, whatever is measured: rows of a table of differences, ranks and tie bands."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from pipelines.evaluation import intervals
from pipelines.rounding import published

ALPHA = 0.05
Pair = tuple[int, int]


def pairs_of(methods: Sequence[str]) -> list[Pair]:
    """Every two methods, by their places."""
    return list(combinations(range(len(methods)), 2))


def pair_rows(
    methods: Sequence[str],
    means: intervals.Means,
    p: intervals.Vector,
    n_units: "np.typing.ArrayLike",
    n_users: "np.typing.ArrayLike",
) -> pl.DataFrame:
    """One row for each pair of `pairs_of`: difference with its interval, p, Holm over all of them, `separable`.

    Numbers are NaN where undefined; one common user gives no p, whatever was given.
    """
    pairs = pairs_of(methods)
    users = np.broadcast_to(np.asarray(n_users, np.int64), len(pairs))
    known = np.where(users > 1, p, np.nan)
    p_holm = intervals.holm(known)
    told = _as_told(p_holm)
    return pl.DataFrame(
        {
            "method": pl.Series([methods[a] for a, _ in pairs], dtype=pl.String),
            "other": pl.Series([methods[b] for _, b in pairs], dtype=pl.String),
            "n_units": np.broadcast_to(np.asarray(n_units, np.int64), len(pairs)),
            "n_users": users,
            "difference": means.value,
            "low": means.low,
            "high": means.high,
            "p": known,
            "p_holm": p_holm,
            "separable": told < ALPHA,
        }
    )


def ranks(
    methods: Sequence[str], value: intervals.Vector, pairs: pl.DataFrame, *, lower_is_better: bool = False
) -> dict[str, dict[str, object]]:
    """`rank` (1 + methods with a better value, as values are published) and tie `band`, by method.

    `pairs` are the rows of their table of differences. Methods without a value come last and share the last rank.
    """
    value = _as_told(value)
    worth = np.where(np.isnan(value), -np.inf, -value if lower_is_better else value)
    place = sorted(range(len(methods)), key=lambda m: (-worth[m], methods[m]))
    names = [methods[m] for m in place]
    apart = {frozenset(pair) for pair in pairs.filter("separable").select("method", "other").iter_rows()}
    separable = np.array([[frozenset((a, b)) in apart for b in names] for a in names], dtype=bool)
    bands = intervals.bands(separable.reshape(len(names), len(names)))
    return {
        name: {"rank": 1 + int((worth > worth[m]).sum()), "band": band}
        for name, m, band in zip(names, place, bands, strict=True)
    }


def _as_told(values: intervals.Vector) -> intervals.Vector:
    """Figures as a table tells them: what is equal there must not be ranked, or told apart, by what is not."""
    return published(pl.DataFrame({"figure": values}))["figure"].fill_null(np.nan).to_numpy()
