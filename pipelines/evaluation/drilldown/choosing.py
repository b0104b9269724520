"""Which users of an experiment get a page of their own (ours): half those with the lowest recall, half drawn."""

from typing import Any

import polars as pl

from pipelines.hashing import key64_column

CHOSEN: dict[str, pl.DataType | type[pl.DataType]] = {
    "user": pl.String,
    "why": pl.String,
    "n_units": pl.Int64,
    "value": pl.Float64,
}
LOWEST, DRAWN = "lowest", "drawn"


def chosen(scores: pl.DataFrame, pages: int, seed: int, *, lowest_first: bool = True) -> pl.DataFrame:
    """At most `pages` users, columns `CHOSEN`, sorted by `user`.

    `scores` has one row a user: `user`, `n_units`, `value`. Of the users that are shown, half (one more where they are
    odd) are those of the worst values, ties by keyed hash; the others have the smallest keyed hashes among the rest.
    """
    worst = (pages + 1) // 2
    key = key64_column(scores["user"], f"pages:{seed}").alias("key")
    ranked = scores.with_columns(key).sort("value", "key", "user", descending=[not lowest_first, False, False])
    first = ranked.head(worst).with_columns(why=pl.lit(LOWEST))
    rest = ranked.slice(worst).sort("key", "user").head(pages - worst).with_columns(why=pl.lit(DRAWN))
    return pl.concat([first, rest]).select(pl.col(name).cast(kind) for name, kind in CHOSEN.items()).sort("user")


def recall_by_user(units: pl.DataFrame) -> pl.DataFrame:
    """`scores` from table `units`: pools of the user, and recall over all memories of the experiment together."""
    asked: list[Any] = ["transition_index", "pool"]
    return units.group_by(pl.col("user_id").alias("user")).agg(
        pl.struct(asked).n_unique().cast(pl.Int64).alias("n_units"),
        (pl.col("n_hit").sum() / pl.col("n_positives").sum()).alias("value"),
    )
