"""The world of a synthetic user: who it is, what happens, and every state with its intervals (reference 6.2.1–5)."""

from pipelines.applogs.synthesis.attributes import attribute_intervals, collection_intervals
from pipelines.applogs.synthesis.habits import habit_intervals
from pipelines.applogs.synthesis.life_events import life_events_of
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, Ontology, Preference, State
from pipelines.applogs.synthesis.personas import persona_of
from pipelines.applogs.synthesis.preferences import preference_intervals
from pipelines.applogs.synthesis.seasons import seasons_of
from pipelines.applogs.synthesis.timeline_rules import check
from pipelines.applogs.synthesis.timelines import Life
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval, Span, World


def user_id_of(index: int) -> str:
    """Id of the user at an index from 0, in the published form."""
    return f"{index + 1:03d}_user_{index + 1:03d}"


def world_of(seed: int, index: int, span: Span | None = None, ontology: Ontology = ONTOLOGY) -> World:
    """All that is true of one user, the same at every call.

    A state more in `ontology` changes no other state. Raises `BrokenWorld` where a rule does not hold.
    """
    span = span or Span()
    root = Place(f"{seed}/{user_id_of(index)}")
    persona = persona_of(root, user_id_of(index))
    happens = [*life_events_of(root, persona, span), *seasons_of(root, span)]
    life_events = tuple(sorted(happens, key=lambda one: (one.moment, one.id)))
    life = Life(root, persona, span, life_events)
    intervals = [
        one for domain, states in ontology.items() for state in states for one in _intervals(life, domain, state)
    ]
    intervals.sort(key=lambda one: (one.key, one.member or "", one.valid_from))
    world = World(persona, span, life_events, tuple(intervals), seed)
    check(world)
    return world


def _intervals(life: Life, domain: str, state: State) -> list[Interval]:
    match state:
        case Collection():
            return collection_intervals(life, domain, state)
        case Attribute():
            return attribute_intervals(life, domain, state)
        case Habit():
            return habit_intervals(life, domain, state)
        case Preference():
            return preference_intervals(life, domain, state)
    raise TypeError(f"{state.name!r} of {domain} is of no known form: {type(state).__name__}")
