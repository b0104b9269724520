"""Invariants of the tables of a drop of the chain, and of what is known of its markets."""

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from expectations.invariants.rules import Frames, among, lacking, never, no_rows, not_checked, ordered
from pipelines.findings import Finding
from pipelines.hashing import bucket_column
from pipelines.onchain.contracts import EXCHANGES_V1, EXCHANGES_V2
from pipelines.schema import TABLES

ADDRESSES = frozenset(
    {"address", "wallet", "counterparty", "operator", "contract", "collateral_token", "oracle", "pool", "creator"}
)
"""Columns of 20 bytes; all other bytes are words of 32."""
_EXCHANGES = pl.Series(sorted(EXCHANGES_V1 | EXCHANGES_V2), dtype=pl.Binary)


def logs(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """Total order, whole addresses and words, buckets that are the wallet's hash."""
    frame = frames[table]
    findings = [ordered(table, frame), _widths(table, frame)]
    for bucket, wallet in (("bucket", "wallet"), ("other_bucket", "counterparty")):
        if bucket in TABLES[table].columns:
            findings.append(_buckets(frame, bucket, wallet))
    return findings


def trades(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; price, role and fee follow from the log; with `tokens`: the market of every known token."""
    frame = frames[table]
    price = pl.when(pl.col("amount") > 0).then(pl.col("collateral") / pl.col("amount"))
    own = pl.col("counterparty").is_in(_EXCHANGES.implode())
    findings = [
        *logs(table, frames, settings),
        never("price", "price is collateral / amount, null without amount", frame, pl.col("price").ne_missing(price)),
        never("role", "the taker is who trades with an exchange", frame, own != (pl.col("role") == "taker")),
        never("fee", "a fee says its asset", frame, (pl.col("fee") > 0) != pl.col("fee_asset").is_not_null()),
    ]
    if table != "trades":
        return findings
    half = pl.col("condition_id").is_null() != pl.col("outcome").is_null()
    findings.append(never("placed", "market and outcome are known together", frame, half))
    if missing := lacking(frames, "tokens"):
        return [*findings, not_checked("token", *missing)]
    key = ["token_id", "condition_id", "outcome"]
    known = frame.filter(pl.col("condition_id").is_not_null())
    return [*findings, among("token", "market and outcome are those of the token", known, frames["tokens"], key)]


def markets(frames: Frames, settings: Any) -> list[Finding]:
    """As `logs`; a token for each outcome; with `conditions`: every condition that a contract named is there."""
    frame = frames["markets"]
    sizes = pl.col("outcomes").list.len() != pl.col("token_ids").list.len()
    findings = [
        *logs("markets", frames, settings),
        never("token_each", "a market has a token for each outcome", frame, sizes),
        never("ids", "the source's token ids are the derived ones", frame, ~pl.col("ids_match"), "warning"),
    ]
    if missing := lacking(frames, "conditions"):
        return [*findings, not_checked("every_condition", *missing)]
    text = "every condition that a contract named is a market"
    return [*findings, among("every_condition", text, frames["conditions"], frame, ["condition_id"])]


def _widths(table: str, frame: pl.LazyFrame) -> Finding:
    columns = [name for name, column in TABLES[table].columns.items() if column.dtype == pl.Binary]
    wrong = [pl.col(name).bin.size() != (20 if name in ADDRESSES else 32) for name in columns]
    text = "addresses have 20 bytes, hashes and ids 32"
    return never("widths", text, frame, pl.any_horizontal(wrong) if wrong else pl.lit(False))


def _buckets(frame: pl.LazyFrame, bucket: str, wallet: str) -> Finding:
    rows = frame.select(wallet, bucket).unique().filter(pl.col(wallet).is_not_null()).sort(wallet, bucket).collect()
    expected = bucket_column(rows[wallet]).rename("expected")
    wrong = rows.with_columns(expected).lazy().filter(pl.col(bucket).ne_missing(pl.col("expected")))
    return no_rows(bucket, f"{bucket} is the keyed hash of {wallet}", wrong)


PLAIN = (
    *("decoded_changes", "matches", "fees", "preparations", "resolutions", "token_registrations", "questions"),
    *("fpmm_pools", "appearances", "removals", "market_readings", "onchain_rejects", "log_counts", "retractions"),
    *("tokens", "position_changes"),
)
CHAIN: dict[str, Callable[[Frames, Any], list[Finding]]] = {
    **{table: partial(logs, table) for table in PLAIN},
    **{table: partial(trades, table) for table in ("decoded_trades", "trades")},
    "markets": markets,
}
"""By table."""
