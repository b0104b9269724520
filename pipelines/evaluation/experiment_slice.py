"""The part of a release that an experiment asks about: keyed samples of its users and of what they are asked."""

from dataclasses import dataclass, field

import polars as pl

from pipelines.evaluation.experiment import Experiment
from pipelines.hashing import key64_column
from pipelines.memory import replay


@dataclass(frozen=True)
class Slice:
    """The part of a release that an experiment asks about: the denominator of its numbers."""

    users: tuple[str, ...]
    """In text order."""
    batches: int | None = None
    """First batches of a user; None is all."""
    pools: tuple[tuple[str, int, str], ...] | None = field(default=None)
    """(user, transition, pool) of the sampled pools, or (wallet, event, layer) of targets; None is all."""
    split: str = ""
    """On-chain: whose targets are asked."""

    def of(self, rows: pl.LazyFrame, users: tuple[str, ...] | None = None) -> pl.LazyFrame:
        """Rows of a table with users that fall into the slice; `users` narrows it further."""
        columns = rows.collect_schema()
        kept = rows.filter(pl.col("user_id").is_in(list(self.users if users is None else users)))
        for index in ("transition_index", "batch_index"):
            if self.batches is not None and index in columns:
                kept = kept.filter(pl.col(index) < self.batches)
        if self.pools is None or not {"transition_index", "pool"} <= set(columns):
            return kept
        key = {name: columns[name] for name in ("user_id", "transition_index", "pool")}
        return kept.join(pl.LazyFrame(self.pools, schema=key, orient="row"), on=list(key), how="semi")


def sample_users(users: pl.Series, experiment: Experiment) -> pl.Series:
    """The users that an experiment evaluates, sorted: those of the smallest keyed hashes, or all.

    A larger sample contains every smaller one of the same seed.
    """
    distinct = users.unique().sort()
    if experiment.users == "all":
        return distinct
    drawn = replay.sample_users(distinct.to_list(), experiment.users, experiment.seed)
    return pl.Series(users.name, drawn, dtype=pl.String)


def slice_of(pools: pl.LazyFrame, experiment: Experiment) -> Slice:
    """The part of a release that an experiment asks about, drawn from its table `pools`.

    A larger sample of users or pools contains every smaller one of the same seed.
    """
    batches = None if experiment.batches == "all" else experiment.batches
    asked = pools.select("user_id", "transition_index", "pool").unique()
    if batches is not None:
        asked = asked.filter(pl.col("transition_index") < batches)
    found = asked.collect()
    users = tuple(sample_users(found["user_id"], experiment).to_list())
    if experiment.readings == "all":
        return Slice(users, batches)
    mine = found.filter(pl.col("user_id").is_in(list(users))).with_columns(
        name=pl.format("{}:{}:{}", "user_id", "transition_index", pl.col("pool").cast(pl.String))
    )
    key = key64_column(mine["name"], f"readings:{experiment.seed}")
    drawn = mine.with_columns(key.alias("key")).sort("key", "name").head(experiment.readings)
    rows = drawn.sort("user_id", "transition_index", "pool").select("user_id", "transition_index", "pool").rows()
    return Slice(users, batches, tuple(rows))
