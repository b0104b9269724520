"""Typed comparison of fields, what messages say, and how long 100,000 fields take."""

import json
import time
from typing import Any

import polars as pl
import pytest
from applog_worlds import USER, answers, gold_item
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.applogs.answers import standing
from pipelines.applogs.gold_parts import kind_of, state_parts
from pipelines.applogs.mechanical import agreements, item_agreements
from pipelines.applogs.mentions import mentioned
from pipelines.applogs.state_values import (
    BLANK,
    aligned,
    fields,
    flat_states,
    normalised,
    says_nothing,
    template,
)
from pipelines.applogs.tables import table_of


def agreed(right: Any, said: Any, minutes: float = 5) -> dict[str, float]:
    parts = table_of("gold_parts", state_parts(USER, "i", right))
    stand = standing(table_of("gold_items", [gold_item("i", right)]), answers(i=said))
    return dict(agreements(parts, stand, minutes).select("part", "agreement").iter_rows())


@pytest.mark.parametrize(
    ("right", "said", "share"),
    [
        ({"start_time": "09:30"}, {"start_time": "9:35 am"}, 1.0),
        ({"start_time": "09:30"}, {"start_time": "09:36"}, 0.0),
        ({"start_time": "23:58"}, {"start_time": "00:02"}, 1.0),
        ({"start_time": "09:30"}, {"start_time": "in the morning"}, 0.0),
        ({"days_of_week": [1, 3]}, {"days_of_week": ["Tuesday", "thu"]}, 1.0),
        ({"days_of_week": [1, 3]}, {"days_of_week": "Tuesday and Thursday"}, 1.0),
        ({"days_of_week": [1, 3]}, {"days_of_week": [1]}, 2 / 3),
        ({"day_of_week": 6}, {"day_of_week": "Sunday"}, 1.0),
        ({"frequency_type": "biweekly"}, {"frequency_type": "every two weeks"}, 1.0),
        ({"frequency_type": "monthly_by_date"}, {"frequency_type": "Monthly by date"}, 1.0),
        ({"frequency_type": "weekly"}, {"frequency_type": "daily"}, 0.0),
        ({"days_of_month": [1, 15]}, {"days_of_month": [15, 1]}, 1.0),
        ({"start_date": "2024-01-07"}, {"start_date": "2024-01-07T00:00:00"}, 1.0),
        ({"gym": "The Iron-Works"}, {"gym": "iron works"}, 1.0),
        ({"gym": "Iron Works"}, {"gym": "Iron Works Downtown"}, 0.8),
        ({"gym": "Iron Works"}, {"gym": "Gold Works"}, 0.0),
        ({"statement": "Prefers tea over milk"}, {"statement": "tea"}, 1.0),
        ({"statement": "Prefers tea over milk"}, {"statement": "milk over tea"}, 0.0),
        (
            {"value": "Usually prefers tea over milk, at night"},
            {"value": "Usually likes tea over milk"},
            0.8 + 0.2 * 2 / 3,
        ),
        ({"title": "Bridge over Troubled Water"}, {"title": "Bridge"}, 0.0),
        ({"gym": "Iron Works"}, {"gym": ["Iron Works"]}, 0.0),
        ({"gym": "Iron Works"}, "Iron Works", 0.0),
        ({"limit": 1500}, {"limit": "1,500.0"}, 1.0),
        ({"paid": False}, {"paid": "false"}, 1.0),
        ({"paid": False}, {"paid": True}, 0.0),
        ({"gear": ["Mat", "Shoes"]}, {"gear": ["shoes", "bike"]}, 0.5),
        ({"gear": ["Mat, blue", "Shoes"]}, {"gear": ["shoes", "mat"]}, 0.9),
        ({"a.b": {"c": "x"}}, {"a.b": {"c": "X"}}, 1.0),
        ({"mood": "???"}, {"mood": "???"}, 1.0),
        ({"start_time": "after work"}, {"start_time": "After work."}, 1.0),
    ],
)
def test_fields_by_type(right: Any, said: Any, share: float) -> None:
    [value] = agreed(right, said).values()
    assert value == pytest.approx(share)


def test_a_value_without_fields_is_one_field() -> None:
    assert agreed("Iron Works", "iron works") == {"value": 1.0}
    assert agreed(["a", "b"], ["b"]) == {"value": pytest.approx(2 / 3)}
    assert agreed("Iron Works", {"value": "iron works"}) == {"value": 1.0}


@pytest.mark.parametrize(
    ("kind", "right", "message", "share"),
    [
        ("time of day", "09:30", "Sunday 9:30am: review", 1.0),
        ("time of day", "09:30", "At 8:00, no, at 09:26!", 1.0),
        ("time of day", "09:30", "at 19:30", 0.0),
        ("time of day", "19:00", "tonight at 7 pm", 1.0),
        ("time of day", "09:30", "in the morning", 0.0),
        ("weekdays", ["6"], "every Sunday", 1.0),
        ("weekdays", ["1", "3"], "on Tuesday, as on Friday", 0.5),
        ("weekdays", ["6"], "the monkey sat down", 0.0),
        ("frequency", "weekly", "as every Sunday", 1.0),
        ("frequency", "weekly", "on Sundays", 1.0),
        ("frequency", "weekly", "this Sunday", 0.0),
        ("frequency", "daily", "your everyday walk", 1.0),
        ("frequency", "biweekly", "every other week", 1.0),
        ("frequency", "weekly", "a biweekly call", 0.0),
        ("frequency", "weekly", "a bi-weekly call", 0.0),
        ("frequency", "Weekly", "as every Sunday", 1.0),
        ("frequency", "every (odd) Monday", "Every (odd) Monday!", 1.0),
        ("identity", "budget review", "Time to review your budgets", 1.0),
        ("identity", "budget review", "time for your run", 0.0),
        ("identity", "budget review", "Budgets are due", 1.0),
        ("identity", "budget review", "Review your spending", 0.0),
        ("identity", "reading hour", "are you ready?", 0.0),
        ("identity", "reading hour", "an hour with a book", 0.0),
        ("identity", "weekly planning", "plan your week", 1.0),
        ("identity", "weekly planning", "your weekly check", 0.0),
        ("identity", "morning run", "it is time for your runs", 1.0),
        ("identity", "morning run", "a brunch in the morning", 0.0),
        ("identity", "evening walk with spouse", "your walk", 0.0),
        ("identity", "morning routine", "your morning coffee", 0.0),
        ("identity", "morning routine", "your morning routine", 1.0),
        ("identity", "evening walk with spouse", "Your evening walking with your spouse", 1.0),
        ("entity", "Schenley Park", "meet at Schenley Park.", 1.0),
        ("entity", "Park", "meet at Parkway", 0.0),
        ("entity", "Schenley Park, north gate", "meet at Schenley Park", 0.8),
        ("entity", "Schenley Park, north gate", "north side of Schenley Park", 0.9),
        ("entity", "Schenley Park, north gate", "at the north gate", 0.0),
        ("set", ["mat", "shoes"], "bring your mat", 0.5),
    ],
)
def test_what_messages_say(kind: str, right: Any, message: str, share: float) -> None:
    assert mentioned(pl.Series([right]), pl.Series([message]), kind, 5.0).to_list() == [pytest.approx(share)]
    alone = mentioned(pl.Series([right, right]), pl.Series([None, message], dtype=pl.String), kind, 5.0).to_list()
    assert alone == [0.0, pytest.approx(share)], "no row depends on another"


def test_kinds() -> None:
    cases = {
        ("timing.start_time", "09:30"): "time of day",
        ("timing.start_time", "25:30"): "entity",
        ("schedule.days_of_week", (6,)): "weekdays",
        ("schedule.days_of_week", ("x",)): "set",
        ("schedule.week_of_month", 2): "number",
        ("schedule.week_of_month", "last"): "entity",
        ("start_date", "2024-13-01"): "entity",
    }
    for (path, value), kind in cases.items():
        assert kind_of(path, list(value) if isinstance(value, tuple) else value) == kind, path


scalars = st.one_of(
    st.text(max_size=12), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.none()
)
names = st.sampled_from(["start_time", "days_of_week", "frequency_type", "x", "a.b", "start_date", "from", "priority"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)


@settings(deadline=None)
@given(values, values)
def test_any_right_value_agrees_with_itself_and_any_answer_can_be_compared(value: Any, other: Any) -> None:
    right = normalised(value)
    if right is None:
        return
    if not says_nothing(right):
        assert set(agreed(right, right).values()) == {1.0}
    assert all(0 <= share <= 1 for share in agreed(right, other).values())


@given(values)
def test_normalising_is_idempotent_and_templates_have_the_shape(value: Any) -> None:
    right = normalised(value)
    if isinstance(right, dict) and {name.lower() for name in right} <= {"from", "to"}:
        return  # A transition inside a transition.
    assert normalised(right) == right
    if right is not None:
        assert [path for path, _, _ in fields(template(right))] == [path for path, _, _ in fields(right)]
        if "[" not in json.dumps(right):  # Elements of a list take the shape of its first.
            assert aligned(template(right), right) == right


def test_normalising() -> None:
    assert normalised({"From": "a", "TO": {"x": 1, "priority": 2, "y": []}}) == {"x": 1}
    assert normalised({"priority": 1, "schedule_dates": ["2024-01-01"]}) is None
    assert normalised({"from": "a"}) is None
    assert normalised({"from": "a", "to": "b", "c": 1}) == {"from": "a", "to": "b", "c": 1}
    assert template({"d": [1, 2], "t": {"s": "x"}}) == {"d": [BLANK, BLANK], "t": {"s": BLANK}}
    assert aligned({"a": BLANK, "d": [{"x": BLANK}]}, {"a": 1, "b": 2, "d": [{"y": 3}, {"x": 4}]}) == {
        "a": 1,
        "d": [{"x": None}, {"x": 4}],
    }
    assert list(fields({"b": [1, 2], "a": {"c": 3}}, lists=True)) == [
        ("a.c", 3, None),
        ("b.0", 1, None),
        ("b.1", 2, None),
    ]
    assert flat_states({"habits_state": {"run": 1}}) == flat_states({"habits_state:run": 1}) == {"habits_state:run": 1}


def test_100_000_fields_in_seconds() -> None:
    right = {
        "schedule": {"frequency_type": "weekly", "days_of_week": [1, 3]},
        "timing": {"start_time": "09:30"},
        "location": "Schenley Park",
        "count": 3,
    }
    n = 20_000
    rows = [state_parts(USER, f"i{i}", right | {"count": i, "location": f"Park {i}"}) for i in range(n)]
    parts = table_of("gold_parts", (row for item in rows for row in item))
    assert parts.height == 100_000
    items = table_of("gold_items", [gold_item(f"i{i}", "x") for i in range(n)])
    said = {f"i{i}": right | {"count": i % 1000, "location": f"park {i}"} for i in range(n)}
    given_answers = answers(**said)
    begun = time.process_time()
    table = agreements(parts, standing(items, given_answers))
    units = item_agreements(table)
    took = time.process_time() - begun
    assert table["agreement"].sum() == 80_000 + 1000
    assert units["mechanical"].mean() == pytest.approx((80_000 + 1000) / 100_000)
    assert took < 10, f"{took:.1f} s of work"


@settings(deadline=None)
@given(st.permutations(range(6)))
def test_row_order_does_not_matter(order: list[int]) -> None:
    rights = {f"i{i}": {"start_time": f"0{i}:00", "x": str(i)} for i in range(6)}
    parts = table_of("gold_parts", (row for item, right in rights.items() for row in state_parts(USER, item, right)))
    stand = standing(table_of("gold_items", [gold_item(i) for i in rights]), answers(**rights))
    mixed = agreements(parts.with_row_index("r").sort(pl.col("r") % 5, "r").drop("r"), stand[list(order)])
    assert mixed.equals(agreements(parts, stand))
    assert json.loads(mixed["given"][0]) == "00:00"
