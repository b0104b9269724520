"""`trade_instances`: direction, amount and action of every trade of a cohort wallet (paper §A.1)."""

import polars as pl

from pipelines.onchain.ordering import runs
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.splits import split_codes, split_column
from pipelines.onchain.tables import ONCHAIN_TABLES


def action() -> pl.Expr:
    """The action, from the direction and the position after the event.

    BUY accumulates; SELL reduces what is still positive after it, else closes. A trade of
    amount 0 moves nothing and is named by its direction in the same way (ours).
    """
    return (
        pl.when(pl.col("direction") == "BUY")
        .then(pl.lit("accumulate"))
        .when(pl.col("position_after") > 0)
        .then(pl.lit("reduce"))
        .otherwise(pl.lit("close"))
        .alias("action")
    )


def trade_instances(followed: pl.DataFrame, cohort: pl.DataFrame, settings: OnchainSettings) -> pl.DataFrame:
    """Table `trade_instances` of the wallets in `cohort` (wallet, cohort).

    `followed` is `positions.follow` of the cohort's trades; a wallet's instances are split in their
    order on the chain, over all markets. `amount` is in base units, 10⁻⁶ share, and `shares` the same in shares.
    """
    rows = followed.join(cohort.select("wallet", "cohort"), on="wallet", maintain_order="left").with_columns(action())
    split = split_codes(runs(rows["wallet"]), settings.trade_split_percent, settings.trade_split_rule)
    # Divided outside the expression, which would multiply by a rounded 10⁻⁶.
    shares = pl.Series("shares", rows["amount"].to_numpy() / 1e6)
    return rows.with_columns(split_column(split), shares).select(
        pl.col(name).cast(dtype) for name, dtype in ONCHAIN_TABLES["trade_instances"].schema.items()
    )
