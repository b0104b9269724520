"""What apps of leisure, places and meals make up: many wordings, always alike for a thing, and nothing that is true."""

import re
from types import ModuleType

import pytest
from app_events import HOME, PERSONA, event, many_events

from pipelines.applogs.synthesis.apps import (
    goodreads,
    google,
    google_maps,
    instagram,
    llm_assistant,
    netflix,
    notion,
    ubereats,
)
from pipelines.applogs.synthesis.apps.phone import Phone
from pipelines.applogs.synthesis.worlds import world_of

SEARCHES = [
    ("Netflix", "SearchContent", "titles", "name"),
    ("Goodreads", "SearchBooks", "books", "title"),
    ("Google Maps", "SearchPlaces", "places", "name"),
    ("UberEats", "SearchRestaurants", "restaurants", "name"),
]


@pytest.mark.parametrize(("app", "api", "rows", "name"), SEARCHES)
def test_a_search_shows_the_thing_and_its_rivals_anywhere_in_the_list(app: str, api: str, rows: str, name: str) -> None:
    ranks = set()
    slots = {"text": "quiet", "entity": "Larkspur", "others": ["Kestrel", "Plover"], "category": "drama"}
    for n in range(60):
        found = [row[name] for row in Phone(PERSONA, HOME).call(event(app, api, slots, 0, f"{n}"))[1][rows]]
        assert {"Larkspur", "Kestrel", "Plover"} <= set(found)
        assert len(set(found)) == len(found) == 8
        ranks.add(found.index("Larkspur"))
    assert ranks == set(range(8))


@pytest.mark.parametrize(("app", "api", "rows"), [(app, api, rows) for app, api, rows, _ in SEARCHES])
def test_an_event_that_names_nothing_still_finds_something(app: str, api: str, rows: str) -> None:
    request, response = Phone(PERSONA, HOME).call(event(app, api))
    assert request["query"]
    assert len(response[rows]) == 8


MODULES = [goodreads, google, google_maps, instagram, llm_assistant, netflix, notion, ubereats]
PARTS_OF_A_DAY = r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday|\d\d:\d\d|every (day|week|morning))\b"


def texts(module: ModuleType) -> dict[str, list[str]]:
    """Tables of texts of a module, by name; of pairs, each pair as one text."""
    tables = {}
    for name, table in vars(module).items():
        if name[0].isupper() and isinstance(table, tuple):
            rows = [" / ".join(map(str, row)) if isinstance(row, tuple) else row for row in table]
            tables[name] = [row for row in rows if isinstance(row, str)]
    return tables


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_made_up_words_are_many_and_name_no_time(module: ModuleType) -> None:
    tables = texts(module)
    assert tables
    for name, rows in tables.items():
        if name not in ("KINDS", "DELIVERY_FEES", "STATUSES"):
            assert 10 <= len(rows) <= 30, name
            assert len(set(rows)) == len(rows), name
        for row in rows:
            assert not re.search(PARTS_OF_A_DAY, row.lower()), (name, row)


def test_answers_of_the_assistant_hardly_ever_repeat() -> None:
    phone = Phone(PERSONA, HOME)
    answers = {
        phone.call(event("LLM Assistant", "ContinueConversation", {"text": "Hello"}, n, f"{n}"))[1][
            "assistant_response"
        ]["content"]
        for n in range(500)
    }
    assert len(answers) == 500


def test_results_on_a_query_are_always_the_same_set() -> None:
    phone = Phone(PERSONA, HOME)
    sets = [
        {
            (result["result_id"], result["title"], result["snippet"])
            for result in phone.call(event("Google", "Search", {"text": "rain barrels"}, n, f"{n}"))[1]["results"]
        }
        for n in range(5)
    ]
    assert len(sets[0]) == google.RESULTS
    assert all(found == sets[0] for found in sets)


def test_ids_of_things_do_not_depend_on_who_looks() -> None:
    mine = [("Netflix", "ShowTitle"), ("Goodreads", "ShowBook"), ("UberEats", "GetMenu")]
    for one in many_events(60, mine):
        first, second = Phone(PERSONA, HOME), Phone(PERSONA, HOME.at("other"))
        assert first.call(one) == second.call(one)


def test_things_that_are_made_up_are_true_of_nobody() -> None:
    made_up = {
        *(
            name
            for catalogue in (netflix.CATALOGUE, goodreads.CATALOGUE)
            for names in catalogue.values()
            for name in names
        ),
        *(*ubereats.RESTAURANTS, *google_maps.SURROUNDINGS, *instagram.HOSTS, *goodreads.AUTHORS),
    }
    true = {
        name
        for index in range(40)
        for one in world_of(3, index).intervals
        for name in (
            *(one.facts.get("entity"), one.facts.get("place"), *one.facts.get("others", ())),
            *(option for options in one.facts.get("pools", {}).values() for option in options),
        )
        if name
    }
    assert len(true) > 300
    assert {name.lower() for name in made_up} & {name.lower() for name in true} == set()


def test_no_genre_or_cuisine_is_made_up_for_what_an_event_names() -> None:
    phone = Phone(PERSONA, HOME)
    for category in ({}, {"category": "film"}):
        title = phone.call(event("Netflix", "PlayContent", {"entity": "Low Candle"} | category))[1]["title"]
        assert title["genre"] == "general"
    assert title["content_type"] == "movie"
    book = phone.call(event("Goodreads", "ShowBook", {"entity": "Low Candle", "category": "book"}))[1]["book"]
    assert book["genre"] == "general"
    menu = phone.call(event("UberEats", "GetMenu", {"entity": "Low Candle"}))[1]
    assert menu["restaurant"]["cuisine_type"] == "mixed"
    known = phone.call(event("Netflix", "PlayContent", {"entity": "Cold Ledger"}))[1]["title"]
    assert known["genre"] == "thriller"
