"""Derive a release's tables again, from shuffled events and in other shards, and compare (ours)."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from pipelines.commerce.batches import batches
from pipelines.commerce.cohort import cohort
from pipelines.commerce.pool_rules import VIOLATIONS
from pipelines.commerce.pools import pools
from pipelines.commerce.positives import positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import signals
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
    found = []
    for table in REDERIVED:
        again = pl.concat(shard[table] for shard in shards).sort(TABLES[table].sort_by)
        kept = frozen[table].sort(TABLES[table].sort_by)
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
