"""Users of whom less can be true: some states of every domain (ours)."""

from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import Ontology
from pipelines.hashing import key64


def drawn(states: int, seed: int, ontology: Ontology = ONTOLOGY) -> Ontology:
    """`states` of every domain, in their order; all of a domain that has no more.

    A keyed draw, the same for all users of a seed; a larger one contains every smaller one.
    """
    parts = {}
    for domain, all_of_them in ontology.items():
        keys = {state.name: (key64(f"{domain}:{state.name}", f"states:{seed}"), state.name) for state in all_of_them}
        chosen = sorted(keys, key=lambda name: keys[name])[:states]
        parts[domain] = tuple(state for state in all_of_them if state.name in chosen)
    return parts
