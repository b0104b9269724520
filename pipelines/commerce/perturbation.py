"""Leak audit, the pure part: replace the future and see that nothing of the past moves (ours).

`audit_future` rebuilds the track from events whose future was replaced for some
users, given the original outcomes, and compares byte for byte what must depend on
batches ≤ t only.

Frozen on purpose, and said in the card: the taxonomy and cohort membership use the
whole log. The rebuild gets the original taxonomy, and a replaced future holds at
least as many valid visits as the original one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from pipelines.commerce.batches import batches
from pipelines.commerce.cohort import cohort
from pipelines.commerce.domains import domains
from pipelines.commerce.pool_rules import STEP, VIOLATIONS, familiarity_rules, pool_rules
from pipelines.commerce.pools import Pools, pools
from pipelines.commerce.positives import positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import signals
from pipelines.commerce.tables import ACTION, ACTIONS
from pipelines.commerce.taxonomy import category_names, taxonomy
from pipelines.commerce.transitions import transitions
from pipelines.commerce.visits import visits
from pipelines.commerce.walks import Ints
from pipelines.hashing import key64, key64_column, mix64
from pipelines.tables import TIME

_CATEGORY = ["l1", "l2"]
_COUNTED = tuple(action for action in ACTIONS if action not in ("cancel", "refund"))
_EXTRA = 8
"""Events that a replaced future has more than the original one."""
_LONG_PAUSE = 45 * 86_400
"""Seconds; some replaced futures reach other quarters."""
_KIND, _ITEM, _OWN, _ACTION, _GAP, _PAUSE, _DWELL = range(7)


@dataclass(frozen=True)
class Build:
    """The functions that a rebuild calls, each with the signature of the pipeline's own.

    The default is the pipeline itself; a test plants a leak by replacing one.
    """

    visits: Callable[..., pl.DataFrame] = visits
    batches: Callable[..., pl.DataFrame] = batches
    cohort: Callable[..., pl.DataFrame] = cohort
    transitions: Callable[..., pl.DataFrame] = transitions
    signals: Callable[..., pl.DataFrame] = signals
    domains: Callable[..., pl.DataFrame] = domains
    positives: Callable[..., pl.DataFrame] = positives
    pools: Callable[..., Pools] = pools


default_build = Build()


@dataclass(frozen=True)
class Tables:
    """What one rebuild gives; signals, positives and pools are those of the audited users."""

    visits: pl.DataFrame
    batches: pl.DataFrame
    transitions: pl.DataFrame
    signals: pl.DataFrame
    domains: pl.DataFrame
    positives: pl.DataFrame
    pools: Pools


def rebuild(
    events: pl.DataFrame,
    settings: CommerceSettings,
    vocabulary: pl.DataFrame,
    users: Sequence[str] | None,
    build: Build = default_build,
    outcomes: pl.DataFrame | None = None,
) -> Tables:
    """Run the track on events; with `outcomes`, pools ask for those signals instead of the rebuilt ones.

    `vocabulary` is the frozen taxonomy. `users` limits signals to pools to some
    users, null means all. An outcome whose transition no longer exists is left out;
    `compare` then misses its transition.
    """
    lazy = events.lazy()
    visited = build.visits(lazy, settings)
    batched = build.batches(visited, settings)
    steps = build.transitions(batched, build.cohort(lazy, visited, batched, settings))
    connected = build.domains(visited.lazy(), batched.lazy(), settings)
    if users is not None:
        steps = steps.filter(pl.col("user_id").is_in(users))
    own = build.signals(visited, batched, steps, settings)
    asked = own if outcomes is None else outcomes.join(steps, on=STEP, how="semi", maintain_order="left")
    past = (visited.lazy(), batched.lazy(), steps.lazy(), connected.lazy())
    labelled = build.positives(asked, *past, settings)
    frozen = build.pools(labelled, *past, vocabulary, settings)
    return Tables(visited, batched, steps, own, connected, labelled, frozen)


def catalogue_of(events: pl.LazyFrame) -> pl.DataFrame:
    """What a replaced future is made from: every item and category that the log pairs, in a total order."""
    columns = ["item_id", "l1", "l2", "l1_name", "l2_name"]
    return events.filter(pl.col("l2").is_not_null()).select(columns).unique().sort(columns, nulls_last=False).collect()


def perturb_future(events: pl.DataFrame, user: str, cut: datetime, catalogue: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Replace everything of `user` after `cut`, the end of batch t (`history_end`), by other events.

    Only the time of the first later event stays (cancel and refund aside), because
    it is what closed batch t; it gets another item and, where the log has one, category. The rest gets other
    times, actions, items (half of them from the user's own history, so that an item
    carries another category later) and categories. There are more events than
    before, each a visit of its own with a category, so the user stays in the cohort.
    `catalogue` is that of `catalogue_of`; draws are keyed hashes of (seed, user, cut,
    place). Raises `ValueError` when nothing follows the cut.
    """
    own = pl.col("user_id") == user
    after = own & (pl.col("time") > pl.lit(cut, dtype=TIME))
    future = events.filter(after & pl.col("action").is_in(_COUNTED)).sort("time", "action", "item_id", *_CATEGORY)
    if future.is_empty():
        raise ValueError(f"no event of user {user!r} follows {cut}")
    first = future.row(0, named=True)
    others = catalogue.filter(
        pl.col("l1").ne_missing(pl.lit(first["l1"], pl.String))
        | pl.col("l2").ne_missing(pl.lit(first["l2"], pl.String))
    )
    if others.is_empty():
        # A log of one category: its future differs in items, times and actions only.
        others = catalogue
    place = np.arange(future.height + _EXTRA, dtype=np.uint64)
    base = mix64(seed, key64(user, "user"), future["time"].to_physical()[0] % 2**64, place)

    def pick(what: int, size: int) -> Ints:
        return (mix64(base, what) % np.uint64(size)).astype(np.int64)

    gaps = np.where(pick(_PAUSE, 16) == 0, _LONG_PAUSE, pick(_GAP, 7_200) + 1) * 1_000_000
    gaps[0] = 0
    replaced = others[pick(_KIND, others.height)].select(*_CATEGORY, "l1_name", "l2_name")
    replaced = replaced.with_columns(
        pl.lit(user).alias("user_id"),
        (pl.lit(first["time"], dtype=TIME) + pl.duration(microseconds=pl.lit(pl.Series(np.cumsum(gaps))))).alias(
            "time"
        ),
        pl.Series("action", _COUNTED, dtype=ACTION).gather(pick(_ACTION, len(_COUNTED))),
        _other_items(events.filter(own & ~after)["item_id"], catalogue["item_id"], pick),
        pl.Series("dwell_ms", pick(_DWELL, 120_000)),
        pl.lit(first["bucket"], dtype=pl.UInt8).alias("bucket"),
    )
    return pl.concat([events.filter(~after), replaced], how="diagonal")


def _other_items(history: pl.Series, catalogue: pl.Series, pick: Callable[[int, int], Ints]) -> pl.Series:
    """Items of the replaced events, none twice in a row and the first unknown, so that no two events merge."""
    known = history.unique().sort()
    items = catalogue.gather(pick(_ITEM, catalogue.len()))
    if known.len():
        items = items.zip_with(pl.Series(pick(_OWN, 2) == 0), known.gather(pick(_ITEM, known.len())))
    fresh = pl.Series([f"replaced {place}" for place in range(items.len())])
    repeats = (items == items.shift(1)).fill_null(True)
    return fresh.zip_with(repeats, items).alias("item_id")


def compare(before: Tables, after: Tables, user: str, t: int) -> list[dict[str, Any]]:
    """What moved although it depends on batches ≤ t only: rows of `VIOLATIONS`, empty when nothing did.

    `after` is the rebuild with the future of `user` after batch t replaced and the
    original outcomes given. Compared: visits and batches up to batch t, transitions
    before t and the history side of t, signals before t, domain tables up to the
    quarter of t, and at transitions up to t the familiarity, pool and limit of every
    positive, the pools, their roles and counts.
    """
    mine = pl.col("user_id") == user
    step = before.transitions.row(by_predicate=mine & (pl.col("transition_index") == t), named=True)
    last = before.batches.row(by_predicate=mine & (pl.col("batch_index") == t), named=True)
    now = pl.col("transition_index")
    until = mine & (now <= t)
    views: dict[str, Callable[[Tables], pl.DataFrame]] = {
        "visits": lambda x: x.visits.filter(mine & (pl.col("visit_index") < last["first_visit"] + last["n_visits"])),
        "batches": lambda x: x.batches.filter(mine & (pl.col("batch_index") <= t)),
        "transitions": lambda x: x.transitions.filter(mine & (now < t)),
        "transition t": lambda x: x.transitions.filter(mine & (now == t)).select(
            "user_id", "transition_index", "history_end", "target_start", "quarter"
        ),
        "signals": lambda x: x.signals.filter(mine & (now < t)),
        "domains": lambda x: x.domains.filter(pl.col("quarter") <= pl.lit(step["quarter"], dtype=TIME)),
        "positives": lambda x: x.positives.filter(until),
        "pools": lambda x: x.pools.pools.filter(until),
        "pool_gold": lambda x: x.pools.pool_gold.filter(until),
        "pool_counts": lambda x: x.pools.pool_counts.filter(until),
    }
    return [
        {
            "rule": "the past moved with the future",
            "user_id": user,
            "transition_index": t,
            "pool": None,
            "detail": f"{name}: {_first_difference(*pair)}",
        }
        for name, view in views.items()
        if not (pair := (view(before), view(after)))[0].equals(pair[1])
    ]


def audit_future(
    events: pl.DataFrame,
    settings: CommerceSettings,
    sample_users: int | Sequence[str],
    seed: int,
    build: Build = default_build,
) -> pl.DataFrame:
    """Violations found by replacing the future of sampled users; no row = pass.

    `sample_users` is a number (the users of smallest keyed hash among those with a
    transition) or the users themselves; each is cut at one of its transitions, taken
    by keyed hash. Users whose transition reads the same quarter's domain table are
    replaced together: whatever they do after it, that table and those before it must
    stand. All pools are also held against `pool_rules` and `familiarity_rules`. Costs
    one rebuild of `events`, and one more a quarter among the sampled transitions.
    Raises `ValueError` for a user without a transition.
    """
    vocabulary = taxonomy(category_names(events.lazy()).lazy())
    catalogue = catalogue_of(events.lazy())
    before = rebuild(events, settings, vocabulary, None, build)
    past = (before.visits.lazy(), before.batches.lazy(), before.transitions.lazy(), before.domains.lazy())
    found = [
        pool_rules(before.pools.pools, before.pools.pool_gold, before.positives, settings),
        familiarity_rules(before.positives, before.pools.pool_gold, *past, settings),
    ]
    cuts = _sample(before.transitions, sample_users, seed)
    moved: list[dict[str, Any]] = []
    for _, group in cuts.group_by("quarter", maintain_order=True):
        other = events
        for user, _, end, _ in group.iter_rows():
            other = perturb_future(other, user, end, catalogue, seed)
        users = group.select("user_id", pl.col("transition_index").alias("t"))
        given = before.signals.join(users, on="user_id", how="inner", maintain_order="left")
        given = given.filter(pl.col("transition_index") <= pl.col("t")).drop("t")
        after = rebuild(other, settings, vocabulary, users["user_id"].to_list(), build, given)
        for user, t in users.iter_rows():
            moved += compare(before, after, user, t)
    return pl.concat([*found, pl.DataFrame(moved, schema=VIOLATIONS)])


def _sample(transitions: pl.DataFrame, users: int | Sequence[str], seed: int) -> pl.DataFrame:
    """One transition a sampled user, with history_end and quarter; what follows it is replaced."""
    keys = mix64(seed, key64_column(transitions["user_id"], "user").to_numpy())
    keyed = transitions.with_columns(pl.Series("key", keys, dtype=pl.UInt64)).sort("key", "user_id", "transition_index")
    taken = keyed.filter(
        pl.int_range(pl.len(), dtype=pl.UInt64).over("user_id") == pl.col("key") % pl.len().over("user_id")
    ).select("user_id", "transition_index", "history_end", "quarter")
    if isinstance(users, int):
        return taken.head(users)
    if missing := sorted(set(users) - set(taken["user_id"].to_list())):
        raise ValueError(f"users without a transition cannot be audited: {', '.join(missing)}")
    return taken.filter(pl.col("user_id").is_in(list(users)))


def _first_difference(before: pl.DataFrame, after: pl.DataFrame) -> str:
    if before.schema != after.schema:
        return f"columns {dict(before.schema)} became {dict(after.schema)}"
    lost = before.join(after, on=before.columns, how="anti", nulls_equal=True)
    gained = after.join(before, on=before.columns, how="anti", nulls_equal=True)
    if lost.is_empty() and gained.is_empty():
        return f"{before.height} rows became {after.height}, or stand in another order"
    example = (lost if lost.height else gained).row(0, named=True)
    return f"{lost.height} rows gone, {gained.height} rows new, such as {example}"
