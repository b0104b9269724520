"""Known answers of the board: denominators, groups, flags, refusal of unlike runs."""

import polars as pl
import pytest
from evaluation_world import cohort, gold_unit, public, random_cohort, random_gold, reading, readouts, table

from pipelines.evaluation.comparable import KEYS, UnlikeRuns, check_comparable
from pipelines.evaluation.differences import differences
from pipelines.evaluation.groups import activity_groups
from pipelines.evaluation.leaderboard import csv_safe, leaderboard
from pipelines.evaluation.readers import readings_from_scores
from pipelines.evaluation.scores import oracle, score
from pipelines.schema import TABLES


def board_of(units):
    return leaderboard(units, differences(units))


def row(board, method, kind="all", group="all", pool="remember"):
    found = board.filter(
        (pl.col("method") == method)
        & (pl.col("group_kind") == kind)
        & (pl.col("group") == group)
        & (pl.col("pool") == pool)
    )
    return found.row(0, named=True)


def keyed(gold, method, salt, favour=0.0):
    """Readings by pseudo-random scores; `favour` is added to positives."""
    positive = (pl.col("role") == "positive").cast(pl.Float64) * favour
    n = (pl.col("role") == "positive").sum().over("user_id", "transition_index", "pool")
    noise = pl.concat_str("user_id", "transition_index", "pool", "position").hash(seed=salt) % 1_000_003 / 1_000_003
    readings = readings_from_scores(gold.with_columns((noise + positive).alias("score"), n.alias("n_choose")))
    texts = readouts(dict.fromkeys(gold.select("user_id", "transition_index").unique().iter_rows(), "x" * 9))
    return score(readings, gold, texts, random_cohort(gold), method=method, reader="embedding", budget=600)


@pytest.fixture(scope="module")
def units():
    gold = random_gold()
    constant = public(gold).with_columns(pl.lit(0.0).alias("score"))
    nothing = readouts(dict.fromkeys(gold.select("user_id", "transition_index").unique().iter_rows(), ""))
    empty = score(
        readings_from_scores(constant),
        gold,
        nothing,
        random_cohort(gold),
        method="empty",
        reader="embedding",
        budget=600,
    )
    return pl.concat(
        [
            empty,
            keyed(gold, "good", 1, 1.0),
            keyed(gold, "fair", 2, 0.2),
            keyed(gold, "noise", 3),
            oracle(gold, random_cohort(gold)),
        ]
    )


def test_errors_stay_in_the_denominator_with_coverage_and_bounds():
    roles = ["positive", "matched", "matched", "matched"]
    gold = table("pool_gold", [r for i in range(100) for r in gold_unit(f"u{i:02}", 0, "remember", roles)])
    readings = table(
        "readings",
        [reading(f"u{i:02}", 0, "remember", [0 if i < 80 else 1], "failed" if i >= 90 else "ok") for i in range(100)],
    )
    texts = readouts({(f"u{i:02}", 0): "text" for i in range(100)})
    users = cohort({f"u{i:02}": 4 for i in range(100)})
    got = row(board_of(score(readings, gold, texts, users, method="m", reader="llm", budget=600)), "m")
    assert (got["recall"], got["coverage"], got["bound_low"], got["bound_high"]) == (0.8, 0.9, 0.8, 0.9)
    assert (got["n_units"], got["n_ok"], got["n_failed"], got["n_missing"]) == (100, 90, 10, 0)
    assert got["flags"] == "coverage < 1"
    assert got["average_precision"] is None


def test_oracle_is_one_chance_a_quarter_and_empty_within_its_interval(units):
    board = board_of(units)
    for pool in ("remember", "infer"):
        top = row(board, "oracle", pool=pool)
        assert (top["recall"], top["adjusted_recall"], top["exposure"], top["rank"]) == (1.0, 1.0, 0.0, None)
        chance = row(board, "chance", pool=pool)
        assert (chance["recall"], chance["chance"], chance["adjusted_recall"]) == pytest.approx((0.25, 0.25, 0.0))
        assert chance["exposure"] == pytest.approx(0.5)
        empty = row(board, "empty", pool=pool)
        assert empty["recall_low"] <= 0.25 <= empty["recall_high"]
        assert empty["expected_recall"] == pytest.approx(0.25)


def test_ranks_bands_and_differences(units):
    board, pairs = board_of(units), differences(units)
    assert [row(board, m)["rank"] for m in ("good", "fair")] == [1, 2]
    assert [row(board, m)["band"] for m in ("good", "fair")] == [1, 2]
    got = pairs.filter((pl.col("pool") == "remember") & (pl.col("method") == "fair") & (pl.col("other") == "good"))
    difference, low, high, p = got.select("difference", "low", "high", "p").row(0)
    assert difference == pytest.approx(row(board, "fair")["recall"] - row(board, "good")["recall"])
    assert low <= difference <= high < 0 and p == 1 / 10_000
    assert pairs.height == 2 * 6  # four contenders; oracle and chance are none
    assert (pairs["p_holm"] >= pairs["p"]).all()


def test_a_method_no_better_than_nothing_is_flagged(units):
    gold = random_gold()
    worse = keyed(gold, "worse", 1, -1.0)
    board = board_of(pl.concat([units, worse]))
    assert "at or below empty control" in row(board, "worse")["flags"]
    assert row(board, "good")["flags"] == "" and row(board, "empty")["flags"] == ""
    silent = units.filter(pl.col("method") == "empty").with_columns(pl.lit("silent").alias("method"))
    flags = row(board_of(pl.concat([units, silent])), "silent")["flags"]
    assert flags == "at or below empty control; readouts are empty"


def test_a_method_no_better_than_another_users_memory_is_flagged(units):
    shuffled = units.filter(pl.col("method") == "good").with_columns(pl.lit("shuffled_user").alias("method"))
    board = board_of(pl.concat([units, shuffled]))
    assert row(board, "good")["flags"] == "at or below shuffled_user control"
    assert row(board, "shuffled_user")["flags"] == row(board, "oracle")["flags"] == ""


def test_familiarity_groups_split_the_hits(units):
    board = board_of(units)
    whole, seen, familiar = (
        row(board, "good", *group) for group in (("all", "all"), ("familiarity", "seen"), ("familiarity", "familiar"))
    )
    assert seen["n_positives"] + familiar["n_positives"] == whole["n_positives"]
    assert seen["n_hit"] + familiar["n_hit"] == whole["n_hit"]
    assert seen["exposure"] is None


def test_group_rows_use_only_units_that_all_methods_answered(units):
    first = units.filter(pl.col("pool") == "remember").row(0, named=True)
    hit = [pl.col(c) for c in ("user_id", "transition_index", "pool")]
    lost = (
        (pl.col("method") == "fair")
        & (hit[0] == first["user_id"])
        & (hit[1] == first["transition_index"])
        & (hit[2] == first["pool"])
    )
    broken = units.with_columns(pl.when(lost).then(pl.lit("failed")).otherwise(pl.col("status")).alias("status"))
    before, after = board_of(units), board_of(broken)
    assert row(after, "good")["n_units"] == row(before, "good")["n_units"]
    kinds = after.filter(
        (pl.col("group_kind") == "activity") & (pl.col("method") == "good") & (pl.col("pool") == "remember")
    )
    assert kinds["n_units"].sum() == row(before, "good")["n_units"] - 1


def test_the_papers_activity_groups_are_always_shown(units):
    board = board_of(units)
    assert row(board, "good", "activity_fixed", "≥ 16 batches")["n_users"] == 0
    low = row(board, "good", "activity_fixed", "≤ 3 batches")
    assert low["n_users"] == units.filter(pl.col("n_batches") <= 3)["user_id"].n_unique()


def test_activity_quarters_never_split_a_tie():
    users = pl.DataFrame({"user_id": [f"u{i}" for i in range(9)], "n_batches": [2, 2, 2, 2, 2, 5, 7, 7, 16]})
    groups = activity_groups(users)
    quarters = groups.filter(pl.col("group_kind") == "activity").group_by("group", "place").len().sort("place")
    assert quarters.rows() == [("2 batches", 1, 5), ("5 batches", 2, 1), ("7–16 batches", 3, 3)]
    fixed = groups.filter(pl.col("group_kind") == "activity_fixed").group_by("group").len().sort("len")
    assert fixed.rows() == [("≥ 16 batches", 1), ("≤ 3 batches", 5)]


def test_one_user_gives_no_interval(units):
    user = units["user_id"][0]
    alone = units.filter(pl.col("user_id") == user)
    got = row(board_of(alone), "good")
    assert got["recall"] is not None and got["recall_low"] is None and got["user_recall_high"] is None
    assert differences(alone)["p"].null_count() == differences(alone).height


def test_boards_are_apart_by_reader_and_budget(units):
    other = units.filter(pl.col("method") == "good").with_columns(pl.lit(1200, dtype=pl.Int32).alias("budget"))
    board = board_of(pl.concat([units, other]))
    assert set(board.filter(pl.col("budget") == 1200)["method"]) == {"good", "oracle", "chance"}
    assert board.filter(pl.col("budget") == 1200).filter(pl.col("group_kind") == "all")[
        "rank"
    ].drop_nulls().to_list() == [1, 1]


def test_incomplete_or_doubled_units_are_refused(units):
    good = pl.col("method") == "good"
    with pytest.raises(ValueError, match="no units"):
        board_of(units.clear())
    with pytest.raises(ValueError, match="twice"):
        board_of(pl.concat([units, units.filter(good).head(1)]))
    with pytest.raises(ValueError, match="score it again"):
        board_of(pl.concat([units.filter(~good), units.filter(good).slice(1)]))


def test_the_board_does_not_depend_on_row_order(units):
    shuffled = units.sample(fraction=1, shuffle=True, seed=1)
    assert board_of(shuffled).equals(board_of(units))
    assert differences(shuffled).equals(differences(units))
    assert board_of(units).columns == list(TABLES["leaderboard"].columns)


def test_unlike_runs_are_named():
    same = dict.fromkeys(KEYS, "x")
    check_comparable({"a": same, "b": dict(same)})
    for key in KEYS:
        with pytest.raises(UnlikeRuns, match=f"differ in {key}: 'x' and 'y'"):
            check_comparable({"a": same, "b": same | {key: "y"}})
    with pytest.raises(UnlikeRuns, match="does not state its dataset"):
        check_comparable({"a": {k: "x" for k in KEYS if k != "dataset"}})


def test_formulas_are_disarmed_for_spreadsheets():
    texts = ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "plain", "a=b", None, ""]
    safe = csv_safe(pl.DataFrame({"method": texts, "n": [-1] * 10}))
    assert safe["method"].to_list() == ["'=1+1", "'+1", "'-1", "'@a", "'\tx", "'\rx", "plain", "a=b", None, ""]
    assert safe["n"].to_list() == [-1] * 10
