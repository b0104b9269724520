"""Known answers for the scoring rules."""

from itertools import permutations

import polars as pl
import pytest
from evaluation_world import (
    QUARTER,
    cohort,
    gold_unit,
    public,
    random_cohort,
    random_gold,
    reading,
    readouts,
    table,
)

from pipelines.evaluation.readers import readings_from_scores
from pipelines.evaluation.scores import BadReadings, oracle, popularity, recall_by_position, score
from pipelines.schema import TABLES

P, M, H, R = "positive", "matched", "history", "random"


def units_of(readings, gold, **kept):
    users = dict.fromkeys(gold["user_id"].unique().to_list(), 5)
    frame = table("readings", readings) if isinstance(readings, list) else readings
    texts = readouts(dict.fromkeys(gold.select("user_id", "transition_index").unique().iter_rows(), "text"))
    return score(frame, gold, texts, cohort(users), method="m", reader="r", budget=600, **kept)


def one(chosen, status="ok", roles=(P, M, P, H, R, R, M, M), scores=()):
    gold = table("pool_gold", gold_unit("u", 0, "remember", roles))
    return units_of([reading("u", 0, "remember", chosen, status, scores)], gold).row(0, named=True)


@pytest.mark.parametrize(
    ("chosen", "status", "shown", "hit", "exposed"),
    [
        ([0, 2], "ok", "ok", 2, 0),
        ([0, 1], "ok", "ok", 1, 1),
        ([1, 3], "ok", "ok", 0, 2),
        ([4, 5], "ok", "ok", 0, 0),  # random distractors are not eligible
        ([2], "ok", "short", 1, 0),  # the status is read off the choices
        ([], "short", "short", 0, 0),
        ([1, 0, 2], "over", "over", 1, 1),  # the first |P| only
        ([0, 0, 2], "ok", "ok", 2, 0),  # a repeat is one choice
        ([0, 0], "ok", "short", 1, 0),
        ([0, 8], "ok", "invalid", 0, 0),  # outside the pool
        ([-1, 0], "ok", "invalid", 0, 0),
        ([0, 2], "invalid", "invalid", 0, 0),
        ([0, 2], "failed", "failed", 0, 0),
    ],
)
def test_every_status_counts_as_written(chosen, status, shown, hit, exposed):
    unit = one(chosen, status)
    assert (unit["status"], unit["n_hit"], unit["n_exposed"]) == (shown, hit, exposed)
    assert (unit["n_positives"], unit["n_candidates"], unit["n_eligible"]) == (2, 8, 4)
    assert unit["hit_seen"] == hit and unit["n_seen"] == 2 and unit["n_new"] == 0
    assert unit["expected_hits"] == hit and unit["average_precision"] is None


def test_units_without_a_reading_stay_in_the_denominator():
    gold = table("pool_gold", gold_unit("u", 0, "remember", [P, M, M, M]) + gold_unit("u", 1, "infer", [M, P, M, M]))
    units = units_of([reading("u", 0, "remember", [0])], gold)
    assert units.select("status", "n_hit").rows() == [("ok", 1), ("missing", 0)]


def test_no_reading_at_all_is_all_missing():
    gold = table("pool_gold", gold_unit("u", 0, "remember", [P, M, M, M]))
    assert units_of([], gold).select("status", "n_hit", "average_precision").rows() == [("missing", 0, None)]


def test_a_ranking_readers_missing_unit_has_average_precision_zero():
    gold = table("pool_gold", gold_unit("u", 0, "remember", [P, M]) + gold_unit("u", 1, "infer", [M, P]))
    units = units_of([reading("u", 0, "remember", [0], scores=[2.0, 1.0])], gold)
    assert units["average_precision"].to_list() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("scores", "roles", "ap", "expected"),
    [
        ([4.0, 3.0, 2.0, 1.0], [P, M, P, M], (1 + 2 / 3) / 2, 1.0),
        ([0.0, 0.0], [P, M], 0.75, 0.5),  # first in half the orders (1), second in the other (1/2)
        ([0.0] * 4, [P, M, M, M], (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, 0.25),
        ([1.0, 0.0, 0.0, 0.0], [P, P, M, M], (1 + (2 / 2 + 2 / 3 + 2 / 4) / 3) / 2, 1 + 1 / 3),
    ],
)
def test_average_precision_by_hand(scores, roles, ap, expected):
    n = roles.count(P)
    unit = one(list(range(n)), roles=roles, scores=scores)
    assert unit["average_precision"] == pytest.approx(ap)
    assert unit["expected_hits"] == pytest.approx(expected)


@pytest.mark.parametrize("scores", [[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [2, 2, 1, 1, 1], [3, 1, 2, 2, 0]])
def test_tie_aware_numbers_are_the_mean_over_all_orders(scores):
    roles = [P, M, P, H, R]
    precisions, hits = [], []
    for order in permutations(range(5)):
        ranked = sorted(order, key=lambda place: -scores[place])  # stable: keeps this permutation inside ties
        found, total = 0, 0.0
        for place, candidate in enumerate(ranked, 1):
            if roles[candidate] == P:
                found += 1
                total += found / place
        precisions.append(total / 2)
        hits.append(sum(roles[candidate] == P for candidate in ranked[:2]))
    unit = one([0, 1], roles=roles, scores=[float(s) for s in scores])
    assert unit["average_precision"] == pytest.approx(sum(precisions) / len(precisions))
    assert unit["expected_hits"] == pytest.approx(sum(hits) / len(hits))


def test_constant_scores_do_not_earn_a_perfect_average_precision():
    gold = random_gold()
    constant = public(gold).with_columns(pl.lit(0.5).alias("score"))
    units = units_of(readings_from_scores(constant), gold)
    assert units["average_precision"].max() < 1
    assert units.select((pl.col("expected_hits") - pl.col("n_positives") * 0.25).abs().max()).item() < 1e-9


def test_scores_that_are_not_numbers_give_no_ranking():
    unit = one([0, 2], scores=[float("nan")] * 8)
    assert (unit["n_hit"], unit["average_precision"]) == (2, 0.0)
    with pytest.raises(ValueError, match="not finite"):
        readings_from_scores(
            public(table("pool_gold", gold_unit("u", 0, "infer", [P, M]))).with_columns(
                pl.lit(float("inf")).alias("score")
            )
        )


def test_readings_that_do_not_belong_are_refused():
    gold = table("pool_gold", gold_unit("u", 0, "remember", [P, M]))
    good = reading("u", 0, "remember", [0])
    with pytest.raises(BadReadings, match="unknown status"):
        units_of([good | {"status": "fine"}], gold)
    with pytest.raises(BadReadings, match="read twice"):
        units_of([good, good], gold)
    with pytest.raises(BadReadings, match="outside the frozen set"):
        units_of([good, reading("u", 1, "remember", [0])], gold)
    with pytest.raises(ValueError, match="no positive"):
        units_of([], table("pool_gold", gold_unit("u", 0, "remember", [M, M])))


def test_oracle_is_one_and_chance_is_a_quarter():
    gold = random_gold()
    units = oracle(gold, random_cohort(gold))
    assert units.select((pl.col("n_hit") / pl.col("n_positives")).unique()).to_series().to_list() == [1.0]
    assert units.select((pl.col("n_positives") / pl.col("n_candidates")).unique()).to_series().to_list() == [0.25]
    assert units["n_exposed"].sum() == 0


def test_popularity_uses_the_table_of_the_transitions_quarter():
    gold = table("pool_gold", gold_unit("u", 0, "remember", [M, P, M, M]))
    transitions = table("transitions", [{"user_id": "u", "transition_index": 0, "quarter": QUARTER}])
    later = QUARTER.replace(month=4)
    counts = table(
        "popularity",
        [
            {"quarter": QUARTER, "l1": "d", "l2": "c1", "n_visits": 9},
            {"quarter": later, "l1": "d", "l2": "c0", "n_visits": 99},
        ],
    )
    units = popularity(public(gold), gold, transitions, counts, cohort({"u": 3}))
    assert units.select("method", "n_hit", "average_precision").rows() == [("popularity", 1, 1.0)]
    # Before any past, all categories tie and the keyed order chooses the first.
    nothing = popularity(public(gold), gold, transitions, TABLES["popularity"].empty(), cohort({"u": 3}))
    assert nothing.select("n_hit", "expected_hits").rows() == [(0, 0.25)]


def test_recall_by_position_shows_a_reader_that_takes_the_first():
    gold = table("pool_gold", gold_unit("u", 0, "remember", [P, M]) + gold_unit("u", 1, "remember", [M, P]))
    firsts = table("readings", [reading("u", 0, "remember", [0]), reading("u", 1, "remember", [0])])
    got = recall_by_position(firsts, gold, method="m", reader="r", budget=600)
    assert got.drop("method", "reader", "budget").rows() == [("remember", 0, 2, 2, 1, 1), ("remember", 1, 2, 0, 1, 0)]


def test_scores_do_not_depend_on_row_order():
    gold = random_gold()
    scored = public(gold).with_columns((pl.col("l2").hash(seed=1) % 5).cast(pl.Float64).alias("score"))
    readings = readings_from_scores(scored)
    shuffled = units_of(
        readings.sample(fraction=1, shuffle=True, seed=2), gold.sample(fraction=1, shuffle=True, seed=3)
    )
    assert shuffled.equals(units_of(readings, gold))
    assert readings_from_scores(scored.sample(fraction=1, shuffle=True, seed=4)).equals(readings)


def test_a_shard_without_sampled_users_scores_to_an_empty_table():
    gold, nothing = TABLES["pool_gold"].empty(), TABLES["readings"].empty()
    labels = {"method": "m", "reader": "r", "budget": 600}
    got = score(nothing, gold, TABLES["readouts"].empty(), TABLES["cohort"].empty(), **labels)
    assert got.equals(TABLES["units"].empty())
    assert oracle(gold, TABLES["cohort"].empty()).equals(got)
    empty = [TABLES[name].empty() for name in ("pools", "pool_gold", "transitions", "popularity", "cohort")]
    assert popularity(*empty).equals(got)
    assert recall_by_position(nothing, gold, **labels).is_empty()
