"""Rules of frozen pools, derived again from the tables themselves: no rebuild, no second draw."""

import polars as pl

from pipelines.commerce.familiarity import familiarity
from pipelines.commerce.pools import ORDER_SALT
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.taxonomy import category_text
from pipelines.commerce.walks import Words
from pipelines.hashing import key64_column, mix64

VIOLATIONS = pl.Schema(
    {
        "rule": pl.String,
        "user_id": pl.String,
        "transition_index": pl.Int32,
        "pool": pl.String,
        "detail": pl.String,
    }
)
"""One row a broken rule and place; the pool is null where the rule is not about one."""

STEP = ["user_id", "transition_index"]
_POOL = [*STEP, "pool"]
_CATEGORY = ["l1", "l2"]


def pool_rules(
    pools: pl.DataFrame, pool_gold: pl.DataFrame, positives: pl.DataFrame, settings: CommerceSettings
) -> pl.DataFrame:
    """Violations of the pool rules in tables `pools`, `pool_gold` and `positives`; no row = pass.

    Candidates stand in the order of their keyed hash, which is derived again here, so
    an order that knows the roles is caught. Both pool tables hold the same candidates
    in the same places, each once. The candidates called positive are exactly the kept
    positives of the pool, at most `max_positives`, and as many as are to be chosen; no
    other candidate is a positive of the transition, whether unconnected, cut or of the
    other pool. Per familiarity there are at most `distractors_per_positive` matched
    distractors a positive; positives, matched and history distractors are of a
    familiarity of their pool; a pool has at most `distractors_per_positive` distractors
    a positive. Columns: `VIOLATIONS`.
    """
    whole = [*_POOL, "position", *_CATEGORY]
    is_positive = pl.col("role") == "positive"
    kept = positives.filter("kept").select(*_POOL, *_CATEGORY, "familiarity")
    asked = pool_gold.filter(is_positive)
    group = pl.col("familiarity").to_physical() // 2
    sizes = pool_gold.group_by(_POOL).agg(
        is_positive.sum().alias("n_positives"), is_positive.not_().sum().alias("n_distractors")
    )
    matched = pool_gold.group_by(*_POOL, "familiarity").agg(
        is_positive.sum().alias("n_positives"), (pl.col("role") == "matched").sum().alias("n_matched")
    )
    per = settings.distractors_per_positive
    return _report(
        {
            "candidates are not in the order of their keyed hash": _out_of_order(pools, settings),
            "positions are not 0, 1, 2 …": pools.group_by(_POOL)
            .agg(pl.col("position").sort())
            .filter(pl.col("position") != pl.int_ranges(pl.col("position").list.len(), dtype=pl.Int32)),
            "a candidate of the pool has no role": _missing(pools, pool_gold, whole),
            "a role belongs to no candidate of the pool": _missing(pool_gold, pools, whole),
            "a candidate is there twice": pool_gold.filter(pl.struct(*_POOL, *_CATEGORY).is_duplicated()),
            "a distractor is a positive of the transition": pool_gold.filter(~is_positive).join(
                positives.select(*STEP, *_CATEGORY), on=[*STEP, *_CATEGORY], how="semi", nulls_equal=True
            ),
            "a kept positive is not in its pool": _missing(kept, asked, kept.columns),
            "a candidate called positive is none": _missing(asked, kept, kept.columns),
            "a pool has more positives than the limit": sizes.filter(pl.col("n_positives") > settings.max_positives),
            "the number to choose is not that of the positives": pools.select(*_POOL, "n_choose")
            .unique()
            .join(sizes, on=_POOL, how="left")
            .filter(pl.col("n_choose").ne_missing(pl.col("n_positives"))),
            "a candidate's familiarity does not belong to the pool": pool_gold.filter(
                (pl.col("role") != "random") & (group != pl.col("pool").to_physical())
            ),
            "matched distractors have no positive of their familiarity": matched.filter(
                pl.col("n_matched") > per * pl.col("n_positives")
            ),
            "a pool has more distractors than wanted": sizes.filter(
                pl.col("n_distractors") > per * pl.col("n_positives")
            ),
        }
    )


def familiarity_rules(
    positives: pl.DataFrame,
    pool_gold: pl.DataFrame,
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    transitions: pl.LazyFrame,
    domains: pl.LazyFrame,
    settings: CommerceSettings,
) -> pl.DataFrame:
    """Positives and candidates whose familiarity is not the one of batches ≤ t; no row = pass.

    Derived again from visits, batches, transitions and the domain tables. Columns:
    `VIOLATIONS`.
    """
    stated = pl.concat(
        [
            frame.select(*_POOL, *_CATEGORY, pl.col("familiarity").alias("stated"))
            for frame in (positives, pool_gold)
            if frame.height
        ]
        or [positives.select(*_POOL, *_CATEGORY, pl.col("familiarity").alias("stated"))]
    )
    derived = familiarity(stated, visits, batches, transitions, domains, settings)
    return _report(
        {"familiarity is not that of batches ≤ t": derived.filter(pl.col("stated") != pl.col("familiarity"))}
    )


def _out_of_order(pools: pl.DataFrame, settings: CommerceSettings) -> pl.DataFrame:
    hashes = mix64(ORDER_SALT, settings.seed, *_keys(pools))
    ordered = pools.with_columns(pl.Series("hash", hashes, dtype=pl.UInt64)).sort(*_POOL, "position")
    return ordered.filter(pl.col("hash") < pl.col("hash").shift(1).over(_POOL))


def _keys(rows: pl.DataFrame) -> tuple[Words, ...]:
    """Keys (user, transition, pool, category) that every draw and order of pools is hashed from."""
    return (
        key64_column(rows["user_id"], "user").to_numpy(),
        rows["transition_index"].cast(pl.UInt64).to_numpy(),
        rows["pool"].to_physical().cast(pl.UInt64).to_numpy(),
        key64_column(rows.select(category_text()).to_series(), "category").to_numpy(),
    )


def _missing(rows: pl.DataFrame, among: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    return rows.join(among, on=columns, how="anti", nulls_equal=True)


def _report(broken: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Rows that break a rule, in the form of `VIOLATIONS`; the row itself is the detail."""
    parts = [
        frame.select(
            pl.lit(rule).alias("rule"),
            *STEP,
            pl.col("pool").cast(pl.String),
            pl.struct(pl.exclude(_POOL)).struct.json_encode().alias("detail"),
        )
        for rule, frame in broken.items()
        if frame.height
    ]
    empty = pl.DataFrame(schema=VIOLATIONS)
    return pl.concat([empty, *parts]).sort(VIOLATIONS.names(), nulls_last=False)
