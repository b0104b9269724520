"""Habits in the logs: every occurrence of a schedule that was kept, about when it was due (reference 6.1, 6.2.6).

When a log begins, and that it does so again and again, is what shows a habit. Three in
ten occurrences or more leave only a trace (steps, a chat at the usual time); some are
missed, and of these some made up for at another time, which imitates the habit. What
is done daily is not seen every time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from pipelines.applogs.schedules import WEEKDAYS, occurs
from pipelines.applogs.synthesis.acts import Api, slots_for, spoken
from pipelines.applogs.synthesis.chains import causes, farewell
from pipelines.applogs.synthesis.events import Event, Shown
from pipelines.applogs.synthesis.everyday import POOLS
from pipelines.applogs.synthesis.moments import seconds_of, spread
from pipelines.applogs.synthesis.tellings import Chain, Setting, Telling
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval

KEPT = (0.85, 0.95)
"""Chance that an occurrence is kept, drawn once a habit (published)."""
WEAK = (0.30, 0.40)
"""Chance that what is kept leaves only a trace, drawn once a habit (published)."""
JITTER, MOST_JITTER = 240.0, 12 * 60
"""Seconds by which it begins off its time: standard deviation, and at most (published 4 min; the bound is ours)."""
MADE_UP = 0.35
"""Chance that what was missed is made up for (ours)."""
LOGGED = 22
"""Occurrences of a habit that any app sees in a window of a quarter, about, where it is due more often (ours)."""
OFTEN = 10
"""Occurrences in the first window from which a habit is first seen some time after the log begins (ours)."""
FIRST_SEEN = 60
"""Days within which that is: the published logs are sparse before the first checkpoint, and grow after it."""
ANNOUNCED = 0.5
"""Chance that a new or moved habit is told to somebody with its times (ours)."""
TELLS_ALL = 9
"""Once in so many strong occurrences all of it is said, the place and how long it takes (ours)."""
SHOWS_PLACE = frozenset(
    {("Fitbit", "RecordActivity"), ("Google Maps", "CheckIn"), ("Google Maps", "GetDirections"),
     ("Google Maps", "ShareLocation"), ("Instagram", "CreatePost")}
)  # fmt: skip
SHOWS_LENGTH = frozenset({("Fitbit", "LogWorkout"), ("Fitbit", "RecordActivity")})
_WHEN = ("schedule", "timing.start_time")
_THINGS = {
    "Amazon": "product",
    "Goodreads": "book",
    "Netflix": "title",
    "Robinhood": "stock",
    "Spotify": "song",
    "UberEats": "restaurant",
}
"""App → pool of what is acted on there, where a habit is not about one thing."""
_AT_HOME = frozenset({"Bills", "Budget", "Groceries", "Investing", "Savings", "Subscriptions"})
"""Classes of habits that are about money, wherever they are done."""


@dataclass(frozen=True, slots=True)
class _Habit:
    """A habit's telling, with what is drawn once a habit: how often it is kept, and seen only faintly."""

    telling: Telling
    place: Place
    setting: Setting
    kept: float
    weak: float

    @property
    def one(self) -> Interval:
        return self.telling.interval


def habit_chain(telling: Telling, place: Place, root: Place, setting: Setting) -> Chain:
    """All occurrences of a habit in a window; where it is new there, with what led to it."""
    one = telling.interval
    if telling.kind == "farewell":
        return farewell(telling, place, setting)
    home = root.at(one.domain, one.key)
    kept, weak = (low + (high - low) * home.share(name) for name, (low, high) in (("kept", KEPT), ("weak", WEAK)))
    habit = _Habit(telling, place, setting, kept, weak)
    events = list(_occurrences(habit))
    shown = {field for event in events for show in event.shows if show.role == "supports" for field in show.fields}
    fresh = telling.kind == "fresh"
    if fresh and (not shown or place.chance("announced", ANNOUNCED)):
        events.append(_announcement(habit))
    if fresh:
        events += causes(telling, place, setting)
    ordered = sorted(events, key=lambda event: (event.moment, event.place))
    return Chain(telling.chain, one.operation if fresh else "unchanged", one, tuple(ordered))


def _occurrences(habit: _Habit) -> Iterator[Event]:
    telling, start = habit.telling, seconds_of(habit.one.value["timing"]["start_time"])
    days = list(_due(habit))
    seen = LOGGED / (len(days) or 1)
    if telling.window == 0 and len(days) >= OFTEN:
        first = habit.setting.start.date() + timedelta(days=habit.place.whole("first seen", 0, FIRST_SEEN))
        days = [day for day in days if day >= first]
    strong = 0
    for day in days:
        here = habit.place.at(day.isoformat())
        if not here.chance("kept", habit.kept):
            if here.chance("made up", MADE_UP):
                yield from _made_up(habit, here, day)
            continue
        if not here.chance("seen", seen):
            continue
        moment = datetime.combine(day, datetime.min.time()) + timedelta(seconds=start + _jitter(here))
        if not telling.begins <= moment < telling.ends:
            continue
        if habit.one.facts["weak"] and strong and here.chance("weak", habit.weak):
            yield _trace(habit, here, moment)
        else:
            yield _strong(habit, here, moment, tells_all=strong % TELLS_ALL == 0)
            strong += 1


def _due(habit: _Habit) -> Iterator[date]:
    begins, ends = habit.telling.begins.date(), habit.telling.ends.date()
    days = (begins + timedelta(days=n) for n in range((ends - begins).days + 1))
    return (day for day in days if occurs(habit.one.value["schedule"], day))


def _jitter(place: Place) -> int:
    return round(max(-MOST_JITTER, min(MOST_JITTER, JITTER * place.normal("jitter"))))


def _trace(habit: _Habit, place: Place, moment: datetime) -> Event:
    """Only that something was done then: steps, a chat, an agenda mail."""
    facts = habit.one.facts
    app, name = place.one("trace", facts["weak"])
    api = (app, name)
    slots = slots_for(place, api, "brief occurrence", _words(habit, place), _known(habit, place, api), habit.setting)
    shown = (Shown(habit.one.key, habit.one.value_id, "supports", _WHEN),)
    return Event(moment, *api, place.path, slots, shown, habit.telling.chain)


def _strong(habit: _Habit, place: Place, moment: datetime, tells_all: bool) -> Event:
    one = habit.one
    day = "weekend" if moment.weekday() > 4 else "workday"
    apps = [(app, api) for app, api, when in one.facts["apps"] if when in ("any", day)]
    if tells_all or not apps:
        shown = (Shown(one.key, one.value_id, "supports", ("schedule", "timing", "location")),)
        return spoken(place, moment, habit.setting, "occurrence", _words(habit, place), shown, habit.telling.chain)
    api = place.one("app", apps)
    fields = (
        "schedule",
        "timing" if api in SHOWS_LENGTH else "timing.start_time",
        *(("location",) if api in SHOWS_PLACE else ()),
    )
    slots = slots_for(place, api, "brief occurrence", _words(habit, place), _known(habit, place, api), habit.setting)
    return Event(
        moment, *api, place.path, slots, (Shown(one.key, one.value_id, "supports", fields),), habit.telling.chain
    )


def _words(habit: _Habit, place: Place) -> dict[str, Any]:
    facts = habit.one.facts
    return {
        "activity": facts["activity"],
        "place": facts["place"],
        "minutes": facts["minutes"],
        "words": place.one("detail", facts["words"]),
        "label": facts["label"],
    }


def _known(habit: _Habit, place: Place, api: Api) -> dict[str, Any]:
    facts, (app, name) = habit.one.facts, api
    known = {
        "category": facts["category"],
        "place": facts["place"],
        "address": facts["address"],
        "minutes": max(5, facts["minutes"] + place.whole("longer", -2, 2)),
        "intensity": facts["intensity"],
        "quantity": 1,
    }
    if app in _THINGS:
        pool = "grocery" if facts["category"] == "Groceries" else _THINGS[app]
        known["entity"] = place.one("thing", POOLS[pool])
    elif app != "Chase":
        known["entity"] = facts["place"] if app == "Google Maps" else facts["activity"]
    elif name == "PayBill" and facts["category"] in _AT_HOME:
        known["entity"] = place.one("biller", POOLS["biller"])
    elif facts["category"] not in _AT_HOME:
        # Paid where it is done.
        known["entity"] = facts["place"]
    if facts["person"]:
        known["person"] = known["sender"] = facts["person"]
    if facts["amount"]:
        known["amount"] = facts["amount"] * place.whole("dearer", 92, 108) // 100
    if name == "SyncDevice":
        known["steps"] = place.whole("steps", 3000, 12000)
    if "Rate" in name or "Review" in name:
        known["rating"] = place.whole("rating", 3, 5)
    return known


def _made_up(habit: _Habit, place: Place, day: date) -> Iterator[Event]:
    """At another time on a day after the one missed, where the habit is not due."""
    facts, schedule = habit.one.facts, habit.one.value["schedule"]
    later = day + timedelta(days=place.whole("days", 1, 2))
    start = seconds_of(habit.one.value["timing"]["start_time"])
    up, down = habit.setting.awake
    second = up + (start - up + place.whole("shift", 2 * 3600, 5 * 3600)) % (down - up)
    moment = datetime.combine(later, datetime.min.time()) + timedelta(seconds=second)
    if occurs(schedule, later) or not habit.telling.begins <= moment < habit.telling.ends:
        return
    words = {"activity": facts["activity"], "label": facts["label"]}
    shown = (Shown(habit.one.key, "", "distractor"),)
    yield spoken(place.at("made up"), moment, habit.setting, "missed", words, shown, habit.telling.chain)


def _announcement(habit: _Habit) -> Event:
    """A new or moved habit told with its times, within a week; always where no occurrence of the window was kept."""
    telling, here = habit.telling, habit.place.at("announcement")
    ends = min(telling.ends, telling.begins + timedelta(days=7))
    [moment] = spread(here, 1, telling.begins, ends, habit.setting.awake)
    words = _words(habit, here) | {"when": when_words(habit.one.value)}
    shown = (Shown(habit.one.key, habit.one.value_id, "supports"),)
    return spoken(here, moment, habit.setting, "routine", words, shown, telling.chain)


def when_words(value: dict[str, Any]) -> str:
    """A habit's times in words: "every Tuesday and Thursday from 18:30 to 19:15"."""
    schedule, timing = value["schedule"], value["timing"]
    until = f" to {timing['end_time']}" if timing.get("end_time") else ""
    at = f"from {timing['start_time']}{until}" if until else f"at {timing['start_time']}"
    match schedule["frequency_type"]:
        case "daily":
            return f"every day {at}"
        case "weekly":
            return f"every {_listed([WEEKDAYS[day] for day in schedule['days_of_week']])} {at}"
        case "biweekly":
            days = _listed([WEEKDAYS[day] for day in schedule["days_of_week"]])
            return f"every other {days} {at}, counting from {schedule['start_date']}"
        case "monthly_by_date":
            return f"on day {_listed([str(day) for day in schedule['days_of_month']])} of the month {at}"
    nth = {1: "first", 2: "second", 3: "third", 4: "fourth"}.get(schedule["week_of_month"], "last")
    return f"on the {nth} {WEEKDAYS[schedule['day_of_week']]} of the month {at}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
