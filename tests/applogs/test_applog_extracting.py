"""The weak reader: golden answers from delivered logs and from delivered words."""

import json
from typing import Any

import polars as pl
import pytest
from applog_lives import RESTAURANT, REVIEW, asked, checkpoints, logs
from applog_worlds import log

from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.delivered import in_order, log_of, logs_of, other_lines
from pipelines.applogs.extracting import extract
from pipelines.applogs.json_text import dump
from pipelines.applogs.tables import table_of

LOGS = logs(("u1",))
PLACES = checkpoints(LOGS)
QUESTIONS = asked(LOGS, PLACES).questions.filter(checkpoint_id="c1")


def told(text: str, item: str, retrieved: list[str] | None = None) -> dict[str, Any]:
    row = {"user_id": "u1", "checkpoint_id": "c1", "item": WHOLE, "text": text, "tokens": 0, "tokens_cut": 0}
    context = table_of("contexts", [{**row, "retrieved": retrieved, "state_hash": ""}])
    return extract(context, QUESTIONS.filter(item=item)).row(0, named=True)


def state(key: str) -> str:
    return f"u1/c1/state/{key}"


def service(family: str) -> str:
    return str(QUESTIONS.filter(pl.col("service_family").cast(pl.String) == family)["item"].item(0))


def order(number: int, day: int, venue: str) -> str:
    body = {"order": {"restaurant_name": venue, "note": "takeout restaurant"}}
    return dump(log(number, f"2024-01-{day:02} 12:00:00", "UberEats", "PlaceOrder", request={}, response=body))


SUNDAYS = [log(n, f"2024-01-{day:02} 09:30:00", "Chase", "GetTransactions") for n, day in enumerate((7, 14, 21, 28), 1)]


def test_the_newest_log_tells_an_attribute_whatever_the_order_of_delivery() -> None:
    lines = [order(3, 9, "Olive Hill"), order(1, 2, "Thai Garden"), order(2, 5, "Thai Garden")]
    row = told("\n".join(lines), state(RESTAURANT), ["log_00003", "log_00001", "log_00002"])
    assert (row["status"], row["answer"], row["evidence"]) == ("ok", '"Olive Hill"', ["log_00003"])
    assert row["retrieved"] == ["log_00003", "log_00001", "log_00002"]


def test_recurring_logs_tell_a_habit_and_the_reminder_of_it() -> None:
    text = "\n".join(f"{one['timestamp'][:16]} | {dump(one)}" for one in SUNDAYS)
    row = told(text, state(REVIEW))
    assert json.loads(row["answer"]) == {
        "schedule": {"frequency_type": "weekly", "days_of_week": [6]},
        "timing": {"start_time": "09:30"},
    }
    assert row["evidence"] == [f"log_{n:05}" for n in range(1, 5)]
    reminder = json.loads(told(text, service("user_communication"))["answer"])
    assert reminder.startswith("Every Sunday at 09:30")


def test_the_scenario_of_a_form_finds_the_logs_that_fill_it() -> None:
    row = told("\n".join([order(1, 2, "Thai Garden"), *map(dump, SUNDAYS)]), service("action_configuration"))
    assert json.loads(row["answer"]) == {"venue": "Thai Garden"} and row["evidence"] == ["log_00001"]


def test_other_words_are_the_last_resort() -> None:
    said = "2024-02-01 10:00 | The user's budget review takes place every Sunday at 9:30.\nLikes tea.\nA gym review."
    row = told(said, state(REVIEW))
    assert json.loads(row["answer"]) == {
        "schedule": {"frequency_type": "weekly", "days_of_week": [6]},
        "timing": {"start_time": "09:30"},
    }
    assert row["evidence"] == [] and row["retrieved"] is None
    venue = told("- Favourite takeout restaurant: Olive Hill\n- takeout on Fridays", state(RESTAURANT))
    assert json.loads(venue["answer"]) == "Olive Hill"
    with_detail = told("Takeout restaurant: the user orders at Olive Hill, on Fridays", state(RESTAURANT))
    assert json.loads(with_detail["answer"]) == "Olive Hill, on Fridays"
    chosen = told("Takeout restaurant: prefers Olive Hill over Thai Garden, on Fridays", state(RESTAURANT))
    assert json.loads(chosen["answer"]) == "Prefers Olive Hill over Thai Garden, on Fridays"
    assert json.loads(told("takeout restaurant", state(RESTAURANT))["answer"]) == "takeout restaurant"
    both = told(f"Favourite takeout restaurant: Olive Hill\n{order(1, 2, 'Thai Garden')}", state(RESTAURANT))
    assert both["answer"] == '"Thai Garden"', "logs first"


@pytest.mark.parametrize("text", ["", "\n \n", "12:30 | 17", "The user sleeps well."])
def test_nothing_said_is_an_abstention(text: str) -> None:
    for item in QUESTIONS["item"]:
        row = told(text, item)
        assert (row["status"], row["answer"], row["evidence"]) == ("abstained", None, [])


def test_without_a_context_there_is_no_row() -> None:
    assert extract(table_of("contexts", []), QUESTIONS).is_empty()


def test_lines_are_read_back_as_the_logs_that_they_were() -> None:
    row = LOGS.row(5, named=True)
    columns = ("app_log_id", "time", "app", "api", "object", "record")
    for line in (row["record"], f"2024-01-02 12:00 | {row['record']}", f"* [3] {row['record']}"):
        assert log_of(line) == {name: row[name] for name in columns}
    offset = log(1, "2024-01-02T12:00:00+02:00")
    assert log_of(dump(offset))["time"].isoformat() == "2024-01-02T10:00:00+00:00"
    wrong = ({"timestamp": "2024-13-02 12:00:00"}, {"request": []}, {"app_log_id": 7})
    broken = [row["record"][:-1], row["record"] + "}", '{"a":1}', "{}", "none", *(dump(offset | one) for one in wrong)]
    assert [log_of(line) for line in broken] == [None] * len(broken)
    text = "\n".join([LOGS["record"][7], "words", LOGS["record"][2], LOGS["record"][7], "17"])
    assert [one["app_log_id"] for one in logs_of(text)] == ["log_00008", "log_00003"]
    assert [(one["app_log_id"], one["position"]) for one in in_order(logs_of(text))] == [
        ("log_00003", 0),
        ("log_00008", 1),
    ]
    assert other_lines(text) == ["words"]
