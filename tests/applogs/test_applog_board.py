"""The leaderboard of app logs: known values by hand, checkpoints that were not run, baselines on every board."""

from datetime import datetime
from typing import Any

import polars as pl
import pytest

from pipelines.applogs.board import ARM, applog_board, applog_differences, user_values
from pipelines.applogs.board_summaries import attributed, retained
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.applogs.tables import APPLOG_TABLES, table_of

USERS = ("001_user_001", "002_user_002", "003_user_003")
CHECKPOINTS = table_of(
    "checkpoints",
    (
        {
            "user_id": user,
            "checkpoint_index": k,
            "checkpoint_id": f"cal_quarterly_{k + 1:03d}",
            "as_of": datetime(2024, 1 + 3 * k, 1),
            "n_visible": 10 * (k + 1),
            "last_log_id": "log_00010",
            "cut_by": "index",
        }
        for user in USERS
        for k in range(2)
    ),
)
FIELDS = {"habit": 4, "attribute": 1}
Worth = dict[str, tuple[tuple[float, ...], tuple[float, ...]]]
"""Family → agreement of the questions at C1 and at C2, the same of every user."""


def unit(user: str, k: int, family: str, n: int, worth: float, status: str) -> dict[str, Any]:
    return {
        "user_id": user,
        "item": f"{user}/{k}/{family}/{n}",
        "checkpoint_id": f"cal_quarterly_{k + 1:03d}",
        "task": "state_completion",
        "state_key": f"{'habits' if family == 'habit' else 'user_attributes'}_state:{family}_{n}",
        "family": family,
        "expectation": "value",
        "status": status,
        "n_fields": FIELDS[family],
        "mechanical": worth,
        "evidence_precision": worth,
        "evidence_recall": worth,
        "evidence_f1": worth,
        "evidence_exact": worth == 1,
        "n_judge_errors": 0,
    }


def arm(
    method: str, worth: Worth, reader: str = "extractive", budget: int = 600, without: tuple[str, int] | None = None
):
    """Units of one arm; at the user and checkpoint `without` nothing was answered."""
    rows = [
        unit(user, k, family, n, 0.0 if (user, k) == without else value, "missing" if (user, k) == without else "ok")
        for user in USERS
        for family, both in worth.items()
        for k, values in enumerate(both)
        for n, value in enumerate(values)
    ]
    return table_of("applog_units", rows).with_columns(
        method=pl.lit(method), reader=pl.lit(reader), budget=pl.lit(budget, pl.Int32)
    )


NONE = arm("empty", {"habit": ((0.0,), (0.0,)), "attribute": ((0.0, 0.0), (0.0, 0.0))})
GOOD = arm("recent_k", {"habit": ((1.0,), (0.5,)), "attribute": ((1.0, 0.0), (1.0, 1.0))})
RULED = arm("routine", {"habit": ((1.0,), (1.0,)), "attribute": ((0.0, 0.0), (0.0, 0.0))}, "rule", 0)
NOBODY = NONE.clear()


def board_of(*arms: pl.DataFrame, judged: pl.DataFrame = NOBODY, weak: tuple[str, ...] = ()) -> pl.DataFrame:
    values = user_values(pl.concat(arms), judged, CHECKPOINTS)
    return applog_board(values, applog_differences(values, 7), 7, weak=weak)


def cell(rows: pl.DataFrame, **wanted: object) -> dict[str, Any]:
    given = {"checkpoint": "all", "family": "all", "metric": "mechanical", "expectation": "value", **wanted}
    found = rows.filter(*(pl.col(name).cast(pl.String) == str(value) for name, value in given.items()))
    return found.row(0, named=True) if found.height == 1 else pytest.fail(f"{found.height} rows of {given}")


def test_means_by_hand_over_questions_fields_and_families() -> None:
    board = board_of(NONE, GOOD)
    at = {"method": "recent_k"}
    assert cell(board, **at, checkpoint="C1")["value"] == pytest.approx(2 / 3)
    assert cell(board, **at, checkpoint="C2")["value"] == pytest.approx(2.5 / 3)
    assert cell(board, **at)["value"] == pytest.approx(0.75)
    # Over fields a habit of four weighs four times: (4 + 1) / 6 and (2 + 2) / 6.
    assert cell(board, **at, metric="mechanical_micro")["value"] == pytest.approx((5 / 6 + 4 / 6) / 2)
    # Over families: (1 + 0.5) / 2 and (0.5 + 1) / 2.
    assert cell(board, **at, metric="mechanical_families")["value"] == pytest.approx(0.75)
    assert cell(board, **at, family="habit")["value"] == pytest.approx(0.75)
    assert (cell(board, **at)["n_items"], cell(board, **at)["n_users"], cell(board, **at)["n_ok"]) == (18, 3, 18)


def test_equal_users_leave_no_doubt_and_the_ranks_stand() -> None:
    board = board_of(NONE, GOOD)
    good, none = cell(board, method="recent_k"), cell(board, method="empty")
    assert (good["low"], good["high"]) == (0.75, 0.75)
    assert (good["rank"], none["rank"], good["kind"], none["kind"]) == (1, 2, "method", "control")
    values = user_values(pl.concat([NONE, GOOD]), NOBODY, CHECKPOINTS)
    pair = applog_differences(values, 7).filter(pl.col("metric").cast(pl.String) == "mechanical").row(0, named=True)
    # Three users of one sign: 2 of 2³ patterns are as far from 0.
    assert (pair["difference"], pair["p"], pair["n_users"], pair["separable"]) == (-0.75, 0.25, 3, False)


def test_a_checkpoint_that_was_not_run_is_named_and_never_averaged_away() -> None:
    gap = arm("recent_k", {"habit": ((1.0,), (1.0,)), "attribute": ((1.0, 1.0), (1.0, 1.0))}, without=(USERS[1], 1))
    board = board_of(NONE, gap)
    whole, second = cell(board, method="recent_k"), cell(board, method="recent_k", checkpoint="C2")
    assert (whole["value"], second["value"]) == (None, None)
    assert (whole["n_not_run"], whole["n_missing"], whole["coverage"]) == (1, 3, pytest.approx(15 / 18))
    assert "1 checkpoints not run" in whole["flags"] and "coverage < 1" in whole["flags"]
    assert cell(board, method="recent_k", checkpoint="C1")["value"] == 1.0
    assert whole["rank"] == 2, "without a value it comes last"


def test_baselines_stand_on_every_board_once() -> None:
    board = board_of(NONE, GOOD, RULED, arm("empty", {"habit": ((0.0,), (0.0,))}, budget=300))
    assert board["board"].unique().sort().to_list() == ["extractive, 300 tokens", "extractive, 600 tokens"]
    for name in board["board"].unique():
        row = cell(board, board=name, method="routine", family="habit")
        assert (row["value"], row["kind"], row["reader"]) == (1.0, "control", "rule")
    assert board_of(RULED)["board"].unique().to_list() == ["rule"]


def test_flags_of_what_knows_nothing_and_of_weak_readers() -> None:
    zero = arm("recent_k", {"habit": ((0.0,), (0.0,)), "attribute": ((0.0, 0.0), (0.0, 0.0))})
    assert cell(board_of(NONE, zero, weak=("extractive",)), method="recent_k")["flags"] == (
        "no better than an empty memory; weak reader"
    )
    assert cell(board_of(NONE, GOOD), method="recent_k")["flags"] == ""


def test_a_judged_sample_has_its_own_denominator() -> None:
    sample = GOOD.filter(pl.col("family") == "habit").with_columns(
        score=pl.lit(0.8), score_bound=pl.lit(1.0), compat_score=pl.lit(0.9)
    )
    board = board_of(NONE, GOOD, judged=sample)
    row = cell(board, method="recent_k", metric="score")
    assert (row["value"], row["n_items"]) == (0.8, 6)
    assert cell(board, method="recent_k", metric="score_bound")["value"] == 1.0
    assert cell(board, method="recent_k")["n_items"] == 18
    assert board.filter((pl.col("method") == "empty") & (pl.col("metric").cast(pl.String) == "score")).is_empty()


def test_without_questions_nothing_is_ranked() -> None:
    with pytest.raises(ValueError, match="no questions to rank"):
        user_values(NOBODY, NOBODY, CHECKPOINTS)


def test_retention_by_hand() -> None:
    states = table_of(
        "gold_states",
        (
            {
                "user_id": user,
                "checkpoint_id": f"cal_quarterly_{k + 1:03d}",
                "truth": "as_of",
                "state_key": f"user_attributes_state:attribute_{n}",
                "family": "attribute",
                "expectation": "value",
                "value": '"a"' if n == 0 or k == 0 else '"b"',
                "evidence": [],
            }
            for user in USERS
            for k in range(2)
            for n in range(2)
        ),
    )
    rows = retained(GOOD, NOBODY, states, CHECKPOINTS, "as_of").filter(
        pl.col("place") == 2, pl.col("family").cast(pl.String) == "attribute"
    )
    found = {row["history"]: (row["value"], row["n_items"]) for row in rows.to_dicts()}
    assert found == {"retained": (1.0, 3), "updated": (1.0, 3)}


def test_labels_are_counted_by_arm_task_and_family() -> None:
    keys = GOOD.filter(pl.col("mechanical") < 1).select(*ARM, "user_id", "item")
    labels = keys.with_columns(
        by=pl.lit("rule"),
        label=pl.when(pl.col("item").str.contains("habit")).then(pl.lit("conflated")).otherwise(pl.lit("irrelevant")),
    )
    judged = labels.head(1).with_columns(by=pl.lit("judge"), label=pl.lit("judge_error"))
    every = attributed(pl.concat([judged, labels]), GOOD)
    assert every.filter(pl.col("by") == "judge").select("label", "n_items", "share").rows() == [
        ("judge_error", 1, 1.0),
        ("judge_error", 1, 1.0),
    ]
    rows = every.filter(pl.col("by") == "rule")
    found = {(row["family"], row["label"]): (row["n_items"], row["share"]) for row in rows.to_dicts()}
    assert found == {
        ("all", "conflated"): (3, 0.5),
        ("all", "irrelevant"): (3, 0.5),
        ("habit", "conflated"): (3, 1.0),
        ("attribute", "irrelevant"): (3, 1.0),
    }


def test_rows_in_another_order_give_the_same_tables() -> None:
    units = pl.concat([NONE, GOOD, RULED])
    first = user_values(units, NOBODY, CHECKPOINTS)
    second = user_values(units.sample(fraction=1, shuffle=True, seed=3), NOBODY, CHECKPOINTS.reverse())
    boards = [applog_board(values, applog_differences(values, 7), 7) for values in (first, second)]
    assert boards[0].equals(boards[1])
    assert list(boards[0].schema.items()) == list(APPLOG_BOARD_TABLES["applog_board"].schema.items())
    assert set(APPLOG_BOARD_TABLES["applog_judged"].columns) == set(APPLOG_TABLES["applog_units"].columns)


def test_a_question_without_an_answer_in_a_checkpoint_that_was_run_counts_nothing() -> None:
    gone = unit(USERS[0], 0, "attribute", 9, 0.0, "missing") | {"expectation": "no_longer"}
    alone = table_of("applog_units", [gone]).with_columns(GOOD.select(ARM).head(1))
    row = cell(board_of(NONE, GOOD, alone), method="recent_k", expectation="no_longer")
    assert (row["value"], row["n_not_run"], row["n_missing"]) == (0.0, 0, 1)
