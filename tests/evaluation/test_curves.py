"""Recall against budget and beside cost, on boards small enough to read."""

from typing import Any

import polars as pl
import pytest
from evaluation_world import public, random_cohort, random_gold, readouts, table, taxonomy

from pipelines.evaluation.curves import UnlikeUnits, beside_cost, token_curve
from pipelines.evaluation.differences import differences
from pipelines.evaluation.leaderboard import leaderboard
from pipelines.evaluation.readers.lexical import LexicalReader
from pipelines.evaluation.scores import oracle, score


def row(method: str, budget: int, recall: float, **changes: Any) -> dict[str, Any]:
    return {
        "reader": "llm", "budget": budget, "pool": "remember", "group_kind": "all", "place": 0, "group": "all",
        "method": method, "kind": "method", "recall": recall, "recall_low": recall - 0.1, "recall_high": recall + 0.1,
        "chance": 0.25, "n_units": 10, "n_positives": 20, "tokens": budget - 1.0,
    } | changes  # fmt: skip


def spent(method: str, budget: int, step: str, model: str = "m", **changes: Any) -> dict[str, Any]:
    return {
        "method": method, "reader": "llm", "budget": budget, "step": step, "model": model, "n_calls": 10,
        "prompt_tokens": 1_000, "reply_tokens": 100, "seconds": 2.5, "cost": 0.5,
    } | changes  # fmt: skip


BOARD = table("leaderboard", [
    row("b", 2000, 0.5), row("b", 500, 0.3), row("b", 1000, 0.45),
    row("a", 500, 0.4, recall_low=None, recall_high=None),
    row("oracle", 0, 1.0, kind="scoring side"),
    row("b", 500, 0.9, group_kind="familiarity", group="seen"),
    row("b", 500, 0.6, pool="infer", n_units=7),
])  # fmt: skip


def test_a_curve_is_the_recall_of_a_method_by_budget() -> None:
    curve = token_curve(BOARD)
    assert curve.select("pool", "method", "budget", "tokens", "recall").rows() == [
        ("infer", "b", 500, 499.0, 0.6),
        ("remember", "a", 500, 499.0, 0.4),
        ("remember", "b", 500, 499.0, 0.3),
        ("remember", "b", 1000, 999.0, 0.45),
        ("remember", "b", 2000, 1999.0, 0.5),
    ]
    assert curve["gain"].to_list() == [None, None, None, pytest.approx(0.15), pytest.approx(0.05)]
    assert curve.filter(pl.col("method") == "a")["recall_low"].to_list() == [None]
    assert set(curve["chance"]) == {0.25}
    assert token_curve(BOARD.sample(fraction=1, shuffle=True, seed=1)).equals(curve)
    assert token_curve(BOARD.clear()).is_empty()


def test_budgets_that_were_asked_other_units_make_no_curve() -> None:
    for changes in ({"n_units": 11}, {"n_positives": 21}):
        other = table("leaderboard", [row("a", 4000, 0.7, **changes)])
        with pytest.raises(UnlikeUnits, match="remember read by llm"):
            token_curve(pl.concat([BOARD, other]))
        apart = other.with_columns(reader=pl.lit("embedding"))
        assert token_curve(pl.concat([BOARD, apart])).height == 6


def test_calls_of_building_and_reading_stand_beside_recall() -> None:
    costs = table("costs", [
        spent("b", 500, "build"), spent("b", 500, "build", "other", cost=0.25, seconds=1.0), spent("b", 500, "read"),
        spent("b", 1000, "read", cost=None), spent("b", 500, "judge", cost=99.0),
    ])  # fmt: skip
    beside = beside_cost(BOARD, costs)
    one = beside.filter((pl.col("method") == "b") & (pl.col("budget") == 500) & (pl.col("pool") == "remember"))
    (found,) = one.rows(named=True)
    assert (found["build_n_calls"], found["read_n_calls"], found["n_calls"]) == (20, 10, 30)
    assert (found["build_cost"], found["read_cost"], found["cost"]) == (0.75, 0.5, 1.25)
    assert (found["seconds"], found["prompt_tokens"], found["reply_tokens"]) == (6.0, 3_000, 300)
    assert (found["recall"], found["recall_low"], found["kind"]) == (0.3, pytest.approx(0.2), "method")
    free = beside.filter(pl.col("method") == "a").row(0, named=True)
    # Beaten by b under 2000 tokens, which took nothing either.
    assert (free["n_calls"], free["cost"], free["seconds"], free["frontier"]) == (0, 0.0, 0.0, False)
    unpriced = beside.filter(pl.col("budget") == 1000).row(0, named=True)
    assert (unpriced["n_calls"], unpriced["cost"], unpriced["frontier"], unpriced["build_cost"]) == (
        10,
        None,
        None,
        0.0,
    )
    shuffled = beside_cost(BOARD.sample(fraction=1, shuffle=True, seed=2), costs.reverse())
    assert shuffled.equals(beside)


def test_the_frontier_has_what_no_other_arm_beats() -> None:
    points = {"cheap": (0.3, 1.0), "good": (0.6, 5.0), "twin": (0.6, 5.0), "dear": (0.6, 6.0), "worse": (0.5, 5.0),
              "waste": (0.2, 1.0), "best": (0.9, 50.0)}  # fmt: skip
    board = table("leaderboard", [row(name, 500, recall) for name, (recall, _) in points.items()])
    costs = table("costs", [spent(name, 500, "read", cost=cost) for name, (_, cost) in points.items()])
    beside = beside_cost(board, costs)
    assert dict(beside.select("method", "frontier").rows()) == {
        "cheap": True, "good": True, "twin": True, "best": True, "dear": False, "worse": False, "waste": False,
    }  # fmt: skip


def test_on_real_boards_of_two_budgets() -> None:
    gold = random_gold(users=8, transitions=3)
    cohort, pools, names = random_cohort(gold), public(gold), taxonomy()
    states = gold.select("user_id", "transition_index").unique().rows()
    units = [oracle(gold, cohort)]
    for budget, text in ((100, "milk"), (400, "milk\nbeef\nsoap")):
        said = readouts(dict.fromkeys(states, text))
        readings = LexicalReader().read(said, pools, names)
        units += [score(readings, gold, said, cohort, method="m", reader="lexical", budget=budget)]
    every = pl.concat(units)
    board = leaderboard(every, differences(every))
    curve = token_curve(board)
    assert curve.select("pool", "budget").rows() == [(p, b) for p in ("infer", "remember") for b in (100, 400)]
    for point in curve.iter_rows(named=True):
        assert point["recall_low"] <= point["recall"] <= point["recall_high"]
        assert point["tokens"] == {100: 4, 400: 14}[point["budget"]]
    assert beside_cost(board, table("costs", []))["cost"].to_list() == [0.0] * 4
