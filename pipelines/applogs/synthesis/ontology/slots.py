"""Who owns which part of the week: habits of a user never meet, for no two templates share a slot.

The day is cut into bands with half an hour between them. A template owns a band on some weekdays, and there perhaps
only some dates or weeks of the month. A new one must take what is free; `clashes` tells what it meets.
"""

from itertools import combinations

from pipelines.applogs.synthesis.ontology.forms import Habit, Ontology, Slot

BANDS = {
    "dawn": ("05:45", "06:55"),
    "early": ("07:25", "08:15"),
    "nine": ("08:45", "09:35"),
    "ten": ("10:05", "10:55"),
    "noon": ("11:25", "12:10"),
    "lunch": ("12:40", "13:30"),
    "two": ("14:00", "14:50"),
    "four": ("15:20", "16:10"),
    "five": ("16:40", "17:40"),
    "six": ("18:10", "19:10"),
    "eight": ("19:40", "20:40"),
    "nine_pm": ("21:10", "21:55"),
    "late": ("22:25", "23:10"),
}
WORKDAYS = (0, 1, 2, 3, 4)
ALL_DAYS = (0, 1, 2, 3, 4, 5, 6)
MON, TUE, WED, THU, FRI, SAT, SUN = ALL_DAYS
TRAVEL = 30
"""Minutes between two slots, and between two habits of a day."""


def minute_of(clock: str) -> int:
    """Minutes after midnight of "HH:MM"."""
    return int(clock[:2]) * 60 + int(clock[3:])


def clock_of(minute: int) -> str:
    """The clock's "HH:MM" of minutes after midnight."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def slot(band: str, *days: int, to: str = "", weeks: tuple[int | str, ...] = (), dates: tuple[int, ...] = ()) -> Slot:
    """A band on some weekdays (none: all), `to` the end of a later band."""
    return Slot(BANDS[band][0], BANDS[to or band][1], days or ALL_DAYS, weeks, dates)


def clashes(ontology: Ontology) -> list[str]:
    """Pairs of habit templates whose slots come within `TRAVEL` minutes of each other on a day, in words."""
    habits = [(domain, one) for domain, states in ontology.items() for one in states if isinstance(one, Habit)]
    return [
        f"{one.name} of {domain} and {other.name} of {elsewhere} meet in their slots"
        for (domain, one), (elsewhere, other) in combinations(habits, 2)
        if _near(one.slot, other.slot) and _same_day(one.slot, other.slot)
    ]


def _near(one: Slot, other: Slot) -> bool:
    return (
        max(minute_of(one.opens), minute_of(other.opens)) - min(minute_of(one.closes), minute_of(other.closes)) < TRAVEL
    )


def _same_day(one: Slot, other: Slot) -> bool:
    if set(one.days).isdisjoint(other.days):
        return False
    if one.dates and other.dates:
        return not set(one.dates).isdisjoint(other.dates)
    if one.weeks and other.weeks:
        # The last week of a month may be its fourth.
        weeks = [{4, *taken} if "last" in taken else set(taken) for taken in (one.weeks, other.weeks)]
        return not weeks[0].isdisjoint(weeks[1])
    return True
