"""Rows of a generated chain as logs, in the encoding of the contracts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.contracts import CONDITIONAL_TOKENS, NEG_RISK_ADAPTER, USDC_E
from pipelines.onchain.tables import EXCHANGES, ONCHAIN_TABLES

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

GROUP = 4
"""Questions of one neg-risk market."""
FIELDS = (
    "kind",
    "block",
    "tx_index",
    "log_index",
    "market",
    "outcome",
    "wallet",
    "other",
    "amount",
    "collateral",
    "fee",
    "buys",
)
(
    KIND,
    BLOCK,
    TX_INDEX,
    LOG_INDEX,
    MARKET,
    OUTCOME,
    WALLET,
    OTHER,
    AMOUNT,
    COLLATERAL,
    FEE,
    BUYS,
) = range(len(FIELDS))
PREPARED, FILLED, MATCHED, CHARGED, SPLIT, MERGED, CONVERTED, TRANSFERRED, RESOLVED, REDEEMED, ASKED = range(11)
"""Kinds of logs. `other` is −1 for the exchange; the amounts of REDEEMED are both balances (`amount`, `fee`)."""
ORACLE = b"\x0c" * 20
"""Oracle of the standard markets."""
_GENESIS = 1_600_000_000


@dataclass(frozen=True)
class Names:
    """Addresses of the wallets (n × 20 bytes), ids of conditions (n × 32), tokens (n × 2 × 32), questions (n × 32)."""

    wallets: npt.NDArray[np.uint8]
    conditions: npt.NDArray[np.uint8]
    tokens: npt.NDArray[np.uint8]
    questions: npt.NDArray[np.uint8]


def encode(rows: Ints, names: Names, neg_risk_markets: int) -> pl.DataFrame:
    """The table `logs` of rows (`FIELDS`), in their order."""
    neg_risk = rows[:, MARKET] < neg_risk_markets
    parts = []
    for kind in np.unique(rows[:, KIND]):
        for group in (False, True):
            chosen = np.flatnonzero((rows[:, KIND] == kind) & (neg_risk == group))
            if len(chosen):
                event, address, topics, data = _emitted(int(kind), group, rows[chosen], names)
                parts.append(_frame(rows[chosen], chosen, event, address, topics, data))
    logs = pl.concat(parts).sort("__order").drop("__order")
    return logs.select(pl.col(name).cast(dtype) for name, dtype in ONCHAIN_TABLES["logs"].schema.items())


def _emitted(kind: int, neg_risk: bool, rows: Ints, names: Names) -> tuple[str, bytes, list[Bytes], list[Bytes]]:
    """Event, address, indexed arguments and words of the data of rows of one kind."""
    n = len(rows)
    exchange = bytes.fromhex(EXCHANGES[1 if neg_risk else 0][2:])
    adapter = NEG_RISK_ADAPTER if neg_risk else CONDITIONAL_TOKENS
    wallet, other = _padded(names.wallets[rows[:, WALLET]]), _padded(names.wallets[rows[:, OTHER]])
    market = rows[:, MARKET]
    condition, token = names.conditions[market], names.tokens[market, rows[:, OUTCOME]]
    amount, collateral = _uint(rows[:, AMOUNT]), _uint(rows[:, COLLATERAL])
    buys = rows[:, BUYS, None] == 1
    zero, usdc = _same(bytes(32), n), _same(USDC_E.rjust(32, b"\0"), n)
    assets = [np.where(buys, zero, token), np.where(buys, token, zero)]
    amounts = [np.where(buys, collateral, amount), np.where(buys, amount, collateral)]
    # A match states the order that the log before it filled.
    filled_at = rows[:, LOG_INDEX] - (1 if kind == MATCHED else 0)
    order = np.concatenate([wallet[:, 12:], _uint(rows[:, BLOCK])[:, -6:], _uint(filled_at)[:, -6:]], 1)
    if kind == FILLED:
        at_exchange = rows[:, OTHER, None] < 0
        taker = np.where(at_exchange, _same(exchange.rjust(32, b"\0"), n), other)
        return "order_filled_v1", exchange, [order, wallet, taker], [*assets, *amounts, _uint(rows[:, FEE])]
    if kind == MATCHED:
        return "orders_matched_v1", exchange, [order, wallet], [*assets, *amounts]
    if kind == CHARGED:
        receiver = _same((b"\x0f" * 20).rjust(32, b"\0"), n)
        return "fee_charged_v1", exchange, [receiver], [token, amount]
    if kind in (SPLIT, MERGED):
        event = "split" if kind == SPLIT else "merge"
        if neg_risk:
            return f"adapter_{event}", adapter, [wallet, condition], [amount]
        listed = [_uint(np.full(n, value)) for value in (96, 2, 1, 2)]
        return f"ctf_{event}", adapter, [wallet, zero, condition], [usdc, listed[0], amount, *listed[1:]]
    if kind == CONVERTED:
        questions = names.questions[market].copy()
        questions[:, 31] = 0
        return "conversion", adapter, [wallet, questions, _uint(1 << (market % GROUP))], [amount]
    if kind == TRANSFERRED:
        return "transfer_single", CONDITIONAL_TOKENS, [wallet, wallet, other], [token, amount]
    oracle = _same((NEG_RISK_ADAPTER if neg_risk else ORACLE).rjust(32, b"\0"), n)
    two, question = _uint(np.full(n, 2)), names.questions[market]
    if kind == PREPARED:
        return "condition_preparation", CONDITIONAL_TOKENS, [condition, oracle, question], [two]
    if kind == ASKED:
        asked = question.copy()
        asked[:, 31] = 0
        data = [_uint(market % GROUP), _uint(np.full(n, 64)), _uint(np.zeros(n, np.int64))]
        return "question_prepared", NEG_RISK_ADAPTER, [asked, question], data
    if kind == RESOLVED:
        winner = rows[:, OUTCOME]
        data = [two, _uint(np.full(n, 64)), two, _uint(1 - winner), _uint(winner)]
        return "condition_resolution", CONDITIONAL_TOKENS, [condition, oracle, question], data
    if neg_risk:
        data = [_uint(np.full(n, 64)), collateral, two, amount, _uint(rows[:, FEE])]
        return "adapter_redemption", adapter, [wallet, condition], data
    listed = [_uint(np.full(n, value)) for value in (96, 2, 1, 2)]
    data = [condition, listed[0], collateral, *listed[1:]]
    return "ctf_redemption", adapter, [wallet, usdc, zero], data


def _frame(rows: Ints, order: Ints, event: str, address: bytes, topics: list[Bytes], data: list[Bytes]) -> pl.DataFrame:
    n = len(rows)
    block, tx_index = rows[:, BLOCK], rows[:, TX_INDEX]
    empty = pl.Series([None], dtype=pl.Binary).new_from_index(0, n)
    block_hash = np.concatenate([_uint(block * 2_654_435_761)[:, -16:], _uint(block)[:, -16:]], 1)
    tx_hash = np.concatenate([_uint(block * 40_503 + tx_index)[:, -16:], block_hash[:, -16:]], 1)
    return pl.DataFrame(
        {
            "__order": order,
            "address": _column(_same(address, n)),
            "topic0": _column(_same(BY_NAME[event].topic0, n)),
            **{f"topic{i}": _column(topics[i - 1]) if i <= len(topics) else empty for i in (1, 2, 3)},
            "data": _column(np.concatenate(data, 1)),
            "block_number": block,
            "block_hash": _column(block_hash),
            "time": pl.from_epoch(pl.Series(_GENESIS + 2 * (block - 10_000_000)), "s").dt.replace_time_zone("UTC"),
            "tx_hash": _column(tx_hash),
            "tx_index": tx_index,
            "log_index": rows[:, LOG_INDEX],
            "removed": pl.Series([False]).new_from_index(0, n),
        }
    )


def _uint(values: Ints) -> Bytes:
    words = np.zeros((len(values), 32), np.uint8)
    words[:, 24:] = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    return words


def _padded(addresses: Bytes) -> Bytes:
    words = np.zeros((len(addresses), 32), np.uint8)
    words[:, 12:] = addresses
    return words


def _same(value: bytes, n: int) -> Bytes:
    return np.tile(np.frombuffer(value, np.uint8), (n, 1))


def _column(values: Bytes) -> pl.Series:
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(values.shape[1]), len(values), [None, buffer])
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series
