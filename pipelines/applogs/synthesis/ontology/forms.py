"""The forms of the tables: what is said of an attribute, a collection, a habit, a preference, whoever holds it."""

from collections.abc import Mapping
from dataclasses import dataclass

DOMAINS = (
    "work_education",
    "family_relationships",
    "social_community",
    "health_selfcare",
    "finances_living",
    "leisure_media",
)
WEEKS = (1, 2, 3, 4, "last")


def listed(text: str) -> tuple[str, ...]:
    """Items of a text, parted by semicolons; lines are joined."""
    return tuple(" ".join(item.split()) for item in text.split(";") if item.strip())


@dataclass(frozen=True, slots=True)
class On:
    """What a kind of life event does to a state, and with which probability (1: always, whomever the state suits).

    Attribute: modify, detail (only the qualifier), add, remove. Collection: add, remove. Habit: time, place, days,
    indoors, drop, acquire. Preference: a, b (towards a pole). Where the event passes, so does its effect, unless it
    `stays`; on preferences it always does.
    """

    kind: str
    does: str
    chance: float
    stays: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What all tables share: `traits` of those who are likely to hold it (none: everybody is)."""

    name: str
    label: str
    traits: tuple[str, ...] = ()
    moved_by: tuple[On, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(State):
    """One value, an entity with a qualifier; every pair of the two pools makes sense.

    `act` holds {entity} and {qualifier}, and {work} where the persona's work is meant. `shows` are "App/Api".
    `amount` is the range of its payments in cents.
    """

    act: str
    category: str
    shows: tuple[str, ...]
    entities: tuple[str, ...]
    qualifiers: tuple[str, ...]
    amount: tuple[int, int] = (0, 0)
    lasting: bool = False
    """It changes with life events only, and never ends (a home, an employer)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Attribute):
    """A set of entities with a qualifier each; `size` is how many a user begins with."""

    size: tuple[int, int] = (2, 3)


@dataclass(frozen=True, slots=True)
class Slot:
    """The part of the week that a habit owns: no other habit of the ontology may come within the buffer of it."""

    opens: str
    closes: str
    days: tuple[int, ...]
    weeks: tuple[int | str, ...] = ()
    """Weeks of the month, for `monthly_nth_weekday`; none: every week."""
    dates: tuple[int, ...] = ()
    """Days of the month, for `monthly_by_date`; none: every date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit(State):
    """A thing done by a schedule. `frequencies` are those it may have; `apps` are "App/Api" or "App/Api/day type".

    `counts` are days a week (weekly). `places` and `indoors` hold (place, address); `indoors` is where it goes for a
    season. `amount` is the range of what an occurrence costs, in cents.
    """

    activity: str
    category: str
    apps: tuple[str, ...]
    words: tuple[str, ...]
    minutes: tuple[int, ...]
    slot: Slot
    frequencies: tuple[str, ...] = ("weekly",)
    counts: tuple[int, ...] = (1,)
    places: tuple[tuple[str, str], ...]
    indoors: tuple[tuple[str, str], ...] = ()
    people: tuple[str, ...] = ("",)
    weak: tuple[str, ...] = ()
    intensity: str = "low"
    amount: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference(State):
    """A choice between two poles; `a` and `b` are noun phrases. `choices` are "App/Api/category" of whatever pole.

    `options_a` and `options_b` are names of concrete things of either pole, `kinds_a` and `kinds_b` what each of them
    is, as a shop or a catalogue would say: what tells the pole in the log, mostly in other words than the pole's.
    """

    axis: str
    a: str
    b: str
    qualifiers: tuple[str, ...]
    choices: tuple[str, ...]
    options_a: tuple[str, ...]
    kinds_a: tuple[str, ...]
    options_b: tuple[str, ...]
    kinds_b: tuple[str, ...]


Ontology = Mapping[str, tuple[State, ...]]
"""Domain → its states."""
