"""What an event says to the app that it happens in: of all that is known of a thing, what a log of the API takes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pipelines.applogs.synthesis.events import Event, Shown, Slots
from pipelines.applogs.synthesis.everyday import POOLS
from pipelines.applogs.synthesis.speech import DATABASES, SPOKEN, VOICES, said, titled
from pipelines.applogs.synthesis.tellings import Setting
from pipelines.applogs.synthesis.tree import Place

Api = tuple[str, str]


def _table(text: str) -> dict[Api, tuple[str, ...]]:
    rows = [line.strip().split(": ") for line in text.strip().splitlines()]
    return {tuple(name.split("/")): tuple(taken.split()) for name, taken in rows}  # type: ignore[misc]


TAKES = _table("""
    Amazon/SearchProducts: text entity others category amount fields
    Amazon/ShowProduct: entity category amount
    Amazon/AddToCart: entity category amount quantity
    Amazon/ShowCart: -
    Amazon/ShowWishlist: -
    Amazon/AddToWishlist: entity category amount
    Amazon/Checkout: entity category amount quantity
    Amazon/WriteReview: entity text rating
    Spotify/SearchSongs: text entity others category fields
    Spotify/PlaySong: entity category fields
    Spotify/AddToPlaylist: entity title
    Spotify/FollowArtist: entity
    Fitbit/LogWorkout: category minutes intensity
    Fitbit/RecordActivity: category minutes intensity place text
    Fitbit/SyncDevice: steps
    Fitbit/SetGoals: fields
    Chase/GetBalance: -
    Chase/GetTransactions: entity category amount
    Chase/SearchTransactions: text entity amount
    Chase/TransferMoney: entity amount
    Chase/PayBill: entity amount
    Robinhood/GetPortfolio: entity
    Robinhood/GetWatchlist: entity
    Robinhood/SearchStocks: text entity others category fields
    Robinhood/GetStockQuote: entity
    Robinhood/BuyStock: entity category quantity
    Robinhood/SellStock: entity category quantity
    WhatsApp/GetMessages: person text reply
    WhatsApp/SendMessage: person text reply
    WhatsApp/SendMedia: person text
    Gmail/GetInbox: sender title text
    Gmail/ReadEmail: sender title text
    Gmail/SendEmail: person title text
    Gmail/ReplyEmail: person title text
    LinkedIn/UpdateProfile: text
    LinkedIn/AddExperience: entity title
    LinkedIn/AddSkill: entity
    LinkedIn/PostUpdate: text
    LinkedIn/GetFeed: -
    LinkedIn/LikePost: text
    LinkedIn/CommentOnPost: text
    LinkedIn/SearchJobs: text entity others
    LinkedIn/ApplyJob: entity
    LinkedIn/SendConnectionRequest: person text
    Notion/GetPages: -
    Notion/CreatePage: title text
    Notion/UpdatePage: title text
    Notion/SearchContent: text
    Notion/CreateDatabaseEntry: database entity text place minutes
    Netflix/SearchContent: text entity others category fields
    Netflix/ShowTitle: entity category fields
    Netflix/PlayContent: entity category fields
    Netflix/AddToMyList: entity category fields
    Netflix/RateContent: entity category rating fields
    Goodreads/SearchBooks: text entity others category fields
    Goodreads/ShowBook: entity category
    Goodreads/AddToShelf: entity shelf
    Goodreads/RateBook: entity category rating
    Goodreads/WriteReview: entity category text rating
    Instagram/CreatePost: text place address
    Instagram/PostStory: text
    Instagram/LikePost: entity caption
    Instagram/CommentOnPost: entity text
    Instagram/SendDirectMessage: person text
    Instagram/FollowUser: entity category
    Instagram/UnfollowUser: entity
    Instagram/GetFollowing: -
    Google/Search: text entity others category fields
    Google/ClickResult: text entity others category fields
    LLM Assistant/CreateConversation: text
    LLM Assistant/ContinueConversation: text
    Google Maps/ShareLocation: person place address minutes
    Google Maps/CheckIn: place address category others
    Google Maps/GetDirections: place address category others fields
    Google Maps/SearchPlaces: text entity others category fields
    UberEats/SearchRestaurants: text entity others category fields
    UberEats/GetMenu: entity category
    UberEats/PlaceOrder: entity category others
    UberEats/GetOrderHistory: -
""")
"""(app, API) → slots that an event fills, all 79 APIs; some by a name of their own (`SLOT`)."""
SLOT = {"sender": "person", "shelf": "category", "database": "title", "caption": "text"}
"""What only some APIs take → the slot that it goes into."""
SHOWS_THING = frozenset(
    api
    for api, taken in TAKES.items()
    if {"entity", "text", "place", "fields"} & {*taken}
    and api not in {("LinkedIn", "ApplyJob"), ("Spotify", "AddToPlaylist"), ("Robinhood", "GetPortfolio")}
)
"""APIs whose log shows what it is about; others show only an id, or nothing."""


def slots_for(
    place: Place, api: Api, purpose: str, words: Mapping[str, Any], known: Mapping[str, Any], setting: Setting
) -> Slots:
    """Slots of an event at an API: words said for a purpose, and what is `known`, as far as the API takes it.

    `words` go into sentences and headings (`label`), `known` are slots by name, and `sender` of a mail.
    """
    slots: dict[str, Any] = {}
    for name in TAKES[api]:
        slot = SLOT.get(name, name)
        if name == "text":
            # A detail is said only where there is one.
            if (voice := VOICES.get(api, "query")) != "detail" or "words" in words:
                slots[slot] = said(place, purpose, voice, **words)
        elif name in known:
            slots[slot] = known[name]
        elif name == "title":
            slots[slot] = titled(place, words["label"], words.get("entity", ""))
        elif name == "database":
            slots[slot] = titled(place, words["label"], plain=DATABASES)
        elif slot == "person":
            slots[slot] = place.one("person", setting.persona.facts["people"])
        elif name == "reply":
            slots[slot] = place.one("reply", POOLS["chat reply"])
    return slots  # type: ignore[return-value]


def spoken(
    place: Place,
    moment: datetime,
    setting: Setting,
    purpose: str,
    words: Mapping[str, Any],
    shown: tuple[Shown, ...],
    chain: str | None,
    apis: Sequence[Api] = SPOKEN,
) -> Event:
    """Something said in words of the user's own, in one of the apps that take them."""
    api = place.one("app", apis)
    return Event(moment, *api, place.path, slots_for(place, api, purpose, words, {}, setting), shown, chain)
