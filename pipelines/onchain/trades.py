"""OrderFilled → `trades`, OrdersMatched → `matches` (design step 3).

An OrderFilled tells what happened to the order of its maker topic, and makes one row,
for that wallet. Nothing follows for the taker topic: it names the owner of the order
on the other side, who has a log of his own, and whose token differs when the match
mints or merges a pair.
"""

from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.buffers import Flags
from pipelines.onchain.building import Builder, joined
from pipelines.onchain.orders import Orders, read_orders
from pipelines.onchain.tables import ABI, DIRECTION, EXCHANGE, EXCHANGES, FEE_ASSET, TRADE_ROLE

_EXCHANGES = pl.Series(EXCHANGES, dtype=EXCHANGE)


def _walk(event: str, logs: pl.DataFrame) -> tuple[pl.DataFrame, Flags]:
    """Rows of the event's table for its sound logs, and which logs are sound."""
    orders = read_orders(BY_NAME[event], logs)
    abi = event[-2:]
    columns = [
        orders.wallet,
        orders.token_id,
        _EXCHANGES[orders.exchange].alias("exchange"),
        pl.Series("abi", [abi], ABI).new_from_index(0, logs.height),
        _either("direction", orders.buys, "BUY", "SELL", DIRECTION),
        pl.Series("amount", orders.amount),
        pl.Series("collateral", orders.collateral),
        logs["topic1"].alias("order_hash"),
    ]
    if event.startswith("order_filled"):
        columns += _filled(orders, abi)
    table = joined("trades" if event.startswith("order_filled") else "matches", columns, logs)
    return table if orders.sound.all() else table.filter(pl.Series(orders.sound)), orders.sound


def _filled(orders: Orders, abi: str) -> list[pl.Series]:
    """What only a fill has: the other side, the price, and the fee, which V1 takes out of what the wallet receives."""
    in_tokens = orders.buys if abi == "v1" else np.zeros_like(orders.buys)
    asset = _either("fee_asset", in_tokens, "outcome_token", "collateral", FEE_ASSET)
    return [
        orders.counterparty,
        _either("role", orders.by_exchange, "taker", "maker", TRADE_ROLE),
        _null_where(orders.amount == 0, pl.Series("price", orders.price)),
        pl.Series("fee", orders.fee),
        _null_where(orders.fee == 0, asset),
    ]


def _either(name: str, first: Flags, one: str, other: str, dtype: pl.Enum) -> pl.Series:
    return pl.Series(name, [one], dtype).zip_with(pl.Series(first), pl.Series(name, [other], dtype))


def _null_where(absent: npt.NDArray[np.bool_], values: pl.Series) -> pl.Series:
    return pl.Series(values.name, [None], values.dtype).zip_with(pl.Series(absent), values)


_ONE_COLLATERAL = (
    pl.col("maker_asset_is_zero") == pl.col("taker_asset_is_zero"),
    "not exactly one of the two assets is collateral",
)
_A_TOKEN = (pl.col("token_id_is_zero"), "the token is 0, which is collateral")

BUILDERS = {
    name: Builder(table, refuse=(rule,), walk=partial(_walk, name))
    for name, table, rule in (
        ("order_filled_v1", "trades", _ONE_COLLATERAL),
        ("order_filled_v2", "trades", _A_TOKEN),
        ("orders_matched_v1", "matches", _ONE_COLLATERAL),
        ("orders_matched_v2", "matches", _A_TOKEN),
    )
}
"""By event."""


def attach_markets(trades: pl.DataFrame, tokens: pl.DataFrame) -> pl.DataFrame:
    """Fill `condition_id` and `outcome` of trades from the table `tokens`; null where the token is unknown."""
    known = tokens.select("token_id", "condition_id", "outcome")
    return (
        trades.drop("condition_id", "outcome")
        .join(known, on="token_id", how="left", maintain_order="left")
        .select(trades.columns)
    )
