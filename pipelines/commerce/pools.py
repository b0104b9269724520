"""Pools: what is asked at a transition, drawn once and frozen (paper §3.3, §A.1.2).

A pool depends on the user's batches ≤ t, the frozen domain table, the taxonomy
and its own transition's positives, on nothing else. Every draw is the smallest
keyed 64-bit hash, so a pool is the same for any row order, shard or machine, and
a category added to the taxonomy can only displace, never reshuffle.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.commerce.familiarity import (
    SEEN,
    Bytes,
    History,
    Ints,
    advance,
    familiarity_column,
    history,
    locate,
    unseen_status,
)
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.taxonomy import category_text, require_categories
from pipelines.hashing import key64, key64_column, mix64
from pipelines.schema import POOL, POOLS, ROLE, ROLES, TABLES

Words = npt.NDArray[np.uint64]

POSITIVE, MATCHED, HISTORY, RANDOM = range(4)
"""Role codes, in the order of `schema.ROLES`."""

ORDER_SALT = key64("order", "salt")
"""Keeps the order of candidates apart from their draw, and so from their role."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_EXCLUDED = 7


@dataclass(frozen=True)
class Pools:
    """The public pools, the roles of their candidates, and the counts of every pool, empty ones included."""

    pools: pl.DataFrame
    pool_gold: pl.DataFrame
    pool_counts: pl.DataFrame


def pools(
    positives: pl.DataFrame,
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    transitions: pl.LazyFrame,
    domains: pl.LazyFrame,
    taxonomy: pl.DataFrame,
    settings: CommerceSettings,
) -> Pools:
    """Tables `pools`, `pool_gold` and `pool_counts` of the transitions given.

    For each kept positive `settings.distractors_per_positive` distractors are
    wanted. Kinds in order, for all positives of a pool: `matched`, of the same
    familiarity as its positive; `history`, of any familiarity of the pool;
    `random`, any other category of the taxonomy. No positive of the transition is
    ever a distractor, none is there twice, and what cannot be found is counted
    (`n_short`). A draw takes the smallest mix64(seed, user, transition, pool,
    category); candidates stand in the order of the same keys under `ORDER_SALT`.

    Raises `NoCategories` for an empty taxonomy, `ValueError` when a category is
    not in it or a positive names a transition that is not in the table.
    """
    require_categories(taxonomy)
    past = history(visits, batches, transitions, domains, taxonomy)
    asked = _asked(positives, past)
    categories = key64_column(past.categories.select(category_text()).to_series(), "category").to_numpy()
    users = key64_column(past.transitions["user_id"], "user").to_numpy()
    indices = past.transitions["transition_index"].cast(pl.UInt64).to_numpy()
    n_kept = np.diff(asked.kept_at)
    slot_at = np.r_[0, np.cumsum(n_kept * (1 + settings.distractors_per_positive))].astype(np.int64)
    drawn = _draw(
        asked.excluded_at,
        asked.excluded,
        asked.kept_at,
        asked.kept,
        slot_at,
        mix64(settings.seed, users, indices),
        mix64(ORDER_SALT, settings.seed, users, indices),
        categories,
        *past.kernel(),
        settings.familiar_visits,
        settings.distractors_per_positive,
    )
    return _tables(past, asked, slot_at, *drawn, settings)


@dataclass(frozen=True)
class _Asked:
    """Positives in codes: all of a transition (excluded), and those kept of each of its two pools."""

    excluded_at: Ints
    excluded: Ints
    kept_at: Ints
    kept: Ints
    n_cut: Ints


def _asked(positives: pl.DataFrame, past: History) -> _Asked:
    located = locate(positives, past)
    known = positives.select(pl.col("pool").to_physical().cast(pl.Int64), "kept")[located["row"].to_numpy()]
    rows = located.select("step", "category").with_columns(
        (pl.col("step") * len(POOLS) + known["pool"]).alias("pool"), known["kept"]
    )
    n_pools = past.transitions.height * len(POOLS)
    kept = rows.filter("kept").sort("pool", "category")
    cut = rows.filter(pl.col("pool").is_not_null() & ~pl.col("kept"))
    return _Asked(
        excluded_at=np.searchsorted(rows["step"].to_numpy(), np.arange(past.transitions.height + 1)).astype(np.int64),
        excluded=rows["category"].to_numpy(),
        kept_at=np.searchsorted(kept["pool"].to_numpy(), np.arange(n_pools + 1)).astype(np.int64),
        kept=kept["category"].to_numpy(),
        n_cut=np.bincount(cut["pool"].to_numpy(), minlength=n_pools).astype(np.int64),
    )


def _tables(
    past: History,
    asked: _Asked,
    slot_at: Ints,
    n_found: Ints,
    category: Ints,
    role: Bytes,
    known: Bytes,
    settings: CommerceSettings,
) -> Pools:
    """Codes back to text; rows already stand in the tables' total order, so nothing is sorted again."""
    n_pools = n_found.shape[0]
    wanted = np.diff(asked.kept_at) * (1 + settings.distractors_per_positive)
    pool_of_slot = np.repeat(np.arange(n_pools), wanted)
    position = np.arange(slot_at[-1]) - slot_at[pool_of_slot]
    filled = position < n_found[pool_of_slot]
    pool_of_row, category, role = pool_of_slot[filled], category[filled], role[filled]
    keys = _pool_keys(past.transitions, pool_of_row).with_columns(
        pl.Series("position", position[filled], dtype=pl.Int32),
        past.categories["l1"].gather(category),
        past.categories["l2"].gather(category),
    )
    gold = keys.with_columns(pl.Series("role", ROLES, dtype=ROLE).gather(role), familiarity_column(known[filled]))
    counts = {
        name: np.bincount(pool_of_row[role == code], minlength=n_pools)
        for name, code in (("n_matched", MATCHED), ("n_history", HISTORY), ("n_random", RANDOM))
    }
    return Pools(
        pools=_shaped(
            keys.with_columns(pl.Series("n_choose", np.diff(asked.kept_at)[pool_of_row], dtype=pl.Int32)), "pools"
        ),
        pool_gold=_shaped(gold, "pool_gold"),
        pool_counts=_shaped(
            _pool_keys(past.transitions, np.arange(n_pools)).with_columns(
                n_positives=pl.Series(np.diff(asked.kept_at)),
                n_cut=pl.Series(asked.n_cut),
                n_short=pl.Series(wanted - n_found),
                **{name: pl.Series(values) for name, values in counts.items()},
            ),
            "pool_counts",
        ),
    )


def _pool_keys(transitions: pl.DataFrame, pool: Ints) -> pl.DataFrame:
    step = pool // len(POOLS)
    return pl.DataFrame(
        [
            transitions["user_id"].gather(step),
            transitions["transition_index"].gather(step),
            pl.Series("pool", POOLS, dtype=POOL).gather(pool % len(POOLS)),
        ]
    )


def _shaped(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in TABLES[table].schema.items())


@nb.njit(cache=True)
def _mix(state: np.uint64, key: np.uint64) -> np.uint64:
    """One step of `hashing.mix64`."""
    state = (state + _GOLDEN) ^ key
    state = (state ^ (state >> _S30)) * _M1
    state = (state ^ (state >> _S27)) * _M2
    return state ^ (state >> _S31)


@nb.njit(cache=True)
def _smallest(state: np.uint64, category_hash: Words, group_of: Bytes, group: int, hashes: Words, members: Ints) -> int:
    """Fill `hashes` and `members` with the group's smallest draws, ascending; returns how many there are.

    Of equal hashes the earlier category comes first.
    """
    wanted = hashes.shape[0]
    size = 0
    for category in range(group_of.shape[0]):
        if group_of[category] != group:
            continue
        hash_ = _mix(state, category_hash[category])
        if size < wanted:
            size += 1
        elif hash_ >= hashes[size - 1]:
            continue
        i = size - 1
        while i > 0 and hashes[i - 1] > hash_:
            hashes[i] = hashes[i - 1]
            members[i] = members[i - 1]
            i -= 1
        hashes[i] = hash_
        members[i] = category
    return size


@nb.njit(cache=True)
def _draw(
    excluded_at: Ints,
    excluded: Ints,
    kept_at: Ints,
    kept: Ints,
    slot_at: Ints,
    draw_state: Words,
    order_state: Words,
    category_hash: Words,
    visit_category: Ints,
    first: Ints,
    upto: Ints,
    quarter: Ints,
    category_domain: Ints,
    connected_at: Ints,
    connected: Ints,
    n_domains: int,
    familiar_visits: int,
    per_positive: int,
) -> tuple[Ints, Ints, Bytes, Bytes]:
    """For every pool the number of candidates, and in its slots their category, role and familiarity, in order."""
    n_steps = first.shape[0]
    n_categories = category_domain.shape[0]
    seen = np.zeros(n_categories, np.int8)
    domain_visits = np.zeros(n_domains, np.int64)
    status = np.empty(n_domains + 1, np.int8)
    group_of = np.empty(n_categories, np.int8)
    n_found = np.zeros(2 * n_steps, np.int64)
    out_category = np.zeros(slot_at[-1], np.int64)
    out_role = np.zeros(slot_at[-1], np.int8)
    out_known = np.zeros(slot_at[-1], np.int8)
    at = 0
    for step in range(n_steps):
        at = advance(step, at, first, upto, visit_category, category_domain, seen, domain_visits)
        if kept_at[2 * step] == kept_at[2 * step + 2]:
            continue
        unseen_status(quarter[step], domain_visits, connected_at, connected, familiar_visits, status)
        for category in range(n_categories):
            group_of[category] = SEEN if seen[category] else status[category_domain[category]]
        for i in range(excluded_at[step], excluded_at[step + 1]):
            group_of[excluded[i]] = _EXCLUDED
        for pool in range(2):
            n_positives = kept_at[2 * step + pool + 1] - kept_at[2 * step + pool]
            if n_positives == 0:
                continue
            want = n_positives * per_positive
            # A familiarity group gives at most all the pool wants: its own share plus the other's shortage.
            hashes = np.empty((2, want), np.uint64)
            members = np.empty((2, want), np.int64)
            size = np.zeros(2, np.int64)
            share = np.zeros(2, np.int64)
            state = _mix(draw_state[step], np.uint64(pool))
            for group in range(2):
                size[group] = _smallest(state, category_hash, group_of, 2 * pool + group, hashes[group], members[group])
            start = slot_at[2 * step + pool]
            n = 0
            for i in range(kept_at[2 * step + pool], kept_at[2 * step + pool + 1]):
                out_category[start + n] = kept[i]
                out_role[start + n] = POSITIVE
                known = SEEN if seen[kept[i]] else status[category_domain[kept[i]]]
                share[known & 1] += per_positive
                n += 1
            taken = np.minimum(share, size)
            for group in range(2):
                for i in range(taken[group]):
                    out_category[start + n] = members[group, i]
                    out_role[start + n] = MATCHED
                    n += 1
            while n < n_positives + want and (taken[0] < size[0] or taken[1] < size[1]):
                group = 0
                if taken[0] == size[0] or (
                    taken[1] < size[1]
                    and (
                        hashes[1, taken[1]] < hashes[0, taken[0]]
                        or (hashes[1, taken[1]] == hashes[0, taken[0]] and members[1, taken[1]] < members[0, taken[0]])
                    )
                ):
                    group = 1
                out_category[start + n] = members[group, taken[group]]
                out_role[start + n] = HISTORY
                taken[group] += 1
                n += 1
            missing = n_positives + want - n
            if missing > 0:
                # The pool's own groups are used up, so only other categories are left.
                rest_of = np.where((group_of >> 1 == pool) | (group_of == _EXCLUDED), 0, 1).astype(np.int8)
                rest = _smallest(state, category_hash, rest_of, 1, hashes[0, :missing], members[0, :missing])
                for i in range(rest):
                    out_category[start + n] = members[0, i]
                    out_role[start + n] = RANDOM
                    n += 1
            n_found[2 * step + pool] = n
            _arrange(start, n, _mix(order_state[step], np.uint64(pool)), category_hash, out_category, out_role)
            for i in range(start, start + n):
                category = out_category[i]
                out_known[i] = SEEN if seen[category] else status[category_domain[category]]
    return n_found, out_category, out_role, out_known


@nb.njit(cache=True)
def _arrange(start: int, n: int, state: np.uint64, category_hash: Words, category: Ints, role: Bytes) -> None:
    """Order the candidates of one pool by their order hash, then by category."""
    hashes = np.empty(n, np.uint64)
    for i in range(n):
        member, kind = category[start + i], role[start + i]
        hash_ = _mix(state, category_hash[member])
        j = i
        while j > 0 and (hashes[j - 1] > hash_ or (hashes[j - 1] == hash_ and category[start + j - 1] > member)):
            hashes[j] = hashes[j - 1]
            category[start + j] = category[start + j - 1]
            role[start + j] = role[start + j - 1]
            j -= 1
        hashes[j] = hash_
        category[start + j] = member
        role[start + j] = kind
