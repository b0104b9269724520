"""Moments of services for synthetic users: every state has one, none tells its state, and a release asks them."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from synth_worlds import GYM, RUN, intervals

from pipelines.applogs.drop_files import LOGS
from pipelines.applogs.questions import state_keys
from pipelines.applogs.reading_drop import read_drop
from pipelines.applogs.rederiving import derive
from pipelines.applogs.services import telling_words
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.state_values import humanised
from pipelines.applogs.step_tables import DROPPED
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import Attribute, Habit, Preference, State
from pipelines.applogs.synthesis.service_moments import FORMS, MOMENTS, SEARCHES, moment_of, moment_table
from pipelines.applogs.synthesis.trajectories import trajectory
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.user_files import user_files
from pipelines.applogs.synthesis.world import Span
from pipelines.applogs.synthesis.worlds import world_of

STATES = {state.name: state for states in ONTOLOGY.values() for state in states if not isinstance(state, Habit)}
DEGREES = "Strongly prefers, usually prefers, leans towards, over"


def said(state: State) -> list[str]:
    """Everything that a value of the state may be made of."""
    if isinstance(state, Preference):
        return [DEGREES, state.a, state.b, *state.qualifiers]
    assert isinstance(state, Attribute)
    return [*state.entities, *state.qualifiers]


def test_every_attribute_and_preference_has_one_moment_and_no_other_thing_has() -> None:
    assert set(MOMENTS) == set(STATES) and len({wanted for wanted, _ in MOMENTS.values()}) == len(MOMENTS)
    root, (run, gym) = Place("7/x"), (next(one for one in intervals() if one.key == key) for key in (RUN, GYM))
    assert moment_of(run, root) is None
    assert moment_of(replace(gym, key="user_attributes_state:unheard_of"), root) is None
    found = moment_of(gym, root)
    assert found is not None and dict(found.slots) == {"facility": "value"}
    assert MOMENTS["gym_membership"][0] in found.scenario[0].lower() + found.scenario[1:] and found.scenario[-1] == "."


@pytest.mark.parametrize("name", STATES)
def test_no_word_of_a_moment_is_of_the_state_or_of_any_value_of_it(name: str) -> None:
    state = STATES[name]
    hidden = telling_words(humanised(f"x:{name}"), *said(state))
    for wording in SEARCHES if isinstance(state, Preference) else FORMS:
        assert telling_words(wording.format(wanted=""), *MOMENTS[name]).isdisjoint(hidden), wording


def test_a_moment_is_worded_in_many_ways_by_user_and_state() -> None:
    assert min(len(set(FORMS)), len(set(SEARCHES))) >= 18
    gym = next(one for one in intervals() if one.key == GYM)
    found = [moment_of(gym, Place(f"7/{n}")) for n in range(200)]
    assert len({one.scenario for one in found if one}) == len(FORMS)
    # At its own place: the same whatever else the user holds.
    whole, root = moment_table("u", world_of(7, 2).intervals, Place("7/u")), Place("7/u")
    for key in whole["state_key"]:
        alone = moment_table("u", [one for one in world_of(7, 2).intervals if one.key == key], root)
        assert alone.equals(whole.filter(pl.col("state_key") == key))


def test_a_release_of_synthetic_users_asks_every_service(tmp_path: Path) -> None:
    made = trajectory(3, 0, Span(windows=2))
    files = user_files(made)
    for place, found in ((tmp_path, files.logs), (tmp_path / "gold", files.gold)):
        (place / made.user_id).mkdir(parents=True)
        for name, data in found.items():
            (place / made.user_id / name).write_bytes(data)
    assert set(files.logs) == {LOGS}
    drop = read_drop(list(tmp_path.rglob("*.json*")))
    drops = {name.removeprefix(DROPPED): {"d": rows.drop("bucket")} for name, rows in drop.items()}
    release = derive(drops, state_keys(drops["state_intervals"]["d"]), AppLogSettings())
    items = (
        release["gold_items"].filter(pl.col("expectation") == "value").cast({"task": pl.String, "family": pl.String})
    )
    by_task = {
        task: set(items.filter(task=task).select("checkpoint_id", "state_key").rows())
        for task in ("state_completion", "personalised_service")
    }
    assert by_task["state_completion"] == by_task["personalised_service"] != set()
    assert items.filter(task="personalised_service")["family"].n_unique() == 3
    forms = release["tasks"].filter(pl.col("output_template").is_not_null())
    assert forms.height > 20
    assert all(set(json.loads(shape)) <= {slot for _, slot in MOMENTS.values()} for shape in forms["output_template"])
