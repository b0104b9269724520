"""Running positions: what a wallet holds of an outcome after each event (paper §A.1).

Two ledgers. The paper's `trade_only` adds d·a of every trade, before fees, and may fall
below zero. `full` adds what the wallet really received and gave (module `ledger`), and
is read before the market resolves or the wallet redeems, which burns it to zero.
"""

import numba as nb
import numpy as np
import polars as pl

from pipelines.onchain.ordering import Bools, Ints, codes, grouped, number_in_run, place, places, starts_of
from pipelines.onchain.settings import OnchainSettings

PAIR = ["wallet", "condition_id"]
FOLLOWED = [*PAIR, "outcome", "direction", "amount", "block_number", "log_index"]
"""Columns of a trade that `follow` reads."""
_INT64_MAX = int(np.iinfo(np.int64).max)


def follow(trades: pl.DataFrame, most: int | None = None) -> pl.DataFrame:
    """Trades of known markets in the order (wallet, place), each with where it stands and what is held after it.

    With `most`, the first so many trades of a wallet in a market are all there is; what comes later is not looked at.

    Adds to the columns of `trades`, in place of any of these names:
    - `event`: number of the trade among the wallet's, from 0;
    - `market_event`: number among the wallet's trades in the market, from 0;
    - `position_after`: Q after the event, trade-only, 10⁻⁶ share (Q⁰ = 0; BUY adds, SELL takes away);
    - `last_of_outcome`, `last_of_market`: whether it is the last of its wallet–market–outcome, wallet–market.

    Trades whose condition or outcome is unknown are left out. Raises `ValueError` for two
    trades at one place (block, log index) and `OverflowError` when a position leaves 64 bits.
    """
    known = trades.filter(pl.col("condition_id").is_not_null() & pl.col("outcome").is_not_null())
    wallets, wallet = codes(known["wallet"])
    markets, market = codes(known["condition_id"])
    at = places(known)
    order = grouped(np.argsort(at), wallet, len(wallets))
    _refuse_doubles(known, order, wallet, at)
    if most is not None:
        by_pair = grouped(grouped(order, market, len(markets)), wallet, len(wallets))
        among = number_in_run(starts_of(wallet[by_pair], market[by_pair]))
        within = np.zeros(known.height, np.bool_)
        within[by_pair[among < most]] = True
        order = order[within[order]]
    wallet, market, at = wallet[order], market[order], at[order]
    rows = known[order]
    everything = np.arange(rows.height, dtype=np.int64)
    by_pair = grouped(grouped(everything, market, len(markets)), wallet, len(wallets))
    starts = starts_of(wallet[by_pair], market[by_pair])
    amount = rows["amount"].to_numpy()
    delta = np.where((rows["direction"] == "BUY").to_numpy(), amount, -amount)
    none = np.zeros(rows.height, np.bool_)
    _, after, final = _positions(rows, by_pair, starts, delta, none, none)
    market_event = np.empty(rows.height, np.int64)
    market_event[by_pair] = number_in_run(starts)
    last = np.zeros(rows.height, np.bool_)
    last[by_pair[starts[1:] - 1]] = True
    return rows.with_columns(
        pl.Series("event", number_in_run(starts_of(wallet)), dtype=pl.Int32),
        pl.Series("market_event", market_event, dtype=pl.Int32),
        pl.Series("position_after", after, dtype=pl.Int64),
        pl.Series("last_of_outcome", final),
        pl.Series("last_of_market", last),
    )


def follow_ledger(ledger: pl.DataFrame, resolutions: pl.DataFrame, settings: OnchainSettings) -> pl.DataFrame:
    """Rows of `ledger` in the order (wallet, market, place) with the full position around each.

    Adds `position_before`, `position_after` and `final`: whether the row gives the position that
    counts, the last before the cut of `settings.full_ledger_cut`. A market without a resolution is
    cut at the wallet's first redemption. Raises `OverflowError` when a position leaves 64 bits.
    """
    resolved_at = resolutions.group_by("condition_id").agg(place().min().alias("resolved_at"))
    rows = ledger.join(resolved_at, on="condition_id", how="left", maintain_order="left")
    wallets, wallet = codes(rows["wallet"])
    markets, market = codes(rows["condition_id"])
    at = places(rows)
    order = np.lexsort((rows["outcome"].to_numpy(), at))
    order = grouped(grouped(order, market, len(markets)), wallet, len(wallets))
    rows, at = rows[order], at[order]
    closed = (rows["kind"] == "redeem").to_numpy().copy()
    if settings.full_ledger_cut == "resolution":
        closed |= at >= rows["resolved_at"].fill_null(_INT64_MAX).to_numpy()
    burns = rows["delta"].is_null().to_numpy()
    everything: Ints = np.arange(rows.height, dtype=np.int64)
    held = _positions(
        rows,
        everything,
        starts_of(wallet[order], market[order]),
        rows["delta"].fill_null(0).to_numpy(),
        burns,
        closed,
    )
    return rows.drop("resolved_at").with_columns(
        pl.Series("position_before", held[0], dtype=pl.Int64),
        pl.Series("position_after", held[1], dtype=pl.Int64),
        pl.Series("final", held[2]),
    )


def positions(followed: pl.DataFrame, followed_ledger: pl.DataFrame) -> pl.DataFrame:
    """Table `positions`: final position of every wallet–market–outcome with a trade, in both ledgers.

    An outcome without an event before the cut of the full ledger has a full position of 0;
    outcomes that the wallet holds without having traded them are there with trade_only 0,
    as long as it traded in the market.
    """
    by = [*PAIR, "outcome"]
    traded = followed.filter("last_of_outcome").select(*by, pl.col("position_after").alias("trade_only"))
    pairs = followed.filter("last_of_market").select(PAIR)
    held = (
        followed_ledger.filter("final")
        .join(pairs, on=PAIR, how="semi")
        .select(*by, pl.col("position_after").alias("full"))
    )
    return (
        traded.join(held, on=by, how="full", coalesce=True)
        .with_columns(pl.col("trade_only", "full").fill_null(0))
        .sort(by)
    )


def _refuse_doubles(rows: pl.DataFrame, order: Ints, wallet: Ints, at: Ints) -> None:
    wallet, at = wallet[order], at[order]
    same = np.flatnonzero((wallet[1:] == wallet[:-1]) & (at[1:] == at[:-1]))
    if len(same):
        row = rows.row(int(order[same[0]]), named=True)
        raise ValueError(
            f"two trades of wallet 0x{row['wallet'].hex()} at block {row['block_number']}, log {row['log_index']}; "
            "drop duplicates before positions are taken"
        )


def _positions(
    rows: pl.DataFrame, order: Ints, starts: Ints, delta: Ints, burns: Bools, closed: Bools
) -> tuple[Ints, Ints, Bools]:
    outcome = rows["outcome"].cast(pl.Int64).to_numpy()
    n_outcomes = int(outcome.max()) + 1 if len(outcome) else 0
    before, after, final, bad = _run(order, starts, outcome, delta, burns, closed, n_outcomes)
    if bad >= 0:
        row = rows.row(int(bad), named=True)
        raise OverflowError(
            f"the position of wallet 0x{row['wallet'].hex()} leaves 64 bits at block {row['block_number']}, "
            f"log {row['log_index']}"
        )
    return before, after, final


@nb.njit(cache=True)
def _run(
    order: Ints, starts: Ints, outcome: Ints, delta: Ints, burns: Bools, closed: Bools, n_outcomes: int
) -> tuple[Ints, Ints, Bools, int]:
    """Positions before and after every row, whether it is the last of its outcome before the close, a row too large.

    `order` visits the rows run by run; a run is one wallet–market and closes at its first closed row.
    """
    n = order.shape[0]
    before = np.zeros(n, np.int64)
    after = np.zeros(n, np.int64)
    final = np.zeros(n, np.bool_)
    held = np.zeros(n_outcomes, np.int64)
    last = np.full(n_outcomes, -1, np.int64)
    for run in range(starts.shape[0] - 1):
        shut = False
        for i in range(starts[run], starts[run + 1]):
            row = order[i]
            token = outcome[row]
            change = -held[token] if burns[row] else delta[row]
            # Compared before it is added: compiled arithmetic may assume that no sum wraps.
            if (change > 0 and held[token] > _INT64_MAX - change) or (
                change < 0 and held[token] < -_INT64_MAX - change
            ):
                return before, after, final, row
            total = held[token] + change
            before[row] = held[token]
            after[row] = total
            held[token] = total
            shut = shut or closed[row]
            if not shut:
                last[token] = row
        for i in range(starts[run], starts[run + 1]):
            token = outcome[order[i]]
            if last[token] >= 0:
                final[last[token]] = True
            held[token] = 0
            last[token] = -1
    return before, after, final, -1
