"""Splits, merges, redemptions, conversions, transfers and pool events → `position_changes` (design step 4)."""

import polars as pl

from pipelines.onchain.building import Builder, any_of, shaped
from pipelines.onchain.contracts import COLLATERALS
from pipelines.onchain.tables import CHANGE, VENUE

_BITS = {(1 << bit).to_bytes(32, "big"): bit for bit in range(256)}


def _outcome(index_set: pl.Expr) -> pl.Expr:
    """The outcome when the set has one bit, else null."""
    return index_set.replace_strict(list(_BITS), list(_BITS.values()), default=None, return_dtype=pl.Int16)


def _rows(frame: pl.DataFrame, kind: str, venue: str, legs: list[dict[str, pl.Expr]]) -> pl.DataFrame:
    """One row a log and leg; the collateral of a log stands in leg 0."""
    parts = []
    for leg, columns in enumerate(legs or [{}]):
        given = dict(columns)
        if leg:
            given["collateral"] = pl.lit(None)
        if not legs:
            given["amount"] = pl.lit(None)
        parts.append(
            shaped(
                frame,
                "position_changes",
                pl.lit(kind, CHANGE).alias("kind"),
                pl.lit(venue, VENUE).alias("venue"),
                pl.col("address").alias("contract"),
                pl.lit(leg).alias("leg"),
                *(column.alias(name) for name, column in given.items()),
            )
        )
    return pl.concat(parts)


def _partition(kind: str) -> Builder:
    def build(frame: pl.DataFrame, size: int) -> pl.DataFrame:
        sets = [pl.col(f"index_set.{i}") for i in range(size)]
        legs = [{"index_set": one, "outcome": _outcome(one)} for one in sets]
        return _rows(frame, kind, "conditional_tokens", legs)

    # The contract serves anybody; only this protocol's collateral makes an event its own.
    return Builder("position_changes", build, foreign=~any_of("collateral_token", COLLATERALS))


def _pair(kind: str) -> Builder:
    def build(frame: pl.DataFrame, _: int) -> pl.DataFrame:
        legs = [
            {"index_set": pl.lit((1 << bit).to_bytes(32, "big")), "outcome": pl.lit(bit, pl.Int16)} for bit in (0, 1)
        ]
        return _rows(frame, kind, "neg_risk_adapter", legs)

    return Builder("position_changes", build)


def _amounts(kind: str, venue: str) -> Builder:
    def build(frame: pl.DataFrame, size: int) -> pl.DataFrame:
        legs = [{"amount": pl.col(f"amount.{i}"), "outcome": pl.lit(i, pl.Int16)} for i in range(size)]
        return _rows(frame, kind, venue, legs)

    return Builder("position_changes", build)


def _transfer(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return _rows(frame, "transfer", "conditional_tokens", [{"token_id": pl.col("token_id")}])


def _transfers(frame: pl.DataFrame, size: int) -> pl.DataFrame:
    legs = [{"token_id": pl.col(f"token_id.{i}"), "amount": pl.col(f"amount.{i}")} for i in range(size)]
    return _rows(frame, "transfer", "conditional_tokens", legs)


def _conversion(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return _rows(frame, "convert", "neg_risk_adapter", [{"index_set": pl.col("index_set")}])


def _pool_trade(kind: str) -> Builder:
    def build(frame: pl.DataFrame, _: int) -> pl.DataFrame:
        return _rows(frame, kind, "pool", [{"outcome": pl.col("outcome")}])

    return Builder("position_changes", build, ((pl.col("outcome") > 255, "outcome is not below 256"),))


BUILDERS = {
    "transfer_single": Builder("position_changes", _transfer),
    "transfer_batch": Builder("position_changes", _transfers),
    "ctf_split": _partition("split"),
    "ctf_merge": _partition("merge"),
    "ctf_redemption": _partition("redeem"),
    "adapter_split": _pair("split"),
    "adapter_merge": _pair("merge"),
    "adapter_redemption": _amounts("redeem", "neg_risk_adapter"),
    "conversion": Builder("position_changes", _conversion),
    "pool_buy": _pool_trade("pool_buy"),
    "pool_sell": _pool_trade("pool_sell"),
    "pool_funding_added": _amounts("pool_add", "pool"),
    "pool_funding_removed": _amounts("pool_remove", "pool"),
}
"""By event."""
