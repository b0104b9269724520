"""Perturb the future: what a memory says at t must not move by a byte when everything after t is replaced (ours).

For each user one transition t is drawn. Every visit after batch t gets another item,
category, brand, count and time; only the start of the first of them stays, because it
is what closed batch t. The last batches may vanish. Then both worlds are replayed.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl
from pydantic import BaseModel

from pipelines.hashing import key64
from pipelines.memory.contract import MethodSpec, Tokens
from pipelines.memory.contract_models import PARROTS
from pipelines.memory.replay import Served, replay
from pipelines.memory.timeline import histories
from pipelines.schema import TABLES

VIOLATIONS = pl.Schema({"user_id": pl.String, "transition_index": pl.Int32, "column": pl.String})
"""What `future_sensitivity` gives: one row a readout column that moved."""


def future_sensitivity(
    spec: MethodSpec,
    config: BaseModel,
    visits: pl.DataFrame,
    batches: pl.DataFrame,
    transitions: pl.DataFrame,
    taxonomy: pl.DataFrame,
    budget: int,
    tokens: Tokens,
    *,
    users: Iterable[str] | None = None,
    seed: int = 0,
    served: Served = PARROTS,
) -> pl.DataFrame:
    """Readouts at or before the drawn t that differ between the real and the perturbed future (`VIOLATIONS`).

    Zero rows mean that no future reached the memory. Arguments as for `replay`; the tables as in `pipelines.schema`.
    The shuffled control draws from the real streams in both worlds. A method that asks a model is given one that
    repeats the words of its prompts (`pipelines.memory.contract_models`): no call is spent on an audit, and what
    reaches a prompt shows. Raises what the method raises.
    """
    real = histories(visits, batches, transitions, taxonomy)
    chosen = sorted(real.users if users is None else users)
    cuts = {user: key64(user, f"future:{seed}") % len(real.outcomes[user]) for user in chosen}
    last = {user: sorted(real.outcomes[user])[place] for user, place in cuts.items()}
    other = histories(*perturbed(visits, batches, transitions, taxonomy, last, seed), taxonomy)
    before = replay(spec, config, real, budget, tokens, users=chosen, donors=real, seed=seed, served=served)
    after = replay(spec, config, other, budget, tokens, users=chosen, donors=real, seed=seed, served=served)
    until = pl.DataFrame(
        {"user_id": list(last), "t": list(last.values())}, schema={"user_id": pl.String, "t": pl.Int32}
    )
    key = ["user_id", "transition_index"]
    both = (
        before.join(until, on="user_id")
        .filter(pl.col("transition_index") <= pl.col("t"))
        .join(after.with_columns(found=True), on=key, how="left", suffix="_after")
    )
    columns = [name for name in TABLES["readouts"].schema.names() if name not in key]
    moved = [
        both.filter(pl.col(name).ne_missing(pl.col(f"{name}_after"))).select(*key, column=pl.lit(name))
        for name in columns
    ]
    return pl.concat(moved).match_to_schema(VIOLATIONS).sort(*key, "column")


def perturbed(
    visits: pl.DataFrame,
    batches: pl.DataFrame,
    transitions: pl.DataFrame,
    taxonomy: pl.DataFrame,
    last: dict[str, int],
    seed: int = 0,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """visits, batches and transitions of the users of `last` with another future after batch `last[user]`.

    Rows of the past are untouched; so is the start of the first future visit. Batches later than t+1 vanish for
    every other user by key.
    """
    until = pl.DataFrame(
        {
            "user_id": list(last),
            "t": list(last.values()),
            "short": [bool(key64(user, f"vanish:{seed}") & 1) for user in last],
        },
        schema={"user_id": pl.String, "t": pl.Int32, "short": pl.Boolean},
    )
    stays = ~(pl.col("short") & (pl.col("batch_index") > pl.col("t") + 1))
    spans = batches.join(until, on="user_id").filter(stays)
    border = (
        spans.filter(pl.col("batch_index") <= pl.col("t"))
        .group_by("user_id")
        .agg(first_future=(pl.col("first_visit") + pl.col("n_visits")).max())
    )
    end = spans.group_by("user_id").agg(end_visit=(pl.col("first_visit") + pl.col("n_visits")).max())
    rows = (
        visits.join(until, on="user_id")
        .join(border, on="user_id")
        .join(end, on="user_id")
        .filter(pl.col("visit_index") < pl.col("end_visit"))
        .sort("user_id", "visit_index")
    )
    future = pl.col("visit_index") >= pl.col("first_future")
    # The later, the longer delayed: order stays, every instant but the first start moves.
    delay = pl.duration(seconds=(pl.col("visit_index") - pl.col("first_future")) * 61)
    counters = [name for name in TABLES["visits"].schema.names() if name.startswith("n_")]
    strange = _strange_categories(rows, taxonomy)
    changed = (
        rows.with_columns(strange)
        .with_columns(
            pl.when(future).then(pl.col("start") + delay).otherwise(pl.col("start")).alias("start"),
            pl.when(future).then(pl.col("end") + delay + pl.duration(seconds=7)).otherwise(pl.col("end")).alias("end"),
            pl.when(future).then("future-" + pl.col("item_id")).otherwise(pl.col("item_id")).alias("item_id"),
            pl.when(future).then(pl.lit("future brand")).otherwise(pl.col("brand")).alias("brand"),
            pl.when(future).then(pl.col("other_l1")).otherwise(pl.col("l1")).alias("l1"),
            pl.when(future).then(pl.col("other_l2")).otherwise(pl.col("l2")).alias("l2"),
            *(pl.when(future).then(pl.col(name) + 3).otherwise(pl.col(name)).alias(name) for name in counters),
            pl.when(future).then(pl.lit(999)).otherwise(pl.col("dwell_seconds")).alias("dwell_seconds"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in TABLES["visits"].schema.items())
    )
    times = _batch_times(spans, changed)
    kept_transitions = transitions.join(until, on="user_id").filter(
        ~(pl.col("short") & (pl.col("transition_index") > pl.col("t")))
    )
    return changed, times, _transition_times(kept_transitions, times)


def _strange_categories(rows: pl.DataFrame, taxonomy: pl.DataFrame) -> list[pl.Series]:
    """Another category for every row, from the same taxonomy so that names stay what they are."""
    known = taxonomy.select("l1", "l2").sort("l1", "l2")
    if known.is_empty():
        return [rows["l1"].rename("other_l1"), rows["l2"].rename("other_l2")]
    picks = (np.arange(rows.height, dtype=np.int64) * 7 + 3) % known.height
    other = known[picks.tolist()]
    return [other["l1"].rename("other_l1"), other["l2"].rename("other_l2")]


def _batch_times(spans: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    schema = TABLES["batches"].schema
    first = visits.select("user_id", first_visit="visit_index", new_start="start")
    final = visits.select("user_id", last_visit="visit_index", new_end="end")
    return (
        spans.with_columns(last_visit=pl.col("first_visit") + pl.col("n_visits") - 1)
        .join(first, on=["user_id", "first_visit"])
        .join(final, on=["user_id", "last_visit"])
        .with_columns(start=pl.col("new_start"), end=pl.col("new_end"))
        .with_columns(closed=pl.when(pl.col("batch_index") > pl.col("t")).then(~pl.col("closed")).otherwise("closed"))
        .select(pl.col(name).cast(dtype) for name, dtype in schema.items())
        .sort("user_id", "batch_index")
    )


def _transition_times(transitions: pl.DataFrame, batches: pl.DataFrame) -> pl.DataFrame:
    now = batches.select("user_id", transition_index="batch_index", now_end="end")
    later = batches.select(
        "user_id",
        transition_index=pl.col("batch_index") - 1,
        later_start="start",
        later_end="end",
        later_closed="closed",
    )
    key = ["user_id", "transition_index"]
    return (
        transitions.join(now, on=key)
        .join(later, on=key)
        .with_columns(
            history_end="now_end", target_start="later_start", target_end="later_end", target_closed="later_closed"
        )
        .select(pl.col(name).cast(dtype) for name, dtype in TABLES["transitions"].schema.items())
        .sort(key)
    )
