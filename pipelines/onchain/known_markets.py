"""Which conditions and tokens are known, from the contracts and from descriptions (design step 5)."""

import polars as pl

from pipelines.onchain.contracts import WRAPPED_COLLATERAL
from pipelines.onchain.ids import conditions_of, derive_tokens, token_id
from pipelines.onchain.tables import EXCHANGES, ONCHAIN_TABLES

_NEG_RISK_EXCHANGES = [EXCHANGES[1], EXCHANGES[3]]
_BINARY = 2
"""Outcomes of a condition whose tokens an exchange registered in a pair."""


def conditions_of_changes(changes: pl.LazyFrame) -> pl.DataFrame:
    """Conditions that splits, merges and redemptions name (condition_id, outcomes, neg_risk), each once.

    `changes` has the columns of `position_changes`; the collateral says which kind of market it is, the highest
    outcome that is listed how many there are at least, two being the fewest.
    """
    top = pl.col("parent_collection").is_null() | (pl.col("parent_collection") == bytes(32))
    wrapped = (pl.col("venue").cast(pl.String) == "neg_risk_adapter") | (
        pl.col("collateral_token") == pl.lit(WRAPPED_COLLATERAL)
    ).fill_null(False)
    listed = (pl.col("outcome").max().fill_null(0) + 1).cast(pl.Int16)
    return (
        changes.filter(pl.col("condition_id").is_not_null() & top)
        .group_by("condition_id")
        .agg(pl.max_horizontal(listed, pl.lit(_BINARY, pl.Int16)).alias("outcomes"), wrapped.any().alias("neg_risk"))
        .collect(engine="streaming")
    )


def conditions_of_chain(
    preparations: pl.DataFrame,
    resolutions: pl.DataFrame,
    registrations: pl.DataFrame,
    named: pl.DataFrame | None = None,
    readings: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Conditions that a contract named (condition_id, outcomes, neg_risk), each once, sorted.

    `named` are those of `conditions_of_changes`; what describes a condition itself stands before them. They know
    the fewest outcomes that it can have: where `readings` (`markets.latest`) describe more, it has those.
    """
    registered = registrations.select(
        "condition_id",
        pl.lit(_BINARY, pl.Int16).alias("outcomes"),
        pl.col("exchange").cast(pl.String).is_in(_NEG_RISK_EXCHANGES).alias("neg_risk"),
    )
    every = pl.concat([conditions_of(preparations), conditions_of(resolutions), registered])
    if named is not None:
        others = named.join(every, on="condition_id", how="anti")
        if readings is not None:
            told = readings.select("condition_id", pl.col("outcomes").list.len().cast(pl.Int16).alias("__told"))
            others = others.join(told, on="condition_id", how="left").with_columns(
                pl.max_horizontal("outcomes", "__told").alias("outcomes")
            )
        every = pl.concat([every, others.select(every.columns)])
    return every.sort("condition_id", "outcomes", "neg_risk").unique("condition_id", keep="first", maintain_order=True)


def all_markets(described: pl.DataFrame, conditions: pl.DataFrame) -> pl.DataFrame:
    """Table `markets`: those described, and, without a question, the other conditions that a contract named.

    A description that has another number of outcomes than the contract is of something else, and left out.
    """
    table = ONCHAIN_TABLES["markets"]
    described = described.join(contradicted(described, conditions), on="condition_id", how="anti")
    silent = conditions.join(described, on="condition_id", how="anti")
    ids = [
        [token_id(condition, outcome, neg_risk) for outcome in range(outcomes)]
        for condition, outcomes, neg_risk in silent.iter_rows()
    ]
    rows = silent.select("condition_id", "neg_risk", pl.Series("token_ids", ids, dtype=pl.List(pl.Binary)))
    others = pl.concat([table.empty(), rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in table.schema.items()
    )])  # fmt: skip
    return pl.concat([described, others]).sort(table.sort_by)


def contradicted(described: pl.DataFrame, conditions: pl.DataFrame) -> pl.DataFrame:
    """Conditions (condition_id) whose description (`outcomes`) has another number of outcomes than a contract says."""
    both = described.join(conditions.select("condition_id", pl.col("outcomes").alias("__said")), on="condition_id")
    return both.filter(pl.col("outcomes").list.len() != pl.col("__said")).select("condition_id")


def known_tokens(markets: pl.DataFrame, conditions: pl.DataFrame) -> pl.DataFrame:
    """Table `tokens`: of every condition that a contract named, and of those that only a description names."""
    described = (
        markets.filter(pl.col("outcomes").is_not_null())
        .join(conditions, on="condition_id", how="anti")
        .select("condition_id", pl.col("outcomes").list.len().cast(pl.Int16), "neg_risk")
    )
    return derive_tokens(pl.concat([conditions.select(described.columns), described]))
