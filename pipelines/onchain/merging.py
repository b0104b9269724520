"""Logs of several drops as one chain: every log once, nothing that was taken back, nothing that is in doubt.

Drops may overlap and may come from different sources. Of equal logs the row that
knows most of its place stands. What one drop says was taken back is left out of all;
where two drops hold different logs at one place, or name two hashes of its block,
nothing tells which one the chain kept, so neither counts.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipelines.onchain.drop import DECODED
from pipelines.onchain.step_tables import PUBLISHED, STEP_TABLES
from pipelines.onchain.trades import attach_markets

PLACE = ["block_number", "log_index"]
KNOWN = ["block_hash", "tx_hash", "tx_index", "time"]
"""What a source may not give of a place."""
NOT_CONTENT = {*KNOWN, "bucket", "other_bucket"}
DECODED_AS = {**{name: name for name in DECODED}, "trades": "decoded_trades", "position_changes": "decoded_changes"}
"""Table of the decoder → table of a drop."""
TAKEN_BACK = "taken back by the node"
DIFFERENT = "two drops hold different logs at one place of the chain"
TWO_BLOCKS = "drops name two hashes of its block or transaction"


def retractions(drops: Sequence[Mapping[str, pl.DataFrame]]) -> pl.DataFrame:
    """Table `retractions` of drops, each with its tables `DECODED_AS` and `removals`; of a single one `removals`."""
    table = STEP_TABLES["retractions"]
    removed = pl.concat([table.empty().drop("reason"), *(drop["removals"] for drop in drops)]).unique()
    taken = removed.with_columns(pl.lit(TAKEN_BACK).alias("reason"))
    if len(drops) < 2:
        return taken.select(table.schema.names()).sort(table.sort_by)
    # A log that was taken back contradicts nobody: its successor stands.
    drops = [_standing(drop, removed) for drop in drops]
    suspects = _shared_places(drops)
    doubtful = [_doubtful(name, drops, suspects) for name in DECODED_AS.values()]
    rows = pl.concat([taken, *doubtful, _across(drops, suspects)])
    # A place may be doubtful for two reasons; the one that comes first by text is named.
    return (
        rows.select(table.schema.names())
        .sort(table.schema.names(), nulls_last=False)
        .unique(list(table.key), keep="first", maintain_order=True)
    )


def merge(drops: Sequence[pl.DataFrame], retracted: pl.DataFrame, table: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows of a table of all drops as one chain, in the table's order, and how many left: `retracted`, `duplicates`."""
    spec = PUBLISHED[table]
    rows = pl.concat([spec.empty(), *drops])
    left = rows.join(retracted, on=[*PLACE, "block_hash"], how="anti", nulls_equal=True)
    known = [name for name in KNOWN if name in rows.columns]
    once = left.sort(*spec.sort_by, *known, nulls_last=True).unique(spec.key, keep="first", maintain_order=True)
    counts = {"retracted": rows.height - left.height, "duplicates": left.height - once.height}
    return once.sort(spec.sort_by), counts


def placed(rows: pl.DataFrame, tokens: pl.DataFrame) -> pl.DataFrame:
    """Table `trades` of rows of `decoded_trades`: with the market and outcome of every known token."""
    unplaced = rows.with_columns(condition_id=pl.lit(None, pl.Binary), outcome=pl.lit(None, pl.Int16))
    return attach_markets(unplaced.select(PUBLISHED["trades"].schema.names()), tokens)


def _standing(drop: Mapping[str, pl.DataFrame], removed: pl.DataFrame) -> dict[str, pl.DataFrame]:
    place = [*PLACE, "block_hash"]
    return {name: drop[name].join(removed, on=place, how="anti", nulls_equal=True) for name in DECODED_AS.values()}


def _places(drop: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    parts = [drop[name].select(*PLACE).with_columns(pl.lit(name).alias("table")) for name in DECODED_AS.values()]
    return pl.concat(parts).unique()


def _shared_places(drops: Sequence[Mapping[str, pl.DataFrame]]) -> pl.DataFrame:
    """Places that more than one drop fills."""
    every = pl.concat([_places(drop).select(PLACE).unique() for drop in drops])
    return every.group_by(PLACE).len().filter(pl.col("len") > 1).select(PLACE)


def _doubtful(name: str, drops: Sequence[Mapping[str, pl.DataFrame]], suspects: pl.DataFrame) -> pl.DataFrame:
    """Rows of one table at shared places that contradict another drop's."""
    empty = STEP_TABLES["retractions"].empty()
    rows = pl.concat([drop[name].join(suspects, on=PLACE, how="semi") for drop in drops]).unique()
    by = [*PLACE, *(["leg"] if "leg" in rows.columns else [])]
    # Drops that overlap mostly agree to the byte; only places that still have two rows are compared.
    rows = rows.join(rows.group_by(by).len().filter(pl.col("len") > 1), on=PLACE, how="semi")
    if rows.is_empty():
        return empty
    content = pl.struct([column for column in rows.columns if column not in NOT_CONTENT])
    two = [pl.col(column).drop_nulls().n_unique().over(PLACE) > 1 for column in ("block_hash", "tx_hash")]
    return (
        rows.with_columns(
            pl.when((content.n_unique().over(by) > 1).max().over(PLACE))
            .then(pl.lit(DIFFERENT))
            .when(pl.any_horizontal(two))
            .then(pl.lit(TWO_BLOCKS))
            .alias("reason")
        )
        .filter(pl.col("reason").is_not_null())
        .select(empty.columns)
    )


def _across(drops: Sequence[Mapping[str, pl.DataFrame]], suspects: pl.DataFrame) -> pl.DataFrame:
    """Places where one drop holds an event of one table and another drop one of another."""
    empty = STEP_TABLES["retractions"].empty()
    if suspects.is_empty():
        return empty
    filled = pl.concat([_places(drop).join(suspects, on=PLACE, how="semi") for drop in drops]).unique()
    both = filled.group_by(PLACE).len().filter(pl.col("len") > 1).select(PLACE)
    rows = [
        drop[name].join(both, on=PLACE, how="semi").select(*PLACE, "block_hash")
        for drop in drops
        for name in DECODED_AS.values()
    ]
    return pl.concat([empty, pl.concat(rows).with_columns(pl.lit(DIFFERENT).alias("reason"))])
