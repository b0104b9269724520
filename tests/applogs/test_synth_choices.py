"""Choices in the logs: whichever option is taken, a reader of the log can tell the pole, and of a search cannot."""

import json
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from synth_worlds import persona

from pipelines.applogs.services import telling_words
from pipelines.applogs.synthesis.apps.entities import slug
from pipelines.applogs.synthesis.apps.phone import Phone
from pipelines.applogs.synthesis.choices import SEARCHES, choice_slots, described
from pipelines.applogs.synthesis.events import Event
from pipelines.applogs.synthesis.happenings import chains_of
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import Attribute, Preference
from pipelines.applogs.synthesis.possessions import fits
from pipelines.applogs.synthesis.preferences import kinds_of
from pipelines.applogs.synthesis.tellings import Setting
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.worlds import world_of

AXES = [state for states in ONTOLOGY.values() for state in states if isinstance(state, Preference)]
MOMENT = datetime(2024, 5, 7, 18, 30)
SETTING = Setting(persona(), datetime(2023, 10, 1), datetime(2025, 1, 1), (7 * 3600, 22 * 3600), {})


def rendered(place: Place, state: Preference, api: tuple[str, str], taken: str, left: str, purpose: str) -> Any:
    facts = {"kinds": kinds_of(state), "label": state.label}
    category = next(one.split("/")[2] for one in state.choices if one.startswith(api[0]))
    slots = choice_slots(place, api, purpose, taken, left, category, facts, SETTING)
    return Phone(persona(), Place("x")).call(Event(MOMENT, *api, place.path, slots))


def named(state: Preference) -> str:
    return state.name


def poles(state: Preference) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {"a": (state.options_a, state.kinds_a), "b": (state.options_b, state.kinds_b)}


def test_there_are_23_axes() -> None:
    assert len(AXES) == 23


@pytest.mark.parametrize("state", AXES, ids=named)
def test_every_choice_shows_what_the_taken_option_is(state: Preference) -> None:
    kinds = kinds_of(state)
    apis = [
        (app, api) for app, api, category in (one.split("/") for one in state.choices) if fits((app, api), category)
    ]
    assert len(apis) == len(state.choices) >= 2
    for app, api in apis:
        for pole, (options, _) in poles(state).items():
            others = poles(state)["b" if pole == "a" else "a"][0]
            for n, taken in enumerate(options):
                place = Place(f"{state.name}/{api}/{taken}")
                request, response = rendered(place, state, (app, api), taken, others[n], "leaning")
                text = slug(json.dumps([request, response], ensure_ascii=False))
                assert slug(kinds[taken]) in text, (api, taken, request, response)
                # What is shown of both options says which of them it was: the request, or what is shown alone.
                if slug(kinds[others[n]]) in text and (query := slug(str(request.get("query", "")))):
                    assert slug(taken) in query


@pytest.mark.parametrize("state", AXES, ids=named)
def test_kinds_tell_the_poles_apart_and_mostly_in_words_of_their_own(state: Preference) -> None:
    assert set(kinds_of(state)) == {*state.options_a, *state.options_b}
    kinds = {pole: telling_words(*kinds) for pole, (_, kinds) in poles(state).items()}
    assert kinds["a"].isdisjoint(kinds["b"])
    assert kinds["a"].isdisjoint(telling_words(state.b)) and kinds["b"].isdisjoint(telling_words(state.a))
    own = [
        kind
        for pole, (_, all_kinds) in poles(state).items()
        for kind in all_kinds
        if telling_words(kind).isdisjoint(telling_words(state.a if pole == "a" else state.b))
    ]
    assert len(own) >= 6


def test_no_option_is_a_thing_that_an_attribute_holds() -> None:
    """A choice would else be a log of what the user owns, wants or goes to, which the gold does not know."""
    held = {
        slug(entity): state.name
        for states in ONTOLOGY.values()
        for state in states
        if isinstance(state, Attribute)
        for entity in state.entities
    }
    options = {slug(option): state.name for state in AXES for option in kinds_of(state)}
    assert {name: (options[name], held[name]) for name in options.keys() & held.keys()} == {}


def test_a_search_before_a_choice_does_not_tell_what_is_taken() -> None:
    """Over many users: what was looked at first, and how it is filtered, is taken in half of the cases."""
    seen: Counter[bool] = Counter()
    for index in range(40):
        for chain in chains_of(world_of(5, index)):
            if chain.interval.family != "preference":
                continue
            for event in chain.events:
                if event.place.endswith("/looks"):
                    [after] = [one for one in chain.events if one.place == event.place.removesuffix("/looks")]
                    assert event.api == SEARCHES[event.app] and not event.shows
                    if taken := after.slots.get("entity") or after.slots.get("place"):
                        seen[event.slots["entity"] == taken] += 1
    n = seen.total()
    assert n > 300 and abs(seen[True] - n / 2) < 2 * n**0.5  # four standard deviations


def test_only_the_option_passed_over_is_of_the_other_kind_in_a_search() -> None:
    state = next(one for one in AXES if one.name == "learning_format")
    taken, left = "Sound Lab", "Law in Small Steps"
    _, response = rendered(Place("y"), state, ("Amazon", "SearchProducts"), taken, left, "options")
    kinds = {one["name"]: one["category"] for one in response["products"]}
    assert kinds.pop(left) == "annotated reader" and set(kinds.values()) == {"animated channel"} and len(kinds) == 7
    state = next(one for one in AXES if one.name == "investment_style")
    _, response = rendered(Place("y"), state, ("Robinhood", "SearchStocks"), "ASHW", "WRLD", "options")
    kinds = {one["name"]: one["asset_type"] for one in response["results"]}
    assert kinds.pop("WRLD") == "etf" and set(kinds.values()) == {"stock"} and len(kinds) == 6


def test_a_kind_is_added_where_the_name_does_not_say_it() -> None:
    assert described("Slate Weather", "family saga") == "Slate Weather (family saga)"
    assert described("Slate Weather", "family saga", searched=True) == "Slate Weather family saga"
    assert described("the Lift-the-Lid Box", "lift-the-lid") == "the Lift-the-Lid Box"
