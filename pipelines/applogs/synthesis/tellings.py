"""Which intervals the logs tell of, and in which window (reference 6.1, selection).

Habits are told in every window. A change is told in the window in which it comes; what
ends in the next window is told once more before. All else that lasts is told once, in
the first window in which a draw of one half selects its state: all members of a
collection together, for a list is known only as a whole; of preferences further choices
are seen at times. What was not told yet is true but cannot be known; it is not asked (`askable`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from pipelines.applogs.synthesis.events import Event
from pipelines.applogs.synthesis.moments import waking
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval, LifeEvent, Persona, Span, World

CHOSEN = 0.5
"""Chance of a state that lasts to be told in a window, as long as it was not (published)."""


AGAIN = 0.4
"""Chance of a preference that was told to be seen in a later window too (ours: only choices show how it drifts)."""
SHORTEST = timedelta(minutes=5)
"""What is shorter is not told."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all chains of a user share: `awake` in seconds of the day, life events by id."""

    persona: Persona
    start: datetime
    end: datetime
    awake: tuple[int, int]
    life: dict[str, LifeEvent]


@dataclass(frozen=True, slots=True)
class Telling:
    """One interval to be told in one window: its coming (`fresh`), its lasting, or its `farewell`.

    `before` is the interval that it follows without a gap. The part of the interval in the window is
    `begins` ≤ t < `ends`; of a farewell, what of the window comes after the interval's end.
    """

    interval: Interval
    before: Interval | None
    window: int
    kind: str
    begins: datetime
    ends: datetime

    @property
    def chain(self) -> str:
        """Id of its chain: by state, window and value, whatever other states there are."""
        return f"{self.interval.domain}_w{self.window}_{self.interval.value_id}_{self.kind}"

    def place(self, root: Place) -> Place:
        """Where its events are drawn."""
        one = self.interval
        return root.at(one.domain, one.key, self.window, one.value_id, self.kind)


@dataclass(frozen=True, slots=True)
class Chain:
    """Events that tell one thing of a state, in the order of time, and what it comes to when the last has happened.

    `change_type` is the published word; `interval` holds the value that it sets or takes away.
    """

    id: str
    change_type: str
    interval: Interval
    events: tuple[Event, ...]


def setting_of(world: World) -> Setting:
    """The setting of a user's chains."""
    life = {event.id: event for event in world.life_events}
    return Setting(world.persona, world.span.start, world.span.end, waking(world.persona), life)


def root_of(world: World) -> Place:
    """The place at which all of a user's events are drawn."""
    return Place(f"{world.seed}/{world.persona.user_id}")


def tellings(world: World) -> Iterator[Telling]:
    """Every telling of a world, by key; within it farewells last."""
    span, root = world.span, root_of(world)
    for _, group in groupby(world.intervals, key=lambda one: one.key):
        intervals = list(group)
        yield from _told(intervals, span, root)
        yield from _farewells(intervals, span)


def _told(intervals: list[Interval], span: Span, root: Place) -> Iterator[Telling]:
    """Tellings of one state, window by window."""
    told: set[str] = set()
    for window in range(span.windows):
        here = [(one, part) for one in intervals if (part := stretch(one, window, span)) is not None]
        if not here:
            continue
        fresh = {one.value_id for one, _ in here if one.operation != "initial" and one.value_id not in told}
        due = fresh | {one.value_id for one, _ in here if _ends_soon(one, window, told, span)}
        untold = {one.value_id for one, _ in here} - told
        # A collection is known only as a whole: with one member, all others that were not told.
        chosen = root.at(here[0][0].domain, here[0][0].key, window).chance("selected", CHOSEN)
        together = chosen or (bool(due) and here[0][0].member is not None)
        for one, (begins, ends) in here:
            again = one.family == "preference" and root.at(one.domain, one.key, window).chance("again", AGAIN)
            new = together and one.value_id in untold
            if one.family == "habit" or one.value_id in due or new or (again and one.value_id in told):
                told.add(one.value_id)
                is_fresh = one.value_id in fresh
                before = _followed(one, intervals) if is_fresh else None
                yield Telling(one, before, window, "fresh" if is_fresh else "lasting", begins, ends)


def _ends_soon(one: Interval, window: int, told: set[str], span: Span) -> bool:
    if one.valid_to is None or one.valid_to >= span.end:
        return False
    last = span.window_of(one.valid_to)
    return window == last - 1 or (window == last and one.value_id not in told)


def _followed(one: Interval, intervals: list[Interval]) -> Interval | None:
    return next(
        (old for old in intervals if old.member == one.member and old.valid_to == one.valid_from),
        None,
    )


def _farewells(intervals: list[Interval], span: Span) -> Iterator[Telling]:
    for one in intervals:
        if one.valid_to is None:
            continue
        later = [new.valid_from for new in intervals if new.member == one.member and new.valid_from >= one.valid_to]
        window = span.window_of(one.valid_to)
        closes = max(span.opening(window + 1), one.valid_to + timedelta(hours=1))
        ends = min(closes, span.end, *later)
        if ends - one.valid_to >= SHORTEST:
            yield Telling(one, None, window, "farewell", one.valid_to, ends)


def stretch(one: Interval, window: int, span: Span) -> tuple[datetime, datetime] | None:
    """The part of a window in which an interval is true; None where it is too short to be told."""
    begins = max(span.opening(window), one.valid_from)
    ends = min(span.opening(window + 1), one.valid_to or span.end)
    return (begins, ends) if ends - begins >= SHORTEST else None
