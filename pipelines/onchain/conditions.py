"""What the contracts say of conditions, questions, tokens, pools and fees, event by event."""

import polars as pl

from pipelines.onchain.building import Builder, any_of, shaped
from pipelines.onchain.contracts import COLLATERALS, CONDITIONAL_TOKENS
from pipelines.onchain.tables import EXCHANGE, FEE_KIND, QUESTION_EVENT

_SLOTS = ((pl.col("outcomes") > 256) | (pl.col("outcomes") < 2), "the number of outcomes is not 2 to 256")


def _preparation(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    return shaped(frame, "preparations")


def _resolution(frame: pl.DataFrame, size: int) -> pl.DataFrame:
    numerators = [pl.col(f"numerators.{i}") for i in range(size)]
    listed = pl.concat_list(numerators) if numerators else pl.lit([], pl.List(pl.Int64))
    return shaped(frame, "resolutions", listed.alias("numerators"))


def _registration(frame: pl.DataFrame, _: int) -> pl.DataFrame:
    text = "0x" + pl.col("address").bin.encode("hex")
    return shaped(frame, "token_registrations", text.cast(EXCHANGE).alias("exchange"))


def _question(event: str) -> Builder:
    def build(frame: pl.DataFrame, _: int) -> pl.DataFrame:
        given = [(pl.col("outcome") == 1).alias("outcome")] if event == "outcome_reported" else []
        return shaped(frame, "questions", pl.lit(event, QUESTION_EVENT).alias("event"), *given)

    refuse = ((pl.col("index") > 255, "index is not below 256"),) if event == "question_prepared" else ()
    return Builder("questions", build, refuse)


def _pool(frame: pl.DataFrame, size: int) -> pl.DataFrame:
    return (
        shaped(frame, "fpmm_pools", pl.col("condition_id.0").alias("condition_id"))
        if size
        else shaped(frame, "fpmm_pools")
    )


def _fee(kind: str) -> Builder:
    def build(frame: pl.DataFrame, _: int) -> pl.DataFrame:
        return shaped(frame, "fees", pl.lit(kind, FEE_KIND).alias("kind"), pl.col("address").alias("contract"))

    return Builder("fees", build)


BUILDERS = {
    "condition_preparation": Builder("preparations", _preparation, (_SLOTS,)),
    "condition_resolution": Builder("resolutions", _resolution, (_SLOTS,)),
    "token_registered": Builder("token_registrations", _registration),
    "market_prepared": _question("market_prepared"),
    "question_prepared": _question("question_prepared"),
    "outcome_reported": _question("outcome_reported"),
    "pool_creation": Builder(
        "fpmm_pools",
        _pool,
        foreign=(pl.col("conditional_tokens") != pl.lit(CONDITIONAL_TOKENS)) | ~any_of("collateral_token", COLLATERALS),
    ),
    "fee_charged_v1": _fee("charged"),
    "fee_charged_v2": _fee("charged"),
    "fee_refunded": _fee("refunded"),
    "fee_refunded_early": _fee("refunded"),
    "fee_withdrawn": _fee("withdrawn"),
}
"""By event."""
