"""Changes → intervals: what waits, what is passed over, what is undone; by hand, on states that are one word."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from pipelines.applogs.synthesis.ontology.forms import Attribute, On, State
from pipelines.applogs.synthesis.timelines import (
    LAST,
    QUIET,
    STRANGE,
    Change,
    Life,
    Line,
    fitted,
    in_order,
    lived,
    midnight,
    plan,
)
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import START, Interval, LifeEvent, Persona, Span

SPAN = Span()
DAY = timedelta(days=1)
HERE = Place("1/user/domain/state")
MOVE = LifeEvent("move-w1-0", "move", START + 100 * DAY, "we moved")
TRIP = LifeEvent("trip-w1-0", "trip", START + 100 * DAY, "we are away", START + 140 * DAY, "we are back")


def day(n: float) -> datetime:
    return START + n * DAY


def change(at: float, does: str, event: LifeEvent | None = None, until: float | None = None) -> Change:
    return Change(day(at), does, HERE.at(at), "it was time", event, None if until is None else day(until))


@dataclass(frozen=True)
class Words:
    begins: str = "add"
    ends: str = "remove"

    def told(self, choice: str) -> tuple[Any, dict[str, Any]]:
        return choice, {}

    def operation(self, before: str, after: str) -> str:
        return "modify"


def live(first: str | None, *changes: Change, rest: timedelta = QUIET) -> list[Interval]:
    line: Line[str] = Line("word", "attribute", "leisure_media", SPAN, Words())
    return lived(line, first, changes, lambda held, one: None if one.does == "remove" else one.does, rest)


def told(intervals: list[Interval]) -> list[tuple[Any, ...]]:
    return [
        (
            one.value,
            (one.valid_from - START).days,
            None if one.valid_to is None else (one.valid_to - START).days,
            one.operation,
            one.ended_by,
            one.cause,
        )
        for one in intervals
    ]


def test_values_follow_each_other() -> None:
    found = live("a", change(30, "b"), change(60, "remove"), change(90, "c", MOVE))
    assert told(found) == [
        ("a", 0, 30, "initial", "modify", None),
        ("b", 30, 60, "modify", "remove", None),
        ("c", 90, None, "add", None, "move-w1-0"),
    ]
    assert [one.value_id for one in found] == ["word#0", "word#1", "word#2"]
    assert {one.key for one in found} == {"user_attributes_state:word"}
    assert [one.facts for one in found] == [
        {},
        {"reason": "it was time", "end_reason": "it was time", "end_cause": None},
        {"reason": "it was time"},
    ]


def test_what_passes_is_undone_by_the_words_of_its_end() -> None:
    found = live("a", change(105, "b", TRIP, until=142))
    assert told(found) == [
        ("a", 0, 105, "initial", "modify", None),
        ("b", 105, 142, "modify", "revert", "trip-w1-0"),
        ("a", 142, None, "modify", None, "trip-w1-0"),
    ]
    assert found[2].facts == {"reason": "we are back", "returns_to": "word#0"}


def test_a_pause_comes_back_and_a_guest_leaves() -> None:
    pause = live("a", change(105, "remove", TRIP, until=142))
    assert told(pause) == [
        ("a", 0, 105, "initial", "remove", None),
        ("a", 142, None, "add", None, "trip-w1-0"),
    ]
    assert pause[0].facts["end_cause"] == "trip-w1-0"
    assert pause[1].facts["returns_to"] == "word#0"
    guest = live(None, change(105, "b", TRIP, until=142))
    assert told(guest) == [("b", 105, 142, "add", "revert", "trip-w1-0")]
    assert guest[0].facts["end_reason"] == "we are back"


def test_nothing_comes_while_something_passing_holds() -> None:
    found = live("a", change(105, "b", TRIP, until=142), change(120, "c"), change(142 + 21, "d"))
    assert [one.value for one in found] == ["a", "b", "a", "d"]


def test_what_leaves_the_state_alone_makes_no_interval() -> None:
    assert told(live("a", change(30, "a"))) == [("a", 0, None, "initial", None, None)]
    assert live(None, change(30, "remove")) == []


@pytest.mark.parametrize(("second", "values"), [(50, ["a", "b"]), (51, ["a", "b", "c"])])
def test_a_state_is_quiet_after_a_change(second: int, values: list[str]) -> None:
    assert [one.value for one in live("a", change(30, "b"), change(second, "c"))] == values


def test_only_what_comes_by_itself_keeps_the_longer_rest() -> None:
    rest = 180 * DAY
    assert [one.value for one in live("a", change(30, "b"), rest=rest)] == ["a"]
    assert [one.value for one in live("a", change(180, "b"), rest=rest)] == ["a", "b"]
    assert [one.value for one in live("a", change(30, "b", MOVE), rest=rest)] == ["a", "b"]


def test_what_a_life_event_does_for_good_waits_until_it_may() -> None:
    early = change(30, "b", MOVE)
    assert fitted(early, day(40), SPAN) == replace(early, moment=day(40))
    assert fitted(change(30, "b"), day(40), SPAN) is None
    assert fitted(change(30, "b", TRIP, until=90), day(40), SPAN) is None


def test_what_passes_must_have_its_time() -> None:
    quiet = QUIET.days
    whole = change(30, "b", TRIP, until=30 + quiet)
    assert fitted(whole, START, SPAN) == whole
    assert fitted(change(30, "b", TRIP, until=30 + quiet - 1), START, SPAN) is None


def test_what_would_be_undone_after_the_span_holds_to_its_end() -> None:
    last = (SPAN.end - LAST - START).days
    inside, outside = (change(300, "b", TRIP, until=until) for until in (last, last + 1))
    assert fitted(inside, START, SPAN) == inside
    kept = fitted(outside, START, SPAN)
    assert kept is not None and kept.until is None


def test_near_the_ends_of_a_span_nothing_changes() -> None:
    last = (SPAN.end - LAST - START).days
    changes = [change(at, "b") for at in (last + 1, last, 100, 21, 20)]
    assert [(one.moment - START).days for one in in_order(changes, SPAN)] == [21, 100, last]


def test_a_value_that_does_not_hold_cannot_end() -> None:
    line: Line[str] = Line("word", "attribute", "leisure_media", SPAN, Words())
    with pytest.raises(ValueError, match="user_attributes_state:word holds no value that could end at"):
        line.stop(day(30), change(30, "remove"), "remove")


@pytest.mark.parametrize("clock", [(0, 0), (12, 30), (23, 59)])
def test_changes_land_on_the_next_midnight(clock: tuple[int, int]) -> None:
    assert midnight(datetime(2024, 2, 29, *clock)) == datetime(2024, 3, 1)


def life(seed: int, traits: tuple[str, ...] = ("music",)) -> Life:
    persona = Persona("u", "x", "y", "z", "w", {"traits": list(traits)})
    return Life(Place(f"{seed}/u"), persona, SPAN, (MOVE, TRIP))


def state(*moved_by: On, traits: tuple[str, ...] = ()) -> State:
    pair = {"act": "{entity}{qualifier}", "category": "c", "shows": (), "entities": ("a",), "qualifiers": ("b",)}
    return Attribute(name="word", label="word", traits=traits, moved_by=moved_by, **pair)


def struck(one: State, users: int = 2000) -> list[Change]:
    return [found for seed in range(users) for found in plan(life(seed), Place(f"{seed}/u/d/word"), one, {}, {})]


@pytest.mark.parametrize(
    ("on", "traits", "likely"),
    [
        (On("move", "modify", 0.4), (), 0.4),
        (On("move", "add", 0.4), ("music",), 0.4),
        (On("move", "add", 0.4), ("pet",), 0.4 * STRANGE),
        (On("move", "modify", 0.4), ("pet",), 0.4),
        (On("move", "add", 1), ("pet",), 1),
        (On("injury", "add", 1), (), 0),
    ],
)
def test_life_events_strike_as_often_as_the_tables_say(on: On, traits: tuple[str, ...], likely: float) -> None:
    found = struck(state(on, traits=traits))
    assert len(found) / 2000 == pytest.approx(likely, abs=0.035 if 0 < likely < 1 else 0)


def test_effects_come_soon_after_their_event_and_sooner_where_it_passes() -> None:
    for_good = {(one.moment - MOVE.moment).days for one in struck(state(On("move", "modify", 1)))}
    passing = struck(state(On("trip", "modify", 1)))
    assert for_good == set(range(1, 15))
    assert {(one.moment - TRIP.moment).days for one in passing} == set(range(1, 5))
    assert TRIP.until is not None
    assert {(one.until - TRIP.until).days for one in passing if one.until} == set(range(1, 6))
    assert all(one.until is None for one in struck(state(On("trip", "modify", 1, stays=True))))


def test_rates_are_chances_a_window() -> None:
    reasons = {"change": ("why not",), "begin": (), "end": ()}
    found = [
        one
        for seed in range(1000)
        for one in plan(life(seed), Place(f"{seed}/u/d/word"), state(), {"modify": 0.3}, reasons)
    ]
    # In the first and the last window some days are quiet.
    assert len(found) / 1000 == pytest.approx(0.3 * (5 - 21 / 92 - 14 / 92), abs=0.08)
    assert {one.reason for one in found} == {"why not"}


@pytest.mark.parametrize(
    ("traits", "fit"), [((), "suits"), (("music",), "suits"), (("pet",), "strange"), (("parent",), "never")]
)
def test_how_a_state_fits_a_user(traits: tuple[str, ...], fit: str) -> None:
    assert life(0).fit(state(traits=traits)) == fit
    assert life(0, ("parent",)).fit(state(traits=("parent", "partner"))) == "suits"
    assert life(0).fit(state(traits=("parent", "pet"))) == "strange"
