"""What must hold of the states of a user (reference 6.1: prior existence, reverts, time overlap; ours: the rest).

The timelines keep these rules by the way they are made; this asks again, of whatever made them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from pipelines.applogs.schedules import FREQUENCY_TYPES, occurs
from pipelines.applogs.synthesis.ontology.slots import TRAVEL, minute_of
from pipelines.applogs.synthesis.preferences import REST, WORDS, intensity_of
from pipelines.applogs.synthesis.seasons import SEASONS
from pipelines.applogs.synthesis.timelines import CATEGORY
from pipelines.applogs.synthesis.world import Interval, World

BUFFER = timedelta(days=14)
"""A value that ends was true for so long; between two of one state is no time, or so much."""
LONGEST = 180
"""Minutes that an occurrence may last."""
OPERATIONS = {
    "attribute": {"initial", "add", "modify"},
    "habit": {"initial", "acquire", "adjust"},
    "preference": {"initial", "shift", "refine"},
}
CONTINUING = {"modify", "adjust", "shift", "refine"}
"""Operations that need a value before them."""
ENDINGS = {"attribute": {"remove", "revert"}, "habit": {"drop", "revert"}, "preference": set[str]()}
"""What ends a value that nothing follows at once."""


class BrokenWorld(ValueError):
    """States of a user that cannot be true together; names the user, the key and the rule."""


def check(world: World) -> None:
    """Raise `BrokenWorld` for the first rule that the intervals of a world do not keep."""
    if (first := next(broken(world), None)) is not None:
        key, rule, found = first
        raise BrokenWorld(f"{world.persona.user_id}: {key} breaks the rule {rule!r}: {found}")


def broken(world: World) -> Iterator[tuple[str, str, str]]:
    """(key, rule, what was found) of everything that breaks a rule."""
    lines: dict[tuple[str, str], list[Interval]] = defaultdict(list)
    ids: dict[str, set[str]] = defaultdict(set)
    for one in world.intervals:
        lines[one.key, one.member or ""].append(one)
        if one.value_id in ids[one.key]:
            yield one.key, "value ids are unique for a key", one.value_id
        ids[one.key].add(one.value_id)
        yield from ((one.key, *rest) for rest in _alone(one, world))
    for (key, _), line in lines.items():
        ordered = sorted(line, key=lambda one: one.valid_from)
        yield from ((key, *rest) for rest in _in_line(ordered, world))
    yield from _causes(world)
    yield from _crowded([one for one in world.intervals if one.family == "habit"], world)


def _alone(one: Interval, world: World) -> Iterator[tuple[str, str]]:
    span, end = world.span, one.valid_to
    if one.family not in OPERATIONS or not one.key.startswith(f"{CATEGORY[one.family]}:"):
        yield "a key is of its family", one.family
        return
    if not span.start <= one.valid_from < span.end or (end is not None and not one.valid_from < end <= span.end):
        yield "an interval lies in the span and begins before it ends", f"{one.valid_from} to {end}"
    if end is not None and end - one.valid_from < BUFFER:
        yield f"a value is true for {BUFFER.days} days before it changes", f"{one.value_id}, {end - one.valid_from}"
    if one.operation not in OPERATIONS[one.family]:
        yield "an operation is of its family", one.operation
    if (one.operation == "initial") != (one.valid_from == span.start):
        yield "what is true at the start, and nothing else, is initial", f"{one.operation} at {one.valid_from}"
    if (end is None) != (one.ended_by is None):
        yield "what ends has an ending", f"{one.ended_by} at {end}"
    if one.family == "habit":
        yield from _habit(one.value)
    elif one.family == "preference":
        yield from _preference(one)
    elif not isinstance(one.value, str) or any(one.facts[name] not in one.value for name in ("entity", "qualifier")):
        yield "an attribute is its entity and its qualifier", repr(one.value)
    elif one.facts["entity"] in one.facts["others"]:
        yield "a near miss is never true", one.facts["entity"]


def _habit(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    start, end = (minute_of(value["timing"][name]) for name in ("start_time", "end_time"))
    if not 0 <= start < end < 24 * 60:
        yield "a habit begins before it ends, on one day", str(value["timing"])
    if end - start > LONGEST:
        yield f"an occurrence is no longer than {LONGEST} minutes", str(value["timing"])
    if not _names_days(value["schedule"]):
        yield "a schedule names days that exist", str(value["schedule"])


def _names_days(schedule: dict[str, Any]) -> bool:
    kind = schedule.get("frequency_type")
    week = set(range(7))
    days = schedule.get("days_of_week", [])
    if kind == "weekly":
        return bool(days) and days == sorted(set(days) & week)
    if kind == "biweekly":
        return len(days) == 1 and date.fromisoformat(schedule["start_date"]).weekday() == days[0]
    if kind == "monthly_by_date":
        dates = schedule.get("days_of_month", [])
        return bool(dates) and dates == sorted(set(dates) & set(range(1, 29)))
    if kind == "monthly_nth_weekday":
        return schedule.get("week_of_month") in (1, 2, 3, 4, "last") and schedule.get("day_of_week") in week
    return kind in FREQUENCY_TYPES


def _preference(one: Interval) -> Iterator[tuple[str, str]]:
    weights, facts = one.facts["weights"], one.facts
    for weight in (*weights, facts["weight"]):
        try:
            bucket = intensity_of(weight)
        except ValueError as error:
            yield "a weight is a preference in [-1, 1]", str(error)
            return
        if bucket != facts["intensity"] or (weight < 0) != (facts["pole"] == "a"):
            yield "a statement is the bucket of its weight", f"{weight} of {facts['intensity']} {facts['pole']}"
    if not one.value["statement"].startswith(f"{WORDS[facts['intensity']]} {facts['poles'][facts['pole']]} over "):
        yield "a statement is the bucket of its weight", one.value["statement"]


def _in_line(line: list[Interval], world: World) -> Iterator[tuple[str, str]]:
    earlier: dict[str, Interval] = {}
    if line[0].operation in CONTINUING:
        yield "what changes was true before", f"{line[0].operation} at {line[0].valid_from}"
    for before, after in pairwise(line):
        earlier[before.value_id] = before
        yield from _between(before, after)
        back = after.facts.get("returns_to")
        reverts = back is not None or (before.ended_by == "revert" and before.valid_to == after.valid_from)
        if reverts and (back not in earlier or earlier[back].value != after.value):
            yield "a revert returns to an earlier value", f"{after.value_id} to {back}"
        if after.family == "preference" and after.cause is None and after.valid_from - before.valid_from < REST:
            yield f"a preference moves by itself after {REST.days} days", f"{after.value_id} at {after.valid_from}"
    last = line[-1]
    if last.ended_by is not None and last.ended_by not in ENDINGS[last.family]:
        yield "what ends is followed, or is ended by an ending", f"{last.value_id} by {last.ended_by}"
    if world.span.end == last.valid_to:
        yield "what holds to the end has no end", last.value_id


def _between(before: Interval, after: Interval) -> Iterator[tuple[str, str]]:
    if before.valid_to is None or before.valid_to > after.valid_from:
        yield "values of a key and member do not overlap", f"{before.value_id} and {after.value_id}"
        return
    gap = after.valid_from - before.valid_to
    if not gap:
        if before.ended_by not in (after.operation, "revert") or after.operation not in CONTINUING:
            yield "a value ends by what follows it", f"{before.ended_by} before {after.operation}"
        if before.value == after.value:
            yield "a change changes the value", after.value_id
    elif gap < BUFFER:
        yield f"between two values are none or {BUFFER.days} days", f"{gap} before {after.value_id}"
    elif after.operation in CONTINUING:
        yield "what changes was true before", f"{after.operation} at {after.valid_from}"
    elif before.ended_by not in ENDINGS[before.family]:
        yield "what ends is followed, or is ended by an ending", f"{before.value_id} by {before.ended_by}"


def _causes(world: World) -> Iterator[tuple[str, str, str]]:
    events = {one.id: one for one in world.life_events}
    for one in world.intervals:
        ends = [(one.facts["end_cause"], one.valid_to)] if one.facts.get("end_cause") else []
        for cause, moment in [(one.cause, one.valid_from)] * bool(one.cause) + ends:
            if cause not in events or (moment is not None and events[cause].moment > moment):
                yield one.key, "a cause happens before what it causes", f"{cause} of {one.value_id}"
            elif events[cause].kind in SEASONS and one.family != "habit":
                yield one.key, "seasons move habits only", f"{cause} of {one.value_id}"


class _Timed(NamedTuple):
    habit: Interval
    start: int
    end: int


def _crowded(habits: Iterable[Interval], world: World) -> Iterator[tuple[str, str, str]]:
    """Habits that come within `TRAVEL` minutes of each other on a day."""
    timed = [
        _Timed(one, *(minute_of(one.value["timing"][name]) for name in ("start_time", "end_time"))) for one in habits
    ]
    for one, other in combinations(timed, 2):
        if one.habit.key == other.habit.key or max(one.start, other.start) - min(one.end, other.end) >= TRAVEL:
            continue
        end = world.span.end
        begin = max(one.habit.valid_from, other.habit.valid_from)
        days = (min(one.habit.valid_to or end, other.habit.valid_to or end) - begin).days
        schedules = [side.habit.value["schedule"] for side in (one, other)]
        for day in (begin.date() + timedelta(days=n) for n in range(max(days, 0))):
            if occurs(schedules[0], day) and occurs(schedules[1], day):
                found = f"it meets {other.habit.key} on {day}"
                yield one.habit.key, f"two habits of a day are {TRAVEL} minutes apart", found
                break
