"""Questions made for a truth: templates, services, what they must not tell."""

import json
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pytest
from applog_worlds import HABIT, USER, answers
from hypothesis import given
from hypothesis import strategies as st

from pipelines.applogs.answers import standing
from pipelines.applogs.mechanical import agreements, item_agreements
from pipelines.applogs.schedules import BadSchedule, next_day, occurs
from pipelines.applogs.scores import units
from pipelines.applogs.services import BadMoment, Leak, Moment, services
from pipelines.applogs.tables import table_of
from pipelines.applogs.tasks import free_form, in_free_form, state_completion

RUN, GYM, COFFEE = "habits_state:budget_review", "user_attributes_state:home_gym", "preferences_state:coffee"
CHECKPOINTS = table_of(
    "checkpoints",
    [{"user_id": USER, "checkpoint_index": 0, "checkpoint_id": "c1", "as_of": datetime(2024, 1, 3, tzinfo=UTC),
      "n_visible": 9, "last_log_id": "log_9", "cut_by": "index"}],
)  # fmt: skip


def states(expectation: str = "value", **values: Any) -> pl.DataFrame:
    keys = {"run": RUN, "gym": GYM, "coffee": COFFEE}
    families = {"run": "habit", "gym": "attribute", "coffee": "preference"}
    return table_of(
        "gold_states",
        [
            {"user_id": USER, "checkpoint_id": "c1", "truth": "as_of", "state_key": keys[name],
             "family": families[name], "expectation": expectation,
             "value": None if value is None else json.dumps(value), "evidence": ["log_4"]}
            for name, value in values.items()
        ],
    )  # fmt: skip


def test_state_completion_asks_in_the_shape_of_the_value() -> None:
    asked = state_completion(states(run=HABIT, gym="Iron Works"), CHECKPOINTS, "as_of")
    run, gym = asked.questions.to_dicts()
    assert json.loads(run["answer_template"]) == {
        "schedule": {"days_of_week": ["<fill the blank>"], "frequency_type": "<fill the blank>"},
        "timing": {"start_time": "<fill the blank>"},
    } and json.loads(gym["answer_template"]) == "<fill the blank>"  # fmt: skip
    assert "budget review" in run["question_text"] and "0 (Monday)" in run["question_text"]
    assert "Monday" not in gym["question_text"]
    assert not [text for text in ("09:30", "weekly", "Iron", "log_4") if text in asked.questions.write_json()]
    assert asked.gold_parts["part"].to_list() == [
        "schedule.days_of_week", "schedule.frequency_type", "timing.start_time", "value",
    ]  # fmt: skip
    assert state_completion(states(run=HABIT), CHECKPOINTS, "finished_chain").questions.is_empty()


def test_the_free_form_tells_nothing_of_the_value() -> None:
    asked = free_form(states(run=HABIT, gym="Iron Works"), CHECKPOINTS, "as_of")
    gone = free_form(states("no_longer", run=None, gym=None), CHECKPOINTS, "as_of")
    never = free_form(states("never", run=None, gym=None), CHECKPOINTS, "as_of")
    assert asked.questions.equals(gone.questions) and asked.questions.equals(never.questions)
    assert asked.questions["answer_template"].n_unique() == 1
    assert gone.gold_parts.is_empty() and gone.gold_items["reference"].null_count() == 2


def test_free_form_answers_are_scored_whatever_is_left_null() -> None:
    asked = free_form(states(run=HABIT, gym="Iron Works"), CHECKPOINTS, "as_of")
    run, gym = asked.questions["item"]
    said = {"frequency_type": "weekly", "days_of_week": ["Sunday"], "start_time": "10:00", "value": None}
    given = answers(**{run: said, gym: {"value": "iron works", "location": None}})
    found = item_agreements(agreements(asked.gold_parts, standing(asked.gold_items, given)))
    assert dict(found.select("item", "mechanical").iter_rows()) == {run: pytest.approx(2 / 3), gym: 1.0}


def test_values_in_free_form() -> None:
    assert in_free_form("x") == {"value": "x"}
    assert in_free_form(["x"]) == {"value": ["x"]}
    assert in_free_form({"statement": "likes tea"}) == {"value": "likes tea"}
    assert in_free_form({"name": "Iron", "tier": "gold", "location": "Erie"}) == {
        "location": "Erie",
        "value": ["Iron", "gold"],
    }


def test_answers_to_one_truth_can_be_held_against_the_other() -> None:
    first = state_completion(states(gym="Iron Works"), CHECKPOINTS, "as_of")
    lagging = states(gym="Old Gym").with_columns(truth=pl.lit("finished_chain").cast(states().schema["truth"]))
    second = state_completion(lagging, CHECKPOINTS, "finished_chain")
    given = answers(**{first.questions["item"][0]: "Iron Works"})
    scores = []
    for asked in (first, second):
        stand = standing(asked.gold_items, given)
        scores += units(stand, agreements(asked.gold_parts, stand))["mechanical"].to_list()
    assert scores == [1.0, 0.0]


MOMENT = Moment("A cafe's ordering page is open on a weekday morning.", {"brew_method": "statement"})


def test_a_habit_becomes_a_message_with_a_gate() -> None:
    asked = services(states(run=HABIT), CHECKPOINTS, "as_of", {})
    [row] = asked.questions.to_dicts()
    assert row["scenario"] in {f"It is Sunday at {time}." for time in ("09:00", "09:15", "09:25", "09:50")}
    assert row["output_template"] is None and row["state_key"] is None
    assert "budget" not in json.dumps(row, default=str)
    parts = asked.gold_parts.select("gate", "judged", "path", "expected").rows()
    assert parts == [
        (True, True, None, '"budget review"'),
        (False, True, "schedule.days_of_week", "[6]"),
        (False, True, "schedule.frequency_type", '"weekly"'),
        (False, True, "timing.start_time", '"09:30"'),
    ]
    assert "[6 (Sunday)]" in asked.gold_parts["criterion"][1]


def test_a_preference_becomes_filters() -> None:
    asked = services(states(coffee={"statement": "pour-over"}), CHECKPOINTS, "as_of", {(USER, COFFEE): MOMENT})
    [row] = asked.questions.to_dicts()
    assert row["output_template"] == '{"brew_method":"<fill>"}'
    assert row["service_family"] == "information_request_construction"
    assert row["retrieval_query"].endswith('[Output Template] {"brew_method":"<fill>"}')
    assert asked.gold_items["reference"].to_list() == ['{"brew_method":"pour-over"}']
    assert asked.gold_parts.select("part", "judged", "point").rows() == [
        ("brew_method", True, False), ("aqp_preferences_state_coffee_q1_p1", False, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "moment",
    [
        Moment("The user wants coffee.", {"brew_method": "statement"}),
        Moment("The kettle for the pour is on.", {"brew_method": "statement"}),
        Moment("A page is open.", {"coffee_kind": "statement"}),
    ],
)
def test_scenarios_and_templates_that_tell_are_refused(moment: Moment) -> None:
    with pytest.raises(Leak, match="tells"):
        services(states(coffee={"statement": "pour-over"}), CHECKPOINTS, "as_of", {(USER, COFFEE): moment})


def test_what_cannot_be_served_is_left_out() -> None:
    daily = {"frequency_type": "daily"}
    for bare in ({"schedule": daily}, {"schedule": daily, "timing": None}, {"schedule": 3, "timing": HABIT["timing"]}):
        assert services(states(run=bare, gym="Iron"), CHECKPOINTS, "as_of", {}).questions.is_empty()


@pytest.mark.parametrize("start", ["99:99", 6, None])
def test_a_habit_that_begins_at_no_time_is_named(start: object) -> None:
    with pytest.raises(BadMoment, match=f"{USER}/{RUN} begins at {start!r}"):
        services(states(run={**HABIT, "timing": {"start_time": start}}), CHECKPOINTS, "as_of", {})


def test_a_schedule_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BadSchedule, match=f"{USER}/{RUN}: 'often' is no frequency"):
        services(states(run={**HABIT, "schedule": {"frequency_type": "often"}}), CHECKPOINTS, "as_of", {})


def test_days_that_are_no_weekdays_are_shown_as_they_are() -> None:
    odd = {**HABIT, "schedule": {"frequency_type": "weekly", "days_of_week": [6, "x", 7]}}
    asked = services(states(run=odd), CHECKPOINTS, "as_of", {})
    assert 'schedule.days_of_week = [6,"x",7].' in asked.gold_parts["criterion"][1]


def test_a_slot_of_a_field_that_the_value_has_not_is_named() -> None:
    with pytest.raises(BadMoment, match=f"{COFFEE} of {USER} fills 'statement', .* at c1 has not .fields: value"):
        services(states(coffee="pour-over"), CHECKPOINTS, "as_of", {(USER, COFFEE): MOMENT})


@pytest.mark.parametrize(
    ("schedule", "on", "off"),
    [
        ({"frequency_type": "daily"}, [date(2024, 2, 29)], []),
        ({"frequency_type": "weekly", "days_of_week": [6]}, [date(2024, 1, 7)], [date(2024, 1, 6)]),
        (
            {"frequency_type": "biweekly", "days_of_week": [2], "start_date": "2024-01-03"},
            [date(2024, 1, 3), date(2024, 1, 17)],
            [date(2023, 12, 20), date(2024, 1, 10), date(2024, 1, 16)],
        ),
        ({"frequency_type": "monthly_by_date", "days_of_month": [1, 15]}, [date(2024, 3, 15)], [date(2024, 3, 14)]),
        (
            {"frequency_type": "monthly_nth_weekday", "week_of_month": 2, "day_of_week": 0},
            [date(2024, 1, 8)],
            [date(2024, 1, 1), date(2024, 1, 15)],
        ),
        (
            {"frequency_type": "monthly_nth_weekday", "week_of_month": "last", "day_of_week": 3},
            [date(2024, 2, 29)],
            [date(2024, 2, 22)],
        ),
    ],
)
def test_schedules(schedule: dict[str, Any], on: list[date], off: list[date]) -> None:
    assert [occurs(schedule, one) for one in on] == [True] * len(on)
    assert [occurs(schedule, one) for one in off] == [False] * len(off)


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(0, 6))
def test_the_next_day_is_the_first_one_after(after: date, weekday: int) -> None:
    found = next_day({"frequency_type": "weekly", "days_of_week": [weekday]}, after)
    assert found.weekday() == weekday and 1 <= (found - after).days <= 7


@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"frequency_type": "weekly"},
        {"frequency_type": "hourly"},
        {"frequency_type": "biweekly", "days_of_week": [1], "start_date": "soon"},
    ],
)
def test_schedules_that_cannot_be_read(schedule: dict[str, Any]) -> None:
    with pytest.raises(BadSchedule):
        occurs(schedule, date(2024, 1, 1))
    with pytest.raises(BadSchedule, match="no occurrence"):
        next_day({"frequency_type": "weekly", "days_of_week": []}, date(2024, 1, 1))
