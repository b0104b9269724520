"""How the value of an attribute is seen in an app: which of its slots the entity fills (ours)."""

from typing import Any

from pipelines.applogs.synthesis.acts import SHOWS_THING, Api
from pipelines.applogs.synthesis.everyday import POOLS
from pipelines.applogs.synthesis.tellings import Setting
from pipelines.applogs.synthesis.tree import Place

UNFIT = frozenset(
    {
        ("Amazon", "home"),
        ("Amazon", "garden plot"),
        ("Amazon", "groceries"),
        ("Chase", "car"),
        ("Chase", "commute"),
        ("UberEats", "nutrition"),
    }
)
"""(app, category) that do not go together: the app would take a home or a market for a product."""
_VEHICLES = ("car", "commute")


def fits(api: Api, category: str) -> bool:
    """Whether a log of the API shows a thing of the category for what it is."""
    if category == "playlist":
        return api in (("Spotify", "AddToPlaylist"), ("Spotify", "SearchSongs"))
    return api in SHOWS_THING and (api[0], category) not in UNFIT


def shown_in(facts: dict[str, Any]) -> list[Api]:
    """APIs of `shows` that fit the entity, the most telling first."""
    return [(app, name) for app, name in facts["shows"] if fits((app, name), facts["category"])]


def known_of(place: Place, api: Api, facts: dict[str, Any], setting: Setting) -> dict[str, Any]:
    """What is known of an entity at an API, as slots by name (`acts.slots_for`)."""
    entity, category = facts["entity"], facts["category"]
    known: dict[str, Any] = {"entity": entity, "category": category, "sender": entity, "quantity": 1, "rating": 5}
    if facts["amount"]:
        known["amount"] = facts["amount"]
    match api:
        case ("Google Maps", "GetDirections") if category in _VEHICLES:
            known |= {"place": place.one("to", POOLS["errand place"]), "fields": {"travel_mode": entity}}
            del known["category"]
        case ("Google Maps", _):
            known["place"] = entity
        case ("Spotify", "AddToPlaylist"):
            known |= {"entity": place.one("song", POOLS["song"]), "title": entity}
        case ("Spotify", "PlaySong") if category == "artist":
            known |= {"entity": place.one("song", POOLS["song"]), "fields": {"artist": entity}}
            del known["category"]
        case ("Fitbit", "SetGoals"):
            known["fields"] = {category: int("".join(filter(str.isdigit, entity)) or 1)}
        case ("LinkedIn", "AddExperience"):
            known["title"] = "Volunteer" if category == "volunteering" else setting.persona.work
    return known
