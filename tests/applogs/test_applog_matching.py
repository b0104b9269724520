"""Lists held against all that is true: known answers, a brute-force oracle of the matching, no order that counts."""

import json
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from applog_worlds import USER, answers
from hypothesis import given, settings
from hypothesis import strategies as st
from test_applog_tasks import CHECKPOINTS

from pipelines.applogs.answers import standing
from pipelines.applogs.matching import TOLD, entries, matched
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.no_key import no_key
from pipelines.applogs.scores import points_by_rule, units
from pipelines.applogs.tables import table_of
from pipelines.applogs.tasks import Asked

HABITS = f"{USER}/c1/list/habit"


def weekly(days: list[int], start: str) -> dict[str, Any]:
    return {"schedule": {"frequency_type": "weekly", "days_of_week": days}, "timing": {"start_time": start}}


def entry(days: list[int] | None, start: str, frequency: str | None = "weekly", name: str = "x") -> dict[str, Any]:
    return {"name": name, "frequency_type": frequency, "days_of_week": days, "start_time": start}


def asked(*habits: Any, expectation: str = "value", **attributes: Any) -> Asked:
    """Lists of habits `h0`, `h1`, … and attributes that are true at one checkpoint."""
    place = {"user_id": USER, "checkpoint_id": "c1", "truth": "as_of", "evidence": [], "evidence_previous": [],
             "distractors": []}  # fmt: skip
    true = [(f"habits_state:h{n}", "habit", value) for n, value in enumerate(habits)]
    true += [(f"user_attributes_state:{name}", "attribute", value) for name, value in attributes.items()]
    rows = [
        {**place, "state_key": key, "family": family, "expectation": expectation, "value": json.dumps(value)}
        for key, family, value in true
    ]
    return no_key(table_of("gold_states", rows), CHECKPOINTS, "as_of", 30)


def scored(made: Asked, said: Any, item: str = HABITS) -> dict[str, Any]:
    """The unit of one list."""
    mine = [table.filter(pl.col("item") == item) for table in (made.gold_items, made.gold_parts)]
    given = answers(**{item: said})
    stand = standing(mine[0], given)
    agreed = agreements(mine[1], stand)
    return units(stand, agreed, correct=points_by_rule(agreed)).row(0, named=True)


TWO = asked(weekly([6], "09:30"), weekly([1, 3], "07:00"))


def test_what_a_list_is_worth_by_hand() -> None:
    said = [entry([6], "09:33"), entry([1], "07:00"), entry(None, "21:00", "daily")]
    row = scored(TWO, said)
    # The first is the first routine in full; of the second frequency, time, and days by F1 of {1} and {1, 3}.
    total = 1 + (1 + 2 / 3 + 1) / 3
    assert row["list_precision"] == pytest.approx(total / 3)
    assert row["list_recall"] == pytest.approx(total / 2)
    assert row["mechanical"] == pytest.approx(2 * total / (3 + 2))
    assert (row["status"], row["n_fields"], row["score"], row["points"]) == ("ok", 2, None, None)
    assert (row["state_key"], row["family"]) == (None, "habit")


def test_what_is_right_is_worth_all_whatever_it_is_called() -> None:
    reference = json.loads(TWO.gold_items.filter(item=HABITS)["reference"][0])
    assert [one["name"] for one in reference] == ["h0", "h1"]
    for name in ("h0", "h1", None):
        row = scored(TWO, [{**one, "name": name} for one in reference])
        assert (row["mechanical"], row["list_precision"], row["list_recall"]) == (1.0, 1.0, 1.0)


def test_an_entry_tells_one_state_and_a_state_is_told_once() -> None:
    one, other = entry([6], "09:30"), entry([1, 3], "07:00")
    assert scored(TWO, [one])["mechanical"] == pytest.approx(2 / 3)
    assert scored(TWO, [one, one, one])["mechanical"] == pytest.approx(2 / 5), "said again it costs precision"
    assert scored(TWO, [one, other, one])["mechanical"] == pytest.approx(4 / 5)


def test_the_best_pair_is_not_always_part_of_the_best_matching() -> None:
    both = asked(weekly([1, 3], "07:00"), weekly([1], "07:00"))
    sure, vague = entry([1, 3], "07:00"), entry([3], "07:00", None)
    # `sure` is the first routine in full, but `vague` agrees with it alone: 8/9 + 5/9 is more than 1.
    assert scored(both, [sure, vague])["mechanical"] == pytest.approx(2 * (8 / 9 + 5 / 9) / 4)


def test_less_than_half_of_a_state_tells_nothing_of_it() -> None:
    third, half = entry([2], "20:00"), entry([6], "20:00")
    assert scored(TWO, [third])["mechanical"] == 0.0, "weekly alone, as both are"
    assert scored(TWO, [half])["mechanical"] == pytest.approx(2 * (2 / 3) / 3)
    assert TOLD == 0.5
    tools = asked(tools=["saw", "plane", "chisel"])
    found = [scored(tools, [{"value": said}], f"{USER}/c1/list/attribute") for said in (["saw", "plane"], ["saw"])]
    # Of three tools two are F1 0.8, one is F1 0.5.
    assert [row["mechanical"] for row in found] == [pytest.approx(0.8), pytest.approx(0.5)]


def test_a_list_that_holds_nothing_is_an_abstention() -> None:
    nothing: list[Any] = [[], [{}], [{"name": None, "value": "unknown"}], None, ("abstained", None, [])]
    for said in nothing:
        row = scored(TWO, said)
        assert (row["status"], row["mechanical"], row["list_precision"], row["list_recall"]) == ("abstained", 0, 0, 0)
    assert scored(TWO, [{"name": "the review"}])["status"] == "ok", "a name alone is an entry, which says nothing right"
    assert scored(TWO, [{"name": "the review"}])["mechanical"] == 0.0


@pytest.mark.parametrize(("said", "worth"), [([], 1.0), ([entry([6], "09:30")], 0.0)])
def test_where_nothing_is_true_the_empty_list_is_right(said: Any, worth: float) -> None:
    row = scored(TWO, said, f"{USER}/c1/list/attribute")
    assert row["expectation"] == "never"
    assert (row["mechanical"], row["list_precision"], row["list_recall"]) == (worth, worth, worth)
    assert row["n_fields"] == 1


def test_entries_in_another_form_are_read_as_far_as_they_go() -> None:
    item = f"{USER}/c1/list/attribute"
    gym = asked(gym="Iron Works")
    for said in (["iron works"], {"value": "iron works"}, "iron works", [{"value": "iron works"}, "", None, {}]):
        assert scored(gym, said, item)["mechanical"] == 1.0, said
    assert scored(gym, [["iron works"], 7], item)["list_precision"] == 0.0
    assert entries('[{"b": 1}, {"a": [null]}, "x"]') == [{"b": 1}, {"value": "x"}]


grids = st.integers(1, 4).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from([0.0, 0.2, 0.49, 0.5, 0.6, 0.75, 0.9, 1.0]), min_size=n, max_size=n),
        min_size=1,
        max_size=4,
    )
)


def brute(grid: list[list[float]]) -> float:
    """The largest sum over all ways to give each state an entry of its own, or none."""
    states, given = len(grid), len(grid[0])
    slots = [*range(given), *[None] * states]
    worth = [[cell if cell >= TOLD else 0.0 for cell in row] for row in grid]
    return max(
        sum(worth[s][e] for s, e in enumerate(chosen) if e is not None) for chosen in set(permutations(slots, states))
    )


@settings(max_examples=60, deadline=None)
@given(grids, st.randoms(use_true_random=False))
def test_no_matching_is_worth_more(grid: list[list[float]], draw: Any) -> None:
    place = {"user_id": USER, "item": "i"}
    parts = [{**place, "of_state": f"s{s}", "part": f"s{s}.value"} for s in range(len(grid))]
    cells = [
        {**place, "of_state": f"s{s}", "part": f"s{s}.value", "entry": e, "agreement": cell}
        for s, row in enumerate(grid)
        for e, cell in enumerate(row)
    ]
    frames = [pl.DataFrame(rows, schema_overrides={"entry": pl.Int32}) for rows in (parts, cells)]
    found = matched(*frames)
    assert found["of_state"].is_unique().all() and found["entry"].is_unique().all()
    total = sum(grid[int(state[1:])][entry] for state, entry in found.select("of_state", "entry").iter_rows())
    assert total == pytest.approx(brute(grid))
    assert found.equals(matched(*(frame.sample(fraction=1, shuffle=True, seed=draw.randrange(99)) for frame in frames)))


times = st.sampled_from(["07:00", "07:04", "09:30", "21:00"])
days = st.lists(st.integers(0, 6), min_size=1, max_size=3, unique=True)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(days, times), min_size=1, max_size=4), st.lists(st.tuples(days, times), max_size=5),
       st.randoms(use_true_random=False))  # fmt: skip
def test_neither_the_order_of_entries_nor_that_of_states_counts(true: Any, said: Any, draw: Any) -> None:
    told = [entry(*one, name=f"n{n}") for n, one in enumerate(said)]
    mixed, made = draw.sample(told, len(told)), asked(*(weekly(*one) for one in true))
    row = scored(made, told)
    assert row == scored(made, mixed)
    assert 0 <= row["mechanical"] <= 1 and (row["mechanical"] == 1) == (
        row["list_precision"] == row["list_recall"] == 1
    )
    other = asked(*(weekly(*one) for one in draw.sample(true, len(true))))
    numbers = ("mechanical", "list_precision", "list_recall", "n_fields")
    assert [scored(other, told)[name] for name in numbers] == pytest.approx([row[name] for name in numbers])


def test_lists_of_many_users_are_scored_each_for_itself() -> None:
    items, parts = (
        pl.concat(
            table.filter(item=HABITS).with_columns(user_id=pl.lit(f"u{n}")) for n in range(3)
        )
        for table in (TWO.gold_items, TWO.gold_parts)
    )  # fmt: skip
    lists = [[entry([6], "09:30")], [], [entry([6], "09:30"), entry([1, 3], "07:00")]]
    given = table_of("answers", [
        {"user_id": f"u{n}", "item": HABITS, "status": "ok", "answer": json.dumps(said), "evidence": []}
        for n, said in enumerate(lists)
    ])  # fmt: skip
    stand = standing(items, given)
    table = units(stand, agreements(parts, stand))
    assert table["mechanical"].to_list() == [pytest.approx(2 / 3), 0.0, 1.0]
    told = agreements(parts, stand).filter(user_id="u0").select("of_state", "part", "given", "agreement").rows()
    assert told == [
        ("habits_state:h0", "habits_state:h0.days_of_week", "[6]", 1.0),
        ("habits_state:h0", "habits_state:h0.frequency_type", '"weekly"', 1.0),
        ("habits_state:h0", "habits_state:h0.start_time", '"09:30"', 1.0),
        ("habits_state:h1", "habits_state:h1.days_of_week", None, 0.0),
        ("habits_state:h1", "habits_state:h1.frequency_type", None, 0.0),
        ("habits_state:h1", "habits_state:h1.start_time", None, 0.0),
    ]
