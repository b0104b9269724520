"""The structured profile of a wallet: counts and medians of its trades before the end of its train split (ours).

The paper lets a model write its profiles; this one is computed, so that it is the same for
every reader. A model's profile can be made from the same rows (`histories.gather`, profile).
"""

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

PROFILES: dict[str, pl.DataType | type[pl.DataType]] = {
    "wallet": pl.Binary,
    "trades": pl.Int64,
    "markets": pl.Int64,
    "buys": pl.Int64,
    "sells": pl.Int64,
    "median_amount": pl.Int64,
    "largest_amount": pl.Int64,
    "median_price": pl.Float64,
    "median_trades_per_market": pl.Int64,
    "by_outcome": pl.List(pl.Int64),
    "categories": pl.List(pl.String),
}
_CATEGORIES = 5


class Profile(BaseModel):
    """What a prompt shows of a profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trades: int = Field(description="trades")
    markets: int = Field(description="markets traded in")
    buys: int = Field(description="trades that bought")
    sells: int = Field(description="trades that sold")
    median_amount: int = Field(description="lower median of the amounts, 10⁻⁶ share")
    largest_amount: int = Field(description="largest amount, 10⁻⁶ share")
    median_price: float | None = Field(description="median price of its trades, dollar a share")
    median_trades_per_market: int = Field(description="lower median of its trades in a market")
    by_outcome: list[int] = Field(description="trades by outcome index")
    categories: list[str] = Field(description="categories it trades in most, most frequent first")


def profiles(cohort_trades: pl.DataFrame, histories: pl.DataFrame, markets: pl.DataFrame, layer: str) -> pl.DataFrame:
    """One row a wallet that has a profile in `layer`, columns `PROFILES`; `markets` is the table `markets`."""
    ends = (
        histories.filter((pl.col("layer").cast(pl.String) == layer) & (pl.col("profile_n") > 0))
        .group_by("wallet")
        .agg(pl.col("profile_n").max())
    )
    rows = (
        cohort_trades.join(ends, on="wallet")
        .filter(pl.col("event") < pl.col("profile_n"))
        .join(markets.select("condition_id", "category"), on="condition_id", how="left")
        .with_columns((pl.col("direction").cast(pl.String) == "BUY").cast(pl.Int64).alias("buy"))
    )

    def lower_median(column: str) -> pl.Expr:
        return pl.col(column).sort().get((pl.len() - 1) // 2)

    per_market = rows.group_by("wallet", "condition_id").agg(pl.len().cast(pl.Int64).alias("n"))
    categories = (
        rows.filter(pl.col("category").is_not_null())
        .group_by("wallet", "category")
        .agg(pl.len().alias("n"))
        .sort("wallet", pl.col("n"), "category", descending=[False, True, False])
        .group_by("wallet", maintain_order=True)
        .agg(pl.col("category").head(_CATEGORIES).alias("categories"))
    )
    table = (
        rows.group_by("wallet")
        .agg(
            pl.len().alias("trades"),
            pl.col("condition_id").n_unique().alias("markets"),
            pl.col("buy").sum().alias("buys"),
            (pl.len() - pl.col("buy").sum()).alias("sells"),
            lower_median("amount").alias("median_amount"),
            pl.col("amount").max().alias("largest_amount"),
            pl.col("price").median().alias("median_price"),
        )
        .join(per_market.group_by("wallet").agg(lower_median("n").alias("median_trades_per_market")), on="wallet")
        .join(_by_outcome(rows), on="wallet")
        .join(categories, on="wallet", how="left")
        .with_columns(pl.col("categories").fill_null([]))
    )
    return table.select(pl.col(name).cast(dtype) for name, dtype in PROFILES.items()).sort("wallet")


def profile(row: dict[str, object]) -> Profile:
    """The profile of one row of `profiles`."""
    return Profile.model_validate({name: row[name] for name in Profile.model_fields})


def _by_outcome(rows: pl.DataFrame) -> pl.DataFrame:
    """Trades of every wallet by outcome index, zeros included up to the highest that it traded."""
    top = rows.group_by("wallet").agg(pl.col("outcome").max().alias("top"))
    every = top.select("wallet", pl.int_ranges(pl.col("top").cast(pl.Int64) + 1, dtype=pl.Int16).alias("outcome"))
    counts = rows.group_by("wallet", "outcome").agg(pl.len().cast(pl.Int64).alias("n"))
    return (
        every.explode("outcome")
        .join(counts, on=["wallet", "outcome"], how="left")
        .sort("wallet", "outcome")
        .group_by("wallet", maintain_order=True)
        .agg(pl.col("n").fill_null(0).alias("by_outcome"))
    )
