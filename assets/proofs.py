"""Proofs over a whole release, run on samples before it is frozen and on all of it by `trailbench audit`."""

from collections.abc import Iterator

import polars as pl

from assets.steps import Given
from pipelines.commerce.perturbation import audit_future
from pipelines.commerce.pool_rules import familiarity_rules, pool_rules
from pipelines.commerce.rederiving import REDERIVED, SHARED, rederive, rederive_shared
from pipelines.hashing import key64_column

SEED = 1
REDERIVED_USERS = 200
"""Users of the sample at freezing time; `trailbench audit` takes all of them."""
AUDITED_USERS = 3

PROOFS = {
    "shared_tables": "the tables that all users share come out of the events again, quarter by quarter",
    "no_future": "with the future of sampled users replaced, nothing that depends on batches ≤ t moves",
    "pool_rules": "every pool holds its positives, its distractors of their kind and its keyed order, derived again",
    "familiarity": "every label and candidate has the familiarity of batches ≤ t, derived again",
    "order_and_shards": "the rows of sampled users come out of shuffled events in other shards again",
}


def proofs(
    given: Given, users: int | None = REDERIVED_USERS, audited: int = AUDITED_USERS
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Name and violations (no row = proven) of every proof; `users` None takes the whole release."""
    events = given["events"]
    yield "shared_tables", shared_tables(given, events)
    if users is not None:
        events = _sample(events, given.lazy("transitions").select("user_id").collect().to_series(), users)
    sampled = events["user_id"].unique().sort()
    frozen = {table: given.lazy(table).filter(pl.col("user_id").is_in(sampled)).collect() for table in REDERIVED}
    frozen |= {table: given[table] for table in ("domains", "taxonomy")}
    steps = frozen["transitions"]["user_id"].n_unique()
    visits, batches, transitions, domains = (
        frozen[table].lazy() for table in ("visits", "batches", "transitions", "domains")
    )
    yield "no_future", audit_future(events, given.settings, min(audited, steps), SEED)
    yield "pool_rules", pool_rules(frozen["pools"], frozen["pool_gold"], frozen["positives"], given.settings)
    labels, roles = frozen["positives"], frozen["pool_gold"]
    yield "familiarity", familiarity_rules(labels, roles, visits, batches, transitions, domains, given.settings)
    yield "order_and_shards", rederive(events, frozen, given.settings)


def shared_tables(given: Given, events: pl.DataFrame) -> pl.DataFrame:
    """Violations of the tables that all users of a release share, derived again from all of its `events`."""
    frozen = {table: given[table] for table in SHARED}
    in_time = given.comparable("visits"), given.comparable("batches")
    return rederive_shared(events.lazy(), *in_time, frozen, given.settings)


def _sample(events: pl.DataFrame, asked: pl.Series, users: int) -> pl.DataFrame:
    """Events of `users` users by keyed hash, half of them from `asked` where there are as many.

    In a log of passers-by a plain sample would hold nobody with a transition, and prove nothing.
    """
    distinct = events["user_id"].unique().sort()
    order = pl.DataFrame({"user_id": distinct, "key": key64_column(distinct, "proof")}).sort("key", "user_id")
    first = order.filter(pl.col("user_id").is_in(asked.unique().implode())).head(users // 2)
    taken = pl.concat([first, order.join(first, on="user_id", how="anti", maintain_order="left")]).head(users)
    return events.join(taken, on="user_id", how="semi", maintain_order="left")
