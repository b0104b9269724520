"""Routines in words: what their logs say most, where, how long, and the reminder of one (ours)."""

import re
from collections import Counter
from functools import lru_cache
from math import log
from statistics import median
from typing import Any

from pipelines.applogs.json_text import JsonObject
from pipelines.applogs.known import Known
from pipelines.applogs.phrases import NAMING, TOPICS
from pipelines.applogs.routines import Routine
from pipelines.applogs.schedules import WEEKDAYS
from pipelines.evaluation.judging.stems import STOP, stem

NAMED_BY = 4
"""Words that a reminder names a routine by at most."""
LIFT = 3.0
"""So many times as often a word must stand in a routine's logs as in all."""
_MINUTES = re.compile(r"(?i)\b(\d{1,3})[ -]?(?:min|minutes?)\b")
_DURATION = re.compile(r'"duration_minutes":\s?(\d+)[,}]')
_PLACE = re.compile(r"\b(?:at|in|to|from)\s+((?:(?:the|my|our)\s+)?[\w'’&-]+(?:\s+[\w'’&-]+){0,4}?)(?=\s+(?:for|now|about|again|today|is|was|back|with)\b|\s*[.,;:!?()\n]|\s*$)")  # fmt: skip  # noqa: E501
_PLACED = frozenset({"location", "destination", "place", "venue"})
_TOKEN = re.compile(r"[^\W\d_]+")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def subject(known: Known, routine: Routine) -> list[str]:
    """The words that a routine's logs say most, against all logs: at most `NAMED_BY`, best first.

    A word must stand in two of its logs, and `LIFT` times as often as elsewhere.
    """
    counts: Counter[str] = Counter()
    shown: dict[str, Counter[str]] = {}
    for position in routine.positions:
        words = _worded(known.row(position)["record"], known, known.places[position])
        counts.update({stem(word) for word in words})
        for word in words:
            shown.setdefault(stem(word), Counter())[word] += 1
    n, of_all = len(routine.positions), len(known.logs)
    where = {stem(word) for word in _TOKEN.findall((location(known, routine) or "").lower())}
    scores = {}
    for one, held in counts.items():
        lift = held / n / (len(known.index[one]) / of_all) if one in known.index else 0.0
        # Where there is little but the routine's logs, nothing stands in them much more often.
        if one not in where and held >= 2 and lift >= min(LIFT, of_all / n / 2):
            scores[one] = held * log(1 + lift)
    best = sorted(scores, key=lambda one: (-scores[one], one))[:NAMED_BY]
    return [max(shown[one], key=lambda word: (shown[one][word], -len(word), word)) for one in best]


def _worded(record: str, known: Known, place: int) -> set[str]:
    texts = " ".join(text for _, text in known.said[place].own).lower()
    return {word for word in _TOKEN.findall(texts) if word not in STOP and len(word) > 2}


def topic(known: Known, routine: Routine) -> str:
    """What the app of a routine whose logs say nothing is about."""
    app: str = Counter(known.row(position)["app"] for position in routine.positions).most_common(1)[0][0]
    return TOPICS.get(app, app).split(" ")[0]


def location(known: Known, routine: Routine) -> str | None:
    """The place that a routine's logs name most, in two of them at least; None where they name none."""
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for position in routine.positions:
        # In a fixed order, for the last spelling of a place is the one shown.
        for place in sorted(_places(known.said[known.places[position]].own)):
            counts[place.lower()] += 1
            shown[place.lower()] = place
    best = max(counts, key=lambda one: (counts[one] * len(one.split()) ** 0.5, one), default=None)
    return shown[best] if best is not None and counts[best] >= 2 else None


@lru_cache(maxsize=1 << 12)
def _places(leaves: tuple[tuple[str, str], ...]) -> frozenset[str]:
    found = set()
    for name, text in leaves:
        if _PLACED & set(name.split("_")):
            found.add(text)
        elif not NAMING & set(name.split("_")):
            found |= {re.sub(r"^(?:the|my|our)\s+", "", one) for one in _PLACE.findall(text)}
    return frozenset(one for one in found if len(one) > 3)


def end_time(known: Known, routine: Routine) -> str | None:
    """`HH:MM` after the median of the minutes that its logs tell, to five; None where they tell none."""
    told: list[int] = []
    for position in routine.positions:
        one = known.said[known.places[position]]
        told += [int(found) for _, text in one.leaves for found in _MINUTES.findall(text)]
        told += [int(found) for found in _DURATION.findall(known.row(position)["record"])]
    told = [one for one in told if one >= 5]
    if not told:
        return None
    ends = (5 * round((routine.minute + median(told)) / 5)) % (24 * 60)
    return f"{ends // 60:02}:{ends % 60:02}"


def values(known: Known, routine: Routine) -> JsonObject:
    """A routine in the names of a habit's value, as far as its logs tell."""
    told: dict[str, Any] = {**routine.schedule, "start_time": routine.start_time}
    told |= {"end_time": end_time(known, routine), "location": location(known, routine)}
    return {name: value for name, value in told.items() if value is not None}


def reminder(known: Known, routine: Routine, names: list[str]) -> str:
    """What to do, when, until when and where."""
    told = values(known, routine)
    when = f"{_often(routine.schedule)} at {routine.start_time}"
    until = f" until {told['end_time']}" if "end_time" in told else ""
    where = f" at {told['location']}" if "location" in told else ""
    return f"{when}{until}: time for {', '.join(names)}{where}."


def _often(schedule: JsonObject) -> str:
    kind = schedule["frequency_type"]
    if kind == "daily":
        return "Every day"
    if kind == "monthly_by_date":
        return f"Every month on day {_listed([str(day) for day in schedule['days_of_month']])}"
    if kind == "monthly_nth_weekday":
        return f"On the {_ORDINALS[schedule['week_of_month'] - 1]} {WEEKDAYS[schedule['day_of_week']]} of every month"
    days = _listed([WEEKDAYS[day] for day in schedule["days_of_week"]])
    return f"Every other week on {days}" if kind == "biweekly" else f"Every {days}"


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
