"""All events of a synthetic user, in the order of time: from what is true to what happens in the apps."""

from collections.abc import Iterable, Iterator

from pipelines.applogs.synthesis.background import background
from pipelines.applogs.synthesis.chains import attribute_chain
from pipelines.applogs.synthesis.choices import preference_chain
from pipelines.applogs.synthesis.distractors import distractors
from pipelines.applogs.synthesis.events import Event
from pipelines.applogs.synthesis.occurrences import habit_chain
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import Ontology
from pipelines.applogs.synthesis.tellings import Chain, root_of, setting_of, tellings
from pipelines.applogs.synthesis.world import World


def chains_of(world: World) -> Iterator[Chain]:
    """The chains that tell a world's states, by key, member, interval and window."""
    root, setting = root_of(world), setting_of(world)
    for telling in tellings(world):
        place = telling.place(root)
        match telling.interval.family:
            case "habit":
                yield habit_chain(telling, place, root, setting)
            case "preference":
                yield preference_chain(telling, place, setting)
            case _:
                yield attribute_chain(telling, place, setting)


def noise_of(world: World, ontology: Ontology) -> Iterator[Event]:
    """The events of no chain: what imitates states, and the background."""
    yield from distractors(world, setting_of(world), ontology)
    yield from background(root_of(world), world.span)


def in_time(events: Iterable[Event]) -> list[Event]:
    """Events by moment and, in the same second, by place."""
    return sorted(events, key=lambda event: (event.moment, event.place))


def events_of(world: World, ontology: Ontology = ONTOLOGY) -> list[Event]:
    """All events of a world in the order of time; states of `ontology` may be imitated without being held."""
    return in_time([*(event for chain in chains_of(world) for event in chain.events), *noise_of(world, ontology)])
