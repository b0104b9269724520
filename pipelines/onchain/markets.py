"""`markets`: what is known of a market beforehand, and which token is which outcome (design step 5)."""

from collections.abc import Callable
from datetime import datetime

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from pipelines.onchain.ids import token_id
from pipelines.onchain.tables import ONCHAIN_TABLES

Derive = Callable[[bytes, int, bool], bytes]
"""Token id of (condition id, outcome index, neg-risk), as the contracts compute it."""


class TargetContext(BaseModel):
    """All that a target may show of its market.

    Prices, closed flags, volume and resolution fields tell the future and have no place here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str | None = Field(description="the question of the market")
    outcomes: list[str] = Field(description="names of the outcomes, by index")
    category: str | None = Field(default=None, description="category, where the market has one")
    start: datetime | None = Field(default=None, description="start date, UTC")
    end: datetime | None = Field(default=None, description="planned end date, UTC")


def latest(gamma: pl.DataFrame) -> pl.DataFrame:
    """One reading a market: the latest by `updated`, of equal ones the greatest by text, in any order of files."""
    text = pl.struct(pl.all().exclude("condition_id", "source_token_ids")).struct.json_encode()
    ids = pl.col("source_token_ids").list.eval(pl.element().bin.encode("hex")).list.join(",").fill_null("")
    return (
        gamma.with_columns(text.alias("__text"), ids.alias("__ids"))
        .sort("condition_id", "updated", "__text", "__ids", nulls_last=False)
        .unique("condition_id", keep="last", maintain_order=True)
        .select(gamma.columns)
    )


def markets(gamma: pl.DataFrame, derive: Derive = token_id, conditions: pl.DataFrame | None = None) -> pl.DataFrame:
    """Table `markets` from readings of `gamma.read_markets` (any number of files, concatenated), by `latest`.

    What `conditions` (of `known_markets.conditions_of_chain`) say of neg-risk stands. Where they and the reading
    are silent, token ids are derived for both kinds of collateral, and the kind that gives the source's ids is
    taken (standard when neither or none does). `ids_match` compares with the source's ids, null when it gives none.
    """
    described = latest(gamma)
    if conditions is not None:
        said = conditions.select("condition_id", pl.col("neg_risk").alias("__said"))
        described = described.join(said, on="condition_id", how="left", maintain_order="left").with_columns(
            pl.coalesce("__said", "neg_risk").alias("neg_risk")
        )
    rows = []
    for condition, outcomes, source, neg_risk in described.select(
        "condition_id", "outcomes", "source_token_ids", "neg_risk"
    ).iter_rows():
        kinds = [neg_risk] if neg_risk is not None else [False, True]
        derived = {kind: [derive(condition, index, kind) for index in range(len(outcomes))] for kind in kinds}
        kind = next((kind for kind in kinds if derived[kind] == source), kinds[0])
        known = neg_risk if neg_risk is not None else (kind if derived[kind] == source else None)
        rows.append((known, derived[kind], None if source is None else derived[kind] == source))
    derived_columns = pl.DataFrame(
        rows,
        schema={"neg_risk": pl.Boolean, "token_ids": pl.List(pl.Binary), "ids_match": pl.Boolean},
        orient="row",
    )
    table = described.drop("neg_risk").hstack(derived_columns)
    return table.select(pl.col(name).cast(dtype) for name, dtype in ONCHAIN_TABLES["markets"].schema.items()).sort(
        "condition_id"
    )


def token_map(markets: pl.DataFrame) -> pl.DataFrame:
    """Token → market and outcome index: columns token_id, condition_id, outcome, sorted by token.

    Raises `ValueError` when one token belongs to two places.
    """
    tokens = (
        markets.select("condition_id", pl.col("token_ids").alias("token_id"))
        .with_columns(pl.int_ranges(pl.col("token_id").list.len(), dtype=pl.Int16).alias("outcome"))
        .explode("token_id", "outcome", empty_as_null=False)
        .select("token_id", "condition_id", "outcome")
        .sort("token_id")
    )
    twice = tokens.filter(tokens["token_id"].is_duplicated())
    if twice.height:
        raise ValueError(f"token 0x{twice['token_id'][0].hex()} belongs to {twice.height} outcomes")
    return tokens


def target_context(market: dict[str, object]) -> TargetContext:
    """The context of one row of table `markets` (as a dict, `iter_rows(named=True)`)."""
    return TargetContext.model_validate({name: market[name] for name in TargetContext.model_fields})


def unnamed_context(outcomes: int) -> TargetContext:
    """The context of a market that no source describes: outcomes are known by number alone."""
    return TargetContext(question=None, outcomes=[f"outcome {index}" for index in range(outcomes)])
