"""Worlds of synthetic users: the same for a seed, each state by itself, as many and as lively as the published ones."""

import os
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from statistics import mean

import pytest

from pipelines.applogs.schedules import FREQUENCY_TYPES, occurs
from pipelines.applogs.synthesis import attributes, habits
from pipelines.applogs.synthesis.life_events import KINDS, life_events_of
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, On, Ontology, Preference, State
from pipelines.applogs.synthesis.ontology.slots import TUE, minute_of, slot
from pipelines.applogs.synthesis.personas import BOUND, COMPANY, persona_of
from pipelines.applogs.synthesis.preferences import BOUNDS, statement, weight_at
from pipelines.applogs.synthesis.seasons import SEASONS
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval, Span, World
from pipelines.applogs.synthesis.worlds import world_of

SEED = 20231001
STATES = {state.name: state for states in ONTOLOGY.values() for state in states}


@cache
def world(index: int) -> World:
    return world_of(SEED, index)


def worlds() -> list[World]:
    return [world(index) for index in range(30)]


def name_of(one: Interval) -> str:
    return one.key.partition(":")[2]


def held(one: World, moment: datetime) -> dict[str, list[str]]:
    """Key → texts of the values that hold, member by member."""
    found: dict[str, list[str]] = defaultdict(list)
    for interval in one.intervals:
        if interval.valid_from <= moment and (interval.valid_to is None or moment < interval.valid_to):
            found[interval.key].append(repr(interval.value))
    return dict(found)


def cuts(span: Span) -> list[datetime]:
    return [span.opening(window) - timedelta(seconds=1) for window in range(1, span.windows + 1)]


def test_a_seed_gives_the_same_world_in_another_process() -> None:
    code = f"from pipelines.applogs.synthesis.worlds import world_of; print(repr(world_of({SEED}, 3)))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, zone in (("0", "UTC"), ("77", "Asia/Tokyo"))
    }
    assert told == {repr(world_of(SEED, 3))}


def test_seeds_and_users_differ() -> None:
    assert world_of(SEED + 1, 0).intervals != world(0).intervals
    assert world(0).persona.user_id == "001_user_001"
    assert world(29).persona.user_id == "030_user_030"
    assert len({repr(one.intervals) for one in worlds()}) == 30


def fresh_states() -> dict[str, State]:
    """A new state of each form, the habit in a free slot."""
    common = {"label": "window box", "moved_by": (On("move", "modify", 0.9),)}
    pair = {"act": "keep {entity}, {qualifier}", "category": "plants", "shows": ("Amazon/Checkout",)}
    pools = {"entities": tuple("abcdefgh"), "qualifiers": ("in a pot", "in a box")}
    return {
        "attribute": Attribute(name="window_box", **common, **pair, **pools),
        "collection": Collection(name="window_boxes", **common, **pair, **pools),
        "habit": Habit(
            name="watering",
            label="watering",
            activity="watering the plants",
            category="Plants",
            apps=("Notion/UpdatePage",),
            words=("a can and a half",),
            minutes=(15,),
            slot=slot("lunch", TUE),
            places=(("Balcony", "Home"),),
        ),
        "preference": Preference(
            name="plant_kind",
            label="plants",
            axis="herbs or flowers",
            a="herbs",
            b="flowers",
            qualifiers=("above all in spring", "on the balcony"),
            choices=("Amazon/AddToCart/plants",),
            options_a=("basil", "sage"),
            kinds_a=("kitchen pot", "salad bed"),
            options_b=("tulips", "asters"),
            kinds_b=("cut blooms", "borders"),
        ),
    }


@pytest.mark.parametrize("form", ["attribute", "collection", "habit", "preference"])
@pytest.mark.parametrize("first", [True, False], ids=["put first", "put last"])
def test_one_state_more_changes_no_other(form: str, first: bool) -> None:
    state = fresh_states()[form]
    states = ONTOLOGY["leisure_media"]
    wider: Ontology = {**ONTOLOGY, "leisure_media": (state, *states) if first else (*states, state)}
    came = 0
    for index in range(12):
        before, after = world(index), world_of(SEED, index, ontology=wider)
        others = tuple(one for one in after.intervals if name_of(one) != state.name)
        assert others == before.intervals
        assert (after.persona, after.life_events) == (before.persona, before.life_events)
        came += len(others) < len(after.intervals)
    assert came >= 6, "the new state suits everybody, so most must hold it"


def test_the_order_of_the_ontology_does_not_matter() -> None:
    turned: Ontology = {domain: states[::-1] for domain, states in reversed(ONTOLOGY.items())}
    assert world_of(SEED, 5, ontology=turned) == world(5)


def test_states_at_the_five_quarters_are_as_many_as_published() -> None:
    counts = [[len(held(one, cut)) for cut in cuts(one.span)] for one in worlds()]
    everyone = [count for user in counts for count in user]
    assert 34 <= mean(everyone) <= 42
    assert all(20 <= count <= 60 for count in everyone)
    assert sum(30 <= count <= 45 for count in everyone) >= 0.8 * len(everyone)


def test_between_quarters_some_states_change_come_and_go() -> None:
    shares, gone, late = [], [], []
    for one in worlds():
        states = [held(one, cut) for cut in cuts(one.span)]
        for before, after in pairwise(states):
            keys = before.keys() | after.keys()
            shares.append(sum(before.get(key) != after.get(key) for key in keys) / len(keys))
        ever = {interval.key for interval in one.intervals}
        gone.append(len(ever - states[-1].keys()))
        late.append(len(ever - states[0].keys()))
    assert 0.15 <= mean(shares) <= 0.28
    assert sum(0.1 <= share <= 0.4 for share in shares) >= 0.85 * len(shares)
    assert mean(gone) >= 2 and mean(late) >= 3


def test_every_domain_family_and_frequency_is_lived() -> None:
    intervals = [one for user in worlds() for one in user.intervals]
    lived = {(one.domain, one.family, one.member is not None) for one in intervals}
    sets = [("attribute", False), ("attribute", True), ("habit", False), ("preference", False)]
    assert lived == {(domain, *pair) for domain in ONTOLOGY for pair in sets}
    kinds = {one.value["schedule"]["frequency_type"] for one in intervals if one.family == "habit"}
    assert kinds == set(FREQUENCY_TYPES)
    assert {one.operation for one in intervals} == {
        "initial", "modify", "add", "acquire", "adjust", "shift", "refine"}  # fmt: skip
    assert {one.ended_by for one in intervals} >= {"modify", "adjust", "remove", "drop", "revert", "shift", "refine"}


def test_one_to_three_life_events_a_window_besides_seasons() -> None:
    seen = set()
    for one in worlds():
        events = [event for event in one.life_events if event.kind not in SEASONS]
        counts = [sum(one.span.window_of(event.moment) == n for event in events) for n in range(one.span.windows)]
        seen |= set(counts)
        assert list(one.life_events) == sorted(one.life_events, key=lambda event: (event.moment, event.id))
        assert all(event.until is None or event.until > event.moment for event in events)
        assert all(bool(event.after) == (event.until is not None) for event in events)
    assert seen == {1, 2, 3}


def test_life_events_move_states_of_several_domains_that_say_so() -> None:
    across = several = 0
    for one in worlds():
        events = {event.id: event for event in one.life_events}
        moved = defaultdict(set)
        for interval in one.intervals:
            if interval.cause is not None:
                event, state = events[interval.cause], STATES[name_of(interval)]
                assert event.kind in {on.kind for on in state.moved_by}
                assert event.moment < interval.valid_from
                assert interval.facts["reason"] in (event.words, event.after)
                moved[interval.cause].add(interval.domain)
        chief = [event for event in one.life_events if event.kind not in SEASONS]
        across += sum(len(moved[event.id]) >= 2 for event in chief)
        several += len(chief)
    assert across >= 0.35 * several


def test_the_same_does_not_happen_again_too_soon() -> None:
    kinds = {kind.name: kind for kind in KINDS}
    for index in range(120):
        root = Place(f"{SEED}/{index}")
        persona = persona_of(root, "x")
        happened = defaultdict(list)
        for event in life_events_of(root, persona, Span()):
            happened[event.kind].append(event.moment)
            traits = kinds[event.kind].traits
            assert not traits or not set(traits).isdisjoint(persona.facts["traits"])
        for kind, moments in happened.items():
            again = kinds[kind].again
            assert again is not None or len(moments) == 1
            assert all(after - before >= timedelta(days=again or 0) for before, after in pairwise(moments))


def test_nobody_holds_what_is_for_partners_and_parents_by_chance() -> None:
    bound = {name for name, state in STATES.items() if state.traits and BOUND.issuperset(state.traits)}
    assert {"children_school", "date_night", "childcare"} <= bound
    held_by_holders = 0
    for one in worlds():
        traits = set(one.persona.facts["traits"])
        for x in (x for x in one.intervals if name_of(x) in bound):
            suits = not traits.isdisjoint(STATES[name_of(x)].traits)
            held_by_holders += suits
            first = next(y for y in one.intervals if (y.key, y.member) == (x.key, x.member))
            assert suits or first.cause is not None
        company = {x.facts["person"] for x in one.intervals if x.family == "habit"}
        assert all(COMPANY.get(person, "partner") in traits for person in company & set(COMPANY))
    assert held_by_holders >= 50


@pytest.mark.parametrize("reasons", [attributes.REASONS, habits.REASONS], ids=["attributes", "habits"])
def test_what_happens_by_itself_has_a_reason_of_its_kind(reasons: dict[str, tuple[str, ...]]) -> None:
    family = "attribute" if reasons is attributes.REASONS else "habit"
    seen = set()
    for x in (x for one in worlds() for x in one.intervals if x.family == family):
        if x.operation != "initial" and x.cause is None:
            phase = "begin" if x.operation in ("add", "acquire") else "change"
            assert x.facts["reason"] in reasons[phase]
            seen.add(phase)
        if "end_reason" in x.facts and x.facts["end_cause"] is None:
            assert x.facts["end_reason"] in reasons["end"]
            seen.add("end")
    assert seen == {"begin", "change", "end"}


def test_a_move_always_changes_the_home() -> None:
    moves = 0
    for one in worlds():
        for event in one.life_events:
            home = [x for x in one.intervals if name_of(x) == "home_address" and x.cause == event.id]
            if event.kind == "move" and "user_attributes_state:home_address" in held(one, event.moment):
                moves += 1
                assert [x.operation for x in home] == ["modify"]
    assert moves >= 5


def test_seasons_move_habits_only_and_are_undone() -> None:
    moved = []
    for one in worlds():
        seasons = {event.id: event for event in one.life_events if event.kind in SEASONS}
        assert [event.kind for event in seasons.values()] == ["winter", "summer", "winter"]
        for before, after in pairwise(one.intervals):
            if before.cause in seasons and "returns_to" not in before.facts:
                moved.append(before)
                if before.ended_by == "revert" and before.valid_to == after.valid_from:
                    assert after.cause == before.cause
                    assert after.facts["reason"] == seasons[before.cause].after
                    assert after.valid_from > seasons[before.cause].until
    assert {one.family for one in moved} == {"habit"}
    assert sum(one.ended_by == "revert" for one in moved) >= 10


def test_reverts_return_to_the_earlier_value() -> None:
    count = 0
    for one in worlds():
        by_id = {(x.key, x.value_id): x for x in one.intervals}
        for x in one.intervals:
            if "returns_to" in x.facts:
                earlier = by_id[x.key, x.facts["returns_to"]]
                assert earlier.value == x.value and earlier.valid_to < x.valid_from
                count += 1
    assert count >= 30


def test_a_preference_says_what_its_weight_is_in_every_window() -> None:
    sides = set()
    for one in worlds():
        for x in (x for x in one.intervals if x.family == "preference"):
            state = STATES[name_of(x)]
            assert isinstance(state, Preference)
            for window in range(one.span.windows):
                weight = weight_at(x, one.span, one.span.opening(window))
                assert BOUNDS[0] <= abs(weight) <= 1
                assert x.value == {"statement": statement(state, weight, x.facts["qualifier"])}
            assert x.facts["weight"] == weight_at(x, one.span, x.valid_from)
            sides.add(x.facts["weight"] > 0)
    assert sides == {True, False}


def test_a_preference_drifts_between_its_moves() -> None:
    spread = [
        max(x.facts["weights"]) - min(x.facts["weights"])
        for one in worlds()
        for x in one.intervals
        if x.family == "preference"
    ]
    assert mean(share > 0.01 for share in spread) > 0.8
    assert max(spread) <= 0.3, "a walk may not leave its bucket"


def test_habits_stay_in_the_slots_that_their_templates_own() -> None:
    for one in worlds()[:12]:
        for x in (x for x in one.intervals if x.family == "habit"):
            state = STATES[name_of(x)]
            assert isinstance(state, Habit)
            own, timing = state.slot, x.value["timing"]
            assert minute_of(own.opens) <= minute_of(timing["start_time"])
            assert minute_of(timing["end_time"]) <= minute_of(own.closes)
            end = x.valid_to or one.span.end
            days = [x.valid_from + timedelta(days=n) for n in range((end - x.valid_from).days)]
            happens = [day for day in days if occurs(x.value["schedule"], day.date())]
            assert {day.weekday() for day in happens} <= set(own.days)
            assert not own.dates or {day.day for day in happens} <= set(own.dates)
            assert happens or len(days) < 62, "a habit that holds for two months is done at least once"


def test_facts_are_those_that_the_ontology_promises() -> None:
    common = {"label"}
    promised = {
        "attribute": {"entity", "qualifier", "act", "category", "shows", "amount", "others"},
        "habit": {"activity", "category", "apps", "words", "minutes", "place", "address", "person", "weak", "intensity",
                  "amount", "changed"},
        "preference": {"axis", "poles", "pole", "intensity", "qualifier", "weight", "weights", "choices", "pools",
                       "kinds"},
    }  # fmt: skip
    begins = {(one.persona.user_id, x.key, x.member, x.valid_from) for one in worlds() for x in one.intervals}
    for user, x in ((one.persona.user_id, x) for one in worlds() for x in one.intervals):
        names = set(x.facts) - {"reason", "end_reason", "end_cause", "returns_to"}
        assert names == promised[x.family] | common
        assert ("reason" in x.facts) == (x.operation != "initial")
        followed = (user, x.key, x.member, x.valid_to) in begins
        assert ("end_reason" in x.facts) == ("end_cause" in x.facts) == (x.valid_to is not None and not followed)
        if x.family == "habit":
            assert all(app[2] in ("any", "workday", "weekend") for app in x.facts["apps"])
        if x.family == "attribute":
            assert x.value == f"{x.facts['entity']}, {x.facts['qualifier']}"
            assert x.facts["entity"] in x.facts["act"] and x.facts["qualifier"] in x.facts["act"]


def test_near_misses_are_never_true() -> None:
    for one in worlds():
        for key in {x.key for x in one.intervals if x.family == "attribute"}:
            line = [x for x in one.intervals if x.key == key]
            true = {x.facts["entity"] for x in line}
            assert all(len(x.facts["others"]) == 4 and true.isdisjoint(x.facts["others"]) for x in line)


def test_a_shorter_span_is_lived_to_its_own_end() -> None:
    short = world_of(SEED, 0, Span(windows=2, logs=150))
    assert short.span.end == datetime(2024, 4, 1)
    assert all(x.valid_from < short.span.end for x in short.intervals)
    full = {x.key for x in world(0).intervals if x.operation == "initial"}
    assert {x.key for x in short.intervals if x.operation == "initial"} == full


def test_a_state_of_no_known_form_is_refused() -> None:
    odd: Ontology = {"leisure_media": (State(name="odd", label="odd"),)}
    with pytest.raises(TypeError, match="'odd' of leisure_media is of no known form: State"):
        world_of(SEED, 0, ontology=odd)
