"""Redemptions against positions: the check that needs no oracle (design step 4)."""

import polars as pl

_LOG = ["block_number", "log_index"]


def reconcile(followed: pl.DataFrame, position_changes: pl.DataFrame, resolutions: pl.DataFrame) -> pl.DataFrame:
    """One row a PayoutRedemption of a wallet in the ledger: whether its full position explains the payout.

    `followed` is `positions.follow_ledger`. `expected` is the sum over the listed outcomes of
    ⌊tokens · numerator / denominator⌋, as the contract pays; tokens are the whole position before the
    log, on the neg-risk adapter the amounts that the log burns. `reconciles` is true when it equals
    `payout` to the base unit and no position is negative or smaller than what is burnt; null when
    the resolution is not in the data. Sorted by place.
    """
    paid = position_changes.filter(
        (pl.col("kind").cast(pl.String) == "redeem") & pl.col("collateral").is_not_null()
    ).select(*_LOG, pl.col("collateral").alias("payout"))
    # A resolution repeats nothing: a condition resolves once.
    numerators = resolutions.unique("condition_id").select(
        "condition_id", "numerators", pl.col("numerators").list.sum().alias("denominator")
    )
    tokens = pl.when(pl.col("delta").is_null()).then("position_before").otherwise(-pl.col("delta"))
    numerator = pl.col("numerators").list.get(pl.col("outcome").cast(pl.Int64), null_on_oob=True)
    legs = (
        followed.filter(pl.col("kind").cast(pl.String) == "redeem")
        .join(numerators, on="condition_id", how="left")
        .with_columns(tokens.alias("tokens"), numerator.alias("numerator"))
        .with_columns(
            # 128 bits: the product of two amounts may need more than 64.
            (pl.col("tokens").cast(pl.Int128) * pl.col("numerator").cast(pl.Int128) // pl.col("denominator")).alias(
                "pays"
            ),
            ((pl.col("position_before") >= pl.col("tokens")) & (pl.col("position_before") >= 0)).alias("held"),
        )
    )
    return (
        legs.group_by("wallet", "condition_id", *_LOG)
        .agg(
            pl.when(pl.col("pays").null_count() == 0).then(pl.col("pays").sum()).cast(pl.Int64).alias("expected"),
            pl.col("held").all(),
        )
        .join(paid, on=_LOG, how="inner")
        .with_columns(((pl.col("expected") == pl.col("payout")) & pl.col("held")).alias("reconciles"))
        .with_columns(pl.when(pl.col("expected").is_not_null()).then("reconciles").alias("reconciles"))
        .drop("held")
        .sort(*_LOG)
    )


def share_reconciled(reconciled: pl.DataFrame) -> tuple[int, int, int]:
    """Redemptions that reconcile, that could be checked, and all of them."""
    return int(reconciled["reconciles"].sum()), reconciled["reconciles"].count(), reconciled.height
