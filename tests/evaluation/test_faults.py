"""Flags that come from elsewhere than the scores: lost steps, calls without a reply, weak models."""

import polars as pl

from pipelines.evaluation.costs import costs
from pipelines.evaluation.faults import ARMS, NOTES, counted, faults
from pipelines.schema import TABLES

CELL = {name: NOTES[name] for name in ("method", "reader", "budget")}


def arms(*rows: tuple[str, str, int, bool, bool]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=ARMS, orient="row")


def calls(*rows: dict[str, object]) -> pl.DataFrame:
    base = {"step": "read", "role": "reader", "model": "m", "status": "ok", "cached": False, "endpoint": "e"}
    base |= {"prompt_tokens": 10, "reply_tokens": 3, "latency_ms": 500.0, "retries": 0, "cost": 2_000_000_000}
    base |= {"prompt": "p", "conceded": "", "error": "", "unit": "u", "method": "a", "reader": "llm", "budget": 600}
    made = [base | {"key": str(place)} | row for place, row in enumerate(rows)]
    return pl.DataFrame(made, schema=dict(TABLES["model_calls"].schema) | CELL)


def test_costs_are_sums_by_arm_step_and_model() -> None:
    made = costs(
        calls(
            {},
            {"cached": True, "cost": 500_000_000},
            {"status": "failed", "retries": 5, "reply_tokens": 0, "error": "Timeout"},
            {"step": "build", "model": "dear", "cost": None},
            {"step": "build", "model": "dear"},
            {"budget": 300, "status": "truncated"},
        ).lazy()
    )
    rows = made.select("budget", "step", "model", "n_calls", "n_cached", "n_failed", "n_retries", "seconds", "cost")
    assert rows.rows() == [
        (300, "read", "m", 1, 0, 1, 0, 0.5, 2.0),
        (600, "build", "dear", 2, 0, 0, 0, 1.0, None),
        (600, "read", "m", 3, 1, 1, 5, 1.5, 4.5),
    ]
    assert made.select("prompt_tokens", "reply_tokens").rows() == [(10, 3), (20, 6), (30, 6)]


def test_a_prompt_that_several_shards_needed_is_one_call() -> None:
    shared = [{"key": "k", "cached": True}, {"key": "k"}, {"key": "k", "cached": True, "budget": 300}]
    shared += [{"key": "l", "cached": True}, {"key": "l", "cached": True}, {"key": "l", "step": "build"}]
    made = costs(calls(*shared).lazy()).select("budget", "step", "n_calls", "n_cached", "prompt_tokens")
    assert made.rows() == [(300, "read", 1, 1, 10), (600, "build", 1, 0, 10), (600, "read", 2, 1, 20)]


def test_what_memories_counted_is_summed_over_users_and_once_for_arms_that_share_one() -> None:
    rows = [
        ("a", "u", "batches", 4),
        ("a", "v", "batches", 5),
        ("a", "u", "lost_steps", 1),
        ("a", "u", "lost_steps", 3),
    ]
    rows += [("b", "u", "batches", 4), ("a", "u", "batches", 4)]
    builds = pl.DataFrame(rows, schema=["method", "user_id", "count", "n"], orient="row")
    assert counted(builds.lazy()).rows() == [("a", "batches", 9), ("a", "lost_steps", 3), ("b", "batches", 4)]


def test_what_was_lost_failed_or_weak_is_said_and_nothing_else() -> None:
    builds = pl.DataFrame(
        [("a", "batches", 9), ("a", "lost_steps", 2), ("a", "lost_steps:themes", 2), ("b", "lost_steps", 0)],
        schema={"method": pl.String, "count": pl.String, "n": pl.Int64},
        orient="row",
    )
    taken = costs(calls(
        {"status": "failed"}, {"status": "empty", "budget": 300}, {"method": "c"},
        {"method": "c", "step": "judge", "status": "failed"},
    ).lazy())  # fmt: skip
    assert taken["n_failed"].sum() == 3
    found = faults(
        arms(
            ("a", "llm", 600, True, False),
            ("a", "llm", 300, False, False),
            ("b", "llm", 600, False, False),
            ("c", "lexical", 600, False, False),
            ("d", "llm", 600, False, True),
        ),
        builds,
        taken,
    )
    assert found.rows() == [
        ("a", "llm", 600, "degraded: 2 lost steps; degraded: 1 calls without a whole reply; weak model"),
        ("a", "llm", 300, "degraded: 2 lost steps; degraded: 1 calls without a whole reply"),
        ("d", "llm", 600, "weak model"),
    ]
