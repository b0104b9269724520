"""The full ledger: every change of a wallet's holding of an outcome, trades and all else (design step 4).

One row a log and outcome. Rows of contracts (exchanges, adapters, pools) are no wallet's
and stay out; a transfer to or from one of them belongs to an event that is already here.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from pipelines.onchain.contracts import PROTOCOL
from pipelines.onchain.ordering import place
from pipelines.onchain.tables import ONCHAIN_TABLES

KINDS = pl.Enum(
    ["trade", "fee_refund", "split", "merge", "redeem", "convert", "transfer", "pool_buy", "pool_sell", "pool_add",
     "pool_remove"]
)  # fmt: skip
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "wallet": pl.Binary,
    "condition_id": pl.Binary,
    "outcome": pl.Int16,
    "kind": KINDS,
    "delta": pl.Int64,
    "block_number": pl.Int64,
    "log_index": pl.Int32,
}
"""Columns of a ledger; `delta` in 10⁻⁶ share, null where the whole balance is burnt."""
_LOG = ["block_number", "log_index"]
_BIPS = 10_000


INPUTS = ("trades", "position_changes", "tokens", "preparations", "questions", "fees", "fpmm_pools")
"""Tables that a ledger is made from."""


def ledger(tables: Mapping[str, pl.DataFrame], contracts: Collection[bytes] = PROTOCOL) -> pl.DataFrame:
    """Every change of a holding, columns `SCHEMA`, in no promised order (`positions.follow_ledger` orders).

    `tables` holds the tables `INPUTS`; one that is missing is empty.

    - BUY adds the amount less a fee taken in tokens, SELL takes the amount away; a refunded fee comes back.
    - Splits add to, merges take from every outcome of the condition.
    - A redemption burns the balance of each listed outcome, on the neg-risk adapter the amounts of the log.
    - A conversion takes the NO of every question of its set and adds, less the market's fee, the YES of every
      other question that was prepared before it.
    - A pool trade moves the bought or sold outcome; a funder gets back what the pool did not keep
      (largest amount added − amount added), and all that is removed.
    - A transfer moves a token between wallets.

    Left out: nested positions (a parent collection), sets of several outcomes, tokens and questions that are
    unknown, trades of pools whose creation is unknown (their transfers then count).
    """
    of = {name: tables.get(name, ONCHAIN_TABLES[name].empty()) for name in INPUTS}
    changes, tokens, pools = of["position_changes"], of["tokens"], of["fpmm_pools"]
    own = pl.Series(sorted({*contracts, *pools["pool"].to_list()}), dtype=pl.Binary)
    parts = [
        _trades(of["trades"]),
        _refunds(of["fees"], tokens),
        _conditions(changes),
        _pools(changes, pools),
        _transfers(changes, tokens, own),
        _conversions(changes, _asked(of["questions"], of["preparations"])),
    ]
    rows = pl.concat([part.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()) for part in parts])
    placed = pl.all_horizontal(pl.col("wallet", "condition_id", "outcome").is_not_null())
    return rows.filter(placed & ~pl.col("wallet").is_in(own.implode()))


def _trades(trades: pl.DataFrame) -> pl.DataFrame:
    in_tokens = pl.when(pl.col("fee_asset") == "outcome_token").then("fee").otherwise(0)
    return trades.with_columns(
        pl.lit("trade").alias("kind"),
        pl.when(pl.col("direction") == "BUY")
        .then(pl.col("amount") - in_tokens)
        .otherwise(-pl.col("amount"))
        .alias("delta"),
    )


def _refunds(fees: pl.DataFrame, tokens: pl.DataFrame) -> pl.DataFrame:
    return (
        fees.filter(pl.col("kind").cast(pl.String) == "refunded")
        .join(tokens.select("token_id", "condition_id", "outcome"), on="token_id")
        .with_columns(pl.lit("fee_refund").alias("kind"), pl.col("amount").alias("delta"))
    )


def _conditions(changes: pl.DataFrame) -> pl.DataFrame:
    """Splits, merges and redemptions."""
    top = pl.col("parent_collection").is_null() | (pl.col("parent_collection") == bytes(32))
    rows = changes.filter(pl.col("kind").cast(pl.String).is_in(["split", "merge", "redeem"]) & top)
    gains = pl.col("kind") == "split"
    return rows.with_columns(pl.when(gains).then("amount").otherwise(-pl.col("amount")).alias("delta"))


def _pools(changes: pl.DataFrame, pools: pl.DataFrame) -> pl.DataFrame:
    made = pools.select(pl.col("pool").alias("contract"), "condition_id").unique("contract")
    rows = changes.filter(pl.col("venue") == "pool").drop("condition_id").join(made, on="contract")
    kept_back = pl.col("amount").max().over(_LOG) - pl.col("amount")
    kind = pl.col("kind").cast(pl.String)
    return rows.with_columns(
        pl.when(kind == "pool_sell")
        .then(-pl.col("amount"))
        .when(kind == "pool_add")
        .then(kept_back)
        .otherwise("amount")
        .alias("delta")
    )


def _transfers(changes: pl.DataFrame, tokens: pl.DataFrame, contracts: pl.Series) -> pl.DataFrame:
    party = pl.any_horizontal(pl.col("wallet", "counterparty", "operator").is_in(contracts.implode()).fill_null(False))
    rows = (
        changes.filter((pl.col("kind").cast(pl.String) == "transfer") & ~party)
        .drop("condition_id", "outcome")
        .join(tokens.select("token_id", "condition_id", "outcome"), on="token_id")
    )
    sent = rows.with_columns((-pl.col("amount")).alias("delta"))
    got = rows.with_columns(pl.col("counterparty").alias("wallet"), pl.col("amount").alias("delta"))
    # One batch may move a token twice: the legs of a log are one change of each holding.
    by = ["wallet", "condition_id", "outcome", "kind", *_LOG]
    return pl.concat([sent.select(*by, "delta"), got.select(*by, "delta")]).group_by(by).agg(pl.col("delta").sum())


def _asked(questions: pl.DataFrame, preparations: pl.DataFrame) -> pl.DataFrame:
    """Questions of neg-risk markets: market, index, condition, market fee, place of the preparation."""
    event = pl.col("event").cast(pl.String)
    fee = questions.filter(event == "market_prepared").select("market_id", "fee_bips").unique("market_id")
    return (
        questions.filter(event == "question_prepared")
        .select("market_id", "question_id", "index", place().alias("asked_at"))
        .join(preparations.select("question_id", "condition_id").unique(), on="question_id")
        .join(fee, on="market_id", how="left")
        .with_columns(pl.col("fee_bips").fill_null(0))
    )


def _conversions(changes: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    rows = changes.filter(pl.col("kind").cast(pl.String) == "convert")
    legs = rows.select(*_LOG, "wallet", "market_id", "amount", place().alias("at")).with_row_index("leg_row")
    bits = _bits(rows["index_set"].to_list())
    pairs = legs.join(asked, on="market_id").filter(pl.col("asked_at") < pl.col("at"))
    listed = bits[pairs["leg_row"].to_numpy(), pairs["index"].to_numpy()] if pairs.height else np.zeros(0, np.bool_)
    # A log may come in several legs, one a bit: a question is converted when any leg lists it.
    by = [*_LOG, "wallet", "market_id", "index", "condition_id", "fee_bips"]
    each = (
        pairs.with_columns(pl.Series("listed", listed, dtype=pl.Boolean))
        .group_by(by)
        .agg(pl.col("listed").any(), pl.col("amount").max())
    )
    minted = pl.col("amount") - pl.col("amount") * pl.col("fee_bips") // _BIPS
    return each.with_columns(
        pl.lit("convert").alias("kind"),
        pl.when("listed").then(1).otherwise(0).alias("outcome"),
        pl.when("listed").then(-pl.col("amount")).otherwise(minted).alias("delta"),
    )


def _bits(words: Sequence[bytes]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Bit b of every 32-byte big-endian word, in column b."""
    raw = np.frombuffer(b"".join(words), np.uint8).reshape(len(words), 32)
    return np.unpackbits(raw[:, ::-1], axis=1, bitorder="little").astype(np.bool_)
