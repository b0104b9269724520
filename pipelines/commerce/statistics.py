"""Statistics of a release beside those of the paper (§A.2)."""

from typing import Any

import polars as pl

from pipelines.commerce.tables import FAMILIARITIES, POOLS

PAPER: dict[str, float] = {
    "users": 1_194,
    "visits": 913_271,
    "batches": 17_462,
    "transitions": 16_268,
    "visits per batch": 52.3,
    "visits per user, median": 736,
    "batches per user, median": 14,
    "users with at most 3 batches": 101,
    "users with at least 16 batches": 501,
    "domains visited": 161,
    "categories visited": 2_119,
    "categories in the taxonomy": 4_667,
    "chance": 0.25,
}
"""Numbers of the paper, by the name of the statistic; `chance` follows from 3 distractors a positive."""


def statistics(
    *,
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    cohort: pl.LazyFrame,
    transitions: pl.LazyFrame,
    taxonomy: pl.LazyFrame,
    positives: pl.LazyFrame,
    pool_counts: pl.LazyFrame,
) -> list[dict[str, Any]]:
    """Rows (name, value, paper) of a release; users are those of the cohort.

    `value` is null where nothing can be said (no user, no pool), `paper` where the
    paper is silent. Chance is the mean over non-empty pools of positives over
    candidates; shares are over positives of any pool and none, or over wanted
    distractors.
    """
    values = _sizes(visits, batches, cohort, transitions, taxonomy) | _pools(pool_counts) | _familiarity(positives)
    return [{"name": name, "value": value, "paper": PAPER.get(name)} for name, value in values.items()]


def _row(frame: pl.LazyFrame) -> dict[str, Any]:
    return frame.collect(engine="streaming").row(0, named=True)


def _sizes(
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    cohort: pl.LazyFrame,
    transitions: pl.LazyFrame,
    taxonomy: pl.LazyFrame,
) -> dict[str, Any]:
    kept = cohort.filter(pl.col("reason") == "")
    users = kept.select("user_id")
    sizes = _row(
        kept.select(
            pl.len().alias("users"),
            pl.col("n_visits").median().alias("visits per user, median"),
            pl.col("n_batches").median().alias("batches per user, median"),
            (pl.col("n_batches") <= 3).sum().alias("users with at most 3 batches"),
            (pl.col("n_batches") >= 16).sum().alias("users with at least 16 batches"),
        )
    )
    visited = _row(
        visits.join(users, on="user_id", how="semi").select(
            pl.len().alias("visits"),
            pl.col("l1").drop_nulls().n_unique().alias("domains visited"),
            pl.struct("l1", "l2").filter(pl.col("l2").is_not_null()).n_unique().alias("categories visited"),
        )
    )
    batched = _row(
        batches.join(users, on="user_id", how="semi").select(
            pl.len().alias("batches"), pl.col("closed").sum().alias("closed batches")
        )
    )
    asked = _row(transitions.select(pl.len().alias("transitions")))
    known = _row(taxonomy.select(pl.len().alias("categories in the taxonomy")))
    per_batch = visited["visits"] / batched["batches"] if batched["batches"] else None
    return {
        "users": sizes["users"],
        "visits": visited["visits"],
        **batched,
        **asked,
        "visits per batch": per_batch,
        **{name: value for name, value in sizes.items() if name != "users"},
        "domains visited": visited["domains visited"],
        "categories visited": visited["categories visited"],
        **known,
    }


def _pools(pool_counts: pl.LazyFrame) -> dict[str, Any]:
    found = pl.col("n_matched") + pl.col("n_history") + pl.col("n_random")
    asked = pool_counts.filter(pl.col("n_positives") > 0)
    chance = pl.col("n_positives") / (pl.col("n_positives") + found)
    values: dict[str, Any] = {"chance": _row(asked.select(chance.mean().alias("chance")))["chance"]}
    rows = (
        pool_counts.group_by("pool")
        .agg(
            (pl.col("n_positives") > 0).sum().alias("pools"),
            (pl.col("n_positives") == 0).sum().alias("empty pools"),
            pl.col("n_positives").filter(pl.col("n_positives") > 0).mean().alias("positives a pool"),
            (pl.col("n_positives") + found).filter(pl.col("n_positives") > 0).mean().alias("candidates a pool"),
            chance.filter(pl.col("n_positives") > 0).mean().alias("chance"),
            pl.col("n_cut").sum().alias("positives cut by the limit"),
            *(
                _share(pl.col(column).sum(), (found + pl.col("n_short")).sum()).alias(f"distractors {kind}, share")
                for kind, column in (
                    ("matched", "n_matched"),
                    ("history", "n_history"),
                    ("random", "n_random"),
                    ("short", "n_short"),
                )
            ),
        )
        .collect(engine="streaming")
    )
    by_pool = {row["pool"]: row for row in rows.to_dicts()}
    for pool in POOLS:
        row = by_pool.get(pool, dict.fromkeys(rows.columns))
        values |= {f"{pool}: {name}": value for name, value in row.items() if name != "pool"}
    return values


def _familiarity(positives: pl.LazyFrame) -> dict[str, Any]:
    return _row(
        positives.select(
            pl.len().alias("positives"),
            *(
                _share((pl.col("familiarity") == known).sum(), pl.len()).alias(f"positives {known}, share")
                for known in FAMILIARITIES
            ),
        )
    )


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole)
