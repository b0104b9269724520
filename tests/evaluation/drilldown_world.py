"""A small experiment whose every table is known, for the tests of the drill-down."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from evaluation_world import public, random_cohort, random_gold, table, taxonomy

from pipelines.evaluation.drilldown.tracing import TrailTables
from pipelines.evaluation.scores import score
from pipelines.models import Message, prompt_hash

START = datetime(2024, 3, 1, 12, tzinfo=UTC)
BATCH = 5
"""Visits of every batch."""
ARMS = (("frequency_profile", "lexical", 600), ("shuffled_user", "lexical", 600))
STATUSES = ("ok", "short", "over", "invalid", "failed", "missing")


def visits_and_batches(gold: pl.DataFrame, name: str | None) -> dict[str, pl.DataFrame]:
    """Five visits a batch, an hour apart, batches ten days apart; `name` is the brand of every visit."""
    visits: list[dict[str, Any]] = []
    batches: list[dict[str, Any]] = []
    transitions: list[dict[str, Any]] = []
    for user, n in gold.group_by("user_id").agg(pl.col("transition_index").max() + 2).sort("user_id").iter_rows():
        for index in range(n):
            begin = START + timedelta(days=10 * index)
            for place in range(BATCH):
                category = (index * BATCH + place) % 60
                at = begin + timedelta(hours=place)
                visits.append(
                    {
                        "user_id": user, "visit_index": index * BATCH + place, "start": at, "end": at,
                        "item_id": f"i{category}", "l1": f"d{category % 7}", "l2": f"c{category}", "brand": name,
                        "n_click": 0, "n_browse": 1, "n_favourite": 0, "n_cart": 0, "n_purchase": place % 2,
                        "dwell_seconds": None,
                    }
                )  # fmt: skip
            span = {"start": begin, "end": begin + timedelta(hours=BATCH - 1)}
            batches.append(
                {"user_id": user, "batch_index": index, "first_visit": index * BATCH, "n_visits": BATCH, **span}
            )
        transitions += [
            {
                "user_id": user, "transition_index": index, "history_end": one["end"],
                "target_start": later["start"], "target_end": later["end"],
            }
            for index, (one, later) in enumerate(zip(batches[-n:], batches[1 - n :] if n > 1 else [], strict=False))
        ]  # fmt: skip
    rows = {"visits": visits, "batches": batches, "transitions": transitions}
    return {name: table(name, made) for name, made in rows.items()}


def readings_of(gold: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Choices drawn at random, in every status that there is; of `missing` ones there is no row."""
    rng = np.random.default_rng(seed)
    rows = []
    for (user, transition, pool), part in gold.group_by("user_id", "transition_index", "pool", maintain_order=True):
        status = STATUSES[int(rng.integers(len(STATUSES)))]
        positives = part.filter(role="positive").height
        n = {"ok": positives, "short": max(positives - 1, 0), "over": positives + 1}.get(status, 0)
        chosen = rng.permutation(part.height)[:n].tolist()
        reason = "" if status == "ok" else "as drawn"
        if status != "missing":
            rows.append(
                {
                    "user_id": user, "transition_index": transition, "pool": pool, "status": status,
                    "reason": reason, "chosen": chosen, "scores": [], "call": "",
                }
            )  # fmt: skip
    return table("readings", rows)


def readouts_of(gold: pl.DataFrame, text: str) -> pl.DataFrame:
    keys = gold.select("user_id", "transition_index").unique().sort(pl.all()).iter_rows()
    return table(
        "readouts",
        [
            {
                "user_id": user, "transition_index": transition, "description": text, "tree": "", "tokens": 7,
                "tokens_cut": 2, "state_hash": f"state {transition}",
            }
            for user, transition in keys
        ],
    )  # fmt: skip


def rename(frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    return frame.with_columns(pl.col("user_id").replace(names)) if "user_id" in frame.columns else frame


def world(text: str = "browsed: 1.00", *, users: int = 4, brand: str | None = None, seed: int = 3) -> TrailTables:
    """The tables of an experiment of two arms; every memory says `text`."""
    gold = random_gold(users=users, transitions=3, seed=seed)
    cohort, said = random_cohort(gold), readouts_of(gold, text)
    parts: dict[str, list[pl.DataFrame]] = {"units": [], "readouts": [], "readings": []}
    for number, (method, reader, budget) in enumerate(ARMS):
        arm = {"method": pl.lit(method), "reader": pl.lit(reader), "budget": pl.lit(budget, pl.Int32)}
        read = readings_of(gold, seed + number)
        parts["units"].append(score(read, gold, said, cohort, method=method, reader=reader, budget=budget))
        parts["readings"].append(read.with_columns(**arm))
        parts["readouts"].append(said.with_columns(**arm))
    arm_columns = {"method": pl.String, "reader": pl.String, "budget": pl.Int32}
    return TrailTables(
        **visits_and_batches(gold, brand),
        taxonomy=taxonomy(),
        pools=public(gold),
        pool_gold=gold,
        **{name: pl.concat(frames) for name, frames in parts.items()},
        claims=pl.DataFrame(schema={**table("claims", []).schema, **arm_columns}),
        model_calls=pl.DataFrame(schema={**table("model_calls", []).schema, **arm_columns, "user_id": pl.String}),
        replies={},
        borrowed=frozenset({"shuffled_user"}),
    )


def call_row(key: str, messages: tuple[Message, ...], **more: Any) -> pl.DataFrame:
    """One row of the account of calls, of the first arm."""
    row = {
        "step": "read", "unit": "", "role": "reader", "endpoint": "http://127.0.0.1/v1", "model": "scripted",
        "key": key, "prompt": prompt_hash(messages), "status": "ok", "cached": False, "prompt_tokens": 11,
        "reply_tokens": 5, "latency_ms": 3.5, "retries": 0, "cost": None, "conceded": "", "error": "",
    } | more  # fmt: skip
    method, reader, budget = ARMS[0]
    arm = {"method": pl.lit(method), "reader": pl.lit(reader), "budget": pl.lit(budget, pl.Int32)}
    return table("model_calls", [row]).with_columns(**arm)
