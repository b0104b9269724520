"""Published boards: what must hold of leaderboard, differences and positions, and the rows known beforehand."""

import polars as pl
import pytest
from evaluation_world import public, random_cohort, random_gold, readouts

from expectations.audits import audit_for
from expectations.invariants import INVARIANTS
from pipelines.commerce.settings import CommerceSettings
from pipelines.evaluation import plots
from pipelines.evaluation.comparable import UnlikeRuns, agreed
from pipelines.evaluation.differences import differences
from pipelines.evaluation.leaderboard import leaderboard
from pipelines.evaluation.readers import readings_from_scores
from pipelines.evaluation.scores import oracle, recall_by_position, score
from pipelines.evaluation.standing import CREDIBLE, credibility
from pipelines.findings import failed_errors
from pipelines.schema import TABLES, conform


@pytest.fixture(scope="module")
def tables():
    """Two methods, the empty memory and the oracle, on random pools of 30 users."""
    gold = random_gold()
    users = random_cohort(gold)
    texts = readouts(dict.fromkeys(gold.select("user_id", "transition_index").unique().iter_rows(), "x"))
    units, places = [oracle(gold, users)], []
    for method, kinds in (("empty", 1), ("frequency_profile", 3), ("recent_k", 5)):
        positive = (gold["role"] == "positive").cast(pl.Float64) * (0.4 if kinds == 3 else 0.0)
        marks = (pl.col("l2").hash(seed=kinds) % kinds).cast(pl.Float64) + positive
        readings = readings_from_scores(public(gold).with_columns(marks.alias("score")))
        labels = {"method": method, "reader": "embedding", "budget": 600}
        units.append(score(readings, gold, texts, users, **labels))
        places.append(recall_by_position(readings, gold, **labels))
    rows = pl.concat(units)
    pairs = differences(rows)
    return {
        "units": rows,
        "leaderboard": leaderboard(rows, pairs),
        "differences": pairs,
        "positions": conform(pl.concat(places).lazy(), "positions").collect(),
    }


def failed(tables, table, change=None):
    frames = {name: frame.lazy() for name, frame in tables.items()}
    if change is not None:
        frames[table] = conform(frames[table].with_columns(change), table)
    return [one.name for one in INVARIANTS[table](frames, CommerceSettings()) if not one.passed]


@pytest.mark.parametrize("table", ["leaderboard", "differences", "positions"])
def test_a_board_as_computed_passes_both_checks(tables, table):
    others = {name: frame.lazy() for name, frame in tables.items() if name != table}
    findings = audit_for(table, others)(tables[table].lazy())
    assert [str(one) for one in findings if not one.passed] == []
    assert tables[table].schema == TABLES[table].schema


def test_what_lacks_a_companion_is_said_not_to_be_checked(tables):
    alone = {table: failed({table: tables[table]}, table) for table in ("leaderboard", "differences", "positions")}
    assert alone == {"leaderboard": ["counts"], "differences": ["pairs", "of_recalls"], "positions": ["sums"]}


def of(method, kind="all"):
    return (pl.col("method") == method) & (pl.col("group_kind") == kind)


def where(condition, column, value):
    return pl.when(condition).then(value).otherwise(pl.col(column)).alias(column)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (where(of("recent_k"), "missed", pl.col("missed") + 0.01), ["recall"]),
        (where(of("recent_k"), "n_hit", pl.col("n_hit") + 1), ["recall", "counts"]),
        (where(of("recent_k"), "bound_low", pl.col("recall") + 0.01), ["bounds"]),
        (where(of("recent_k"), "recall_low", pl.col("recall") + 0.01), ["interval(recall)"]),
        (where(of("recent_k"), "user_recall_high", None), ["interval(user_recall)"]),
        (where(of("oracle"), "exposure_high", -0.1), ["interval(exposure)"]),
        (where(pl.lit(True), "chance", 0.0), ["chance"]),
        (where(of("recent_k"), "n_ok", pl.col("n_ok") - 1), ["statuses"]),
        (where(of("recent_k"), "coverage", 0.5), ["statuses"]),
        (where(of("recent_k"), "band", None), ["competes"]),
        (where(of("oracle"), "rank", 1), ["competes"]),
        (where(of("recent_k"), "rank", 7), ["ranks"]),
        (where(of("frequency_profile"), "band", 9), ["ranks"]),
        (where(of("oracle"), "n_users", 29), ["same_units"]),
    ],
)
def test_a_wrong_leaderboard_is_found_by_name(tables, change, names):
    whole = tables["leaderboard"].filter(of("frequency_profile"))
    assert whole["rank"].to_list() == [1, 1], "the changes below are made against this order"
    assert failed(tables, "leaderboard", change) == names


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (pl.col("other").alias("method"), ["by_name", "pairs"]),
        (pl.lit(None, pl.Float64).alias("low"), ["interval"]),
        ((pl.col("difference") + 0.001).alias("low"), ["interval"]),
        (pl.col("separable").not_(), ["separable"]),
        (pl.lit(None, pl.Float64).alias("p"), ["separable"]),
        ((pl.col("difference") * 0.999).alias("difference"), ["of_recalls"]),
    ],
)
def test_a_wrong_difference_is_found_by_name(tables, change, names):
    assert failed(tables, "differences", change) == names


def test_a_pair_left_out_is_found(tables):
    assert failed({**tables, "differences": tables["differences"].slice(1)}, "differences") == ["pairs"]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (pl.col("position") + 1, ["places"]),
        (where(pl.col("position") == 1, "n_shown", 10_000), ["places"]),
        (where(pl.col("method") == "empty", "n_shown", pl.col("n_shown") * 2), ["same_pools"]),
        (where((pl.col("method") == "empty") & (pl.col("position") == 0), "n_hit", 0), ["sums"]),
    ],
)
def test_wrong_positions_are_found_by_name(tables, change, names):
    assert failed(tables, "positions", change) == names


def test_the_groups_stand_in_their_own_order_not_the_alphabets(tables):
    board = tables["leaderboard"].filter((pl.col("pool") == "infer") & (pl.col("method") == "empty"))
    assert board["group_kind"].unique(maintain_order=True).to_list() == [
        *("all", "familiarity", "activity", "activity_fixed")
    ]
    assert board.filter(pl.col("group_kind") == "familiarity")["group"].to_list() == ["related", "new"]
    assert board.filter(pl.col("group_kind") == "activity_fixed").select("group", "place", "n_units", "n_hit").rows()[
        1
    ] == ("≥ 16 batches", 1, 0, 0.0)


def test_rows_known_beforehand_are_judged_and_only_the_oracle_forbids(tables):
    board = tables["leaderboard"]
    assert {one.name: one.passed for one in credibility(board)} == dict.fromkeys(CREDIBLE, True)
    blind = credibility(board.with_columns(where(of("oracle"), "recall", 0.9)))
    assert [one.name for one in failed_errors(blind)] == ["oracle_is_one"]
    assert blind[0].failed_rows is not None and blind[0].failed_rows["recall"].to_list() == [0.9, 0.9]
    lucky = credibility(board.with_columns(where(of("empty"), "recall_low", 0.3)))
    assert [(one.name, one.severity) for one in lucky if not one.passed] == [("empty_is_chance", "warning")]
    assert all(one.passed for one in credibility(board.filter(pl.col("method") == "recent_k")))


def test_shards_of_one_arm_state_the_same():
    assert agreed("arm", {"s00": {"reader": "a", "wall": "walled"}, "s01": {"reader": "a", "wall": "walled"}}) == {
        "reader": "a",
        "wall": "walled",
    }
    with pytest.raises(UnlikeRuns, match="arm: s00 and s01 differ in reader: 'a' and None"):
        agreed("arm", {"s01": {}, "s00": {"reader": "a"}})


def test_the_picture_is_a_small_png(tables):
    png = plots.picture(plots.recall(tables["leaderboard"], "embedding", 600, "remember"))
    assert png.startswith(b"\x89PNG") and 5_000 < len(png) < 150_000
