"""Chronological splits: each wallet's instances, oldest first, in train, validation and test (paper §A.3)."""

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.ordering import Ints, number_in_run, run_of, starts_of
from pipelines.onchain.settings import SplitRule
from pipelines.onchain.tables import SPLIT, SPLITS

TRAIN, VALIDATION, TEST = range(3)


def sizes(n: Ints, percent: int, rule: SplitRule) -> tuple[Ints, Ints, Ints]:
    """How many of `n` instances go to train, validation and test.

    - `equal_counts`: validation = test = `percent` of n, halves rounded up; train is the rest.
    - `rounded_borders`: the borders at 100 − 2·`percent` and 100 − `percent` per cent of n are
      rounded, halves to even, so that neither part is favoured over many wallets.
    """
    if rule == "equal_counts":
        each = (2 * n * percent + 100) // 200
        return n - 2 * each, each, each
    first, second = _half_even(n * (100 - 2 * percent)), _half_even(n * (100 - percent))
    return first, second - first, n - second


def split_codes(wallet: Ints, percent: int, rule: SplitRule) -> npt.NDArray[np.int8]:
    """Split of every row (0 train, 1 validation, 2 test); rows are sorted by wallet, then by time."""
    starts = starts_of(wallet)
    train, validation, _ = sizes(np.diff(starts), percent, rule)
    number, run = number_in_run(starts), run_of(starts)
    return ((number >= train[run]).astype(np.int8) + (number >= (train + validation)[run])).astype(np.int8)


def split_column(split: npt.NDArray[np.int8]) -> pl.Series:
    """The codes of `split_codes` as the column `split`."""
    return pl.Series("split", SPLITS, dtype=SPLIT).gather(split)


def split_counts(instances: pl.DataFrame) -> pl.DataFrame:
    """One row a cohort and split: instances, wallets that have any, wallets that have none in it (`empty`)."""
    all_wallets = instances.group_by("cohort").agg(pl.col("wallet").n_unique().alias("all_wallets"))
    per_split = instances.group_by("cohort", "split").agg(
        pl.len().cast(pl.Int64).alias("instances"), pl.col("wallet").n_unique().cast(pl.Int64).alias("wallets")
    )
    return (
        all_wallets.join(pl.DataFrame({"split": pl.Series(SPLITS, dtype=SPLIT)}), how="cross")
        .join(per_split, on=["cohort", "split"], how="left")
        .with_columns(pl.col("instances", "wallets").fill_null(0))
        .with_columns((pl.col("all_wallets") - pl.col("wallets")).cast(pl.Int64).alias("empty"))
        .select("cohort", "split", "instances", "wallets", "empty")
        .sort("cohort", "split")
    )


def _half_even(hundredths: Ints) -> Ints:
    whole, rest = hundredths // 100, hundredths % 100
    up: Ints = ((rest > 50) | ((rest == 50) & (whole % 2 == 1))).astype(np.int64)
    return whole + up
