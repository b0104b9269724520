"""Attributes and collections of a user: an entity with a qualifier, that changes, comes and goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection
from pipelines.applogs.synthesis.timelines import QUIET, Change, Fit, Life, Line, fitted, lived, plan
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval

RATES = {"modify": 0.04, "detail": 0.025, "remove": 0.02}
"""Chances a window that an attribute changes, changes in its qualifier only, or ends, by itself."""
LATE: dict[Fit, float] = {"suits": 0.06, "strange": 0.004, "never": 0.0}
"""Chance a window that it comes later, by itself."""
ELEMENT_RATES = {"add": 0.1, "remove": 0.07}
"""Chances a window that a collection wins or loses an element by itself."""
MOST = 5
"""Elements a user holds at the same time."""
SPARE = 4
"""Entities of a pool that are never true for a user: the near misses."""
REASONS = {
    "begin": (
        "a friend talked me into it",
        "I had been putting it off for months",
        "I read a good comparison and made up my mind",
        "an offer came at the right time",
        "I had wanted to try it for a long time",
        "someone I trust swears by it",
        "I finally had the time for it",
        "it was missing in my life",
        "I saw it somewhere and could not forget it",
        "it was the next thing on my list",
    ),
    "change": (
        "the old arrangement no longer fit my week",
        "I read a good comparison and made up my mind",
        "I wanted something simpler",
        "the one before got on my nerves",
        "an offer came at the right time",
        "I felt it was time for a change",
        "I kept running into the same trouble",
        "I wanted better value for what I pay",
        "I had a spare afternoon to sort it out",
        "it came up while I was tidying up my affairs",
        "a friend recommended something better",
    ),
    "end": (
        "I hardly used it any more",
        "it was not worth the trouble",
        "I was only keeping it out of habit",
        "it had served its purpose",
        "I wanted fewer things to keep up with",
        "I had lost interest",
        "it ran out and I did not miss it",
        "I was tidying up my affairs",
        "it never became what I hoped for",
        "I would rather spend the time elsewhere",
    ),
}
"""Why something begins, changes or ends by itself, in the user's words."""

Pair = tuple[str, str]
"""Entity and qualifier."""


@dataclass(frozen=True, slots=True)
class _Teller:
    state: Attribute
    work: str
    others: list[str]
    home: Place
    begins: str = "add"
    ends: str = "remove"

    def told(self, choice: Pair) -> tuple[str, dict[str, Any]]:
        state, (entity, qualifier) = self.state, choice
        low, high = state.amount
        return f"{entity}, {qualifier}", {
            "label": state.label,
            "entity": entity,
            "qualifier": qualifier,
            "act": state.act.format(entity=entity, qualifier=qualifier, work=self.work),
            "category": state.category,
            "shows": [one.split("/") for one in state.shows],
            "amount": self.home.at(entity).whole(("amount", qualifier), low, high),
            "others": list(self.others),
        }

    def operation(self, before: Pair, after: Pair) -> str:
        return "modify"


def _pools(state: Attribute, home: Place) -> tuple[list[str], list[str]]:
    """Entities a user may come to hold, in their order, and those never held."""
    order = home.some("entities", state.entities, len(state.entities))
    spare = min(SPARE, len(order) - 2)
    return order[:-spare], order[-spare:]


def _other(home: Place, items: Sequence[str], before: str) -> str:
    return home.one("other", [one for one in items if one != before])


def attribute_intervals(life: Life, domain: str, state: Attribute) -> list[Interval]:
    """Intervals of an attribute of one value."""
    home = life.home(domain, state)
    usable, others = _pools(state, home)
    rates = {} if state.lasting else {**RATES, "add": LATE[life.fit(state)]}

    first = (usable[0], home.one("qualifier", state.qualifiers)) if life.begins_with(domain, state) else None
    fresh = usable[1:] if first else usable[:]

    def another(change: Change, before: str) -> Pair:
        # What was true once comes back by itself only when there is nothing new.
        entity = fresh.pop(0) if fresh else _other(change.place, usable, before)
        return entity, change.place.one("qualifier", state.qualifiers)

    def step(held: Pair | None, change: Change) -> Pair | None:
        if change.does == "add":
            return held or another(change, "")
        if held is None or (change.does == "remove" and not state.lasting):
            return None
        entity, qualifier = held
        if change.does == "detail":
            return entity, _other(change.place, state.qualifiers, qualifier)
        if change.does == "modify":
            return another(change, entity)
        return held

    line: Line[Pair] = Line(state.name, "attribute", domain, life.span, _Teller(state, life.persona.work, others, home))
    return lived(line, first, plan(life, home, state, rates, REASONS), step)


def collection_intervals(life: Life, domain: str, state: Collection) -> list[Interval]:
    """Intervals of the elements of a collection, each with its own."""
    home, span = life.home(domain, state), life.span
    usable, others = _pools(state, home)
    teller = _Teller(state, life.persona.work, others, home)
    fit, begun = life.fit(state), life.begins_with(domain, state)
    lines: dict[str, Line[Pair]] = {}
    free: dict[str, datetime] = {}

    def begin(entity: str, moment: datetime, operation: str, change: Change | None) -> None:
        line: Line[Pair] = Line(state.name, "attribute", domain, span, teller, member=entity)
        line.write(moment, operation, (entity, home.at(entity).one("qualifier", state.qualifiers)), change)
        lines[entity], free[entity] = line, moment + QUIET

    if begun:
        for entity in usable[: home.whole("size", *state.size)]:
            begin(entity, span.start, "initial", None)
    rates = ELEMENT_RATES if fit == "suits" or begun else {"add": LATE[fit]}
    for planned in plan(life, home, state, rates, REASONS):
        if (change := fitted(planned, span.start, span)) is None:
            continue
        held = [entity for entity, line in lines.items() if line.holds(change.moment)]
        if change.does == "add":
            fresh = [entity for entity in usable if entity not in lines]
            if not fresh or len(held) >= MOST:
                continue
            begin(fresh[0], change.moment, teller.begins, change)
            if change.until is not None:
                lines[fresh[0]].stop(change.until, change, "revert")
        elif gone := [entity for entity in held if free[entity] <= change.moment and lines[entity].is_open]:
            lines[change.place.one("which", gone)].stop(change.moment, change, teller.ends)
    return [one for line in lines.values() for one in line.finished()]
