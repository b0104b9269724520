"""The full ledger: every change of a wallet's holding of an outcome, trades and all else (design step 4).

One row a log and outcome. Rows of contracts (exchanges, adapters, pools) are no wallet's
and stay out; a transfer to or from one of them belongs to an event that is already here.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from pipelines.onchain.ordering import place

PROTOCOL = tuple(
    bytes.fromhex(address)
    for address in (
        "00" * 20,
        "4bfb41d5b3570defd03c39a9a4d8de6bd8b8982e",
        "c5d563a36ae78145c45a50134d48a1215220f80a",
        "4d97dcd97ec945f40cf65f87097ace5ea0476045",
        "d91e80cf2e7be2e162c6513ced06f1dd0da35296",
        "71523d0f655b41e805cec45b17163f528b59b820",
        "3a3bd7bb9528e159577f7c2e685cc81a765002e2",
        "7f67327e88c258932d7d8f72950be0d46975e11d",
        "a5ef39c3d3e10d0b270233af41cac69796b12966",
        "e3f18acc55091e2c48d883fc8c8413319d4ab7b0",
        "b768891e3130f6df18214ac804d4db76c2c37730",
        "56c79347e95530c01a2fc76e732f9566da16e113",
        "78769d50be1763ed1ca0d5e878d93f05aabff29e",
        "e111180000d2663c0091e4f400237545b87b996b",
        "e2222d279d744050d28e00520010520000310f59",
        "ada100874d00e3331d00f2007a9c336a65009718",
        "ada100db00ca00073811820692005400218fce1f",
        "ada200001000ef00d07553cee7006808f895c6f1",
        "ada2005600dec949baf300f4c6120000bdb6eaab",
    )
)
"""Addresses whose holdings are nobody's: mint and burn, exchanges, adapters, fee modules (reference B.1)."""

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


@dataclass(frozen=True)
class Decoded:
    """The decoded tables that a ledger is made from; each in the shape of its table in `tables`."""

    trades: pl.DataFrame
    position_changes: pl.DataFrame
    tokens: pl.DataFrame
    preparations: pl.DataFrame
    questions: pl.DataFrame
    fees: pl.DataFrame
    pools: pl.DataFrame


def ledger(decoded: Decoded, contracts: Collection[bytes] = PROTOCOL) -> pl.DataFrame:
    """Every change of a holding, columns `SCHEMA`, sorted by (wallet, condition, outcome, place).

    - BUY adds the amount less a fee taken in tokens, SELL takes the amount away; a refunded fee comes back.
    - Splits add to, merges take from every outcome of the condition.
    - A redemption burns the balance of each listed outcome, on the neg-risk adapter the amounts of the log.
    - A conversion takes the NO of every question of its set and adds, less the market's fee, the YES of every
      other question that was prepared before it.
    - A pool trade moves the bought or sold outcome; a funder gets back what the pool did not keep
      (largest amount added − amount added), and all that is removed.
    - A transfer moves a token between wallets.

    Left out: nested positions (a parent collection), sets of several outcomes, tokens and questions that are unknown.
    """
    changes = decoded.position_changes
    pools = pl.concat([decoded.pools["pool"], changes.filter(pl.col("venue") == "pool")["contract"]]).unique()
    own = set(contracts) | set(pools.to_list())
    parts = [
        _trades(decoded.trades),
        _refunds(decoded.fees, decoded.tokens),
        _conditions(changes),
        _pools(changes),
        _transfers(changes, decoded.tokens, own),
        _conversions(changes, _asked(decoded)),
    ]
    rows = pl.concat([part.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()) for part in parts])
    return (
        rows.filter(pl.all_horizontal(pl.col("wallet", "condition_id", "outcome").is_not_null()))
        .filter(~pl.col("wallet").is_in(sorted(own)))
        .sort("wallet", "condition_id", "outcome", *_LOG, "kind", "delta")
    )


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
    # The adapter's own splits and merges list no outcomes: its conditions have two.
    unlisted = (pl.col("venue") == "neg_risk_adapter") & pl.col("outcome").is_null()
    both = rows.filter(unlisted & pl.col("kind").cast(pl.String).is_in(["split", "merge"]))
    rows = pl.concat([rows.filter(~unlisted), *(both.with_columns(outcome=pl.lit(i, pl.Int16)) for i in (0, 1))])
    gains = pl.col("kind") == "split"
    return rows.with_columns(pl.when(gains).then("amount").otherwise(-pl.col("amount")).alias("delta"))


def _pools(changes: pl.DataFrame) -> pl.DataFrame:
    rows = changes.filter(pl.col("venue") == "pool")
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


def _transfers(changes: pl.DataFrame, tokens: pl.DataFrame, contracts: Collection[bytes]) -> pl.DataFrame:
    known = sorted(contracts)
    party = pl.any_horizontal(pl.col("wallet", "counterparty", "operator").is_in(known).fill_null(False))
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


def _asked(decoded: Decoded) -> pl.DataFrame:
    """Questions of neg-risk markets: market, index, condition, market fee, place of the preparation."""
    event = pl.col("event").cast(pl.String)
    fee = decoded.questions.filter(event == "market_prepared").select("market_id", "fee_bips").unique("market_id")
    return (
        decoded.questions.filter(event == "question_prepared")
        .select("market_id", "question_id", "index", place().alias("asked_at"))
        .join(decoded.preparations.select("question_id", "condition_id").unique(), on="question_id")
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
