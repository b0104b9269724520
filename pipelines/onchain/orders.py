"""Compiled walk over logs of OrderFilled and OrdersMatched: from their bytes to what each says, in one pass.

These are most logs of a drop. Read word by word like other events they would take twice the time.
"""

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.abi import Event
from pipelines.onchain.buffers import Addresses, Flags, Views, column, from_views, load_big, load_eight, load_four, room
from pipelines.onchain.tables import EXCHANGES
from pipelines.onchain.words import Codes, Ints, find, known_words, match

_EXCHANGES = tuple(bytes.fromhex(text[2:]) for text in EXCHANGES)
_SIZE, _SKIPPED = 20, 12
"""Bytes of an address, and those before it in its word."""


@dataclass(frozen=True)
class Orders:
    """What logs say of their orders, by log; that of a log which is not `sound` means nothing.

    `exchange` is the place of the emitter among `EXCHANGES`; `by_exchange` whether the taker is one of them. `price`
    is no number where `amount` is 0. Of OrdersMatched nothing is said of takers, fees and prices.
    """

    sound: Flags
    wallet: pl.Series
    counterparty: pl.Series
    token_id: pl.Series
    exchange: Codes
    buys: Flags
    by_exchange: Flags
    amount: Ints
    collateral: Ints
    fee: Ints
    price: npt.NDArray[np.float64]


def read_orders(event: Event, logs: pl.DataFrame) -> Orders:
    """Orders of the logs of an event, one of OrderFilled and OrdersMatched; all come from an exchange.

    A log is sound when `decode.read_event` can read it, and it says what is bought or sold for collateral.
    """
    n, n_topics = logs.height, len(event.indexed)
    sound = np.ones(n, np.bool_)
    for i in range(1, 4):
        missing = logs[f"topic{i}"].null_count()
        if missing != (0 if i <= n_topics else n):
            sound &= (logs[f"topic{i}"].is_null() == (i > n_topics)).to_numpy()
    makers, takers, data = (column(logs[name]) for name in ("topic2", "topic3", "data"))
    wallets, counterparties, tokens = room((3, n, 4), np.uint32)
    buys, by_exchange = room((2, n), np.bool_)
    amount, collateral, fee = room((3, n), np.int64)
    price = room(n, np.float64)
    if n:
        _walk(
            event.data[0].kind == "bit",
            n_topics == 3,
            32 * len(event.data),
            makers.views,
            makers.buffers,
            takers.views,
            takers.buffers,
            data.views,
            data.buffers,
            *known_words(_EXCHANGES),
            sound,
            wallets,
            counterparties,
            tokens,
            buys,
            by_exchange,
            amount,
            collateral,
            fee,
            price,
        )
    return Orders(
        sound,
        from_views("wallet", wallets, makers.owner.buffers()[2:]),
        from_views("counterparty", counterparties, takers.owner.buffers()[2:]),
        from_views("token_id", tokens, data.owner.buffers()[2:]),
        find(logs["address"], _EXCHANGES),
        buys,
        by_exchange,
        amount,
        collateral,
        fee,
        price,
    )


@nb.njit(cache=True, nogil=True)
def _place(views: Views, buffers: Addresses, row: int) -> Any:
    return buffers[views[row, 2]] + np.uint64(views[row, 3])


@nb.njit(cache=True, nogil=True)
def _cut(views: Views, row: int, at: np.uint64, skipped: int, length: int, out: Views) -> None:
    """The view of some bytes of a value, the first of them at `skipped`."""
    out[row, 0] = length
    out[row, 1] = load_four(at + np.uint64(skipped))
    out[row, 2] = views[row, 2]
    out[row, 3] = views[row, 3] + np.uint32(skipped)


@nb.njit(cache=True, nogil=True)
def _above(at: np.uint64) -> Any:
    """0 when a word is below 2⁶⁴."""
    return load_eight(at) | load_eight(at + np.uint64(8)) | load_eight(at + np.uint64(16))


@nb.njit(cache=True, nogil=True)
def _before_address(at: np.uint64) -> Any:
    """0 when a word is an address."""
    return load_eight(at) | (load_eight(at + np.uint64(8)) << np.uint64(32))


@nb.njit(cache=True, nogil=True)
def _walk(
    sided: bool,
    filled: bool,
    size: int,
    makers: Views,
    makers_at: Addresses,
    takers: Views,
    takers_at: Addresses,
    data: Views,
    data_at: Addresses,
    places: Addresses,
    exchanges: Addresses,
    sound: Flags,
    wallets: Views,
    counterparties: Views,
    tokens: Views,
    buying: Flags,
    by_exchange: Flags,
    amounts: Ints,
    collaterals: Ints,
    fees: Ints,
    prices: npt.NDArray[np.float64],
) -> None:
    zero, low, word, top = np.uint64(0), np.uint64(24), np.uint64(32), np.uint64(63)
    for row in range(data.shape[0]):
        if not sound[row] or data[row, 0] != size:
            sound[row] = False
            wallets[row] = counterparties[row] = tokens[row] = 0
            continue
        at, maker = _place(data, data_at, row), _place(makers, makers_at, row)
        wrong = _before_address(maker)

        # V2 names side and token; V1 both assets, and the one that is 0 is collateral.
        first, first_above = load_big(at + low), _above(at)
        no_token = (_above(at + word) | load_big(at + word + low)) == zero
        if sided:
            buys = first == zero
            wrong |= first_above | (first >> np.uint64(1)) | np.uint64(no_token)
        else:
            buys = (first_above | first) == zero
            wrong |= np.uint64(buys == no_token)

        # Who buys gives collateral. It cannot be foreseen who does, and a branch would stall: bits decide.
        amounts_at = at + word + word
        given, taken = load_big(amounts_at + low), load_big(amounts_at + word + low)
        wrong |= _above(amounts_at) | _above(amounts_at + word) | ((given | taken) >> top)
        differ = (given ^ taken) & (zero - np.uint64(buys))
        amount, collateral = np.int64(given ^ differ), np.int64(taken ^ differ)

        _cut(makers, row, maker, _SKIPPED, _SIZE, wallets)
        _cut(data, row, at, 32 * int(buys or sided), 32, tokens)
        buying[row] = buys
        amounts[row], collaterals[row] = amount, collateral
        if filled:
            taker, fee_at = _place(takers, takers_at, row), amounts_at + word + word
            fee = load_big(fee_at + low)
            wrong |= _before_address(taker) | _above(fee_at) | (fee >> top)
            _cut(takers, row, taker, _SKIPPED, _SIZE, counterparties)
            by_exchange[row] = match(taker + np.uint64(_SKIPPED), places, exchanges) >= 0
            fees[row] = np.int64(fee)
            prices[row] = np.float64(collateral) / np.float64(amount) if amount else np.nan
        sound[row] = wrong == zero
