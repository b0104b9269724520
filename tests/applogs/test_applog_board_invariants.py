"""What must hold of the tables of an app-log board; each break is found by its name."""

import polars as pl
import pytest
from test_applog_board import CHECKPOINTS, GOOD, NOBODY, NONE, RULED, USERS
from test_applog_calibrating import ARMS, NO, YES, labels, verdicts

from expectations.invariants import INVARIANTS
from pipelines.applogs.board import applog_board, applog_differences, user_values
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.applogs.calibrating import applog_calibration
from pipelines.schema import TABLES, conform

Tables = dict[str, pl.DataFrame]
VALUES = user_values(pl.concat([NONE, GOOD, RULED]), NOBODY, CHECKPOINTS)
PAIRS = applog_differences(VALUES, 7)
JUDGED = (
    GOOD.drop("method", "reader", "budget")
    .filter(pl.col("family") == "habit")
    .with_columns(score=pl.lit(0.8), score_bound=pl.lit(0.8), compat_score=pl.lit(0.9))
)


def rows(table: str, *values: dict[str, object]) -> pl.DataFrame:
    schema = TABLES[table].schema
    filled = [{name: value.get(name) for name in schema} for value in values]
    return pl.DataFrame(filled, schema=schema, orient="row").sort(TABLES[table].sort_by)


MARKS = (("ok", "", True, 2), ("judge_error", "json", None, None))
ARM: dict[str, object] = {"method": "recent_k", "reader": "extractive", "budget": 600}
GOLD = pl.DataFrame([{"user_id": USERS[0], "item": f"i{n}"} for n in range(2)])
HEALTHY: Tables = {
    "applog_board": applog_board(VALUES, PAIRS, 7),
    "applog_differences": PAIRS,
    "applog_judged": JUDGED,
    "applog_verdicts": rows(
        "applog_verdicts",
        *(
            {"judge": "j", "user_id": USERS[0], "item": f"i{n}", "part": "value", "content": "c", "status": status,
             "reason": reason, "analysis": "", "call": "k", "core_correct": core, "detail_quality": detail}
            for n, (status, reason, core, detail) in enumerate(MARKS)
        ),
    ),
    "applog_failures": rows(
        "applog_failures",
        *(
            {"judge": "j", "user_id": USERS[0], "item": f"{USERS[0]}/{k}/attribute/{n}", "content": content,
             "status": status, "reason": reason, "analysis": "", "call": "", "label": label}
            for k, n, status, reason, label, content in (
                (0, 0, "ok", "", "conflated", "c"), (1, 0, "untold", "", None, ""),
                (1, 1, "judge_error", "json", None, "c"),
            )
        ),
    ),
    "applog_retention": rows(
        "applog_retention",
        *({**ARM, "metric": "mechanical", "place": place, "family": "all", "history": history, "n_items": 3,
           "n_missing": 0, "value": 0.5} for place, history in ((1, "first"), (2, "retained"))),
    ),
    "applog_attribution": rows(
        "applog_attribution",
        *({**ARM, "by": by, "task": "free_form", "family": "all", "label": label, "n_items": 1, "share": 0.5}
          for by, label in (("rule", "irrelevant"), ("rule", "conflated"), ("judge", "untold"),
                            ("judge", "judge_error"))),
    ),
    "applog_agreement": rows(
        "applog_agreement",
        {"board": "b", "task": "free_form", "judge": "j", "weak": False, "n_judged": 5, "n_errors": 1, "n_both": 4,
         "n_equal": 3, "n_users": 2, "agreement": 0.75, "kappa": 0.5, "kappa_low": 0.1, "kappa_high": 0.9},
        {"board": "b", "task": "state_completion", "judge": "j", "weak": False, "n_judged": 1, "n_errors": 1,
         "n_both": 0, "n_equal": 0, "n_users": 0},
    ),
    "applog_calibration": applog_calibration(ARMS, 9, verdicts(), labels(**YES, **NO), weak=False),
    "applog_compat": rows("applog_compat", {**ARM, "metric": "holistic_score_mean", "value": 0.4, "n_users": 3}),
}  # fmt: skip
COMPANIONS: Tables = {
    "applog_units": pl.concat([NONE, GOOD, RULED]),
    "gold_items": GOLD,
    "applog_verdicts": verdicts(),
}


def failed(table: str, frame: pl.DataFrame, **more: pl.DataFrame) -> list[str]:
    """Names of what the changed table breaks, companions given."""
    frames = {name: one.lazy() for name, one in {**COMPANIONS, **more, table: frame}.items()}
    return [one.name for one in INVARIANTS[table](frames, None) if not one.passed and one.severity != "info"]


@pytest.mark.parametrize("table", APPLOG_BOARD_TABLES)
def test_healthy_tables_keep_everything(table: str) -> None:
    assert conform(HEALTHY[table].lazy(), table).collect().equals(HEALTHY[table])
    assert failed(table, HEALTHY[table]) == []


@pytest.mark.parametrize(
    ("table", "change", "names"),
    [
        ("applog_board", pl.col("n_ok") + 1, ["counted", "coverage"]),
        ("applog_board", (pl.col("coverage") - 0.5).alias("coverage"), ["coverage"]),
        ("applog_board", pl.lit(None, pl.Float64).alias("low"), ["ends"]),
        ("applog_board", pl.lit(2, pl.Int64).alias("n_not_run"), ["not_run"]),
        ("applog_board", pl.col("high") - 2.0, ["interval"]),
        ("applog_differences", pl.col("method").alias("other"), ["once"]),
        ("applog_differences", pl.lit(0.001).alias("p_holm"), ["holm", "separable"]),
        ("applog_judged", pl.lit(0.95).alias("score"), ["strict", "no_error"]),
        ("applog_judged", pl.lit(0.9).alias("score_bound"), ["no_error"]),
        ("applog_verdicts", pl.lit(None, pl.Boolean).alias("core_correct"), ["marked"]),
        ("applog_verdicts", pl.lit("").alias("reason"), ["reason"]),
        ("applog_verdicts", pl.lit("elsewhere").alias("item"), ["of_a_question"]),
        ("applog_retention", pl.lit("first").cast(pl.Enum(["first"])).alias("history"), ["first"]),
        ("applog_retention", pl.lit(9, pl.Int64).alias("n_missing"), ["missing"]),
        ("applog_failures", pl.lit(None, pl.String).alias("label"), ["labelled"]),
        ("applog_failures", pl.lit("conflated").alias("label"), ["labelled"]),
        ("applog_failures", pl.lit("").alias("reason"), ["reason"]),
        ("applog_failures", pl.lit("c").alias("content"), ["shown"]),
        ("applog_failures", pl.lit("elsewhere").alias("item"), ["of_a_wrong_answer"]),
        ("applog_failures", pl.col("item").alias("judge"), ["one_judge"]),
        ("applog_agreement", pl.col("n_equal") + 2, ["counts"]),
        ("applog_agreement", pl.lit(0.8).alias("agreement"), ["agreement"]),
        ("applog_agreement", pl.lit(None, pl.Float64).alias("agreement"), ["agreement"]),
        ("applog_agreement", pl.lit(0.8).alias("kappa"), ["kappa"]),
        ("applog_agreement", pl.lit(0.05).alias("kappa"), ["interval"]),
        ("applog_calibration", pl.col("n_parts") + 1, ["shares", "coverage", "counts"]),
        ("applog_calibration", pl.lit(0.1).alias("core"), ["shares", "counts"]),
        ("applog_calibration", pl.lit(None, pl.Float64).alias("corrected_core"), ["corrected"]),
        ("applog_calibration", pl.lit("uncalibrated").alias("calibration"), ["corrected", "labelled"]),
        ("applog_calibration", pl.col("method").alias("judge"), ["one_judge", "counts"]),
        ("applog_attribution", pl.lit("rule").alias("by"), ["rule"]),
        ("applog_attribution", pl.lit(0.4).alias("share"), ["whole"]),
        ("applog_compat", pl.lit(1.5).alias("value"), ["share"]),
    ],
)
def test_each_break_is_found_by_its_name(table: str, change: pl.Expr, names: list[str]) -> None:
    assert set(names) <= set(failed(table, HEALTHY[table].with_columns(change)))


def test_a_second_judge_and_another_order_are_found() -> None:
    verdicts = HEALTHY["applog_verdicts"]
    two = verdicts.with_columns(judge=pl.concat_str(pl.lit("j"), pl.int_range(pl.len())))
    assert "one_judge" in failed("applog_verdicts", two)
    assert "ordered" in failed("applog_board", HEALTHY["applog_board"].reverse())


def test_a_question_that_left_the_denominator_is_found() -> None:
    board = HEALTHY["applog_board"]
    less = COMPANIONS["applog_units"].filter(
        ~((pl.col("method") == "recent_k") & (pl.col("item") == f"{USERS[0]}/0/habit/0"))
    )
    assert failed("applog_board", board, applog_units=less) == ["every_question"]


def test_a_judged_question_stands_as_its_unit_does() -> None:
    other = HEALTHY["applog_judged"].with_columns(item=pl.lit("nowhere"))
    assert "of_units" in failed("applog_judged", other)
