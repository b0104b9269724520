"""Routines found in when logs recur, and answers made from them."""

import json
import random
import time
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from applog_worlds import USER, log, logs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.applogs.answerers import RULES, answer
from pipelines.applogs.answers import standing
from pipelines.applogs.mechanical import agreements, item_agreements
from pipelines.applogs.routines import RoutineSettings, routines
from pipelines.applogs.services import services
from pipelines.applogs.tables import table_of
from pipelines.applogs.tasks import state_completion

MONDAY = datetime(2024, 1, 1)


def kept(
    app: str, api: str, days: list[int], at: str, draw: random.Random | None = None, keep: float = 1.0, jitter: int = 0,
    **body: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Logs on these days at a time; some left out, some minutes off, where a draw is given."""
    hour, minute = map(int, at.split(":"))
    rows = []
    for day in days:
        if draw and draw.random() > keep:
            continue
        off = draw.randint(-jitter, jitter) if draw and jitter else 0
        moment = MONDAY + timedelta(days=day, hours=hour, minutes=minute + off)
        rows.append(log(0, f"{moment:%Y-%m-%d %H:%M:%S}", app, api, **body))
    return rows


def numbered(rows: list[dict[str, Any]]) -> pl.DataFrame:
    ordered = sorted(rows, key=lambda row: row["timestamp"])
    return logs_of([row | {"app_log_id": f"log_{i + 1:05}"} for i, row in enumerate(ordered)])


def days(weeks: int, *weekdays: int, every: int = 1) -> list[int]:
    return [7 * week + weekday for week in range(0, weeks, every) for weekday in weekdays]


def noise(n: int, span: int, seed: int = 3) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        moment = MONDAY + timedelta(days=draw.randrange(span), minutes=draw.randrange(24 * 60))
        app, api = draw.choice([("Amazon", "SearchProducts"), ("Google", "Search"), ("Gmail", "GetInbox")])
        rows.append(log(0, f"{moment:%Y-%m-%d %H:%M:%S}", app, api, request={"query": f"thing {draw.randrange(50)}"}))
    return rows


def found(rows: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any], str]]:
    return [(one.app, one.schedule, one.start_time) for one in routines(numbered(rows))]


@pytest.mark.parametrize(
    ("when", "schedule"),
    [
        (days(12, 6), {"frequency_type": "weekly", "days_of_week": [6]}),
        (days(12, 1, 3), {"frequency_type": "weekly", "days_of_week": [1, 3]}),
        (days(12, *range(7)), {"frequency_type": "daily"}),
        (days(12, 2, every=2), {"frequency_type": "biweekly", "days_of_week": [2], "start_date": "2024-01-31"}),
        ([14, 45, 74, 105, 135], {"frequency_type": "monthly_by_date", "days_of_month": [15]}),
        ([7, 42, 70, 98, 133], {"frequency_type": "monthly_nth_weekday", "week_of_month": 2, "day_of_week": 0}),
    ],
)
def test_schedules_are_found(when: list[int], schedule: dict[str, Any]) -> None:
    assert found(kept("Chase", "GetTransactions", when, "09:30")) == [("Chase", schedule, "09:30")]


def test_misses_jitter_and_noise_do_not_hide_a_routine() -> None:
    draw = random.Random(11)
    rows = kept("Chase", "GetTransactions", days(16, 6), "09:30", draw, keep=0.9, jitter=4)
    rows += kept("Fitbit", "LogWorkout", days(16, 1, 3), "07:00", draw, keep=0.9, jitter=4)
    told = found(rows + noise(120, 16 * 7))
    assert {(app, json.dumps(schedule)) for app, schedule, _ in told} == {
        ("Chase", '{"frequency_type": "weekly", "days_of_week": [6]}'),
        ("Fitbit", '{"frequency_type": "weekly", "days_of_week": [1, 3]}'),
    }
    for app, _, start in told:
        hour, minute = map(int, start.split(":"))
        assert abs(60 * hour + minute - {"Chase": 570, "Fitbit": 420}[app]) <= 4


def test_noise_alone_is_no_routine() -> None:
    assert found(noise(200, 112)) == []
    assert routines(numbered(noise(1, 1)).clear()) == []


def test_a_routine_kept_by_changing_apps_is_found_over_all() -> None:
    rows = []
    for i, day in enumerate(days(12, 4)):
        rows += kept(("Fitbit", "Google", "Gmail")[i % 3], "Sync", [day], "18:00")
    assert found(rows) == [("", {"frequency_type": "weekly", "days_of_week": [4]}, "18:00")]


def test_the_newest_weeks_count_after_a_change() -> None:
    rows = kept("Fitbit", "LogWorkout", days(12, 1), "07:00")
    rows += kept("Fitbit", "LogWorkout", [84 + day for day in days(9, 5)], "08:30")
    assert found(rows) == [("Fitbit", {"frequency_type": "weekly", "days_of_week": [5]}, "08:30")]


def test_a_monthly_routine_is_over_after_two_misses_and_no_accident_of_other_days() -> None:
    fifteenth = [14, 45, 74, 105, 135, 166]
    end = kept("Gmail", "GetInbox", [170], "03:00")
    monthly = [("Chase", {"frequency_type": "monthly_by_date", "days_of_month": [15]}, "09:30")]
    assert found(kept("Chase", "Get", fifteenth[:5], "09:30") + end) == monthly
    assert found(kept("Chase", "Get", fifteenth[:4], "09:30") + end) == []
    others = [18, 36, 51, 82, 110]
    assert found(kept("Chase", "Get", fifteenth[:5] + others, "09:30") + end) == monthly
    assert found(kept("Chase", "Get", [*fifteenth[:5], *others, 121], "09:30") + end) == []


def test_thresholds_from_both_sides() -> None:
    two, three = days(3, 6)[:2], days(3, 6)
    assert found(kept("Chase", "Get", two, "09:30")) == []
    assert len(found(kept("Chase", "Get", three, "09:30"))) == 1
    ends = kept("Gmail", "GetInbox", [0, 56], "03:00")
    sundays = days(8, 6)
    # Eight Sundays in the window: five are more than 60 %, four are less.
    assert len(found(kept("Chase", "Get", [sundays[i] for i in (0, 2, 3, 5, 7)], "09:30") + ends)) == 1
    assert found(kept("Chase", "Get", [sundays[i] for i in (0, 3, 5, 6)], "09:30") + ends) == []
    near = kept("Chase", "Get", sundays[:4], "09:30") + kept("Chase", "Get", sundays[4:], "09:40")
    assert len(found(near)) == 1
    far = kept("Chase", "Get", sundays[::2], "09:30") + kept("Chase", "Get", sundays[1::2], "09:51")
    assert all(schedule["frequency_type"] != "weekly" for _, schedule, _ in found(far))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 6), st.integers(0, 23), st.integers(1, 20))
def test_routines_move_with_the_calendar_and_not_with_row_order(seed: int, weekday: int, hour: int, weeks: int) -> None:
    rows = kept("Chase", "Get", days(10, weekday), f"{hour:02}:20") + noise(40, 70, seed)
    logs = numbered(rows)
    mixed = logs.sample(fraction=1, shuffle=True, seed=seed)
    assert routines(mixed) == routines(logs)
    moved = logs.with_columns(pl.col("time") + pl.duration(weeks=weeks))
    weekly = [
        (one.schedule, one.minute) for one in routines(logs) if one.schedule["frequency_type"] in ("weekly", "daily")
    ]
    again = [
        (one.schedule, one.minute) for one in routines(moved) if one.schedule["frequency_type"] in ("weekly", "daily")
    ]
    assert weekly == again and ({"frequency_type": "weekly", "days_of_week": [weekday]}, hour * 60 + 20) in weekly


HABITS = {
    "habits_state:budget_review": ("Chase", "GetTransactions", [6], "09:30"),
    "habits_state:morning_run": ("Fitbit", "LogWorkout", [1, 3], "07:00"),
    "habits_state:reading_hour": ("Goodreads", "AddToShelf", [0, 1, 2, 3, 4, 5, 6], "21:30"),
}
WEEKS = 12
AS_OF = MONDAY + timedelta(weeks=WEEKS)
CHECKPOINTS = table_of(
    "checkpoints",
    [{"user_id": USER, "checkpoint_index": 0, "checkpoint_id": "c1", "as_of": AS_OF, "n_visible": 1, "last_log_id": "x",
      "cut_by": "time"}],
)  # fmt: skip


def life() -> pl.DataFrame:
    rows = noise(100, WEEKS * 7)
    for app, api, weekdays, at in HABITS.values():
        rows += kept(app, api, days(WEEKS, *weekdays), at)
    for name, when, at in (("Thai Garden", [5, 19, 33], "12:10"), ("Olive Hill", [61], "12:40")):
        rows += kept("UberEats", "PlaceOrder", when, at, response={"order": {"restaurant_name": name}})
    return numbered(rows)


def true_states() -> pl.DataFrame:
    rows = []
    for key, (_, _, weekdays, at) in HABITS.items():
        schedule = {"frequency_type": "daily"} if len(weekdays) == 7 else {
            "frequency_type": "weekly", "days_of_week": weekdays}  # fmt: skip
        value = {"schedule": schedule, "timing": {"start_time": at}}
        rows.append({"user_id": USER, "checkpoint_id": "c1", "truth": "as_of", "state_key": key, "family": "habit",
                     "expectation": "value", "value": json.dumps(value), "evidence": []})  # fmt: skip
    rows.append({"user_id": USER, "checkpoint_id": "c1", "truth": "as_of", "family": "attribute", "evidence": [],
                 "state_key": "user_attributes_state:takeout_restaurant", "expectation": "value",
                 "value": '"Thai Garden"'})  # fmt: skip
    return table_of("gold_states", rows)


def mechanical(rule: str, asked: Any) -> dict[str, float]:
    stand = standing(asked.gold_items, answer(rule, life(), asked.questions))
    scores = item_agreements(agreements(asked.gold_parts, stand)).join(asked.gold_items, on="item")
    return {row["state_key"].partition(":")[2]: row["mechanical"] for row in scores.to_dicts()}


def test_the_routine_answerer_knows_habits_by_their_time() -> None:
    asked = state_completion(true_states(), CHECKPOINTS, "as_of")
    assert mechanical("routine", asked) == {
        "budget_review": 1.0, "morning_run": 1.0, "reading_hour": 1.0, "takeout_restaurant": 0.0,
    }  # fmt: skip
    given = answer("routine", life(), asked.questions)
    told = {row["item"].rpartition(":")[2]: row for row in given.to_dicts()}
    assert told["takeout_restaurant"]["status"] == "abstained" and told["takeout_restaurant"]["evidence"] == []
    logs = life()
    cited = logs.filter(pl.col("app_log_id").is_in(told["budget_review"]["evidence"]))
    assert set(cited["app"]) == {"Chase"} and cited.height == 8, "the weeks that were looked at"


def test_majority_and_last_value_differ_where_a_choice_changed() -> None:
    asked = state_completion(true_states(), CHECKPOINTS, "as_of")
    assert mechanical("majority_choice", asked)["takeout_restaurant"] == 1.0
    last = answer("last_value", life(), asked.questions.filter(pl.col("state_key").str.ends_with("restaurant")))
    assert json.loads(last["answer"][0]) == "Olive Hill"


def test_a_due_routine_becomes_a_reminder() -> None:
    asked = services(true_states(), CHECKPOINTS, "as_of", {})
    given = answer("routine", life(), asked.questions)
    texts = dict(given.join(asked.gold_items, on="item").select("state_key", "answer").iter_rows())
    assert "Every Sunday at 09:30" in texts["habits_state:budget_review"]
    assert "budget" in texts["habits_state:budget_review"], "what the app is about names the routine"
    stand = standing(asked.gold_items, given)
    points = agreements(asked.gold_parts, stand).join(asked.gold_items.select("item", "state_key"), on="item")
    when = points.filter(state_key="habits_state:budget_review", path="timing.start_time")["agreement"]
    assert when.to_list() == [1.0]
    nothing_due = asked.questions.with_columns(scenario=pl.lit("It is Sunday at 03:00."))
    assert set(answer("routine", life(), nothing_due)["status"]) == {"abstained"}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_answers_know_nothing_after_the_cut(rule: str) -> None:
    asked = state_completion(true_states(), CHECKPOINTS, "as_of").questions
    logs = life()
    cut = logs.height // 2
    given = answer(rule, logs.head(cut), asked)
    seen = set(logs.head(cut)["app_log_id"])
    assert {one for ids in given["evidence"].to_list() for one in ids} <= seen
    with pytest.raises(ValueError, match="one user at one checkpoint"):
        answer(rule, logs, pl.concat([asked, asked.with_columns(checkpoint_id=pl.lit("c2"))]))


def test_a_years_logs_take_a_moment() -> None:
    rows = noise(900, 450)
    for app, api, weekdays, at in HABITS.values():
        rows += kept(app, api, days(64, *weekdays), at)
    logs = numbered(rows)
    begun = time.perf_counter()
    assert len(routines(logs, RoutineSettings())) >= 3
    assert time.perf_counter() - begun < 5
