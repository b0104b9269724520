"""Scores: known answers, statuses, denominators, evidence."""

from typing import Any

import polars as pl
import pytest
from applog_worlds import DATA, USER, answers, gold_item
from hypothesis import given
from hypothesis import strategies as st

from pipelines.applogs.answers import BadAnswers, standing, to_ask
from pipelines.applogs.compat_2026 import checkpoint_metrics, summary, value_f1
from pipelines.applogs.evidence import evidence_scores
from pipelines.applogs.gold_parts import service_parts, state_parts
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.packs import read_pack
from pipelines.applogs.scores import BadVerdicts, judge_parts, points_by_judge, points_by_rule, units
from pipelines.applogs.summary import checkpoint_scores, over_checkpoints
from pipelines.applogs.tables import table_of
from pipelines.evaluation.judging import checked

FOUR = {"activity": "budget review", "frequency": "weekly", "weekday": "Sunday", "time": "09:30"}
SAID = {"activity": "budget review", "frequency": "weekly", "weekday": "Sunday", "time": "morning"}
HABIT_POINTS = [
    {"point_id": "g", "point_role": "identity_gate", "point_text": "about the budget review"},
    {"point_id": "p1", "source_field_path": "schedule.frequency_type", "reference_value": "weekly"},
    {"point_id": "p2", "source_field_path": "schedule.days_of_week", "reference_value": [6]},
    {"point_id": "p3", "source_field_path": "timing.start_time", "reference_value": "09:30"},
]


def parts_of(**values: Any) -> pl.DataFrame:
    return table_of("gold_parts", [row for item, value in values.items() for row in state_parts(USER, item, value)])


def verdicts(parts: pl.DataFrame, **said: Any) -> pl.DataFrame:
    """Verdicts on all `parts` (as shown to a judge): right in full unless `said` (part → (core, detail) or None)."""
    rows = []
    for item, part, gate in parts.select("item", "part", "gate").iter_rows():
        verdict = said.get(part.partition(":")[0], (True, 2))
        core, detail = verdict or (None, None)
        rows.append(
            {"judge": "j", "user_id": USER, "item": item, "part": part, "gate": gate,
             "status": "ok" if verdict else "judge_error", "core_correct": core, "detail_quality": detail}
        )  # fmt: skip
    schema = {"judge": pl.String, "user_id": pl.String, "item": pl.String, "part": pl.String, "gate": pl.Boolean,
              "status": pl.String, "core_correct": pl.Boolean, "detail_quality": pl.Int32}  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def scored(items: list[dict[str, Any]], parts: pl.DataFrame, given: pl.DataFrame, **said: Any) -> pl.DataFrame:
    """Units under verdicts."""
    stand = standing(table_of("gold_items", items), given)
    agreed = agreements(parts, stand)
    questions = table_of("tasks", [{**item, "question_text": "?", "as_of": None} for item in items])
    shown = judge_parts(questions, agreed, stand)
    return units(stand, agreed, verdicts(shown, **said), points_by_rule(agreed))


def test_every_sunday_morning_scores_0_975() -> None:
    table = scored([gold_item("a", FOUR)], parts_of(a=FOUR), answers(a=SAID), time=(True, 1))
    row = table.row(0, named=True)
    assert row["compat_score"] == pytest.approx(0.975)
    assert row["score"] == pytest.approx(0.975)
    assert row["n_fields"] == 4
    assert row["mechanical"] == pytest.approx(0.75), "a morning is no time"


def test_detail_counts_only_with_its_core_unless_compatible() -> None:
    table = scored([gold_item("a", "Iron Works")], parts_of(a="Iron Works"), answers(a="Gold"), value=(False, 2))
    assert (table["score"][0], table["compat_score"][0]) == (0.0, pytest.approx(0.2))


def service(message: str, **said: Any) -> dict[str, Any]:
    item = gold_item(
        "s", None, task="personalised_service", service_family="user_communication", family="habit",
        state_key="habits_state:budget_review",
    )  # fmt: skip
    rows = service_parts(USER, "s", "habits_state:budget_review", "user_communication", None, HABIT_POINTS)
    return scored([item], table_of("gold_parts", rows), answers(s=message), **said).row(0, named=True)


def test_the_published_reminder_passes_all_points_and_one_for_another_routine_none() -> None:
    right = service("every Sunday 09:30 you do your budget review")
    assert (right["points"], right["mechanical"], right["score"]) == (1.0, 1.0, 1.0)
    wrong = service("Sunday 09:30, time for your run", g=(False, 0))
    assert (wrong["points"], wrong["mechanical"], wrong["score"], wrong["compat_score"]) == (0.0, 0.0, 0.0, 0.0)


def test_points_by_a_judge() -> None:
    message = table_of(
        "gold_parts",
        service_parts(USER, "s", "habits_state:budget_review", "user_communication", None, HABIT_POINTS),
    )
    output = [
        {"point_id": "p1", "output_field_path": "brew", "reference_value": "pour-over"},
        {"point_id": "p2", "output_field_path": "tags.0", "reference_value": "x"},
    ]
    key, family = "preferences_state:coffee", "information_request_construction"
    reference = {"brew": "pour-over", "tags": ["x"]}
    parts = pl.concat([message, table_of("gold_parts", service_parts(USER, "o", key, family, reference, output))])
    items = [gold_item(name, None, task="personalised_service", service_family=family) for name in ("s", "o")]
    stand = standing(table_of("gold_items", items), answers(s="Budget review", o=reference))
    agreed = agreements(parts, stand)
    questions = table_of("tasks", [{**item, "question_text": "?", "as_of": None} for item in items])
    said = verdicts(judge_parts(questions, agreed, stand), p3=(False, 0), brew=(True, 1), p2=None)
    told = points_by_judge(agreed, said)
    assert {(row["item"], row["part"]): row["correct"] for row in told.to_dicts()} == {
        ("o", "p1"): True, ("o", "p2"): None,
        ("s", "g"): True, ("s", "p1"): True, ("s", "p2"): None, ("s", "p3"): False,
    }  # fmt: skip
    points = dict(units(stand, agreed, said, told).select("item", "points").iter_rows())
    assert points == pytest.approx({"o": 0.5, "s": 1 / 3})


def test_an_open_gate_leaves_the_mean_of_the_other_points() -> None:
    late = service("Budget review, every Sunday at 10:30", p3=(False, 2))
    assert late["points"] == late["mechanical"] == pytest.approx(2 / 3)
    assert (late["score"], late["compat_score"]) == (pytest.approx(2 / 3), pytest.approx((1 + 1 + 0.2) / 3))
    assert late["n_fields"] == 3


def test_published_evidence_numbers() -> None:
    gold = [f"log_{n}" for n in range(14)]
    item = gold_item("a", "x", evidence=gold)
    given = answers(a=("ok", "x", [*gold[:4], "log_99", gold[0], ""]))
    row = scored([item], parts_of(a="x"), given).row(0, named=True)
    assert [round(100 * row[f"evidence_{name}"], 1) for name in ("recall", "precision", "f1")] == [28.6, 80.0, 42.1]
    assert row["evidence_exact"] is False


ids = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(ids, ids, ids)
def test_evidence_against_the_formulas(gold: list[str], cited: list[str], previous: list[str]) -> None:
    frame = pl.DataFrame(
        {"evidence": [gold], "evidence_given": [cited], "evidence_previous": [previous]},
        schema=dict.fromkeys(("evidence", "evidence_given", "evidence_previous"), pl.List(pl.String)),
    )
    row = frame.select(evidence_scores()).row(0, named=True)
    e, p = set(gold), set(cited)
    recall = len(e & p) / len(e) if e else float(not p)
    precision = len(e & p) / len(p) if p else float(not e)
    f1 = 0.0 if recall + precision == 0 else 2 * recall * precision / (recall + precision)
    assert (row["evidence_recall"], row["evidence_precision"]) == (recall, precision)
    assert row["evidence_f1"] == pytest.approx(f1)
    assert row["evidence_exact"] == (e == p)
    assert row["stale_evidence"] == pytest.approx(len(p & set(previous) - e) / len(p) if p else 0.0)


def test_statuses_and_the_fixed_denominator() -> None:
    names = ["ok", "none", "words", "down", "broken", "gone"]
    items = [gold_item(name, "x") for name in names]
    given = answers(
        ok="x",
        none=("abstained", None, []),
        words={"value": "unknown"},
        down=("transport_error", None, ["log_1"]),
        broken=("parse_error", None, []),
    )
    table = scored(items, parts_of(**dict.fromkeys(names, "x")), given)
    told = dict(table.select("item", "status").iter_rows())
    assert told == {
        "ok": "ok", "none": "abstained", "words": "abstained", "down": "transport_error", "broken": "parse_error",
        "gone": "missing",
    }  # fmt: skip
    assert dict(table.select("item", "score").iter_rows()) == {name: float(name == "ok") for name in names}
    [row] = checkpoint_scores(table).filter(family="all").to_dicts()
    assert row["score"] == row["mechanical"] == row["score_micro"] == pytest.approx(1 / 6)
    assert (row["n_items"], row["n_missing"], row["coverage"]) == (6, 1, 0.5)


def test_only_errors_and_what_was_never_tried_are_asked_again() -> None:
    names = ["ok", "none", "down", "broken", "gone"]
    questions = table_of("tasks", [{"user_id": USER, "item": name} for name in names])
    given = answers(ok="x", none=("abstained", None, []), down=("transport_error", None, []),
                    broken=("parse_error", None, []))  # fmt: skip
    assert to_ask(questions, given)["item"].to_list() == ["broken", "down", "gone"]


@pytest.mark.parametrize(
    "text", ["{x", "NaN", '{"value": Infinity}', "1e999", '"\\ud800"', '{"a": 1, "a": 2}', "[" * 5000]
)
def test_answers_that_are_no_json_are_parse_errors(text: str) -> None:
    given = answers(a="x").with_columns(answer=pl.lit(text))
    assert standing(table_of("gold_items", [gold_item("a")]), given)["status"].to_list() == ["parse_error"]


def test_answers_of_other_questions_are_refused() -> None:
    items = table_of("gold_items", [gold_item("a")])
    with pytest.raises(BadAnswers, match="name no question"):
        standing(items, answers(b="x"))
    with pytest.raises(BadAnswers, match="answered twice"):
        standing(items, pl.concat([answers(a="x"), answers(a="y")]))


def test_judge_errors_count_zero_and_widen_the_bound() -> None:
    value = {"a": "x", "b": "y"}
    row = scored([gold_item("i", value)], parts_of(i=value), answers(i=value), b=None).row(0, named=True)
    assert (row["score"], row["score_bound"], row["n_judge_errors"]) == (0.5, 1.0, 1)


def test_verdicts_left_out_are_errors_and_foreign_ones_are_refused() -> None:
    value = {"a": "x", "b": "y"}
    stand = standing(table_of("gold_items", [gold_item("i", value)]), answers(i=value))
    agreed = agreements(parts_of(i=value), stand)
    said = verdicts(pl.DataFrame({"item": ["i"], "part": ["a"], "gate": [False]}))
    assert units(stand, agreed, said).select("score", "score_bound", "n_judge_errors").rows() == [(0.5, 1.0, 1)]
    with pytest.raises(BadVerdicts, match="no answer has"):
        units(stand, agreed, said.with_columns(part=pl.lit("z")))
    with pytest.raises(BadVerdicts, match="two verdicts"):
        units(stand, agreed, pl.concat([said, said]))
    assert units(stand, agreed)["score"].to_list() == [None]


def test_the_judge_sees_what_it_needs_and_no_log() -> None:
    item = gold_item("a", FOUR, evidence=["log_00007"])
    stand = standing(table_of("gold_items", [item]), answers(a=("ok", SAID, ["log_00009"])))
    question = table_of("tasks", [{**item, "question_text": "What is it?", "as_of": None}])
    shown = judge_parts(question, agreements(parts_of(a=FOUR), stand), stand)
    assert checked(shown).height == 4
    assert shown.filter(part="time").select("question", "expected", "given").row(0) == (
        "What is it?", '"09:30"', '"morning"',
    )  # fmt: skip
    assert "log_0000" not in shown.write_json()


def test_abstention_is_right_where_nothing_is_true() -> None:
    def gone(name: str, expectation: str) -> dict[str, Any]:
        return gold_item(name, None, expectation=expectation, task="free_form")

    items = [gone("a", "no_longer"), gone("b", "no_longer"), gone("c", "never"), gone("d", "never")]
    given = answers(a={"value": None}, b={"value": "Iron Works"}, c=("abstained", None, []))
    table = scored(items, parts_of(), given)
    assert table["score"].to_list() == [1.0, 0.0, 1.0, 0.0]
    assert table["mechanical"].to_list() == [1.0, 0.0, 1.0, 0.0]
    assert table["evidence_f1"].to_list() == [1.0, 1.0, 1.0, 1.0]


def test_means_over_fields_keys_and_families_differ() -> None:
    long = {"a": "x", "b": "x", "c": "x", "d": "x"}
    items = [
        gold_item("h", long, family="habit", state_key="habits_state:h"),
        gold_item("p", "x"),
        gold_item("q", "x"),
    ]
    table = scored(items, parts_of(h=long, p="x", q="x"), answers(h=long, p=("abstained", None, []), q="x"))
    [row] = checkpoint_scores(table).filter(family="all").to_dicts()
    assert row["score_micro"] == pytest.approx(5 / 6)
    assert row["score"] == pytest.approx(2 / 3)
    assert row["score_families"] == pytest.approx((1 + 0.5) / 2)


def test_a_checkpoint_that_was_not_run_is_never_averaged_away() -> None:
    items = [gold_item("a", "x"), gold_item("b", "x", checkpoint_id="c2"), gold_item("c", "x", checkpoint_id="c2")]
    parts = parts_of(a="x", b="x", c="x")
    table = checkpoint_scores(scored(items, parts, answers(a="x")))
    whole = table.filter(family="all")
    assert whole.select("checkpoint_id", "run", "score", "n_missing").rows() == [
        ("c1", True, 1.0, 0), ("c2", False, None, 2),
    ]  # fmt: skip
    [row] = over_checkpoints(table, "score").filter(family="all").to_dicts()
    assert (row["value"], row["n_checkpoints"], row["n_not_run"]) == (None, 2, 1)
    half = checkpoint_scores(scored(items, parts, answers(a="x", b="x"))).filter(family="all")
    assert over_checkpoints(half, "score")["value"].to_list() == [0.75]


def test_compatible_metrics_by_their_published_names() -> None:
    value = {"a": "Pour Over", "b": "x"}
    items = [
        gold_item("k", value, evidence=["log_1", "log_2"]),
        gold_item("m", "y"),
        gold_item("n", "z", checkpoint_id="c2"),
    ]
    given = answers(k=("ok", {"a": "pour-over", "extra": 1}, ["log_1"]))
    parts = parts_of(k=value, m="y", n="z")
    stand = standing(table_of("gold_items", items), given)
    table = scored(items, parts, given, b=(False, 2))
    found = {(row["checkpoint_id"], row["metric"]): row["value"] for row in checkpoint_metrics(table, stand).to_dicts()}
    assert {checkpoint for checkpoint, _ in found} == {"c1"}, "a checkpoint without predictions has no row"
    assert found["c1", "snapshot_holistic_score"] == pytest.approx((1.0 + 0.2 + 0.0) / 3)
    assert found["c1", "snapshot_value_f1_mean_on_expected"] == pytest.approx((2 * 2 / 5 + 0) / 2)
    assert found["c1", "snapshot_value_accuracy_on_expected"] == found["c1", "snapshot_exact_match"] == 0.0
    assert found["c1", "snapshot_evidence_recall_mean_on_expected"] == pytest.approx((0.5 + 1) / 2)
    assert not [name for _, name in found if "retrieval" in name], "no memory told what it delivered"
    told = stand.with_columns(retrieved=pl.lit(["log_1", "log_2"], pl.List(pl.String)))
    again = checkpoint_metrics(table, told).filter(checkpoint_id="c1")
    [recall] = again.filter(metric="snapshot_retrieval_recall_mean_on_expected")["value"].to_list()
    assert recall == pytest.approx((1 + 0) / 2)
    means = dict(summary(checkpoint_metrics(table, stand)).select("metric", "value").iter_rows())
    assert means["snapshot_holistic_score_mean"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("gold", "given", "f1"),
    [
        ("Pour-over", "pour over", 1.0),
        ("a b", "a", 2 / 3),
        (None, None, 1.0),
        ("a", None, 0.0),
        ([6, True], {"x": "6"}, 2 / 3),
    ],
)
def test_value_f1(gold: Any, given: Any, f1: float) -> None:
    assert value_f1(gold, given) == pytest.approx(f1)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared real logs are not beside this checkout")
def test_the_published_example_end_to_end() -> None:
    read = read_pack((DATA / "user001_task_packs_excerpt.json").read_bytes(), "excerpt", USER)
    message, state = read.gold.items.sort("task", descending=True)["item"].to_list()
    gold = read.gold.items["evidence"][0].to_list()
    cited = [*gold[:4], "log_00999"]
    value = {"schedule": {"frequency_type": "weekly", "days_of_week": ["Sunday"]}, "timing": {"start_time": "9:34"}}
    text = "every Sunday 09:30 you do your budget review"
    given = answers(**{state: ("ok", value, cited), message: ("ok", text, cited)})
    stand = standing(read.gold.items, given)
    agreed = agreements(read.gold.parts, stand)
    table = units(stand, agreed, correct=points_by_rule(agreed))
    assert table["mechanical"].to_list() == [1.0, 1.0]
    assert table.filter(task="personalised_service")["points"].to_list() == [1.0]
    assert table["evidence_recall"].round(3).to_list() == [0.286, 0.286]
    assert table["evidence_precision"].to_list() == [0.8, 0.8]
    assert table["evidence_f1"].round(3).to_list() == [0.421, 0.421]
    run = answers(**{message: "Sunday 09:30, time for your run"})
    stand = standing(read.gold.items, run)
    agreed = agreements(read.gold.parts, stand)
    table = units(stand, agreed, correct=points_by_rule(agreed))
    assert table.filter(task="personalised_service").select("points", "mechanical").rows() == [(0.0, 0.0)]
