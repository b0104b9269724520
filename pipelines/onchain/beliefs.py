"""`belief_instances`: which side a wallet finally holds in a market, and how surely (paper §A.1)."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from pipelines.onchain.ordering import Bools, Ints, place, runs, starts_of
from pipelines.onchain.positions import PAIR
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.splits import split_codes, split_column
from pipelines.onchain.tables import ONCHAIN_TABLES

FLAT = -1
"""Side of a wallet–market whose positions are all zero or negative (Z = 0)."""


@dataclass(frozen=True)
class Labels:
    """One entry a wallet–market: side, largest positive position, Z, whether another outcome held as much."""

    side: Ints
    top: Ints
    mass: Ints
    tie: Bools


def labels(position: Ints, outcome: Ints, starts: Ints) -> Labels:
    """Labels of runs of final positions P, one run a wallet–market.

    Z = Σ max(P, 0). Where Z > 0 the side is the outcome of the largest P, of equal ones the lowest
    index (`tie`), and the confidence is top / mass, exact as this pair of integers. Where Z = 0 the
    side is `FLAT`, and top = mass = 0 stand for a confidence of 0; flat is no tie.
    Raises `OverflowError` when Z leaves 64 bits.
    """
    if not len(position):
        none = np.zeros(0, np.int64)
        return Labels(none, none, none, none.astype(np.bool_))
    positive = np.maximum(position, 0)
    first, lengths = starts[:-1], np.diff(starts)
    if np.add.reduceat(positive.astype(np.float64), first).max() > 2.0**62:
        raise OverflowError("the positions of a wallet in a market add up to more than 64 bits hold")
    top, mass = np.maximum.reduceat(positive, first), np.add.reduceat(positive, first)
    is_top = (positive == np.repeat(top, lengths)) & (positive > 0)
    lowest = np.minimum.reduceat(np.where(is_top, outcome, np.iinfo(np.int64).max), first)
    return Labels(np.where(mass > 0, lowest, FLAT), top, mass, np.add.reduceat(is_top.astype(np.int64), first) > 1)


def belief_instances(
    followed: pl.DataFrame, positions: pl.DataFrame, cohort: pl.DataFrame, settings: OnchainSettings
) -> pl.DataFrame:
    """Table `belief_instances`: one row a wallet–market of the wallets in `cohort` (wallet, cohort).

    `followed` is `positions.follow` of the cohort's trades, `positions` the table `positions` of the same.
    The cut is the place of the last trade in the market, by which a wallet's instances are ordered and
    split. `flips` says that the full ledger names another side.
    """
    of_positions = positions.sort(*PAIR, "outcome")
    outcome = of_positions["outcome"].cast(pl.Int64).to_numpy()
    starts = starts_of(runs(of_positions["wallet"]), runs(of_positions["condition_id"]))
    trade_only = labels(of_positions["trade_only"].to_numpy(), outcome, starts)
    full = labels(of_positions["full"].to_numpy(), outcome, starts)
    last = followed.filter("last_of_market").select(
        *PAIR,
        (pl.col("market_event") + 1).alias("n_trades"),
        pl.col("block_number").alias("cut_block"),
        pl.col("log_index").alias("cut_log_index"),
        pl.col("event").alias("cut_event"),
    )
    labelled = of_positions[starts[:-1]].select(PAIR).with_columns(
        pl.Series("side", trade_only.side),
        pl.Series("top", trade_only.top),
        pl.Series("mass", trade_only.mass),
        pl.Series("tie", trade_only.tie),
        pl.Series("side_full", full.side),
        pl.Series("top_full", full.top),
        pl.Series("mass_full", full.mass),
        pl.Series("tie_full", full.tie),
    )  # fmt: skip
    rows = (
        labelled.join(last, on=PAIR, validate="1:1")
        .join(cohort.select("wallet", "cohort"), on="wallet")
        .with_columns(
            _confidence("top", "mass").alias("confidence"),
            _confidence("top_full", "mass_full").alias("confidence_full"),
            (pl.col("side") != pl.col("side_full")).alias("flips"),
        )
        .sort(pl.col("wallet"), place("cut_block", "cut_log_index"))
    )
    split = split_codes(runs(rows["wallet"]), settings.belief_split_percent, settings.belief_split_rule)
    return (
        rows.with_columns(split_column(split))
        .select(pl.col(name).cast(dtype) for name, dtype in ONCHAIN_TABLES["belief_instances"].schema.items())
        .sort(PAIR)
    )


def label_counts(beliefs: pl.DataFrame) -> dict[str, int]:
    """Instances, and how many are flat, tied, and flip between the ledgers."""
    return {
        "instances": beliefs.height,
        "flat": int((beliefs["side"] == FLAT).sum()),
        "flat_full": int((beliefs["side_full"] == FLAT).sum()),
        "tied": int(beliefs["tie"].sum()),
        "tied_full": int(beliefs["tie_full"].sum()),
        "flips": int(beliefs["flips"].sum()),
    }


def _confidence(top: str, mass: str) -> pl.Expr:
    return pl.when(pl.col(mass) > 0).then(pl.col(top) / pl.col(mass)).otherwise(0.0)
