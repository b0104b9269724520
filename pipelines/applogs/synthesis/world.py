"""What is true in a synthetic user's life: persona, life events, and states with their intervals (reference 6.2)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

START = datetime(2023, 10, 1)
"""First moment of a default log: the naive wall clock of the published data."""
WINDOWS = 5
WINDOW_MONTHS = 3


@dataclass(frozen=True, slots=True)
class Span:
    """How long a user is followed, in windows of three months, and how many logs are aimed at."""

    windows: int = WINDOWS
    logs: int = 1800
    start: datetime = START

    def opening(self, window: int) -> datetime:
        """First moment of a window; of `windows` the moment after the last."""
        months = self.start.month - 1 + window * WINDOW_MONTHS
        return self.start.replace(year=self.start.year + months // 12, month=months % 12 + 1)

    @property
    def end(self) -> datetime:
        """The moment after the last log."""
        return self.opening(self.windows)

    def window_of(self, moment: datetime) -> int:
        """Window that holds a moment."""
        return max(n for n in range(self.windows) if self.opening(n) <= max(moment, self.start))


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """Something that happens to a user and changes states of several domains.

    `words` says it as the user would say it ("we moved to a smaller flat by the river"). What passes
    (a trip, an injury, a season) is over at `until`, and `after` says so ("my ankle is fine again").
    """

    id: str
    kind: str
    moment: datetime
    words: str
    until: datetime | None = None
    after: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """One value of a state while it is true: valid_from ≤ t < valid_to (None: to the end).

    `value` is in the published shape of its family: an attribute's text (an element's text
    where `member` is set), a habit's `{schedule, timing, location?}`, a preference's `{statement}`.
    `operation` is one of initial, modify, add, acquire, adjust, shift, refine; what ends it
    is `ended_by`: the next value's operation, remove, drop, revert, or None.
    `facts` are what the renderers need beside the value (entity, qualifier, apps, poles, …).
    """

    key: str
    family: str
    domain: str
    value_id: str
    value: Any
    valid_from: datetime
    valid_to: datetime | None
    operation: str
    member: str | None = None
    ended_by: str | None = None
    cause: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Persona:
    """Who a synthetic user is. Others are named by what they are to the user ("my sister"), never by a made-up name."""

    user_id: str
    archetype: str
    city: str
    household: str
    work: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class World:
    """All that is true of one user over the span, sorted by key, member and beginning.

    `seed` is the root of the tree at which the user's events and logs are drawn, `{seed}/{user_id}`.
    """

    persona: Persona
    span: Span
    life_events: tuple[LifeEvent, ...]
    intervals: tuple[Interval, ...]
    seed: int = 0

    def holding(self, key: str, moment: datetime) -> list[Interval]:
        """Intervals of a state that hold at a moment, in the order of their beginning."""
        return [
            one
            for one in self.intervals
            if one.key == key and one.valid_from <= moment and (one.valid_to is None or moment < one.valid_to)
        ]
