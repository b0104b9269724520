"""Events of a world made by hand: what shows which value, when, and that no state's events depend on another's."""

import math
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synth_worlds import COFFEE, GYM, REVIEW, RUN, SHOES, SPAN, day, ontology, world

from pipelines.applogs.schedules import occurs
from pipelines.applogs.synthesis.acts import TAKES
from pipelines.applogs.synthesis.apps import APPS
from pipelines.applogs.synthesis.background import SESSIONS, background
from pipelines.applogs.synthesis.choices import STEEPNESS, chosen_pole
from pipelines.applogs.synthesis.events import Event
from pipelines.applogs.synthesis.happenings import chains_of, events_of, noise_of
from pipelines.applogs.synthesis.moments import spread
from pipelines.applogs.synthesis.occurrences import FIRST_SEEN, LOGGED, MOST_JITTER, when_words
from pipelines.applogs.synthesis.sentences import CORES, LETTERS, QUERIES
from pipelines.applogs.synthesis.speech import SPOKEN, said
from pipelines.applogs.synthesis.tellings import SHORTEST, Chain, tellings
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval, Span, World
from pipelines.applogs.synthesis.worlds import world_of

SEEDS = range(12)


def by_value(made: World) -> dict[str, Interval]:
    return {one.value_id: one for one in made.intervals}


def chains(seed: int = 7, **changes: object) -> dict[str, Chain]:
    return {chain.id: chain for chain in chains_of(world(seed=seed, **changes))}


def roles(chain: Chain) -> Counter[str]:
    return Counter(show.role for event in chain.events for show in event.shows)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_is_supported_only_while_it_is_true(seed: int) -> None:
    made = world(seed=seed)
    values = by_value(made)
    n_supports = 0
    for event in events_of(made, ontology()):
        for show in event.shows:
            if show.role == "supports":
                n_supports += 1
                one = values[show.value_id]
                assert show.key == one.key
                assert one.valid_from <= event.moment and (one.valid_to is None or event.moment < one.valid_to), event
    assert n_supports > 60


@pytest.mark.parametrize("seed", SEEDS)
def test_what_begins_is_supported_before_its_window_ends_and_what_ends_is_said_after(seed: int) -> None:
    made = world(seed=seed)
    events = events_of(made, ontology())
    for one in made.intervals:
        shown = [event.moment for event in events for show in event.shows
                 if show.value_id == one.value_id and show.role == "supports"]  # fmt: skip
        if one.operation != "initial":
            closes = SPAN.opening(SPAN.window_of(one.valid_from) + 1)
            assert shown and min(shown) < closes, one.value_id
        if one.ended_by in ("remove", "drop"):
            assert one.valid_to is not None and shown
            causes = [event.moment for event in events for show in event.shows
                      if show.value_id == one.value_id and show.role == "cause"]  # fmt: skip
            said_so = [moment for moment in causes if moment >= one.valid_to]
            assert said_so and max(said_so) < SPAN.opening(SPAN.window_of(one.valid_to) + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_is_explained_in_words_and_not_before_it_can_be_known(seed: int) -> None:
    made = world(seed=seed)
    for chain in chains(seed).values():
        if not chain.id.endswith("_fresh"):
            continue
        one = chain.interval
        causes = [event for event in chain.events if any(show.role == "cause" for show in event.shows)]
        told = [event for event in causes if one.facts["reason"].lower() in event.slots["text"].lower()]
        assert 1 <= len(told) <= 2
        assert {(event.app, event.api) for event in told} <= set(SPOKEN)
        if one.cause:
            assert all(event.moment >= made.life_events[0].moment for event in told)


def test_chains_have_the_size_of_their_operation() -> None:
    n_changed: Counter[int] = Counter()
    for seed in SEEDS:
        made = chains(seed)
        modified = roles_by_value(made["health_selfcare_w0_gym_membership/Cedar Barn#1_fresh"])
        assert 1 <= modified["gym_membership/Harbor Lane#0", "supports"] <= 2
        assert 1 <= modified["gym_membership/Cedar Barn#1", "cause"] <= 2
        assert 3 <= modified["gym_membership/Cedar Barn#1", "supports"] <= 5
        added = roles(made["health_selfcare_w1_sports_gear/Kettle Bell#0_fresh"])
        assert 2 <= added["cause"] <= 6 and 3 <= added["supports"] <= 6
        n_changed[added["cause"]] += 1
        assert 1 <= roles(made["health_selfcare_w2_gym_membership/Cedar Barn#1_farewell"])["cause"] <= 2
        assert 3 <= roles(made["health_selfcare_w1_gym_membership/Cedar Barn#1_lasting"])["supports"] <= 5
        choices = made["leisure_media_w1_coffee_source#1_fresh"]
        assert 4 <= sum(bool(event.shows) for event in choices.events) - roles(choices)["cause"] <= 7
    assert len(n_changed) > 2


def roles_by_value(chain: Chain) -> Counter[tuple[str, str]]:
    return Counter((show.value_id, show.role) for event in chain.events for show in event.shows)


def test_tellings_follow_the_selection() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        told = list(tellings(world(seed=seed)))
        kinds = Counter((one.interval.value_id, one.kind, one.window) for one in told)
        assert max(kinds.values()) == 1
        # Habits in every window in which they are true.
        assert {w for v, k, w in kinds if v == "budget_review#0"} == {0, 1, 2}
        # What ends in the next window is told; the end of a member brings in the whole collection.
        assert ("sports_gear/Brook Shoes#0", "lasting", 0) in kinds and (
            "sports_gear/Yoga Mat#0",
            "lasting",
            0,
        ) in kinds
        assert ("canal_run#1", "farewell", 1) in kinds and ("gym_membership/Harbor Lane#0", "farewell", 0) not in kinds
        seen["coffee in its first window"] += ("coffee_source#0", "lasting", 0) in kinds
        seen["coffee once more"] += ("coffee_source#1", "lasting", 2) in kinds
        seen["gym once more"] += ("gym_membership/Cedar Barn#1", "lasting", 2) in kinds
    assert seen["coffee in its first window"] == 60
    # Only preferences are seen again, with a chance of 0.4: binomial, four standard deviations.
    assert 9 <= seen["coffee once more"] <= 39 and seen["gym once more"] == 0


def test_a_state_that_lasts_is_told_once_in_half_of_the_cases_at_first() -> None:
    first: Counter[int | None] = Counter()
    for seed in range(300):
        lasting = replace(next(one for one in world().intervals if one.key == GYM), valid_to=None, ended_by=None)
        windows = [one.window for one in tellings(world(seed=seed, intervals=(lasting,)))]
        assert len(windows) <= 1
        first[windows[0] if windows else None] += 1
    # Binomial, four standard deviations: 150 ± 35, 75 ± 30, 37.5 ± 23.
    assert 115 <= first[0] <= 185 and 45 <= first[1] <= 105 and 14 <= first[2] <= 61 and 14 <= first[None] <= 61


@pytest.mark.parametrize("seed", SEEDS)
def test_occurrences_lie_on_the_days_of_the_schedule_about_its_time(seed: int) -> None:
    made = chains(seed)
    for chain in (made["health_selfcare_w0_canal_run#0_lasting"], made["health_selfcare_w1_canal_run#1_fresh"]):
        value = chain.interval.value
        start = time.fromisoformat(value["timing"]["start_time"])
        due = [event for event in chain.events for show in event.shows if show.role == "supports" and show.fields]
        for event in due:
            assert occurs(value["schedule"], event.moment.date())
            assert abs(event.moment - datetime.combine(event.moment.date(), start)) <= timedelta(seconds=MOST_JITTER)
        days = [event.moment.date() for event in due]
        assert len(days) == len(set(days))
        shown = {field for event in due for show in event.shows for field in show.fields}
        assert shown >= {"schedule", "timing", "location"}
        for event in chain.events:
            for show in event.shows:
                if show.role == "distractor":
                    assert not occurs(value["schedule"], event.moment.date())


def test_habits_are_kept_and_seen_faintly_as_often_as_said() -> None:
    """Twice a week is due oftener than is logged; once a fortnight is logged whenever it is kept."""
    n_due = n_kept = n_weak = n_made_up = 0
    for seed in range(60):
        chain = chains(seed)["health_selfcare_w0_canal_run#0_lasting"]
        schedule = chain.interval.value["schedule"]
        n_all = sum(occurs(schedule, date(2023, 10, 1) + timedelta(days=n)) for n in range(92))
        assert n_all == 26 > LOGGED
        kept = [event for event in chain.events if any(show.role == "supports" for show in event.shows)]
        first = min(event.moment for event in kept)
        assert first < datetime(2023, 10, 1) + timedelta(days=FIRST_SEEN + 21)
        n_due += sum(occurs(schedule, first.date() + timedelta(days=n)) for n in range(1, (day(92) - first).days))
        n_kept += len(kept) - 1
        n_weak += sum((event.app, event.api) == ("Fitbit", "SyncDevice") for event in kept)
        n_made_up += len(chain.events) - len(kept)
    assert 0.86 < n_kept / n_due / (LOGGED / 26) < 0.94
    # One of two traces; the other is a chat.
    assert 0.14 < n_weak / n_kept < 0.21
    assert 0.15 < n_made_up / (n_due * 0.1) < 0.5


def test_the_first_window_is_sparse_and_habits_begin_in_it_at_times_of_their_own() -> None:
    begun = {min(event.moment.date() for event in chains(seed)["health_selfcare_w0_canal_run#0_lasting"].events)
             for seed in range(60)}  # fmt: skip
    assert len(begun) > 10
    for made in (world_of(7, index) for index in range(4)):
        windows = Counter(made.span.window_of(event.moment) for event in events_of(made))
        assert all(windows[0] < 0.85 * windows[later] for later in range(1, 5))


def test_choices_fall_as_the_weight_says() -> None:
    for weight in (-0.8, -0.3, 0.0, 0.3, 0.8):
        share = sum(chosen_pole(Place(f"x/{n}"), weight) == "b" for n in range(2000)) / 2000
        right = 1 / (1 + math.exp(-STEEPNESS * weight))
        assert abs(share - right) < 4 * math.sqrt(right * (1 - right) / 2000) + 0.001


def test_a_choice_against_the_preference_imitates_it() -> None:
    against = agreeing = 0
    for seed in range(40):
        chain = chains(seed)["leisure_media_w1_coffee_source#1_fresh"]
        pools = chain.interval.facts["pools"]
        for event in chain.events:
            for show in event.shows:
                if show.role == "cause" or not {"entity", "place"} & event.slots.keys():
                    continue
                taken = event.slots.get("entity") or event.slots["place"]
                assert taken in pools["b" if show.role == "supports" else "a"]
                agreeing += show.role == "supports"
                against += show.role == "distractor"
    assert 0.06 < against / (against + agreeing) < 0.19  # sigmoid(4 · 0.5) = 0.88


def test_distractors_imitate_held_and_never_held_states_and_never_say_what_is_true() -> None:
    imitated: Counter[str] = Counter()
    for seed in range(40):
        made = world(seed=seed)
        for event in noise_of(made, ontology()):
            for show in event.shows:
                assert show.role == "distractor"
                imitated[show.key] += 1
                if show.key == GYM and not show.value_id:
                    text = event.slots["text"]
                    assert not {"Harbor Lane", "Cedar Barn"} & {
                        name for name in ("Harbor Lane", "Cedar Barn") if name in text
                    }
                if show.value_id:
                    gone = by_value(made)[show.value_id].valid_to
                    assert gone is not None and gone < event.moment
    assert {GYM, SHOES, RUN, REVIEW, COFFEE} <= imitated.keys()
    bait = {"user_attributes_state:savings_account", "habits_state:choir_practice", "preferences_state:film_age"}
    assert bait <= imitated.keys() and imitated.keys() - bait == {GYM, SHOES, RUN, REVIEW, COFFEE}


def test_one_state_less_changes_no_other_states_events() -> None:
    whole = world()
    for gone in (GYM, SHOES, RUN, REVIEW, COFFEE):
        rest = world(intervals=tuple(one for one in whole.intervals if one.key != gone))
        without = events_of(rest, ontology())
        kept = [event for event in events_of(whole, ontology()) if f"/{gone}/" not in event.place]
        assert without == kept
        assert len(kept) < len(events_of(whole, ontology()))


def test_events_are_in_order_at_places_of_their_own_within_the_span() -> None:
    for seed in SEEDS:
        events = events_of(world(seed=seed), ontology())
        assert [(event.moment, event.place) for event in events] == sorted(
            (event.moment, event.place) for event in events
        )
        assert len({event.place for event in events}) == len(events)
        assert SPAN.start <= events[0].moment and events[-1].moment < SPAN.end
        assert all(event.moment.microsecond == 0 for event in events)
        for event in events:
            for need in APPS[event.app].apis[event.api].needs:
                assert any(event.slots.get(name) not in (None, "") for name in need.split("|")), event


def test_background_says_nothing_grows_after_the_first_window_and_uses_every_app() -> None:
    for seed in SEEDS:
        span = Span()
        events = list(background(Place(str(seed)), span))
        assert not any(event.shows or event.chain for event in events)
        windows = Counter(span.window_of(event.moment) for event in events)
        assert 3 * windows[0] < 2 * min(windows[n] for n in range(1, 5))
        assert {event.app for event in events if event.moment < span.opening(1)} == set(APPS) == set(SESSIONS)
    used = {(e.app, e.api) for seed in range(10) for e in background(Place(str(seed)), Span())}
    assert used == {(name, api) for name, app in APPS.items() for api in app.apis} == set(TAKES)
    assert len(used) == 79


def test_background_has_no_time_of_its_own() -> None:
    hours = Counter(event.moment.hour for seed in range(20) for event in background(Place(str(seed)), Span()))
    mean = sum(hours.values()) / 16
    assert set(hours) >= set(range(7, 23)) and all(0.7 * mean < hours[hour] < 1.3 * mean for hour in range(8, 22))


@given(st.integers(1, 9), st.integers(0, 100 * 86_400), st.integers(9, 40 * 86_400), st.integers(0, 99))
def test_moments_are_spread_in_order_between_their_ends(count: int, offset: int, length: int, seed: int) -> None:
    begins = datetime(2024, 1, 1) + timedelta(seconds=offset)
    ends = begins + timedelta(seconds=length)
    moments = spread(Place(str(seed)), count, begins, ends, (7 * 3600, 22 * 3600))
    assert len(moments) == count and moments == sorted(moments)
    assert begins <= moments[0] and moments[-1] < ends
    if length >= 2 * 86_400 * count:
        assert all(7 <= moment.hour < 22 for moment in moments)


def test_no_room_for_moments_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 moments do not fit"):
        spread(Place("x"), 3, day(0), day(0) + timedelta(seconds=2), (0, 86_399))


def test_sentences_have_many_surfaces_and_take_only_the_words_they_are_given() -> None:
    words = dict.fromkeys(
        ("act", "label", "entity", "other", "category", "qualifier", "reason", "end_reason", "person", "activity",
         "place", "minutes", "words", "when", "axis", "liked", "left", "topic", "kind", "other_kind"), "x",
    )  # fmt: skip
    for table, least in ((CORES, 4), (LETTERS, 4), (QUERIES, 2)):
        for purpose, cores in table.items():
            assert len(cores) == len(set(cores)) >= least, purpose
            assert all(core.format(**words) for core in cores)
    said_so = {said(Place(str(n)), "use", "chat", **words) for n in range(300)}
    assert len(said_so) > 200
    with pytest.raises(KeyError, match="act"):
        said(Place("x"), "farewell", "chat", label="gym", end_reason="over")


def test_schedules_in_words() -> None:
    timing = {"start_time": "18:30", "end_time": "19:15"}
    cases = {
        "every day from 18:30 to 19:15": {"frequency_type": "daily"},
        "every Tuesday, Thursday and Sunday from 18:30 to 19:15": {
            "frequency_type": "weekly", "days_of_week": [1, 3, 6]},
        "every other Monday from 18:30 to 19:15, counting from 2024-01-01": {
            "frequency_type": "biweekly", "days_of_week": [0], "start_date": "2024-01-01"},
        "on day 3 and 17 of the month from 18:30 to 19:15": {
            "frequency_type": "monthly_by_date", "days_of_month": [3, 17]},
        "on the last Friday of the month from 18:30 to 19:15": {
            "frequency_type": "monthly_nth_weekday", "week_of_month": "last", "day_of_week": 4},
    }  # fmt: skip
    for words, schedule in cases.items():
        assert when_words({"schedule": schedule, "timing": timing}) == words
    assert (
        when_words({"schedule": {"frequency_type": "daily"}, "timing": {"start_time": "07:00"}}) == "every day at 07:00"
    )


def test_changes_near_the_ends_of_windows_are_told_in_time() -> None:
    """A change at any moment of a window; too near to its end to be told there, it is told in the next."""
    for before_end in (1, 4, 6, 30, 3 * 3600, 2 * 86_400):
        at = SPAN.opening(1) - timedelta(seconds=before_end * (60 if before_end < 60 else 1))
        old, new = (one for one in world().intervals if one.key == GYM)
        made = world(intervals=(replace(old, valid_to=at), replace(new, valid_from=at)))
        events: list[Event] = events_of(made, {})
        moments = [e.moment for e in events for s in e.shows if s.role == "supports" and s.value_id == new.value_id]
        window = 0 if SPAN.opening(1) - at >= SHORTEST else 1
        assert at <= min(moments) < SPAN.opening(window + 1)


def test_the_shortest_interval_that_is_told_has_room_for_its_chain() -> None:
    new = next(one for one in world().intervals if one.operation == "modify")
    for seed in range(30):
        brief = replace(new, valid_to=new.valid_from + SHORTEST)
        supports = [
            e for e in events_of(world(seed=seed, intervals=(brief,)), {}) for s in e.shows if s.role == "supports"
        ]
        assert len(supports) >= 3
        assert all(new.valid_from <= event.moment < new.valid_from + SHORTEST for event in supports)


def test_intervals_of_a_world_follow_each_other() -> None:
    for key in (GYM, RUN, COFFEE):
        timeline = [one for one in world().intervals if one.key == key]
        assert all(before.valid_to == after.valid_from for before, after in pairwise(timeline))
