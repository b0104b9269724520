"""Events for the apps of a synthetic phone, without the generator: any API with what it needs and some of the rest."""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from pipelines.applogs.synthesis.apps import APPS
from pipelines.applogs.synthesis.apps.app import Json
from pipelines.applogs.synthesis.apps.phone import Phone
from pipelines.applogs.synthesis.events import Event, Slots
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

PERSONA = Persona("001_user_001", "baker", "Harrow Bay", "lives with a partner", "bakes bread")
HOME = Place("7/001_user_001")
START = datetime(2023, 10, 1, 9, 30)
CALLS = [(app.name, api) for app in APPS.values() for api in app.apis]
THINGS = ("Larkspur Kettle", "North Quay", "Plain Rye", "Glass Meadow", "Tin Lantern")
CHOICES = {
    "text": ("a quiet place to sit near the water", "Could you bring the long ladder on Thursday?", "rye, two loaves"),
    "title": ("About Thursday", "Rye", "Plan for the shed"),
    "entity": THINGS,
    "others": (["Copper Kettle"], ["South Quay", "West Quay"], []),
    "category": ("kettles", "groceries", "walking", "read", "image"),
    "person": ("my sister", "a colleague in design", "the landlord"),
    "reply": ("Yes, at six.", "Here are three ways to do it."),
    "place": ("Mill Pond Park", "Harbour Steps"),
    "address": ("12 Mill Lane", "3 Quay Road"),
    "minutes": (5, 30, 95),
    "distance": (0.8, 5.25),
    "intensity": ("low", "medium", "high"),
    "amount": (100, 4999, 250_000),
    "quantity": (1, 3, 40),
    "rating": (1, 3, 5),
    "steps": (900, 14_000),
    "fields": (
        {"active_minutes": 45},
        {"status": "open", "hours": 2.5},
        {"end_date": "2023-08-31"},
        {"travel_mode": "cycling"},
        {"kettles": "the tall one", "groceries": "twice a week", "walking": "off-peak", "read": "two a month"},
        {},
    ),
}
"""Slot → values to choose from."""


def event(app: str, api: str, slots: dict[str, Any] | None = None, at: int = 0, path: str = "e") -> Event:
    """An event `at` minutes after the start."""
    return Event(START + timedelta(minutes=at), app, api, f"{HOME.path}/{path}", Slots(**(slots or {})))


def log_of(phone: Phone, one: Event) -> Json:
    """The log of an event, without an id."""
    request, response = phone.call(one)
    return {
        "timestamp": str(one.moment),
        "app_name": one.app,
        "api_name": one.api,
        "request": request,
        "response": response,
    }


def drawn_event(app: str, api: str, at: int, place: Place) -> Event:
    """An event with all that its API needs and about half of the other slots, drawn at a place."""
    needs = APPS[app].apis[api].needs
    needed = {place.one("need", need.split("|")) for need in needs}
    said = {name: place.one(name, CHOICES[name]) for name in CHOICES if name in needed or place.chance((name,), 0.5)}
    if "fields" in needs:
        said["fields"] = place.one("fields", CHOICES["fields"][:-1])
    return event(app, api, said, at, place.path)


def many_events(count: int, calls: list[tuple[str, str]] = CALLS, hours: int = 7) -> list[Event]:
    """`count` mixed events, `hours` apart."""
    root = Place("drawn")
    return [drawn_event(*root.one(n, calls), n * 60 * hours, root.at(n)) for n in range(count)]


@st.composite
def histories(draw: st.DrawFn, apps: tuple[str, ...] = (), most: int = 40) -> list[Event]:
    """Up to `most` events of some apps (all, if none is named) in the order of time."""
    calls = [call for call in CALLS if not apps or call[0] in apps]
    chosen = draw(
        st.lists(st.tuples(st.sampled_from(calls), st.integers(0, 20_000), st.integers(0, 99)), max_size=most)
    )
    at = 0
    made = []
    for n, ((app, api), gap, kind) in enumerate(chosen):
        at += gap
        made.append(drawn_event(app, api, at, Place(f"{n}/{kind}")))
    return made
