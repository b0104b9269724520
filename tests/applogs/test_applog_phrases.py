"""What logs name, choose and say of routines: known answers of every rule, with what must not be taken."""

import json
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from applog_worlds import USER, log, logs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.applogs.answerers import answer
from pipelines.applogs.associations import associated
from pipelines.applogs.known import Known
from pipelines.applogs.phrases import said, stems
from pipelines.applogs.reminding import end_time, location, reminder, subject, topic
from pipelines.applogs.state_values import BLANK, FILL
from pipelines.applogs.tables import table_of
from pipelines.applogs.wording import Choice, choices

MONDAY = datetime(2024, 1, 1)


def told(**body: Any) -> set[str]:
    return {
        phrase.text for phrase in said(json.dumps(log(1, "2024-01-01 08:00:00") | body), "Api", "App").phrases.values()
    }


@pytest.mark.parametrize(
    ("message", "phrase"),
    [
        ("From now on I buy groceries at Harvest Lane, once a week.", "Harvest Lane"),
        ("we live at 19 Upper Terrace now", "19 Upper Terrace"),
        ("I commute by the shared car pool, with one change", "shared car pool"),
        ("I own the Kestrel indoor bike", "Kestrel indoor bike"),
        ("Tales at the Weir is on again", "Tales at the Weir"),
        ("My goal: 10,000 steps a day", "10,000 steps"),
    ],
)
def test_prose_names(message: str, phrase: str) -> None:
    assert phrase in told(request={"message": message})


def test_fields_name_and_ids_times_and_constants_do_not() -> None:
    body = {
        "request": {"contact_id": "contact_mother", "type": "Photo album", "to": "someone@mail.example"},
        "response": {
            "place": {"name": "The Blue Kettle, corner", "place_id": "place_1"},
            "created_at": "Monday at Noon",
        },
    }
    assert told(**body) == {"Blue Kettle"}


def test_members_of_long_lists_weigh_less() -> None:
    many = {"places": [{"name": f"Venue {n}x"} for n in range(4)]}
    one = said(
        json.dumps(log(1, "2024-01-01 08:00:00", request={"name": "Blue Kettle"}, response=many)), "A", "B"
    ).phrases
    assert one["blue kettle"].weight > 2 * one["venue 1x"].weight


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("I took the Regatta Ball over a quiet corner. :)", Choice("Regatta Ball", "quiet corner", "")),
        ("Home or out: dinners at home, not so much dinners out, above all on Fridays",
         Choice("dinners at home", "dinners out", "above all on Fridays")),
        ("I prefer novels rather than essays", Choice("novels", "essays", "")),
        ("Indoor courts instead of the open field", Choice("Indoor courts", "open field", "")),
    ],
)  # fmt: skip
def test_choices(text: str, choice: Choice) -> None:
    assert list(choices(text)) == [choice]


@pytest.mark.parametrize("text", ["tea", "overcoat", "tea over tea", "It is over. We went home", "over the hill"])
def test_no_choices(text: str) -> None:
    assert list(choices(text)) == []


def test_words_that_go_together_are_general_and_mutual() -> None:
    assert not associated("car") & associated("supermarket") - {"shop"} and stems("live")[0] in associated(
        stems("home")[0]
    )
    assert all(one in associated(other) for one in stems("home commute gym") for other in associated(one))
    assert associated("zebra") == frozenset()


KEY = "user_attributes_state:main_supermarket"


def question(key: str = KEY, template: Any = BLANK, **changes: Any) -> pl.DataFrame:
    row = {"user_id": USER, "checkpoint_id": "c1", "item": "i", "as_of": datetime(2024, 6, 1), "state_key": key,
           "task": "state_completion", "question_text": "?", "answer_template": json.dumps(template)}  # fmt: skip
    return table_of("tasks", [row | changes])


def chat(day: int, text: str) -> dict[str, Any]:
    moment = MONDAY + timedelta(days=day, hours=8, minutes=13 * day % 600)
    return log(0, f"{moment:%Y-%m-%d %H:%M:%S}", "WhatsApp", "SendMessage", request={"message": text}, response={})


FILLER = [chat(day, text) for day, text in enumerate([
    "The weather is grey in Northfold", "See you at the Old Wharf", "That film was long",
    "A parcel came from Weaver & Co", "Happy birthday to Ada", "My knee is better",
    "The train to Port Ansley was late", "Nice pictures of the garden",
])]  # fmt: skip


def answered(rule: str, rows: list[dict[str, Any]], asked: pl.DataFrame) -> Any:
    ordered = sorted([*rows, *FILLER], key=lambda row: row["timestamp"])
    logs = logs_of([row | {"app_log_id": f"log_{i + 1:05}"} for i, row in enumerate(ordered)])
    given_answer = answer(rule, logs, asked)["answer"][0]
    return None if given_answer is None else json.loads(given_answer)


SHOPS = [
    chat(20, "For the supermarket I go to Harvest Lane, once a week."),
    chat(30, "The supermarket is still Harvest Lane, once a week. Cheers"),
    chat(40, "I like the supermarket at Harvest Lane"),
    chat(60, "New: my supermarket is Fennel & Sons, with the car. Talk later"),
]


def test_the_newest_and_the_most_frequent_value_with_their_detail() -> None:
    assert answered("last_value", SHOPS, question()) == "Fennel & Sons, with the car"
    assert answered("majority_choice", SHOPS, question()) == "Harvest Lane, once a week"
    assert answered("last_value", SHOPS[:3], question()) == "Harvest Lane, once a week"


def test_other_peoples_things_weigh_less() -> None:
    theirs = [chat(70, "The supermarket of my brother, my brother says, is Corner Hall")]
    assert answered("majority_choice", SHOPS[:2] + theirs, question()) == "Harvest Lane, once a week"


def test_what_no_log_speaks_of_is_abstained_from() -> None:
    assert answered("last_value", [], question()) is None
    assert answered("last_value", SHOPS, question("user_attributes_state:sleep_setup")) is None
    assert answered("last_value", SHOPS, question("habits_state:supermarket")) is None
    only_itself = [chat(20, "Main supermarket"), chat(21, "About the main supermarket")]
    assert answered("last_value", only_itself, question()) is None, "its own name is no value"


def test_collections_are_as_many_as_the_template_asks() -> None:
    rows = [
        chat(20 + n, f"I joined the seed groups of {one}") for n, one in enumerate(("Oak Hall", "Elm Yard", "Oak Hall"))
    ]
    key = "user_attributes_state:seed_groups"
    assert answered("majority_choice", rows, question(key, [BLANK, BLANK])) == ["Oak Hall", "Elm Yard"]
    assert answered("majority_choice", rows, question(key, [BLANK])) == ["Oak Hall"]


MUSIC = "preferences_state:music_mood"
TASTE = [
    chat(20, "In music I took quiet songs over loud songs, at work"),
    chat(25, "Music today: quiet songs instead of loud songs"),
    chat(50, "As music I picked loud songs over quiet songs"),
]


def test_preferences_by_choices() -> None:
    asked = question(MUSIC, {"statement": BLANK})
    assert answered("majority_choice", TASTE, asked) == {"statement": "Prefers quiet songs over loud songs, at work"}
    assert answered("last_value", TASTE, asked) == {"statement": "Prefers loud songs over quiet songs"}
    filters = {"task": "personalised_service", "service_family": "information_request_construction", "state_key": "",
               "scenario": "Music is wanted for a party.", "question_text": None, "answer_template": None,
               "output_template": json.dumps({"mood": FILL, "exclude": FILL})}  # fmt: skip
    assert answered("majority_choice", TASTE, question(**filters)) == {"mood": "quiet songs", "exclude": "loud songs"}


def test_without_choices_a_preference_is_what_is_named_most() -> None:
    rows = [log(0, f"2024-01-{20 + n} 09:00:00", "Spotify", "PlaySong", request={}, response={"song": {"title": title}})
            for n, title in enumerate(("calm jazz", "calm jazz", "loud rock"))]  # fmt: skip
    asked = question(MUSIC, {"statement": BLANK})
    assert answered("majority_choice", rows, asked) == {"statement": "calm jazz"}
    assert answered("last_value", rows, asked) == {"statement": "loud rock"}


def test_things_chosen_count_for_their_categories() -> None:
    shown = {"songs": [{"title": "Fern Radio", "genre": "acoustic"}, {"title": "Iron Gala", "genre": "electric"}]}
    listed = log(0, "2024-01-15 09:00:00", "Spotify", "SearchSongs", request={"query": "music"}, response=shown)
    rows = [
        listed,
        chat(20, "Music tonight: Fern Radio over Iron Gala"),
        chat(22, "Music again: Fern Radio over Iron Gala"),
    ]
    told_by = answered("majority_choice", rows, question(MUSIC, {"statement": BLANK}))
    assert told_by == {"statement": "Prefers acoustic over electric"}


def sundays(texts: list[str]) -> Known:
    moments = [MONDAY + timedelta(days=6 + 7 * n, hours=9, minutes=30) for n in range(len(texts))]
    rows = [
        log(0, f"{moment:%Y-%m-%d %H:%M:%S}", "Chase", "GetTransactions", request={"note": text}, response={})
        for moment, text in zip(moments, texts, strict=True)
    ]
    ordered = sorted([*rows, *FILLER], key=lambda row: row["timestamp"])
    return Known(logs_of([row | {"app_log_id": f"log_{i + 1:05}"} for i, row in enumerate(ordered)]).to_dicts())


def test_routines_in_words() -> None:
    texts = [
        "Budget review at Kitchen table for 40 min",
        "reviewing the budget at Kitchen table, 42 minutes",
        "",
        "budget",
    ]
    known = sundays(texts)
    [routine] = known.routines
    assert set(subject(known, routine)) == {"budget", "review"}, "no words of the place, none said once"
    assert location(known, routine) == "Kitchen table" and end_time(known, routine) == "10:10"
    assert (
        reminder(known, routine, ["budget"]) == "Every Sunday at 09:30 until 10:10: time for budget at Kitchen table."
    )


def test_a_routine_whose_logs_say_nothing_is_known_by_its_app() -> None:
    known = sundays(["", "", "", "at Kitchen table"])
    [routine] = known.routines
    assert subject(known, routine) == [] and topic(known, routine) == "budget"
    assert location(known, routine) is None and end_time(known, routine) is None, "one log is no custom"
    assert reminder(known, routine, ["budget"]) == "Every Sunday at 09:30: time for budget."


TEXTS = st.lists(
    st.sampled_from(["I go to Oak Hall", "tea over milk", "supermarket", "Elm Yard", "…", "(", "é"]), max_size=5
)


@settings(deadline=None, max_examples=25)
@given(TEXTS, st.sampled_from(["last_value", "majority_choice", "routine"]))
def test_any_logs_can_be_read_and_answers_do_not_depend_on_the_order_of_rows(texts: list[str], rule: str) -> None:
    ordered = [chat(20 + n, text) for n, text in enumerate(texts)] + [chat(60, "supermarket")]
    logs = logs_of([row | {"app_log_id": f"log_{i + 1:05}"} for i, row in enumerate(ordered)])
    assert answer(rule, logs, question()).equals(answer(rule, logs.reverse(), question()))
