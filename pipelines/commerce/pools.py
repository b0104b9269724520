"""Pools: what is asked at a transition, drawn once and frozen (paper §3.3, §A.1.2).

A pool depends on the user's batches ≤ t, the frozen domain table, the taxonomy
and its own transition's positives, on nothing else. Every draw is the smallest
keyed 64-bit hash, so a pool is the same for any row order, shard or machine, and
a category added to the taxonomy can only displace, never reshuffle.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from pipelines.commerce.familiarity import History, familiarity_column, history, locate
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.tables import POOL, POOLS, ROLE, ROLES
from pipelines.commerce.taxonomy import category_text, require_categories
from pipelines.commerce.walks import HISTORY, MATCHED, RANDOM, Bytes, Ints, draw
from pipelines.hashing import key64, key64_column, mix64
from pipelines.schema import TABLES

ORDER_SALT = key64("order", "salt")
"""Keeps the order of candidates apart from their draw, and so from their role."""


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
    drawn = draw(
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
