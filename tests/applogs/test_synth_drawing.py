"""Users of whom less can be true."""

from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.drawing import drawn
from pipelines.applogs.synthesis.trajectories import trajectory
from pipelines.applogs.synthesis.world import Span


def names(states: int, seed: int = 7) -> set[tuple[str, str]]:
    return {(domain, state.name) for domain, some in drawn(states, seed).items() for state in some}


def test_draws_have_so_many_states_of_every_domain_and_contain_smaller_ones() -> None:
    assert [len(drawn(4, 7)[domain]) for domain in ONTOLOGY] == [4] * 6
    assert names(1) < names(4) < names(9)
    assert names(4) != names(4, seed=8)
    assert drawn(24, 7) == ONTOLOGY


def test_what_is_drawn_is_as_it_is_among_all_the_others() -> None:
    span = Span(2, 0)
    whole, part = (trajectory(7, 1, span, ontology) for ontology in (ONTOLOGY, drawn(6, 7)))
    keys = part.intervals["state_key"].unique()
    assert 0 < keys.len() < whole.intervals["state_key"].n_unique()
    kept = [name for name in whole.intervals.columns if name in part.intervals.columns]
    assert part.intervals.select(kept).equals(whole.intervals.filter(whole.intervals["state_key"].is_in(keys)))
