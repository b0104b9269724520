"""`appearances`: which decoded logs of a drop name which wallets in an indexed address (design step 6).

The same wallets and logs that `wallets.appearances` finds in raw logs of the protocol,
without reading the files again. Transfers of collateral enter no table and name nobody.
"""

from collections.abc import Mapping

import polars as pl

from pipelines.hashing import bucket_column
from pipelines.onchain.contracts import POOL_FACTORY, PROTOCOL
from pipelines.onchain.step_tables import STEP_TABLES

_NAMED = {
    "trades": ("wallet", "counterparty"),
    "matches": ("wallet",),
    "position_changes": ("wallet", "counterparty", "operator"),
    "fees": ("wallet",),
    "fpmm_pools": ("creator",),
}
"""Decoded table → its columns that come from an indexed address."""
_EMITTER = {
    "trades": pl.col("exchange").cast(pl.String).str.slice(2).str.decode("hex"),
    "matches": pl.col("exchange").cast(pl.String).str.slice(2).str.decode("hex"),
    "position_changes": pl.col("contract"),
    "fees": pl.col("contract"),
    "fpmm_pools": pl.lit(POOL_FACTORY),
}


def appearances(decoded: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Table `appearances` of the tables that `drop.decode_drop` made; contracts of the protocol are no wallets."""
    table = STEP_TABLES["appearances"]
    place = [name for name in table.columns if name not in ("bucket", "wallet", "address")]
    parts = []
    for name, columns in _NAMED.items():
        rows = decoded[name]
        if name == "fees":
            rows = rows.filter(pl.col("kind").cast(pl.String) != "withdrawn")
        parts += [
            rows.select(pl.col(column).alias("wallet"), _EMITTER[name].alias("address"), *place) for column in columns
        ]
    known = pl.Series(sorted(PROTOCOL), dtype=pl.Binary).implode()
    named = pl.concat(parts).filter(pl.col("wallet").is_not_null() & ~pl.col("wallet").is_in(known))
    once = named.unique(table.key)
    return once.with_columns(bucket_column(once["wallet"])).select(table.schema.names()).sort(table.sort_by)
