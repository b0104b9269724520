"""`trailbench decode`: files of chain logs in, one row a fill out, what was refused beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.onchain import ids
from pipelines.onchain.drop import decode_drop
from resources.drops import expand
from trailbench.exporting import ExportError, write

COLUMNS = (
    *("block_number", "tx_index", "log_index", "exchange", "abi", "wallet", "counterparty", "role", "direction"),
    *("token_id", "amount", "collateral", "price", "fee", "fee_asset", "time", "tx_hash", "order_hash"),
)
"""Columns of a decoded trade, in their order outside."""


def readable(trades: pl.DataFrame) -> pl.DataFrame:
    """Trades with addresses and hashes as hex text and token ids as decimal text; amounts stay integer base units."""
    named = trades.select(COLUMNS).with_columns(
        ids.decimal_text(trades["token_id"]).alias("token_id"),
        *(ids.hex_text(pl.col(name)).alias(name) for name in ("wallet", "counterparty", "tx_hash", "order_hash")),
    )
    return named.with_columns(pl.col(pl.Enum).cast(pl.String))


def decode_files(paths: Sequence[Path], to: Path) -> dict[str, Any]:
    """Decode files of logs into `to` (.csv or .parquet) and `<to>.rejects.csv`; returns what became of every row.

    Raises `SourceError` for a file that cannot be read, `ExportError` for another ending.
    """
    if to.suffix not in (".csv", ".parquet"):
        raise ExportError(f"{to}: the file must end in .csv or .parquet")
    piece = decode_drop(expand(paths))
    trades = readable(piece.tables["trades"])
    refused = to.with_name(f"{to.name}.rejects.csv")
    write(trades.lazy(), to)
    write(piece.rejects.lazy(), refused)
    by = piece.counts.group_by("outcome", "event").agg(pl.col("rows").sum()).sort("outcome", "event")
    outcomes = by.group_by("outcome").agg(pl.col("rows").sum()).sort("outcome")
    return {
        "rows_in": int(by["rows"].sum()),
        "trades": trades.height,
        "outcomes": dict(outcomes.iter_rows()),
        "events": [dict(row) for row in by.iter_rows(named=True)],
        "rejected": dict(piece.rejects.group_by("reason").len().sort("reason").iter_rows()),
        "file": str(to),
        "rejects": str(refused),
    }
