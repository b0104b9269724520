"""Predictors without a model, in every table of results (design step 11).

Each knows the wallet's own rows strictly before the target, and train rows of other
evaluation wallets that lie in earlier blocks (a belief's row lies at its last event);
nothing else.
Where a rule finds no row it falls back as its docstring says, and `basis` tells.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.beliefs import FLAT, labels
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.medians import median_before, most_before, others_before
from pipelines.onchain.ordering import Bools, Ints, codes, place, places, runs, starts_of
from pipelines.onchain.positions import PAIR

BELIEF_BASELINES = ("majority_side", "last_side")
TRADE_BASELINES = ("last_direction", "wallet_median", "market_median")
RULE = "rule"
"""Reader of baselines: they answer by themselves."""
Reals = npt.NDArray[np.float64]
_TARGET = ["wallet", "event"]


def majority_side(targets: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """The most frequent side of the market among train beliefs that ended in earlier blocks.

    Equally frequent sides: the lowest outcome, flat last. None in the market: the most frequent over all
    markets (`basis` all); none at all: outcome 0 (default). Confidence 1, or 0 for flat. `targets` and `train`
    have the columns of table `belief_instances`; a target itself never ended before its own cut.
    """
    sides = np.append(train["side"].to_numpy(), 0)
    n_sides = int(sides.max()) + 2

    markets, asked = codes(targets["condition_id"])
    _, trained = codes(train["condition_id"], among=markets)

    def most(n_groups: int, ask: Ints, row: Ints) -> tuple[Ints, Ints]:
        asks, rows = _by_group(ask, targets, "cut_block"), _by_group(row, train, "cut_block")
        rows = rows[row[rows] >= 0]
        side = train["side"].cast(pl.Int64).to_numpy()[rows]
        found, seen = most_before(
            np.searchsorted(ask[asks], np.arange(n_groups + 1)),
            targets["cut_block"].to_numpy()[asks],
            np.searchsorted(row[rows], np.arange(n_groups + 1)),
            train["cut_block"].to_numpy()[rows],
            np.where(side == FLAT, n_sides - 1, side),
            n_sides,
        )
        out, n = np.empty_like(found), np.empty_like(seen)
        out[asks], n[asks] = np.where(found == n_sides - 1, FLAT, found), seen
        return out, n

    here, n_here = most(len(markets), asked, trained)
    everywhere, n_all = most(1, np.zeros_like(asked), np.zeros_like(trained))
    side = np.where(n_here > 0, here, np.where(n_all > 0, everywhere, 0))
    basis = np.where(n_here > 0, 0, np.where(n_all > 0, 1, 2))
    return _beliefs("majority_side", targets, side, (side != FLAT).astype(np.float64), basis)


def last_side(targets: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """Side and confidence of what the wallet held in the market just before the cut, by the rules of the label.

    Without an earlier trade there: the side of the wallet's belief that ended last before the cut, with its
    confidence (all); none: outcome 0 with confidence 1 (default). `own` holds the `cohort_trades` of the targets'
    wallets, all of them; `targets` all of their belief instances.
    """
    cuts = targets.select(*PAIR, pl.col("cut_event"))
    held = (
        own.join(cuts, on=PAIR)
        .filter(pl.col("event") < pl.col("cut_event"))
        .sort(*PAIR, "outcome", "event")
        .unique([*PAIR, "outcome"], keep="last", maintain_order=True)
    )
    starts = starts_of(runs(held["wallet"]), runs(held["condition_id"]))
    state = labels(held["position_after"].to_numpy(), held["outcome"].cast(pl.Int64).to_numpy(), starts)
    here = held[starts[:-1]].select(PAIR).with_columns(
        pl.Series("here", state.side), pl.Series("here_confidence", state.top / np.maximum(state.mass, 1))
    )  # fmt: skip
    rows = (
        targets.sort("wallet", "cut_event")
        .with_columns(
            pl.col("side").shift().over("wallet").alias("earlier"),
            pl.col("confidence").shift().over("wallet").alias("earlier_confidence"),
        )
        .join(here, on=PAIR, how="left", maintain_order="left")
    )
    basis = rows.select(
        pl.when(pl.col("here").is_not_null()).then(0).when(pl.col("earlier").is_not_null()).then(1).otherwise(2)
    )
    return _beliefs(
        "last_side",
        rows,
        rows.select(pl.coalesce("here", "earlier", 0)).to_series().to_numpy(),
        rows.select(pl.coalesce("here_confidence", "earlier_confidence", 1.0)).to_series().to_numpy(),
        basis.to_series().to_numpy(),
    )


def last_direction(targets: pl.DataFrame) -> pl.DataFrame:
    """Direction and amount of the wallet's last trade in the market; else of its last anywhere (all); else BUY of 0.

    `targets` has the columns of table `trade_instances`, all rows of each wallet.
    """
    rows = targets.sort(_TARGET).with_columns(
        *(pl.col(name).shift().over(PAIR).alias(f"here_{name}") for name in ("direction", "amount")),
        *(pl.col(name).shift().over("wallet").alias(f"all_{name}") for name in ("direction", "amount")),
    )
    found = rows.select(
        *_TARGET,
        pl.coalesce("here_direction", "all_direction", pl.lit("BUY", rows.schema["direction"])).alias("direction"),
        pl.coalesce("here_amount", "all_amount", 0).alias("amount"),
        pl.when(pl.col("here_amount").is_not_null())
        .then(pl.lit("market"))
        .when(pl.col("all_amount").is_not_null())
        .then(pl.lit("all"))
        .otherwise(pl.lit("default"))
        .alias("basis"),
    )
    return _shaped(found.with_columns(method=pl.lit("last_direction"), layer=pl.lit("trade")))


def wallet_median(targets: pl.DataFrame) -> pl.DataFrame:
    """The median amount of the wallet's earlier trades, all markets, and the direction it took more often (ties BUY).

    A wallet's first trade: BUY of 0 (default). `targets` as in `last_direction`.
    """
    rows = targets.sort(_TARGET)
    _, wallet = codes(rows["wallet"])
    rank, ordered = _ranks(wallet, rows["amount"].to_numpy())
    median = median_before(starts_of(wallet), rank, ordered)
    sold = (rows["direction"].cast(pl.String) == "SELL").cast(pl.Int64)
    sells = _earlier(wallet, sold.to_numpy())
    event = rows["event"].to_numpy()
    return _trades("wallet_median", rows, event - sells >= sells, median, np.where(median >= 0, 0, 2))


def market_median(targets: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """The median amount, and the more frequent direction (ties BUY), of other wallets' train trades in the market.

    Only of earlier blocks. None: as `wallet_median` (all). `targets` as in `last_direction`; `train` the train
    rows of table `trade_instances` of all wallets, the targets' own included.
    """
    targets = targets.sort(_TARGET)
    markets, ask = codes(targets["condition_id"])
    _, row = codes(train["condition_id"], among=markets)
    rows = np.lexsort((places(train), row))
    rows = rows[row[rows] >= 0]
    train, row = train[rows], row[rows]
    wallets, ask_wallet = codes(targets["wallet"])
    _, row_wallet = codes(train["wallet"], among=wallets)
    asks = _by_group(ask, targets, "block_number")
    rank, ordered = _ranks(row, train["amount"].to_numpy())
    # Rows of each wallet and market in the order of blocks; rows of wallets that ask nothing are nobody's own.
    pair = np.where(row_wallet >= 0, row * max(len(wallets), 1) + row_wallet, -1)
    own = np.argsort(pair, kind="stable")
    own = own[pair[own] >= 0]
    pairs_at = starts_of(pair[own])
    ask_key = ask[asks] * max(len(wallets), 1) + ask_wallet[asks]
    keys = pair[own][pairs_at[:-1]]
    found = np.minimum(np.searchsorted(keys, ask_key), max(len(keys) - 1, 0))
    known = keys[found] == ask_key if len(keys) else np.zeros(len(asks), np.bool_)
    median, buys, sells = others_before(
        np.searchsorted(ask[asks], np.arange(len(markets) + 1)),
        targets["block_number"].to_numpy()[asks],
        np.where(known, found, -1),
        np.searchsorted(row, np.arange(len(markets) + 1)),
        train["block_number"].to_numpy(),
        rank,
        (train["direction"].cast(pl.String) == "BUY").to_numpy(),
        ordered,
        pairs_at,
        own,
    )
    here, buys_more = np.empty_like(median), np.empty(len(asks), np.bool_)
    here[asks], buys_more[asks] = median, buys >= sells
    fallback = wallet_median(targets)
    own_amount = fallback["amount"].to_numpy()
    own_basis = np.where((fallback["basis"] == "default").to_numpy(), 2, 1)
    own_buys = (fallback["direction"].cast(pl.String) == "BUY").to_numpy()
    return _trades(
        "market_median",
        targets,
        np.where(here >= 0, buys_more, own_buys),
        np.where(here >= 0, here, own_amount),
        np.where(here >= 0, 0, own_basis),
    )


_BASES = ("market", "all", "default")


def _by_group(group: Ints, rows: pl.DataFrame, block: str) -> Ints:
    log = "cut_log_index" if block == "cut_block" else "log_index"
    order: Ints = np.lexsort((rows.select(place(block, log)).to_series().to_numpy(), group))
    return order


def _ranks(group: Ints, amount: Ints) -> tuple[Ints, Ints]:
    """Place of every row among the amounts of its group, and those of each group, ascending; rows lie by group."""
    order = np.lexsort((amount, group))
    starts = starts_of(group)
    rank = np.empty(len(amount), np.int64)
    rank[order] = np.arange(len(amount)) - np.repeat(starts[:-1], np.diff(starts))
    return rank, amount[order]


def _earlier(group: Ints, count: Ints) -> Ints:
    """Sum of `count` over the earlier rows of the same run."""
    total = np.cumsum(count) - count
    starts = starts_of(group)
    out: Ints = total - np.repeat(total[starts[:-1]], np.diff(starts))
    return out


def _beliefs(method: str, targets: pl.DataFrame, side: Ints, confidence: Reals, basis: Ints) -> pl.DataFrame:
    return _shaped(
        targets.select("wallet", pl.col("cut_event").alias("event")).with_columns(
            pl.lit(method).alias("method"),
            pl.lit("belief").alias("layer"),
            pl.Series("side", side),
            pl.Series("confidence", confidence),
            pl.Series("basis", _BASES).gather(basis),
        )
    )


def _trades(method: str, targets: pl.DataFrame, buys: Bools, amount: Ints, basis: Ints) -> pl.DataFrame:
    return _shaped(
        targets.select(_TARGET).with_columns(
            pl.lit(method).alias("method"),
            pl.lit("trade").alias("layer"),
            pl.when(pl.Series(buys)).then(pl.lit("BUY")).otherwise(pl.lit("SELL")).alias("direction"),
            pl.Series("amount", np.maximum(amount, 0)),
            pl.Series("basis", _BASES).gather(basis),
        )
    )


def _shaped(rows: pl.DataFrame) -> pl.DataFrame:
    schema = PREDICTION_TABLES["predictions"].schema
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in rows.columns]
    rows = rows.with_columns(missing).with_columns(status=pl.lit("ok"), reader=pl.lit(RULE))
    return rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items()).sort("method", *_TARGET)
