"""Logs of no state: the noise of 16 apps, drawn at places of their own by app and window (ours).

An app's noise comes in short sessions (search, look, put into the cart), at any
time of the waking day, so that no routine is seen in it.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pipelines.applogs.synthesis.acts import SLOT, TAKES
from pipelines.applogs.synthesis.events import Event
from pipelines.applogs.synthesis.everyday import POOLS
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Span

Recipe = dict[str, str | tuple[int, int]]
"""Slot → pool that it is drawn from, or lowest and highest number."""

_ITEM: Recipe = {"entity": "product", "amount": (399, 4999), "quantity": (1, 3)}
_SONG: Recipe = {"entity": "song"}
_FILM: Recipe = {"entity": "title"}
_BOOK: Recipe = {"entity": "book"}
_CHAT: Recipe = {"person": "contact", "text": "chat", "reply": "chat reply"}
_MAIL: Recipe = {"person": "contact", "sender": "contact", "title": "mail subject", "text": "mail body"}
_NOTICE: Recipe = {"sender": "merchant", "title": "notice", "text": "notice"}
_FOOD: Recipe = {"entity": "restaurant", "amount": (900, 4200)}
_ASK: Recipe = {"text": "question"}
_LOOK: Recipe = {"text": "search", "entity": "search"}

SESSIONS: dict[str, tuple[tuple[int, Recipe, tuple[str, ...]], ...]] = {
    "Amazon": (
        (4, _ITEM | {"text": "product query"}, ("SearchProducts", "ShowProduct")),
        (2, _ITEM | {"text": "product query"}, ("SearchProducts", "ShowProduct", "AddToCart", "Checkout")),
        (2, _ITEM, ("ShowProduct", "AddToWishlist")),
        (1, {}, ("ShowCart",)),
        (1, {}, ("ShowWishlist",)),
        (1, _ITEM | {"text": "product review", "rating": (2, 5)}, ("WriteReview",)),
    ),
    "Spotify": (
        (4, _SONG, ("PlaySong",)),
        (2, _SONG | {"text": "song query"}, ("SearchSongs", "PlaySong")),
        (1, _SONG | {"title": "playlist"}, ("PlaySong", "AddToPlaylist")),
        (1, {"entity": "artist"}, ("FollowArtist",)),
    ),
    "Fitbit": (
        (5, {"steps": (2500, 11500)}, ("SyncDevice",)),
        (1, {"category": "activity", "minutes": (8, 25)}, ("LogWorkout",)),
        (1, {"category": "activity", "minutes": (8, 25)}, ("RecordActivity",)),
        (1, {"fields": "goal"}, ("SetGoals",)),
    ),
    "Chase": (
        (4, {}, ("GetBalance",)),
        (2, {}, ("GetTransactions",)),
        (2, {"text": "merchant", "entity": "merchant"}, ("SearchTransactions",)),
        (1, {"amount": (2500, 30000)}, ("TransferMoney",)),
        (1, {"entity": "biller", "amount": (1800, 14000)}, ("PayBill",)),
    ),
    "Robinhood": (
        (3, {}, ("GetPortfolio",)),
        (2, {}, ("GetWatchlist",)),
        (2, {"entity": "stock", "text": "stock"}, ("SearchStocks", "GetStockQuote")),
        (1, {"entity": "stock", "quantity": (1, 4)}, ("GetStockQuote", "BuyStock")),
        (1, {"entity": "stock", "quantity": (1, 2)}, ("SellStock",)),
    ),
    "WhatsApp": (
        (4, _CHAT, ("GetMessages",)),
        (3, _CHAT, ("SendMessage",)),
        (2, _CHAT, ("GetMessages", "SendMessage")),
        (1, {"person": "contact", "text": "media"}, ("SendMedia",)),
    ),
    "Gmail": (
        (3, {}, ("GetInbox",)),
        (3, _NOTICE, ("ReadEmail",)),
        (1, _MAIL, ("SendEmail",)),
        (2, _MAIL, ("ReadEmail", "ReplyEmail")),
    ),
    "LinkedIn": (
        (5, {}, ("GetFeed",)),
        (3, {}, ("GetFeed", "LikePost")),
        (2, {"text": "feed comment"}, ("CommentOnPost",)),
        (1, {"text": "post"}, ("PostUpdate",)),
        (1, {"text": "job query", "entity": "gig"}, ("SearchJobs", "ApplyJob")),
        (1, {"entity": "skill"}, ("AddSkill",)),
        (1, {"entity": "event crew"}, ("AddExperience",)),
        (1, {"text": "headline"}, ("UpdateProfile",)),
        (1, {"person": "contact"}, ("SendConnectionRequest",)),
    ),
    "Notion": (
        (2, {}, ("GetPages",)),
        (2, {"title": "page", "text": "page body"}, ("CreatePage",)),
        (2, {"title": "page", "text": "page body"}, ("UpdatePage",)),
        (1, {"text": "page"}, ("SearchContent",)),
        (1, {"title": "database", "text": "page body"}, ("CreateDatabaseEntry",)),
    ),
    "Netflix": (
        (3, _FILM | {"text": "title query"}, ("SearchContent", "ShowTitle")),
        (2, _FILM, ("PlayContent",)),
        (1, _FILM, ("ShowTitle", "AddToMyList")),
        (1, _FILM | {"rating": (0, 1)}, ("RateContent",)),
    ),
    "Goodreads": (
        (3, _BOOK | {"text": "book query"}, ("SearchBooks", "ShowBook")),
        (1, _BOOK | {"shelf": "shelf"}, ("AddToShelf",)),
        (1, _BOOK | {"rating": (2, 5)}, ("RateBook",)),
        (1, _BOOK | {"text": "book review", "rating": (2, 5)}, ("WriteReview",)),
    ),
    "Instagram": (
        (3, {"entity": "account"}, ("LikePost",)),
        (2, {"entity": "account", "text": "comment"}, ("CommentOnPost",)),
        (1, {"text": "caption"}, ("PostStory",)),
        (1, {"text": "caption"}, ("CreatePost",)),
        (1, _CHAT, ("SendDirectMessage",)),
        (1, {"entity": "account"}, ("FollowUser",)),
        (1, {"entity": "account"}, ("UnfollowUser",)),
        (1, {}, ("GetFollowing",)),
    ),
    "Google": ((3, _LOOK, ("Search",)), (2, _LOOK, ("Search", "ClickResult"))),
    "LLM Assistant": ((2, _ASK, ("CreateConversation",)), (2, _ASK, ("CreateConversation", "ContinueConversation"))),
    "Google Maps": (
        (3, {"place": "errand place", "entity": "errand place"}, ("GetDirections",)),
        (2, {"text": "place query", "category": "place query"}, ("SearchPlaces",)),
        (1, {"place": "errand place", "entity": "errand place"}, ("CheckIn",)),
        (1, {"place": "errand place", "person": "contact"}, ("ShareLocation",)),
    ),
    "UberEats": (
        (3, _FOOD | {"text": "food query"}, ("SearchRestaurants", "GetMenu")),
        (1, _FOOD, ("GetMenu", "PlaceOrder")),
        (1, {}, ("GetOrderHistory",)),
    ),
}
"""App → its sessions: how often relative to the others, what they are about, their APIs in order."""

SHARE = 0.33
"""Part of the logs aimed at that is background."""
FIRST_WINDOW = 0.15
"""How much of it the first window has against any other: the published logs grow after the first checkpoint."""
_DAY_OPENS, _DAY_CLOSES = 7 * 3600, 23 * 3600


def background(root: Place, span: Span) -> Iterator[Event]:
    """Neutral events of every app in every window, at least one session each; one mailbox opened on the first morning.

    Checkpoints are counted in months from the first log (reference 2), which so lie at the ends of windows.
    """
    first = root.at("background", "first morning")
    moment = span.start + timedelta(seconds=_DAY_OPENS + first.whole("time", 0, 3600))
    yield Event(moment, "Gmail", "GetInbox", first.path, {})
    weights = [FIRST_WINDOW, *[1.0] * (span.windows - 1)]
    for app, sessions in SESSIONS.items():
        urn = [session for session in sessions for _ in range(session[0])]
        length = sum(len(apis) for _, _, apis in urn) / len(urn)
        for window, weight in enumerate(weights):
            place = root.at("background", app, window)
            mean = SHARE * span.logs * weight / sum(weights) / len(SESSIONS) / length
            count = max(1, int(mean * (0.7 + 0.6 * place.share("count")) + place.share("rest")))
            for n in range(count):
                yield from _session(place.at(n), app, place.one(n, urn), span, window)


def _session(
    place: Place, app: str, session: tuple[int, Recipe, tuple[str, ...]], span: Span, window: int
) -> Iterator[Event]:
    opens = span.opening(window)
    days = (span.opening(window + 1) - opens).days
    moment = opens + timedelta(
        days=place.whole("day", 0, days - 1), seconds=place.whole("time", _DAY_OPENS, _DAY_CLOSES)
    )
    known: dict[str, Any] = {name: _drawn(place, name, source) for name, source in session[1].items()}
    for step, api in enumerate(session[2]):
        more = {"text": place.one("more", POOLS["follow-up"])} if api == "ContinueConversation" else {}
        said = known | more
        slots: Any = {SLOT.get(name, name): said[name] for name in TAKES[app, api] if name in said}
        yield Event(moment, app, api, place.at(step).path, slots)
        moment += timedelta(seconds=place.whole(f"pause {step}", 20, 300))


def _drawn(place: Place, slot: str, source: str | tuple[int, int]) -> str | int | dict[str, int]:
    if slot == "fields":
        return {place.one("goal", POOLS["goal"]): 500 * place.whole("target", 12, 20)}
    # A search is for the very thing that is then looked at: one draw for both slots.
    return place.whole(slot, *source) if isinstance(source, tuple) else place.one(source, POOLS[source])
