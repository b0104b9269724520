"""Habits of a user: a schedule inside the slot that its template owns, that is taken up, adjusted and dropped."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, TypeVar

from pipelines.applogs.state_values import fields
from pipelines.applogs.synthesis.ontology.forms import WEEKS, Habit
from pipelines.applogs.synthesis.ontology.slots import clock_of, minute_of
from pipelines.applogs.synthesis.personas import COMPANY
from pipelines.applogs.synthesis.timelines import Change, Fit, Life, Line, lived, plan
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval

RATES = {"time": 0.04, "days": 0.03, "place": 0.03, "drop": 0.025}
"""Chances a window that a habit moves to another time, other days or another place, or is dropped, by itself."""
LATE: dict[Fit, float] = {"suits": 0.05, "strange": 0.004, "never": 0.0}
"""Chance a window that it is taken up later, by itself."""
GRID = 5
"""Minutes between possible starts."""
APART = 15
"""Minutes at least between an old start and a new one."""
REASONS = {
    "begin": (
        "I want to be more consistent",
        "someone asked me to join in",
        "I have a free slot in the week at last",
        "I missed having something of the kind",
        "I read that regularity is all it takes",
        "I promised it to myself",
        "a colleague made me curious",
        "I needed a fixed point in the week",
        "I used to do it years ago and liked it",
        "I have been doing it by chance and want to do it properly",
    ),
    "change": (
        "my week has been rearranged",
        "I kept missing it the old way",
        "it fits better around everything else",
        "I have more energy for it like this",
        "someone asked me whether we could do it differently",
        "I want to be more consistent",
        "the old routine clashed with the rest of the household",
        "it is less crowded that way",
        "I was always in a rush before",
        "I felt like a change of scene",
    ),
    "end": (
        "it had become a chore",
        "I wanted to free up some room in the week",
        "I noticed how much I had let it slide",
        "it no longer gave me anything",
        "I kept skipping it and felt bad about it",
        "there is too much else at the moment",
        "the others stopped coming",
        "I would rather rest",
        "it had run its course",
        "I found that I do not miss it",
    ),
}
"""Why a habit is taken up, adjusted or dropped by itself, in the user's words."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class _Choice:
    frequency: str
    days: tuple[int, ...]
    week: int | str | None
    begins: str | None
    """Date from which the weeks of a biweekly schedule count."""
    start: int
    """Minutes after midnight."""
    minutes: int
    where: tuple[str, str]
    person: str


def _schedule(choice: _Choice) -> dict[str, Any]:
    kind, days = choice.frequency, list(choice.days)
    named: dict[str, Any] = {"frequency_type": kind}
    if kind == "monthly_by_date":
        return {**named, "days_of_month": days}
    if kind == "monthly_nth_weekday":
        return {**named, "week_of_month": choice.week, "day_of_week": days[0]}
    if kind == "daily":
        return named
    named["days_of_week"] = days
    return named if kind == "weekly" else {**named, "start_date": choice.begins}


@dataclass(frozen=True, slots=True)
class _Teller:
    state: Habit
    home: Place
    begins: str = "acquire"
    ends: str = "drop"

    def told(self, choice: _Choice) -> tuple[dict[str, Any], dict[str, Any]]:
        state, (place, address) = self.state, choice.where
        value = {
            "schedule": _schedule(choice),
            "timing": {"start_time": clock_of(choice.start), "end_time": clock_of(choice.start + choice.minutes)},
            "location": place,
        }
        return value, {
            "label": state.label,
            "activity": state.activity,
            "category": state.category,
            "apps": [(one if one.count("/") == 2 else f"{one}/any").split("/") for one in state.apps],
            "words": list(state.words),
            "minutes": choice.minutes,
            "place": place,
            "address": address,
            "person": choice.person,
            "weak": [one.split("/") for one in state.weak],
            "intensity": state.intensity,
            "amount": self.home.whole(("amount", place), *state.amount),
            "changed": [],
        }

    def operation(self, before: _Choice, after: _Choice) -> str:
        return "adjust"


def _starts(state: Habit, minutes: int) -> range:
    opens, closes = minute_of(state.slot.opens), minute_of(state.slot.closes)
    return range(opens, closes - minutes + 1, GRID)


def _days(state: Habit, here: Place, frequency: str, first: date) -> dict[str, Any]:
    slot = state.slot
    days: tuple[int, ...] = ()
    week: int | str | None = None
    begins = None
    if frequency == "monthly_by_date":
        days = (here.one("date", slot.dates or range(1, 29)),)
    elif frequency == "weekly":
        days = tuple(sorted(here.some("days", slot.days, here.one("count", state.counts))))
    elif frequency != "daily":
        days = (here.one("day", slot.days),)
        if frequency == "monthly_nth_weekday":
            week = here.one("week", slot.weeks or WEEKS)
        else:
            ahead = (days[0] - first.weekday()) % 7 + 7 * here.whole("parity", 0, 1)
            begins = (first + timedelta(days=ahead)).isoformat()
    return {"frequency": frequency, "days": days, "week": week, "begins": begins}


def _company(state: Habit, traits: Sequence[str]) -> list[str]:
    return [one for one in state.people if one not in COMPANY or COMPANY[one] in traits] or [""]


def _taken_up(state: Habit, here: Place, first: date, traits: Sequence[str]) -> _Choice:
    minutes = here.one("minutes", state.minutes)
    return _Choice(
        **_days(state, here, here.one("frequency", state.frequencies), first),
        start=here.one("start", _starts(state, minutes)),
        minutes=minutes,
        where=here.one("where", state.places),
        person=here.one("person", _company(state, traits)),
    )


def _another(here: Place, name: str, items: Sequence[Item], now: Item) -> Item:
    return here.one(name, [one for one in items if one != now] or [now])


def _step(state: Habit, traits: Sequence[str], held: _Choice | None, change: Change) -> _Choice | None:
    here, first = change.place, change.moment.date()
    if held is None:
        return _taken_up(state, here, first, traits) if change.does == "acquire" else None
    if change.does == "drop":
        return None
    if change.does == "time":
        minutes = here.one("minutes", state.minutes)
        far = [start for start in _starts(state, minutes) if abs(start - held.start) >= APART]
        if far:
            return replace(held, start=here.one("start", far), minutes=minutes)
        return replace(held, minutes=here.one("shorter", [one for one in state.minutes if one <= held.minutes]))
    if change.does == "days":
        days = _days(state, here, here.one("frequency", state.frequencies), first)
        same = (days["frequency"], days["days"], days["week"]) == (held.frequency, held.days, held.week)
        return held if same else replace(held, **days)
    if change.does == "place":
        return replace(held, where=_another(here, "where", state.places, held.where))
    if change.does == "indoors" and state.indoors and held.where not in state.indoors:
        return replace(held, where=here.one("where", state.indoors))
    return held


def habit_intervals(life: Life, domain: str, state: Habit) -> list[Interval]:
    """Intervals of a habit, all inside its slot."""
    home, traits, begun = life.home(domain, state), life.persona.facts["traits"], life.begins_with(domain, state)
    first = _taken_up(state, home, life.span.start.date(), traits) if begun else None
    line: Line[_Choice] = Line(state.name, "habit", domain, life.span, _Teller(state, home))
    changes = plan(life, home, state, {**RATES, "acquire": LATE[life.fit(state)]}, REASONS)
    intervals = lived(line, first, changes, lambda held, change: _step(state, traits, held, change))
    for before, after in pairwise(intervals):
        if before.valid_to == after.valid_from:
            now = {path: right for path, right, _ in fields(after.value)}
            then = {path: right for path, right, _ in fields(before.value)}
            after.facts["changed"] = sorted(path for path in now | then if now.get(path) != then.get(path))
    return intervals
