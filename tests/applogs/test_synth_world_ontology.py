"""The tables of states: pools that are wide enough, slots that never meet, apps and traits and events that exist."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pipelines.applogs.schedules import FREQUENCY_TYPES
from pipelines.applogs.synthesis.apps import APPS
from pipelines.applogs.synthesis.life_events import KINDS
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import (
    DOMAINS,
    Attribute,
    Collection,
    Habit,
    Ontology,
    Preference,
    Slot,
    State,
    listed,
)
from pipelines.applogs.synthesis.ontology.slots import (
    BANDS,
    MON,
    TRAVEL,
    TUE,
    clashes,
    clock_of,
    minute_of,
    slot,
)
from pipelines.applogs.synthesis.personas import ARCHETYPES, KEPT, TRAITS
from pipelines.applogs.synthesis.seasons import SEASONS

STATES = [state for states in ONTOLOGY.values() for state in states]
HABITS = [state for state in STATES if isinstance(state, Habit)]
EFFECTS = {
    Attribute: {"modify", "detail", "add", "remove"},
    Collection: {"add", "remove"},
    Habit: {"time", "place", "days", "indoors", "drop", "acquire"},
    Preference: {"a", "b"},
}


def named(state: State) -> str:
    return state.name


def test_each_domain_has_what_the_design_asks_for() -> None:
    assert tuple(ONTOLOGY) == DOMAINS
    for states in ONTOLOGY.values():
        count = {form: sum(type(state) is form for state in states) for form in EFFECTS}
        assert 6 <= count[Attribute] <= 10 and 3 <= count[Collection] <= 5
        assert 5 <= count[Habit] <= 9 and 3 <= count[Preference] <= 5
    assert len({state.name for state in STATES}) == len(STATES)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", state.name) for state in STATES)


@pytest.mark.parametrize("state", STATES, ids=named)
def test_a_state_names_traits_events_and_effects_that_exist(state: State) -> None:
    assert set(state.traits) <= set(TRAITS)
    for on in state.moved_by:
        assert on.does in EFFECTS[type(state)], on
        assert on.kind in {kind.name for kind in KINDS} or (isinstance(state, Habit) and on.kind in SEASONS), on
        assert 0 < on.chance <= 1
        assert on.does != "indoors" or (isinstance(state, Habit) and state.indoors)
    assert len({(on.kind, on.does) for on in state.moved_by}) == len(state.moved_by)


def calls_of(state: State) -> Iterator[tuple[str, str]]:
    if isinstance(state, Attribute):
        named = state.shows
    elif isinstance(state, Habit):
        named = (*state.apps, *state.weak)
    elif isinstance(state, Preference):
        named = state.choices
    for one in named:
        app, api, *_ = one.split("/")
        yield app, api


@pytest.mark.parametrize("state", STATES, ids=named)
def test_a_state_is_seen_in_apis_that_exist(state: State) -> None:
    calls = list(calls_of(state))
    assert calls
    for app, api in calls:
        assert api in APPS[app].apis, f"{app} has no {api}"


@pytest.mark.parametrize("state", [one for one in STATES if isinstance(one, Attribute)], ids=named)
def test_pools_of_attributes_leave_near_misses_and_changes(state: Attribute) -> None:
    assert len(set(state.entities)) == len(state.entities) >= 8
    assert len(set(state.qualifiers)) == len(state.qualifiers) >= 4
    assert "{entity}" in state.act and "{qualifier}" in state.act
    if isinstance(state, Collection):
        assert len(state.entities) >= 9 and 1 <= state.size[0] <= state.size[1] <= 5


@pytest.mark.parametrize("state", HABITS, ids=named)
def test_templates_of_habits_fit_their_slots(state: Habit) -> None:
    room = minute_of(state.slot.closes) - minute_of(state.slot.opens)
    assert 0 < max(state.minutes) <= min(room, 180)
    assert set(state.frequencies) <= set(FREQUENCY_TYPES)
    assert max(state.counts) <= len(state.slot.days)
    assert len(state.words) == len(set(state.words)) >= 10 and len(state.places) >= 3
    if "daily" in state.frequencies:
        assert len(state.slot.days) == 7 and not state.slot.dates and not state.slot.weeks
    if "monthly_by_date" in state.frequencies:
        assert set(state.slot.dates) <= set(range(1, 29)) and set(state.frequencies) == {"monthly_by_date"}
    else:
        assert not state.slot.dates, "only a date keeps to the dates of a slot"
    assert not state.slot.weeks or set(state.frequencies) == {"monthly_nth_weekday"}


@pytest.mark.parametrize("state", [one for one in STATES if isinstance(one, Preference)], ids=named)
def test_poles_of_preferences_have_options_of_their_own(state: Preference) -> None:
    assert len(state.options_a) >= 5 and len(state.options_b) >= 5
    assert set(state.options_a).isdisjoint(state.options_b)
    assert state.a != state.b and len(set(state.qualifiers)) >= 3
    assert all(one.count("/") == 2 for one in state.choices)


def test_archetypes_hold_known_traits_and_every_trait_is_used() -> None:
    assert len(ARCHETYPES) == 12 and len({one.name for one in ARCHETYPES}) == 12
    for one in ARCHETYPES:
        assert len(set(one.traits)) == len(one.traits) > KEPT and set(one.traits) <= set(TRAITS)
    assert {trait for state in STATES for trait in state.traits} == set(TRAITS)
    assert {trait for one in ARCHETYPES for trait in one.traits} == set(TRAITS)


def test_words_of_life_events_are_many() -> None:
    for kind in KINDS:
        assert len(set(kind.words)) == len(kind.words) >= 3
        assert (kind.days is None) == (not kind.after)
        assert set(kind.traits) <= set(TRAITS)


def test_bands_of_the_day_are_a_buffer_apart() -> None:
    times = [(minute_of(opens), minute_of(closes)) for opens, closes in BANDS.values()]
    assert all(opens < closes for opens, closes in times)
    assert all(after[0] - before[1] >= TRAVEL for before, after in itertools.pairwise(times))


def test_no_two_templates_share_a_slot() -> None:
    assert clashes(ONTOLOGY) == []


def two(one: Slot, other: Slot) -> Ontology:
    first, second = HABITS[0], HABITS[1]
    return {"x": (replace(first, slot=one),), "y": (replace(second, slot=other),)}


NOON = Slot("12:00", "13:00", (MON,))


@pytest.mark.parametrize(
    ("other", "meet"),
    [
        (Slot("13:30", "14:00", (MON,)), False),
        (Slot("13:29", "14:00", (MON,)), True),
        (Slot("11:00", "11:30", (MON,)), False),
        (Slot("11:00", "11:31", (MON,)), True),
        (Slot("12:10", "12:20", (MON,)), True),
        (Slot("12:10", "12:20", (TUE,)), False),
        (Slot("12:10", "12:20", (TUE, MON)), True),
        (Slot("12:10", "12:20", (MON,), dates=(5,)), True),
        (Slot("12:10", "12:20", (MON,), weeks=(2,)), True),
    ],
)
def test_slots_meet_within_the_buffer_of_a_shared_day(other: Slot, meet: bool) -> None:
    assert bool(clashes(two(NOON, other))) == meet == bool(clashes(two(other, NOON)))


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ({"dates": (1, 2)}, {"dates": (3,)}, False),
        ({"dates": (1, 2)}, {"dates": (2, 3)}, True),
        ({"weeks": (1,)}, {"weeks": (2, 3)}, False),
        ({"weeks": (1, 2)}, {"weeks": (2,)}, True),
        ({"weeks": (3,)}, {"weeks": ("last",)}, False),
        ({"weeks": (4,)}, {"weeks": ("last",)}, True),
    ],
)
def test_slots_of_one_band_are_parted_by_dates_or_weeks(one: dict, other: dict, meet: bool) -> None:
    assert bool(clashes(two(slot("noon", MON, **one), slot("noon", MON, **other)))) == meet


def test_a_clash_names_both_templates() -> None:
    first, second = HABITS[:2]
    assert clashes(two(NOON, NOON)) == [f"{first.name} of x and {second.name} of y meet in their slots"]


@pytest.mark.parametrize(("clock", "minute"), [("00:00", 0), ("05:45", 345), ("23:59", 1439)])
def test_clocks_and_minutes(clock: str, minute: int) -> None:
    assert (minute_of(clock), clock_of(minute)) == (minute, clock)


def test_lists_are_parted_by_semicolons() -> None:
    assert listed(" a b;\n   c,\n d ; ") == ("a b", "c, d")
