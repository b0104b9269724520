"""A seeded chain of any length whose truth is known: matches, mints, merges, splits, conversions, redemptions, fees.

Everything on it follows from balances that never go below zero, so that a ledger made
of its logs must give back the balances, and every redemption its payout.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain import ids
from pipelines.onchain.contracts import NEG_RISK_ADAPTER
from pipelines.onchain.generator_logs import (
    AMOUNT,
    ASKED,
    BLOCK,
    BUYS,
    CHARGED,
    COLLATERAL,
    CONVERTED,
    FEE,
    FIELDS,
    FILLED,
    GROUP,
    KIND,
    LOG_INDEX,
    MARKET,
    MATCHED,
    MERGED,
    ORACLE,
    OTHER,
    OUTCOME,
    PREPARED,
    REDEEMED,
    RESOLVED,
    SPLIT,
    TRANSFERRED,
    TX_INDEX,
    WALLET,
    Names,
    encode,
)

Ints = npt.NDArray[np.int64]

OPERATIONS = 50_000
"""Operations of one piece; an operation is a transaction and emits one to four logs."""
_PER_BLOCK = 5
_LOGS_PER_OPERATION = 4


@dataclass(frozen=True)
class Plan:
    """What chain to make. Markets are neg-risk, in groups of four, up to `neg_risk_markets`; the rest standard."""

    seed: int = 7
    wallets: int = 200
    markets: int = 40
    neg_risk_markets: int = 12
    operations: int = 20_000
    first_block: int = 40_000_000

    def __post_init__(self) -> None:
        """Raises `ValueError` when the numbers do not fit each other."""
        if self.wallets < 2 or self.markets < 1 or self.operations < 1:
            raise ValueError("a chain needs two wallets, a market and an operation")
        if self.neg_risk_markets % GROUP or self.neg_risk_markets > self.markets:
            raise ValueError(f"neg-risk markets come in groups of {GROUP} and are no more than all markets")


@dataclass(frozen=True)
class Piece:
    """Consecutive logs of the chain (table `logs`), what they stand for (`FIELDS`), and the balances after them.

    `balances` counts base units by wallet, market and outcome.
    """

    logs: pl.DataFrame
    truth: pl.DataFrame
    balances: Ints


def names(plan: Plan) -> Names:
    """Names of the plan's wallets and markets; the ids are those that the contracts would derive."""
    rng = np.random.Generator(np.random.Philox(plan.seed))
    wallets = rng.integers(0, 256, (plan.wallets, 20), np.uint8)
    questions = rng.integers(0, 256, (plan.markets, 32), np.uint8)
    conditions = np.empty((plan.markets, 32), np.uint8)
    tokens = np.empty((plan.markets, 2, 32), np.uint8)
    for market in range(plan.markets):
        neg_risk = market < plan.neg_risk_markets
        if neg_risk:
            questions[market] = questions[market // GROUP * GROUP]
            questions[market, 31] = market % GROUP
        oracle = NEG_RISK_ADAPTER if neg_risk else ORACLE
        condition = ids.condition_id(oracle, questions[market].tobytes(), 2)
        conditions[market] = np.frombuffer(condition, np.uint8)
        for outcome in (0, 1):
            tokens[market, outcome] = np.frombuffer(ids.token_id(condition, outcome, neg_risk), np.uint8)
    return Names(wallets, conditions, tokens, questions)


def generate(plan: Plan) -> Iterator[Piece]:
    """The chain of a plan, piece by piece; equal plans give equal chains."""
    known = names(plan)
    balances = np.zeros((plan.wallets, plan.markets, 2), np.int64)
    resolved = np.full(plan.markets, -1, np.int64)
    state = np.array([plan.seed * 2 + 1], np.uint64)
    for start in range(0, plan.operations, OPERATIONS):
        count = min(OPERATIONS, plan.operations - start)
        rows = np.zeros((count * _LOGS_PER_OPERATION + plan.markets, len(FIELDS)), np.int64)
        size = _simulate(
            start, count, plan.operations, plan.neg_risk_markets, plan.first_block, balances, resolved, state, rows
        )
        rows = rows[:size]
        truth = pl.DataFrame({name: rows[:, i] for i, name in enumerate(FIELDS)})
        yield Piece(encode(rows, known, plan.neg_risk_markets), truth, balances.copy())


@nb.njit(cache=True)
def _draw(state: npt.NDArray[np.uint64], below: int) -> int:
    """A number from 0 to below − 1 (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64((z ^ (z >> np.uint64(31))) % np.uint64(below)))


@nb.njit(cache=True)
def _log(
    rows: Ints,
    at: int,
    kind: int,
    market: int,
    outcome: int,
    wallet: int,
    other: int,
    amount: int,
    collateral: int,
    fee: int,
    buys: int,
) -> int:
    row = rows[at]
    row[KIND], row[MARKET], row[OUTCOME], row[WALLET], row[OTHER] = kind, market, outcome, wallet, other
    row[AMOUNT], row[COLLATERAL], row[FEE], row[BUYS] = amount, collateral, fee, buys
    return at + 1


@nb.njit(cache=True)
def _simulate(
    start: int,
    count: int,
    total: int,
    neg_risk: int,
    first_block: int,
    balances: Ints,
    resolved: Ints,
    state: npt.NDArray[np.uint64],
    rows: Ints,
) -> int:
    """Run operations `start` to `start + count` and write their logs; returns how many there are."""
    n_wallets, n_markets = balances.shape[0], balances.shape[1]
    at = 0
    log_index = 0
    for operation in range(start, start + count):
        first = at
        if operation % _PER_BLOCK == 0:
            log_index = 0
        wallet = min(_draw(state, n_wallets), _draw(state, n_wallets))
        other = (wallet + 1 + _draw(state, n_wallets - 1)) % n_wallets
        market = (wallet * 7 + min(_draw(state, n_markets), _draw(state, n_markets))) % n_markets
        outcome = _draw(state, 2)
        held = balances[wallet, market]
        price = 10_000 * (1 + _draw(state, 99))
        amount = 1_000_000 * (1 + _draw(state, 200)) + _draw(state, 3)
        choice = _draw(state, 100)
        if operation < n_markets:
            at = _log(rows, at, PREPARED, operation, 0, 0, 0, 0, 0, 0, 0)
            if operation < neg_risk:
                at = _log(rows, at, ASKED, operation, 0, 0, 0, 0, 0, 0, 0)
        elif resolved[market] < 0 and operation * 10 > total * 6 and choice == 99:
            resolved[market] = outcome
            at = _log(rows, at, RESOLVED, market, outcome, 0, 0, 0, 0, 0, 0)
        elif resolved[market] >= 0:
            if held[0] + held[1] > 0:
                at = _log(rows, at, REDEEMED, market, 0, wallet, 0, held[0], held[resolved[market]], held[1], 0)
                held[:] = 0
        elif choice < 60:
            # The other wallet's order rests; this one takes it. Who lacks tokens buys, and two buyers mint.
            sells = balances[other, market, outcome] > 0 and choice < 45
            takes = outcome if sells else 1 - outcome
            merges = sells and choice < 8 and held[1 - outcome] > 0
            if sells:
                amount = min(amount, balances[other, market, outcome])
            if merges:
                amount = min(amount, held[1 - outcome])
            if amount < 100:
                continue
            paid = max(amount * price // 1_000_000, 1)
            if merges:
                takes = 1 - outcome
            taker_paid = paid if takes == outcome else amount - paid
            fee = amount // 100 if choice % 9 == 0 and not merges else 0
            balances[other, market, outcome] += -amount if sells else amount
            held[takes] += -amount if merges else amount - fee
            at = _log(rows, at, FILLED, market, outcome, other, wallet, amount, paid, 0, 0 if sells else 1)
            if fee > 0:
                at = _log(rows, at, CHARGED, market, takes, wallet, 0, fee, 0, 0, 0)
            at = _log(rows, at, FILLED, market, takes, wallet, -1, amount, taker_paid, fee, 0 if merges else 1)
            at = _log(rows, at, MATCHED, market, takes, wallet, 0, amount, taker_paid, 0, 0 if merges else 1)
        elif choice < 75:
            held[:] += amount
            at = _log(rows, at, SPLIT, market, 0, wallet, 0, amount, 0, 0, 0)
        elif choice < 83:
            amount = min(amount, held[0], held[1])
            if amount > 0:
                held[:] -= amount
                at = _log(rows, at, MERGED, market, 0, wallet, 0, amount, 0, 0, 0)
        elif choice < 90:
            amount = min(amount, held[outcome])
            if amount > 0:
                held[outcome] -= amount
                balances[other, market, outcome] += amount
                at = _log(rows, at, TRANSFERRED, market, outcome, wallet, other, amount, 0, 0, 0)
        elif market < neg_risk:
            amount = min(amount, held[1])
            if amount > 0:
                # One NO becomes a YES of every other question of the market.
                held[1] -= amount
                for sibling in range(market // GROUP * GROUP, market // GROUP * GROUP + GROUP):
                    if sibling != market:
                        balances[wallet, sibling, 0] += amount
                at = _log(rows, at, CONVERTED, market, 0, wallet, 0, amount, 0, 0, 0)
        for row in range(first, at):
            rows[row, BLOCK] = first_block + operation // _PER_BLOCK
            rows[row, TX_INDEX] = operation % _PER_BLOCK
            rows[row, LOG_INDEX] = log_index
            log_index += 1
    return at
