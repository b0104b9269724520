"""OrderFilled → `trades`, OrdersMatched → `matches` (design step 3).

An OrderFilled tells what happened to the order of its maker topic, and makes one row,
for that wallet. Nothing follows for the taker topic: it names the owner of the order
on the other side, who has a log of his own, and whose token differs when the match
mints or merges a pair.
"""

import polars as pl

from pipelines.onchain.building import ZERO, Builder, any_of, shaped
from pipelines.onchain.contracts import EXCHANGES_V1, EXCHANGES_V2
from pipelines.onchain.tables import ABI, DIRECTION, EXCHANGE, EXCHANGES, FEE_ASSET, TRADE_ROLE

_MAKER_PAYS = pl.col("maker_asset") == pl.lit(ZERO)
"""V1: asset 0 is the collateral; who gives it buys."""
_ONE_COLLATERAL = (
    (pl.col("taker_asset") == pl.lit(ZERO)) == _MAKER_PAYS,
    "not exactly one of the two assets is collateral",
)
_SIDE_BUYS = pl.col("side") == 0


def _exchange() -> pl.Expr:
    named = pl.lit(None, EXCHANGE)
    for text in EXCHANGES:
        this = pl.col("address") == pl.lit(bytes.fromhex(text[2:]))
        named = pl.when(this).then(pl.lit(text, EXCHANGE)).otherwise(named)
    return named.alias("exchange")


def _either(buys: pl.Expr, buy: str, sell: str) -> pl.Expr:
    return pl.when(buys).then(pl.col(buy)).otherwise(pl.col(sell))


def _order(buys: pl.Expr, token: pl.Expr, abi: str) -> tuple[pl.Expr, ...]:
    return (
        pl.col("maker").alias("wallet"),
        _exchange(),
        pl.lit(abi, ABI).alias("abi"),
        pl.when(buys).then(pl.lit("BUY", DIRECTION)).otherwise(pl.lit("SELL", DIRECTION)).alias("direction"),
        token.alias("token_id"),
        _either(buys, "taker_amount", "maker_amount").alias("amount"),
        _either(buys, "maker_amount", "taker_amount").alias("collateral"),
    )


def _fill(frame: pl.DataFrame, buys: pl.Expr, token: pl.Expr, abi: str) -> pl.DataFrame:
    amount = _either(buys, "taker_amount", "maker_amount")
    collateral = _either(buys, "maker_amount", "taker_amount")
    in_tokens = buys if abi == "v1" else pl.lit(False)
    return shaped(
        frame,
        "trades",
        *_order(buys, token, abi),
        pl.col("taker").alias("counterparty"),
        pl.when(any_of("taker", EXCHANGES_V1 | EXCHANGES_V2))
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
    return _fill(frame, _MAKER_PAYS, _either(_MAKER_PAYS, "taker_asset", "maker_asset"), "v1")


def _fill_v2(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return _fill(frame, _SIDE_BUYS, pl.col("token_id"), "v2")


def _match_v1(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    token = _either(_MAKER_PAYS, "taker_asset", "maker_asset")
    return shaped(frame, "matches", *_order(_MAKER_PAYS, token, "v1"))


def _match_v2(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return shaped(frame, "matches", *_order(_SIDE_BUYS, pl.col("token_id"), "v2"))


_A_TOKEN = (pl.col("token_id") == pl.lit(ZERO), "the token is 0, which is collateral")

BUILDERS = {
    "order_filled_v1": Builder("trades", _fill_v1, (_ONE_COLLATERAL,)),
    "order_filled_v2": Builder("trades", _fill_v2, (_A_TOKEN,)),
    "orders_matched_v1": Builder("matches", _match_v1, (_ONE_COLLATERAL,)),
    "orders_matched_v2": Builder("matches", _match_v2, (_A_TOKEN,)),
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
