"""Questions that name no state: their words, their right answers, who is asked, and the rules that answer them."""

import json
import re
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from applog_lives import REVIEW, USERS, checkpoints, logs, states
from applog_worlds import USER, logs_of
from test_applog_answerers import CHECKPOINTS as LIFE_PLACES
from test_applog_answerers import life, true_states
from test_applog_tasks import CHECKPOINTS as PLACE
from test_applog_tasks import COFFEE, GYM, RUN
from test_applog_tasks import states as told_states

from pipelines.applogs.answerers import MOST_CITED_OF_LIST, answer
from pipelines.applogs.answers import standing
from pipelines.applogs.attribution import attribute
from pipelines.applogs.compat_2026 import checkpoint_metrics
from pipelines.applogs.extracting import by_words
from pipelines.applogs.judging import drawn_items
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.no_key import no_key
from pipelines.applogs.question_forms import ENTRY, list_question, most_asked
from pipelines.applogs.release_rules import names_no_value
from pipelines.applogs.scores import units
from pipelines.applogs.summary import checkpoint_scores
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.tables import FAMILIES, table_of
from pipelines.applogs.tasks import Asked, state_completion
from pipelines.evaluation.experiment import Experiment

LOGS = logs()
PLACES = checkpoints(LOGS)
TRUE = states(LOGS, PLACES)
LISTS = no_key(TRUE, PLACES, "as_of", 30)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_question_names_no_state_of_the_ontology(family: str) -> None:
    text = list_question(family, 30).lower()
    names = {state.name for states in ONTOLOGY.values() for state in states}
    assert len(names) > 100
    told = [name for name in names if re.search(rf"\b({name}|{name.replace('_', ' ')})\b", text)]
    assert told == []
    assert most_asked(text) == 30 and most_asked(list_question(family, 7)) == 7
    with pytest.raises(ValueError, match="no question for a list"):
        most_asked("What is the user's gym?")


def test_everybody_is_asked_the_same_three_questions_at_every_checkpoint() -> None:
    tasks = LISTS.questions
    assert tasks.height == len(USERS) * 3 * len(FAMILIES)
    assert tasks["question_text"].n_unique() == 3 and tasks["answer_template"].n_unique() == 1
    assert json.loads(tasks["answer_template"][0]) == [ENTRY]
    assert tasks["state_key"].null_count() == tasks.height
    for query, text in tasks.select("retrieval_query", "question_text").iter_rows():
        assert text.startswith(f"{query} ") and query.endswith("?"), "a memory is searched without the form's words"
    items = LISTS.gold_items.filter(user_id="u1", checkpoint_id="c3").rows_by_key("item", named=True, unique=True)
    assert list(items) == [f"u1/c3/list/{family}" for family in sorted(FAMILIES)]
    assert json.loads(items["u1/c3/list/preference"]["reference"]) == [{"name": "music genre", "value": "loud rock"}]
    assert json.loads(items["u1/c3/list/habit"]["reference"]) == [
        {"name": "budget review", "frequency_type": "weekly", "days_of_week": [6], "start_time": "09:30"}
    ]
    parts = LISTS.gold_parts.filter(item="u1/c3/list/habit")
    assert parts.select("of_state", "path", "judged", "point", "place").rows() == [
        (REVIEW, "days_of_week", False, False, 0),
        (REVIEW, "frequency_type", False, False, 1),
        (REVIEW, "start_time", False, False, 2),
    ]


def rows(*told: tuple[str, str, str, Any, list[str], list[str], list[str]]) -> pl.DataFrame:
    names = ("state_key", "family", "expectation", "value", "evidence", "evidence_previous", "distractors")
    place = {"user_id": USER, "checkpoint_id": "c1", "truth": "as_of"}
    return table_of("gold_states", [{**place, **dict(zip(names, one, strict=True))} for one in told])


def test_evidence_is_that_of_all_states_and_what_shows_one_is_not_stale() -> None:
    made = no_key(
        rows(
            (GYM, "attribute", "value", '"Iron"', ["log_4", "log_6"], ["log_1"], ["log_2"]),
            ("user_attributes_state:bank", "attribute", "value", '"Fern"', ["log_1", "log_6"], ["log_3"], ["log_9"]),
            ("user_attributes_state:car", "attribute", "no_longer", None, [], ["log_7"], []),
            ("user_attributes_state:pets", "attribute", "never", None, [], [], ["log_4", "log_8"]),
            (RUN, "habit", "no_longer", None, [], ["log_5"], []),
        ),
        PLACE,
        "as_of",
        30,
    )
    items = {str(row["family"]): row for row in made.gold_items.to_dicts()}
    facts = items["attribute"]
    # States stand in the order of their keys.
    assert facts["evidence"] == ["log_1", "log_6", "log_4"]
    assert facts["evidence_previous"] == ["log_3", "log_7"] and facts["distractors"] == ["log_9", "log_2", "log_8"]
    assert [items[family]["expectation"] for family in FAMILIES] == ["value", "no_longer", "never"]
    assert items["habit"]["evidence_previous"] == ["log_5"] and items["habit"]["reference"] is None
    assert made.gold_parts["of_state"].unique().sort().to_list() == ["user_attributes_state:bank", GYM]


def test_truth_that_tells_no_earlier_values_leaves_them_untold() -> None:
    made = no_key(told_states(gym="Iron", run=None), PLACE, "as_of", 30)
    assert made.gold_items["evidence_previous"].to_list()[:1] == [None]


def test_where_nothing_is_true_nothing_is_asked() -> None:
    gone = told_states("no_longer", run=None, coffee=None)
    assert no_key(gone, PLACE, "as_of", 30).questions.is_empty()
    assert no_key(told_states(gym="Iron"), PLACE, "finished_chain", 30).questions.is_empty()
    assert no_key(told_states(gym="Iron"), PLACE, "as_of", 30).questions.height == len(FAMILIES)


def test_neither_the_order_of_states_nor_other_checkpoints_move_a_list() -> None:
    mixed = no_key(TRUE.sample(fraction=1, shuffle=True, seed=5), PLACES.reverse(), "as_of", 30)
    assert [table.equals(other) for table, other in zip(tables(mixed), tables(LISTS), strict=True)] == [True] * 3
    first = pl.col("checkpoint_id") == "c1"
    later = TRUE.with_columns(value=pl.when(first | pl.col("value").is_null()).then("value").otherwise(pl.lit('"z"')))
    again = no_key(later, PLACES, "as_of", 30)
    for table, other in zip(tables(again), tables(LISTS), strict=True):
        mine = pl.col("item").str.contains("/c1/", literal=True)
        assert table.filter(mine).equals(other.filter(mine))
    assert again.questions.equals(LISTS.questions) and not again.gold_items.equals(LISTS.gold_items)


def tables(made: Asked) -> tuple[pl.DataFrame, ...]:
    return made.questions, made.gold_items, made.gold_parts


def test_a_list_in_words_of_its_own_is_named() -> None:
    gold = LISTS.gold_items, LISTS.gold_parts
    assert names_no_value(LISTS.questions, *gold).is_empty()
    last = pl.col("item") == "u3/c3/list/habit"
    for column in ("question_text", "retrieval_query", "answer_template"):
        other = pl.when(last).then(pl.lit("at most 9 entries")).otherwise(column)
        found = names_no_value(LISTS.questions.with_columns(other.alias(column)), *gold)
        assert found.rows() == [("a question for a list in words of its own", "u3/c3/list/habit")]


# -- scores around lists -------------------------------------------------------------


def both() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Units and standing of right answers to lists and of none to state completion."""
    alone = state_completion(TRUE, PLACES, "as_of")
    items, parts = (pl.concat(pair) for pair in zip(tables(alone)[1:], tables(LISTS)[1:], strict=True))
    right = [
        {"user_id": row["user_id"], "item": row["item"], "status": "ok", "answer": row["reference"], "evidence": []}
        for row in LISTS.gold_items.to_dicts()
    ]
    none = [
        {"user_id": row["user_id"], "item": row["item"], "status": "abstained", "evidence": []}
        for row in alone.gold_items.to_dicts()
    ]
    stand = standing(items, table_of("answers", right + none))
    return units(stand, agreements(parts, stand)), stand


def test_the_published_metrics_know_no_lists() -> None:
    scored, stand = both()
    other = pl.col("task").cast(pl.String) != "no_key"
    assert checkpoint_metrics(scored, stand).equals(checkpoint_metrics(scored.filter(other), stand.filter(other)))


def test_means_over_lists() -> None:
    scored, stand = both()
    found = checkpoint_scores(scored).filter(task="no_key", family="all", expectation="value")
    assert set(found["mechanical"]) == set(found["list_precision"]) == set(found["list_recall"]) == {1.0}
    assert found["n_items"].to_list() == [3] * 9
    assert checkpoint_scores(scored).filter(task="state_completion")["list_recall"].null_count() == 36
    wrong = scored.select("user_id", "item", pl.lit(0.5).alias("score"))
    assert set(attribute(stand, wrong, LISTS.gold_parts)["item"].str.extract("/(list|state)/")) == {"state"}


def test_no_judge_is_asked_about_a_list() -> None:
    questions = pl.concat([LISTS.questions, state_completion(TRUE, PLACES, "as_of").questions])
    drawn = drawn_items(questions, Experiment(name="x", methods={"empty": [{}]}, judges=["core_detail"], judged=99))
    assert len(drawn) == 27 and not [item for _, item in drawn if "/list/" in item]


# -- rules ---------------------------------------------------------------------------


def test_routines_are_listed_as_logs_keep_them() -> None:
    made = no_key(true_states(), LIFE_PLACES, "as_of", 30)
    given = answer("routine", life(), made.questions)
    by_family = {row["item"].rpartition("/")[2]: row for row in given.to_dicts()}
    assert [by_family[family]["status"] for family in FAMILIES] == ["abstained", "ok", "abstained"]
    stand = standing(made.gold_items, given)
    scores = units(stand, agreements(made.gold_parts, stand)).rows_by_key("family", named=True, unique=True)
    habits = scores["habit"]
    n_entries = len(json.loads(by_family["habit"]["answer"]))
    assert habits["list_recall"] == 1.0 and habits["list_precision"] == 3 / n_entries
    assert scores["preference"]["expectation"] == "never" and scores["preference"]["mechanical"] == 1.0
    cited = by_family["habit"]["evidence"]
    assert len(cited) <= MOST_CITED_OF_LIST and set(cited) <= set(life()["app_log_id"])
    few = made.questions.with_columns(question_text=pl.lit(list_question("habit", 2)))
    assert len(json.loads(answer("routine", life(), few.filter(asked_family="habit"))["answer"][0])) == 2


def chosen(times: int, taken: str, left: str, start: int) -> list[dict[str, Any]]:
    moment = life()["time"][0]
    return [
        {"app_log_id": f"c{start + n:03}", "timestamp": f"{moment + timedelta(hours=start + n):%Y-%m-%d %H:%M:%S}",
         "app_name": "WhatsApp", "api_name": "SendMessage", "response": {},
         "request": {"to": "friend", "message": f"Took {taken} over {left}."}}
        for n in range(times)
    ]  # fmt: skip


def test_preferences_are_listed_by_what_was_chosen_most_or_last() -> None:
    said = [*chosen(3, "green tea", "coffee", 0), *chosen(2, "coffee", "green tea", 10), *chosen(1, "rye", "oats", 20)]
    question = no_key(rows((COFFEE, "preference", "value", '{"statement": "x"}', [], [], [])), PLACE, "as_of", 30)
    mine = question.questions.filter(asked_family="preference")
    found = {}
    for rule in ("majority_choice", "last_value", "routine"):
        row = answer(rule, logs_of(said), mine).row(0, named=True)
        found[rule] = row["answer"] and [one["value"] for one in json.loads(row["answer"])]
    assert found == {
        "majority_choice": ["Prefers green tea over coffee"],
        "last_value": ["Prefers coffee over green tea"],
        "routine": None,
    }, "one choice alone is no preference"


def test_facts_are_listed_by_what_is_named_most() -> None:
    question = LISTS.questions.filter(item="u1/c3/list/attribute")
    given = {rule: answer(rule, LOGS.filter(user_id="u1"), question) for rule in ("majority_choice", "last_value")}
    for row in (table.row(0, named=True) for table in given.values()):
        named = [one["value"].lower() for one in json.loads(row["answer"])]
        assert len(named) <= 30 and any("olive hill" in one for one in named), named
        assert 0 < len(row["evidence"]) <= MOST_CITED_OF_LIST


def test_lines_of_a_memory_are_entries() -> None:
    lines = ["- Runs every Tuesday at 07:00", "Prefers rye over oats", "lives near the Harbor Lane Bakery"]

    def told(family: str) -> Any:
        found = by_words(lines, LISTS.questions.filter(item=f"u1/c1/list/{family}").row(0, named=True))
        return None if found is None else [{name: one[name] for name in one if name != "name"} for one in found.value]

    assert told("habit") == [{"days_of_week": [1], "frequency_type": "weekly", "start_time": "07:00"}]
    assert told("preference") == [{"value": "Prefers rye over oats"}]
    assert told("attribute") == [{"value": "Harbor Lane Bakery"}]
    assert by_words([], LISTS.questions.row(0, named=True)) is None
