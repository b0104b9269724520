"""Timelines of states: planned changes → intervals, by the operations of the three families (reference 6.1, 6.2.4).

Nothing here looks at another state. A change lands at a midnight, so that a day of a habit
lies in one interval; changes that come too soon after another of the same state are passed over.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, Protocol, TypeVar

from pipelines.applogs.state_values import CATEGORIES
from pipelines.applogs.synthesis.ontology.forms import State
from pipelines.applogs.synthesis.personas import BOUND
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval, LifeEvent, Persona, Span

QUIET = timedelta(days=21)
"""After the beginning of a span nothing changes for so long, and nothing changes twice within it."""
LAST = timedelta(days=14)
"""Before the end of a span nothing changes for so long."""

Choice = TypeVar("Choice")
Told = TypeVar("Told", contravariant=True)


Fit = Literal["suits", "strange", "never"]
"""Whether a state is likely for a user, unlikely, or nothing that comes by itself."""
HELD: dict[Fit, float] = {"suits": 0.84, "strange": 0.03, "never": 0.0}
"""Probability that a state is true at the beginning."""
STRANGE = 0.25
"""Share of the chance of `On` that is left for what would begin with a life event where it does not suit the user."""
BEGINS, ENDS = ("add", "acquire"), ("remove", "drop")
CATEGORY = {family: category for category, family in CATEGORIES.items()}


@dataclass(frozen=True, slots=True)
class Life:
    """What every state of a user may know: who it is, how long, what happens, and the root of the draws."""

    root: Place
    persona: Persona
    span: Span
    life_events: tuple[LifeEvent, ...]

    def home(self, domain: str, state: State) -> Place:
        """Where a state draws."""
        return self.root.at(domain, state.name)

    def fit(self, state: State) -> Fit:
        """How likely a state is for this user."""
        if not state.traits or not set(state.traits).isdisjoint(self.persona.facts["traits"]):
            return "suits"
        return "never" if BOUND.issuperset(state.traits) else "strange"

    def begins_with(self, domain: str, state: State) -> bool:
        """Whether a state is true for this user at the beginning."""
        return self.home(domain, state).chance("held", HELD[self.fit(state)])


@dataclass(frozen=True, slots=True)
class Change:
    """Something that may move a state at a moment: `does` in the words of `On`, why, and when it passes."""

    moment: datetime
    does: str
    place: Place
    reason: str
    event: LifeEvent | None = None
    until: datetime | None = None


def phase_of(does: str) -> str:
    """Whether a change begins something, ends it, or changes it: the kinds of reasons."""
    return "begin" if does in BEGINS else "end" if does in ENDS else "change"


def midnight(moment: datetime) -> datetime:
    """The first midnight after a moment."""
    return moment.replace(hour=0, minute=0, second=0) + timedelta(days=1)


def plan(
    life: Life, home: Place, state: State, rates: Mapping[str, float], reasons: Mapping[str, Sequence[str]]
) -> list[Change]:
    """Changes of one state in their order: what life events do to it, and what happens by itself.

    `rates` are chances a window, `reasons` the family's by `phase_of` a change. An effect comes 1–14 days after its
    event, 1–4 where the event passes; what its end undoes, is undone 1–5 days after it, unless the span is over.
    """
    span, suits = life.span, life.fit(state) == "suits"
    changes = []
    for event in life.life_events:
        for on in state.moved_by:
            strange = on.does in BEGINS and not suits and on.chance < 1
            likely = on.chance * STRANGE if strange else on.chance
            if on.kind != event.kind or not home.chance(f"{event.id}/{on.does}", likely):
                continue
            here = home.at(event.id, on.does)
            moment = midnight(event.moment + timedelta(days=here.whole("delay", 0, 13 if event.until is None else 3)))
            passing = None if on.stays else event.until
            until = passing and midnight(passing + timedelta(days=here.whole("undone", 0, 4)))
            changes.append(Change(moment, on.does, here, event.words, event, until))
    for window in range(span.windows):
        for does, rate in rates.items():
            if home.chance(f"{window}/{does}", rate):
                here = home.at(window, does)
                begin = span.opening(window)
                days = (span.opening(window + 1) - begin).days
                moment = begin + timedelta(days=here.whole("day", 0, days - 1))
                changes.append(Change(moment, does, here, here.one("reason", reasons[phase_of(does)])))
    return in_order(changes, span)


def in_order(changes: Iterable[Change], span: Span) -> list[Change]:
    """Changes by moment and place, without those too near to the ends of the span."""
    ordered = sorted(changes, key=lambda one: (one.moment, one.place.path))
    return [one for one in ordered if span.start + QUIET <= one.moment <= span.end - LAST]


class Teller(Protocol[Told]):
    """What a family says of a choice: its value and facts, and the operation that leads from one to another."""

    @property
    def begins(self) -> str:
        """Operation by which it begins after the start."""

    @property
    def ends(self) -> str:
        """What ends it where nothing follows."""

    def told(self, choice: Told) -> tuple[Any, dict[str, Any]]:
        """Value and facts."""

    def operation(self, before: Told, after: Told) -> str:
        """Name of the change between two choices."""


@dataclass
class Line(Generic[Choice]):
    """The intervals of one key (and member), written forwards."""

    name: str
    family: str
    domain: str
    span: Span
    teller: Teller[Choice]
    member: str | None = None
    done: list[Interval] = field(default_factory=list)
    _open: dict[str, Any] | None = None
    _ids: dict[Any, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Key of the state."""
        return f"{CATEGORY[self.family]}:{self.name}"

    @property
    def is_open(self) -> bool:
        """Whether its last value has no end yet."""
        return self._open is not None

    def holds(self, moment: datetime) -> bool:
        """Whether a value written so far is true at a moment."""
        return self.is_open or any(moment < one.valid_to for one in self.done if one.valid_to is not None)

    def write(
        self, moment: datetime, operation: str, choice: Choice, change: Change | None = None, back: bool = False
    ) -> None:
        """Let a value begin; one that holds ends by the same operation, or by a revert where it goes `back`."""
        if self._open is not None:
            self._close(moment, "revert" if back else operation)
        value, facts = self.teller.told(choice)
        if change is not None:
            facts["reason"] = change.event.after if back and change.event else change.reason
        if back:
            facts["returns_to"] = self._ids[choice]
        stem = self.name if self.member is None else f"{self.name}/{self.member}"
        self._open = {
            "value_id": f"{stem}#{len(self.done)}",
            "value": value,
            "valid_from": moment,
            "operation": operation,
            "cause": change.event.id if change is not None and change.event else None,
            "facts": facts,
        }
        self._ids[choice] = self._open["value_id"]

    def stop(self, moment: datetime, change: Change, ended_by: str) -> None:
        """End the value that holds; nothing follows at once."""
        if self._open is None:
            raise ValueError(f"{self.key} holds no value that could end at {moment}")
        event = change.event
        self._open["facts"]["end_reason"] = event.after if event and ended_by == "revert" else change.reason
        self._open["facts"]["end_cause"] = event.id if event else None
        self._close(moment, ended_by)

    def _close(self, moment: datetime | None, ended_by: str | None) -> None:
        self.done.append(
            Interval(
                key=self.key,
                family=self.family,
                domain=self.domain,
                valid_to=moment,
                member=self.member,
                ended_by=ended_by,
                **(self._open or {}),
            )
        )
        self._open = None

    def finished(self) -> list[Interval]:
        """All intervals; the one that still holds has no end."""
        if self._open is not None:
            self._close(None, None)
        return self.done


def fitted(change: Change, free: datetime, span: Span) -> Change | None:
    """A change as it may come when nothing may before `free`; None where it may not come at all.

    What a life event does for good waits; what it does for a while must have its time, or it does nothing.
    """
    if change.moment < free and change.event is not None and change.until is None:
        change = replace(change, moment=free)
    if change.until is not None and change.until > span.end - LAST:
        change = replace(change, until=None)
    elif change.until is not None and change.until < change.moment + QUIET:
        return None
    return change if free <= change.moment <= span.end - LAST else None


def lived(
    line: Line[Choice],
    first: Choice | None,
    changes: Iterable[Change],
    step: Callable[[Choice | None, Change], Choice | None],
    rest: timedelta = QUIET,
) -> list[Interval]:
    """Intervals of a state that begins with `first` (None: not held) and is moved by `changes`.

    `step` tells the choice after a change: None ends the state, the same leaves it. What happens by itself keeps
    `rest` from the change before.
    """
    held = first
    if held is not None:
        line.write(line.span.start, "initial", held)
    free = moved = line.span.start
    for planned in changes:
        change = fitted(planned, free, line.span)
        if change is None or (change.event is None and change.moment < moved + rest):
            continue
        after = step(held, change)
        if after == held:
            continue
        _move(line, held, after, change.moment, change)
        moved = change.moment
        if change.until is not None:
            _move(line, after, held, change.until, change, back=True)
            moved = change.until
        else:
            held = after
        free = moved + QUIET
    return line.finished()


def _move(
    line: Line[Choice],
    before: Choice | None,
    after: Choice | None,
    moment: datetime,
    change: Change,
    back: bool = False,
) -> None:
    if after is None:
        line.stop(moment, change, "revert" if back else line.teller.ends)
    elif before is None:
        line.write(moment, line.teller.begins, after, change, back)
    else:
        line.write(moment, line.teller.operation(before, after), after, change, back)
