"""Invariants of `positives`."""

from typing import Any

import polars as pl

from expectations.invariants import slow
from expectations.invariants.rules import (
    Frames,
    among,
    lacking,
    never,
    not_checked,
    ordered,
    rows_of,
    same_rows,
    sampled_users,
)
from pipelines.commerce.settings import CommerceSettings
from pipelines.findings import Finding
from pipelines.schema import TABLES

PER_TRANSITION = ["user_id", "transition_index"]
PER_POOL = [*PER_TRANSITION, "pool"]
SIGNALS = ["favourite", "cart", "purchase", "deep_browse"]
POOL_OF = {"seen": "remember", "familiar": "remember", "related": "infer", "new": "infer"}


def positives(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """A signal each, the pool of its familiarity, the limit; with `transitions`, `visits`, `batches`, `domains`."""
    frame = frames["positives"]
    asked = pl.col("familiarity").cast(pl.String).replace_strict(POOL_OF, default=None, return_dtype=pl.String)
    per_pool = (
        frame.filter(pl.col("pool").is_not_null())
        .group_by(PER_POOL)
        .agg(pl.col("kept").sum().alias("n_kept"), pl.len().alias("n"))
    )
    limit = settings.max_positives
    findings = [
        ordered("positives", frame),
        never("signal", "a positive has at least one strong signal", frame, ~pl.any_horizontal(SIGNALS)),
        never(
            "pool",
            "seen and familiar are asked by remember, related and new by infer, unconnected by none",
            frame,
            pl.col("pool").cast(pl.String).ne_missing(asked),
        ),
        never("kept_has_pool", "what is kept has a pool", frame, pl.col("kept") & pl.col("pool").is_null()),
        never("limit", f"a pool keeps at most {limit} positives", per_pool, pl.col("n_kept") > limit),
        never(
            "cut", "positives are cut only at the limit", per_pool, (pl.col("n_kept") < pl.min_horizontal("n", limit))
        ),
    ]
    if missing := lacking(frames, "transitions"):
        findings.append(not_checked("of_a_transition", *missing))
    else:
        description = "every positive belongs to a transition"
        findings.append(among("of_a_transition", description, frame, frames["transitions"], PER_TRANSITION))
    if missing := lacking(frames, "transitions", "visits", "batches", "domains"):
        return [*findings, not_checked("labels", *missing)]
    return [*findings, _labels(frames, settings)]


def _labels(frames: Frames, settings: CommerceSettings) -> Finding:
    users = sampled_users(frames["transitions"])
    columns = [*PER_TRANSITION, "l1", "l2", *SIGNALS, "familiarity"]
    schema = {name: TABLES["positives"].schema[name] for name in columns}
    expected = pl.LazyFrame(_again(frames, users, settings), schema=schema, orient="row")
    found = frames["positives"].join(users.lazy(), on="user_id", how="semi").select(columns)
    description = "labels and familiarity of sampled users come out of the slow path too"
    return same_rows("labels", description, found, expected, columns)


def _again(frames: Frames, users: pl.DataFrame, settings: CommerceSettings) -> list[tuple[Any, ...]]:
    connected: dict[Any, dict[str, set[str]]] = {}
    for quarter, domain, other in frames["domains"].select("quarter", "l1", "connected_l1").collect().iter_rows():
        connected.setdefault(quarter, {}).setdefault(domain, set()).add(other)
    stream: dict[str, list[dict[str, Any]]] = rows_of(frames["visits"], users, ["user_id", "visit_index"])
    bounds: dict[str, list[dict[str, Any]]] = rows_of(frames["batches"], users, ["user_id", "batch_index"])
    steps: dict[str, list[dict[str, Any]]] = rows_of(frames["transitions"], users, PER_TRANSITION)
    rows = []
    for user, transitions in steps.items():
        parts = [stream[user][b["first_visit"] : b["first_visit"] + b["n_visits"]] for b in bounds[user]]
        known, taken = slow.Known(), 0
        for step in transitions:
            target = step["transition_index"] + 1
            for part in parts[taken:target]:
                known.add(part)
            taken = target
            tables = connected.get(step["quarter"], {})
            for category, acts in slow.signals(parts[target], settings).items():
                familiarity = known.familiarity(category, tables, settings)
                rows.append((user, step["transition_index"], *category, *acts.values(), familiarity))
    return rows
