"""What a log acted on: one declared rendering an API (ours)."""

from typing import Any

_MESSAGE = ("request.to", "request.to_user_id", "request.contact_id")
_SEARCH = ("request.query",)
OBJECTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("Amazon", "ShowProduct"): ("response.product.name", "request.product_id"),
    ("Amazon", "AddToCart"): ("request.product_name", "request.product_id"),
    ("Amazon", "AddToWishlist"): ("request.product_name", "request.product_id"),
    ("Amazon", "WriteReview"): ("response.product.name", "request.product_id"),
    ("Amazon", "Checkout"): ("response.order_items.0.name", "response.order_id"),
    ("Spotify", "PlaySong"): ("response.song.title", "request.song_id"),
    ("Spotify", "AddToPlaylist"): ("response.playlist.name", "request.playlist_id"),
    ("Spotify", "FollowArtist"): ("request.artist_name", "request.artist_id"),
    ("Fitbit", "LogWorkout"): ("request.activity_type",),
    ("Fitbit", "RecordActivity"): ("request.activity_type",),
    ("Fitbit", "SetGoals"): ("request.goals.0.goal_type",),
    ("Chase", "GetBalance"): ("request.account_id",),
    ("Chase", "GetTransactions"): ("request.account_id",),
    ("Chase", "PayBill"): ("request.biller_name",),
    ("Chase", "TransferMoney"): ("request.to_account_id",),
    ("Gmail", "ReadEmail"): ("response.email.subject", "request.email_id"),
    ("Gmail", "SendEmail"): ("request.subject", "request.to"),
    ("Gmail", "ReplyEmail"): ("response.email.subject", "request.email_id"),
    ("LinkedIn", "AddExperience"): ("request.company",),
    ("LinkedIn", "AddSkill"): ("request.skill",),
    ("LinkedIn", "ApplyJob"): ("response.job.title", "request.job_id"),
    ("Notion", "CreatePage"): ("request.title",),
    ("Notion", "UpdatePage"): ("response.page.title", "request.title", "request.page_id"),
    ("Notion", "CreateDatabaseEntry"): ("request.database_name",),
    ("Netflix", "ShowTitle"): ("response.title.name", "request.title_id"),
    ("Netflix", "PlayContent"): ("response.title.name", "request.title_id"),
    ("Netflix", "AddToMyList"): ("response.title.name", "request.title_id"),
    ("Netflix", "RateContent"): ("response.title.name", "request.title_id"),
    ("Goodreads", "ShowBook"): ("response.book.title", "request.book_id"),
    ("Goodreads", "AddToShelf"): ("response.book.title", "request.book_id"),
    ("Goodreads", "RateBook"): ("response.book.title", "request.book_id"),
    ("Goodreads", "WriteReview"): ("response.book.title", "request.book_id"),
    ("Instagram", "CreatePost"): ("request.location", "request.content_type"),
    ("Instagram", "FollowUser"): ("request.user_id",),
    ("Instagram", "UnfollowUser"): ("request.user_id",),
    ("Google", "ClickResult"): ("response.result.title", "request.result_id"),
    ("LLM Assistant", "ContinueConversation"): ("request.conversation_id",),
    ("Google Maps", "GetDirections"): ("request.destination",),
    ("Google Maps", "CheckIn"): ("request.place_name", "request.location"),
    ("UberEats", "GetMenu"): ("response.restaurant.name", "request.restaurant_id"),
    ("UberEats", "PlaceOrder"): ("response.order.restaurant_name", "request.restaurant_id"),
}
"""(app, API) → paths in the log, the first that holds a text or number counts."""
OTHERS = (
    *_SEARCH,
    *_MESSAGE,
    "request.symbol",
    "request.name",
    "request.title",
    "request.location",
    "request.post_id",
)
"""Paths for every API that is not declared."""


def acted_on(log: dict[str, Any]) -> str:
    """What the log acted on; `App.Api` where it names nothing."""
    app, api = log["app_name"], log["api_name"]
    for path in (*OBJECTS.get((app, api), ()), *OTHERS):
        found: Any = log
        for step in path.split("."):
            if isinstance(found, dict):
                found = found.get(step)
            elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            else:
                found = None
        if isinstance(found, str) and found.strip():
            return found.strip()
        if isinstance(found, int | float) and not isinstance(found, bool):
            return str(found)
    return f"{app}.{api}"


ACTION_OF_API = {
    **dict.fromkeys(("Checkout", "PlaceOrder", "BuyStock", "PayBill"), "n_purchase"),
    "AddToCart": "n_cart",
    **dict.fromkeys(
        ("AddToWishlist", "AddToMyList", "AddToShelf", "AddToPlaylist", "FollowArtist", "FollowUser", "LikePost"),
        "n_favourite",
    ),
    **dict.fromkeys(
        ("ShowProduct", "ShowCart", "ShowWishlist", "ShowTitle", "ShowBook", "GetMenu", "ReadEmail", "GetFeed"),
        "n_browse",
    ),
}
"""API → counter of a visit; every other API counts as a click."""
