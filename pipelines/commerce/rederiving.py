"""Derive a release's tables again, from shuffled events and in other shards, and compare (ours)."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from pipelines.commerce.batches import batches
from pipelines.commerce.cohort import cohort
from pipelines.commerce.domains import domains
from pipelines.commerce.pool_rules import VIOLATIONS
from pipelines.commerce.pools import pools
from pipelines.commerce.popularity import popularity
from pipelines.commerce.positives import positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import signals
from pipelines.commerce.taxonomy import category_names, taxonomy
from pipelines.commerce.transitions import transitions
from pipelines.commerce.visits import visits
from pipelines.hashing import mix64
from pipelines.schema import TABLES

REDERIVED = ("visits", "batches", "cohort", "transitions", "positives", "pools", "pool_gold", "pool_counts")
"""Tables that depend on a user's own events and on the shared tables of the release."""


def rederive(events: pl.DataFrame, frozen: Mapping[str, pl.DataFrame], settings: CommerceSettings) -> pl.DataFrame:
    """Rows of `VIOLATIONS`, one a table whose rows differ from those frozen; empty when all are equal.

    `events` are those of the compared users in any order; they are shuffled and cut in two
    shards by bucket. `frozen` holds the tables of `REDERIVED` for the same users, and the
    shared tables `domains` and `taxonomy` whole.
    """
    order = np.argsort(mix64(1, np.arange(events.height, dtype=np.uint64)), kind="stable")
    shuffled = events[order]
    odd = pl.col("bucket") % 2 == 1
    shards = [_tables(shuffled.filter(half), frozen, settings) for half in (odd, ~odd)]
    return _differing({table: pl.concat(shard[table] for shard in shards) for table in REDERIVED}, frozen)


SHARED = ("domains", "taxonomy", "popularity")
"""Tables that all users of a release share."""


def rederive_shared(
    events: pl.LazyFrame,
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    frozen: Mapping[str, pl.DataFrame],
    settings: CommerceSettings,
) -> pl.DataFrame:
    """Rows of `VIOLATIONS`, one a table of `SHARED` that does not come out again, for instance one that saw the future.

    `events` are all of the release; `visits` and `batches` those that may be compared in
    time (none where the clock was made from gaps).
    """
    again = {
        "domains": domains(visits, batches, settings),
        "taxonomy": taxonomy(category_names(events).lazy()),
        "popularity": popularity(visits),
    }
    return _differing(again, frozen)


def _differing(derived: Mapping[str, pl.DataFrame], frozen: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    found = []
    for table, rows in derived.items():
        again, kept = rows.sort(TABLES[table].sort_by), frozen[table].sort(TABLES[table].sort_by)
        if not again.equals(kept):
            lost = kept.join(again, on=kept.columns, how="anti", nulls_equal=True)
            gained = again.join(kept, on=kept.columns, how="anti", nulls_equal=True)
            example = (lost if lost.height else gained).head(1).to_dicts()
            detail = f"{table}: {lost.height} frozen rows do not come out again, {gained.height} others do: {example}"
            found.append({"rule": "the frozen rows come out of the events again", "detail": detail})
    return pl.DataFrame(found, schema_overrides=VIOLATIONS) if found else pl.DataFrame(schema=VIOLATIONS)


def _tables(
    events: pl.DataFrame, frozen: Mapping[str, pl.DataFrame], settings: CommerceSettings
) -> dict[str, pl.DataFrame]:
    visited = visits(events.lazy(), settings)
    batched = batches(visited, settings)
    users = cohort(events.lazy(), visited, batched, settings)
    steps = transitions(batched, users)
    past = (visited.lazy(), batched.lazy(), steps.lazy(), frozen["domains"].lazy())
    labelled = positives(signals(visited, batched, steps, settings), *past, settings)
    drawn = pools(labelled, *past, frozen["taxonomy"], settings)
    return {
        "visits": visited,
        "batches": batched,
        "cohort": users,
        "transitions": steps,
        "positives": labelled,
        "pools": drawn.pools,
        "pool_gold": drawn.pool_gold,
        "pool_counts": drawn.pool_counts,
    }
