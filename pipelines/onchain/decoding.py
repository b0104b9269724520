"""One drop of the chain → all tables of a drop: decoded logs by wallet bucket, rejects, counts, market descriptions."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pipelines.commerce.reading import SourceError, read_bytes
from pipelines.hashing import bucket_column
from pipelines.onchain.appearing import appearances
from pipelines.onchain.drop import decode_drop
from pipelines.onchain.gamma import read_markets
from pipelines.onchain.logs import read_logs, read_places
from pipelines.onchain.ordering import in_order
from pipelines.onchain.step_tables import STEP_TABLES
from pipelines.onchain.tables import ONCHAIN_TABLES

DROP_TABLES = (
    *("decoded_trades", "decoded_changes", "matches", "fees", "preparations", "resolutions", "token_registrations"),
    *("questions", "fpmm_pools", "appearances", "removals", "market_readings", "onchain_rejects", "log_counts"),
)
"""Tables of a drop, whether it brought logs or descriptions."""
_PIECE = 1 << 20


def decode_logs(paths: Sequence[Path]) -> dict[str, pl.DataFrame]:
    """Tables `DROP_TABLES` of files of logs; raises `commerce.reading.SourceError` for one that cannot be read."""
    piece = decode_drop(paths)
    trades, changes = piece.tables["trades"], piece.tables["position_changes"]
    made = {
        **piece.tables,
        "decoded_trades": trades.with_columns(bucket_column(trades["wallet"])),
        "decoded_changes": changes.with_columns(
            bucket_column(changes["wallet"]), _other_bucket(changes["counterparty"])
        ),
        "appearances": appearances(piece.tables),
        "removals": removals(paths),
        "onchain_rejects": piece.rejects,
        "log_counts": piece.counts,
    }
    return _all(made)


def decode_markets(paths: Sequence[Path]) -> dict[str, pl.DataFrame]:
    """Tables `DROP_TABLES` of files of market descriptions; only readings, rejects and counts have rows.

    Raises `commerce.reading.SourceError` for a file in which no market is described.
    """
    readings, rejects, counts = [], [], []
    for path in sorted(paths):
        found, refused = read_markets(b"".join(read_bytes(path, _PIECE)).decode("utf-8", "replace"))
        if found.is_empty() and refused:
            first = refused[0]
            remedy = "Give a JSON object, array or lines as Gamma's /markets gives them"
            raise SourceError(
                path.name, first.line, f"no market is described; the first is refused: {first.reason}", remedy
            )
        readings.append(found.with_columns(pl.lit(path.name).alias("file"), pl.int_range(1, pl.len() + 1).alias("row")))
        rejects += [(path.name, one.line, one.reason, "market", one.raw, None, None) for one in refused]
        counts += [
            (path.name, outcome, "market", n) for outcome, n in (("other", found.height), ("reject", len(refused)))
        ]
    rejected = pl.DataFrame(rejects, schema=ONCHAIN_TABLES["onchain_rejects"].schema, orient="row")
    counted = pl.DataFrame(counts, schema=ONCHAIN_TABLES["log_counts"].schema, orient="row").filter(pl.col("rows") > 0)
    read = pl.concat([STEP_TABLES["market_readings"].empty(), *(
        one.select(pl.col(name).cast(dtype) for name, dtype in STEP_TABLES["market_readings"].schema.items())
        for one in readings
    )])  # fmt: skip
    return _all({"market_readings": read, "onchain_rejects": rejected, "log_counts": counted})


def removals(paths: Sequence[Path]) -> pl.DataFrame:
    """Table `removals`: places of logs that a node took back."""
    table = STEP_TABLES["removals"]
    rows = [table.empty()]
    for path in paths:
        if any(places["removed"].any() for places in read_places(path)):
            rows += [
                chunk.rows.filter("removed").select(table.schema.names()).unique(table.key) for chunk in read_logs(path)
            ]
    return pl.concat(rows).unique(table.key)


def _other_bucket(wallets: pl.Series) -> pl.Series:
    known = wallets.drop_nulls().unique()
    buckets = pl.DataFrame({"wallet": known, "other_bucket": bucket_column(known)})
    joined = wallets.rename("wallet").to_frame().join(buckets, on="wallet", how="left", maintain_order="left")
    return joined["other_bucket"]


def _all(made: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Every table of a drop in its columns and order, empty where nothing was made."""
    registry = {**ONCHAIN_TABLES, **STEP_TABLES}
    return {
        name: in_order(made[name].select(registry[name].schema.names()), registry[name].sort_by)
        if name in made
        else registry[name].empty()
        for name in DROP_TABLES
    }
