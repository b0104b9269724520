"""The logs of a release's drops as one chain, for the steps of the on-chain track."""

from typing import Any

import polars as pl

from assets.steps import Given
from pipelines.hashing import bucket_column, frame_hash
from pipelines.onchain.candidates import up_to
from pipelines.onchain.ledger import INPUTS
from pipelines.onchain.merging import merge
from pipelines.onchain.rederiving import followed_ledger
from pipelines.onchain.step_tables import PUBLISHED


def merged(given: Given, table: str, only: pl.Expr | bool = True) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows of a table of drops as one chain up to the last block, and how many left: retracted, duplicates, after.

    In a step over shards, those of its wallets; `only` narrows them further.
    """
    frames = [rows.filter(only).collect() for rows in given.by_drop(table)]
    rows, counts = merge(frames, given["retractions"], table)
    kept = up_to(rows, given.settings)
    return kept, {**counts, "after the last block": rows.height - kept.height}


def chain_of(given: Given, wallets: pl.Series | None = None) -> dict[str, pl.DataFrame]:
    """Tables of the chain by the names of the domain: the step's trades and all that may move its wallets' tokens.

    `wallets` narrows both to theirs.
    """
    mine, either = pl.lit(True), pl.lit(True)
    if wallets is not None:
        mine = pl.col("wallet").is_in(wallets.implode())
        either = mine | pl.col("counterparty").is_in(wallets.implode()).fill_null(False)
    logs = {name: merged(given, name)[0] for name in ("preparations", "resolutions", "questions", "fpmm_pools")}
    changes = merged(given, "decoded_changes", either)[0].select(PUBLISHED["position_changes"].schema.names())
    trades = given.lazy("trades").filter(mine).collect()
    fees = merged(given, "fees", mine)[0]
    return {**logs, "fees": fees, "position_changes": changes, "trades": trades, "tokens": given["tokens"]}


def followed_ledger_of(given: Given, chain: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The full ledger of the step's wallets, followed."""
    moved = followed_ledger({name: chain[name] for name in (*INPUTS, "resolutions")}, given.settings)
    if given.buckets is None:
        return moved
    return moved.filter(bucket_column(moved["wallet"]).is_in(given.buckets))


def drawn_hash(given: Given) -> Any:
    """Hash of the drawn wallets of the step's shard: who else was seen changes nothing here."""
    drawn = given.lazy("wallets").filter(pl.col("rank").is_not_null()).select("wallet", "cohort", "rank").collect()
    if given.buckets is not None:
        drawn = drawn.filter(bucket_column(drawn["wallet"]).is_in(given.buckets))
    return frame_hash(drawn.sort("wallet"))
