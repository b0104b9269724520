"""OrderFilled → `trades`, OrdersMatched → `matches` (design step 3).

An OrderFilled tells what happened to the order of its maker topic, and makes one row,
for that wallet. Nothing follows for the taker topic: it names the owner of the order
on the other side, who has a log of his own, and whose token differs when the match
mints or merges a pair.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.onchain import words
from pipelines.onchain.building import Builder, shaped
from pipelines.onchain.tables import ABI, DIRECTION, EXCHANGE, EXCHANGES, FEE_ASSET, TRADE_ROLE

_EXCHANGES = [bytes.fromhex(text[2:]) for text in EXCHANGES]


def _order_v1(frame: pl.DataFrame) -> pl.DataFrame:
    """V1: asset 0 is the collateral; who gives it buys the other asset."""
    buys, sells = frame["maker_asset_is_zero"].to_numpy(), frame["taker_asset_is_zero"].to_numpy()
    token = words.choose("token_id", buys, frame["taker_asset"], frame["maker_asset"])
    return _order(frame, buys).hstack([token, pl.Series("sound", buys != sells)])


def _order_v2(frame: pl.DataFrame) -> pl.DataFrame:
    """V2: the side is said, and decides in the same way which amount is collateral."""
    return _order(frame, frame["side"].to_numpy() == 0).with_columns((~pl.col("token_id_is_zero")).alias("sound"))


def _order(frame: pl.DataFrame, buys: npt.NDArray[np.bool_]) -> pl.DataFrame:
    given, taken = frame["maker_amount"].to_numpy(), frame["taker_amount"].to_numpy()
    amount, collateral = words.swapped(buys, taken, given)
    exchange = pl.Series("exchange", words.find(frame["address"], _EXCHANGES)).cast(pl.UInt8).cat.to(EXCHANGE)
    return frame.hstack(
        [
            exchange,
            pl.Series("buys", buys),
            pl.Series("amount", amount),
            pl.Series("collateral", collateral),
        ]
    )


def _shared(abi: str) -> tuple[pl.Expr, ...]:
    return (
        pl.col("maker").alias("wallet"),
        pl.lit(abi, ABI).alias("abi"),
        pl.when("buys").then(pl.lit("BUY", DIRECTION)).otherwise(pl.lit("SELL", DIRECTION)).alias("direction"),
    )


def _fill(frame: pl.DataFrame, abi: str) -> pl.DataFrame:
    in_tokens = pl.col("buys") if abi == "v1" else pl.lit(False)
    amount, collateral = pl.col("amount"), pl.col("collateral")
    return shaped(
        frame,
        "trades",
        *_shared(abi),
        pl.col("taker").alias("counterparty"),
        pl.when(pl.Series(words.find(frame["taker"], _EXCHANGES) >= 0))
        .then(pl.lit("taker", TRADE_ROLE))
        .otherwise(pl.lit("maker", TRADE_ROLE))
        .alias("role"),
        pl.when(amount != 0).then(collateral.cast(pl.Float64) / amount.cast(pl.Float64)).alias("price"),
        pl.when(pl.col("fee") == 0)
        .then(None)
        .when(in_tokens)
        .then(pl.lit("outcome_token", FEE_ASSET))
        .otherwise(pl.lit("collateral", FEE_ASSET))
        .alias("fee_asset"),
    )


def _fill_v1(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return _fill(frame, "v1")


def _fill_v2(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return _fill(frame, "v2")


def _match_v1(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return shaped(frame, "matches", *_shared("v1"))


def _match_v2(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return shaped(frame, "matches", *_shared("v2"))


_ONE_COLLATERAL = (~pl.col("sound"), "not exactly one of the two assets is collateral")
_A_TOKEN = (~pl.col("sound"), "the token is 0, which is collateral")

BUILDERS = {
    "order_filled_v1": Builder("trades", _fill_v1, (_ONE_COLLATERAL,), prepare=_order_v1),
    "order_filled_v2": Builder("trades", _fill_v2, (_A_TOKEN,), prepare=_order_v2),
    "orders_matched_v1": Builder("matches", _match_v1, (_ONE_COLLATERAL,), prepare=_order_v1),
    "orders_matched_v2": Builder("matches", _match_v2, (_A_TOKEN,), prepare=_order_v2),
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
