"""Logs that imitate a state: near misses, others' states, what is over or only thought of (reference 6.2.8).

Each is tagged with the key that it could be taken for; so are those of states that
the user never holds, which makes bait for questions whose right answer is nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import groupby
from typing import Any

from pipelines.applogs.schedules import occurs
from pipelines.applogs.state_values import CATEGORIES
from pipelines.applogs.synthesis.acts import Api, spoken
from pipelines.applogs.synthesis.events import Event, Shown
from pipelines.applogs.synthesis.moments import seconds_of, spread
from pipelines.applogs.synthesis.occurrences import when_words
from pipelines.applogs.synthesis.ontology.forms import Attribute, Habit, Ontology, Preference, State
from pipelines.applogs.synthesis.sentences import QUERIES
from pipelines.applogs.synthesis.speech import SPOKEN
from pipelines.applogs.synthesis.tellings import Setting, root_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval, Span, World

RATE = 0.35
"""Chance of a distractor for a state in a window (ours)."""
FIRST_WINDOW = 0.4
"""How much of that the first window has: the published logs grow after the first checkpoint."""
BAITED = 0.3
"""Share of the states never held that are imitated all the same, once at least (ours)."""
LONG_AGO = timedelta(days=10)
"""How long something is over before it is remembered (ours)."""
ASIDE = timedelta(hours=2)
"""A single time of what is a habit lies so far from when the habit is due (ours)."""
_SEARCHED: tuple[Api, ...] = (*SPOKEN, ("Google", "Search"), ("Google", "Search"))
_PURPOSES = {
    "attribute": ("near miss", "third party", "hypothetical"),
    "habit": ("one-off", "other routine"),
    "preference": ("other preference", "treat"),
}


@dataclass(frozen=True, slots=True)
class _Imitated:
    """A state as what imitates it needs it: `words` by family, and the intervals in which the user holds it."""

    key: str
    family: str
    domain: str
    facts: Mapping[str, Any]
    intervals: tuple[Interval, ...] = ()


def weight(window: int) -> float:
    """Distractors of a window against those of any but the first."""
    return 1.0 if window else FIRST_WINDOW


def distractors(world: World, setting: Setting, ontology: Ontology) -> Iterator[Event]:
    """Events that imitate the states of a world, and some of those of the ontology that are in none of it."""
    span, root = world.span, root_of(world)
    held = [_held(tuple(group)) for _, group in groupby(world.intervals, key=lambda one: one.key)]
    known = {one.key for one in held}
    for one in held:
        for window in range(span.windows):
            place = root.at(one.domain, one.key, window, "distractor")
            if place.chance("comes", RATE * weight(window)):
                yield from _distractor(one, place, window, span, setting)
    for one in never_held(ontology, known):
        home = root.at(one.domain, one.key, "bait")
        if not home.chance("baited", BAITED):
            continue
        sure = home.whole("window", 0, span.windows - 1)
        for window in range(span.windows):
            place = home.at(window)
            if window == sure or place.chance("comes", RATE / 2 * weight(window)):
                yield from _distractor(one, place, window, span, setting)


def _held(intervals: tuple[Interval, ...]) -> _Imitated:
    first = intervals[0]
    return _Imitated(first.key, first.family, first.domain, first.facts, intervals)


def never_held(ontology: Ontology, known: set[str]) -> Iterator[_Imitated]:
    """States of the ontology whose keys are not `known`."""
    categories = {family: category for category, family in CATEGORIES.items()}
    for domain, states in ontology.items():
        for state in states:
            family, facts = _facts(state)
            if (key := f"{categories[family]}:{state.name}") not in known:
                yield _Imitated(key, family, domain, {"label": state.label, **facts})


def _facts(state: State) -> tuple[str, dict[str, Any]]:
    match state:
        case Attribute():
            return "attribute", {"others": list(state.entities), "category": state.category}
        case Habit():
            return "habit", {"activity": state.activity}
        case Preference():
            pools = {"a": list(state.options_a), "b": list(state.options_b)}
            return "preference", {"poles": {"a": state.a, "b": state.b}, "pools": pools}
    raise TypeError(f"{type(state).__name__} is no form of a state")


def _distractor(one: _Imitated, place: Place, window: int, span: Span, setting: Setting) -> Iterator[Event]:
    [moment] = spread(place, 1, span.opening(window), span.opening(window + 1), setting.awake)
    value_id = ""
    past = [
        gone
        for gone in one.intervals
        if one.family == "attribute" and gone.valid_to and gone.valid_to + LONG_AGO < moment
    ]
    if past and place.chance("stale", 0.5):
        gone = place.one("which", past)
        if any(again.value == gone.value and _holds(again, moment) for again in one.intervals):
            return
        purpose, value_id = "stale", gone.value_id
        words = {"act": gone.facts["act"], "label": gone.facts["label"]}
    else:
        purpose = place.one("purpose", _PURPOSES[one.family])
        if purpose == "one-off" and one.intervals:
            purpose = "extra"
        words = _words(one, place, moment, setting)
    if one.family == "habit" and any(_due(habit, moment) for habit in one.intervals):
        return
    apis = _SEARCHED if purpose in QUERIES else SPOKEN
    shown = (Shown(one.key, value_id, "distractor"),)
    yield spoken(place, moment, setting, purpose, words, shown, None, apis)


def _holds(one: Interval, moment: datetime) -> bool:
    return one.valid_from <= moment and (one.valid_to is None or moment < one.valid_to)


def _due(habit: Interval, moment: datetime) -> bool:
    if not _holds(habit, moment) or not occurs(habit.value["schedule"], moment.date()):
        return False
    start = datetime.combine(moment.date(), time()) + timedelta(seconds=seconds_of(habit.value["timing"]["start_time"]))
    return abs(moment - start) < ASIDE


def _words(one: _Imitated, place: Place, moment: datetime, setting: Setting) -> dict[str, Any]:
    facts = one.facts
    words = {"label": facts["label"], "person": place.one("whose", setting.persona.facts["others_people"])}
    if one.family == "attribute":
        return words | {"other": place.one("other", facts["others"] or [f"another {facts['category']}"])}
    if one.family == "habit":
        return words | {"activity": facts["activity"], "when": when_words(_other_times(one, place))}
    # Of a preference held, what the user passes over; of one never held, either.
    holding = [now for now in one.intervals if _holds(now, moment)]
    liked = ("b" if holding[0].facts["pole"] == "a" else "a") if holding else place.one("pole", "ab")
    left = "b" if liked == "a" else "a"
    return words | {
        "liked": facts["poles"][liked],
        "left": facts["poles"][left],
        "entity": place.one("treat", facts["pools"][liked]),
    }


def _other_times(one: _Imitated, place: Place) -> dict[str, Any]:
    """Weekly times that the user's habit never has."""
    own = {now.value["timing"]["start_time"][:2] for now in one.intervals}
    hours = [hour for hour in range(7, 21) if f"{hour:02}" not in own]
    start = f"{place.one('hour', hours):02}:{place.one('minute', (0, 15, 30, 45)):02}"
    days = [place.whole("weekday", 0, 6)]
    return {"schedule": {"frequency_type": "weekly", "days_of_week": days}, "timing": {"start_time": start}}
