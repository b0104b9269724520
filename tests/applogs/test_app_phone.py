"""The phone as a whole: every published API, clear refusals, and independence of all that is not running."""

import json
from copy import deepcopy

import pytest
from app_events import CALLS, CHOICES, HOME, PERSONA, drawn_event, event, histories, log_of, many_events
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.applogs.synthesis.apps import APPS, RUNNING, amazon, chase, linkedin, robinhood, spotify
from pipelines.applogs.synthesis.apps.phone import CannotRender, Phone, projected
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.worlds import world_of

PUBLISHED = {
    "Amazon": "SearchProducts ShowProduct AddToCart ShowCart ShowWishlist AddToWishlist Checkout WriteReview",
    "Spotify": "SearchSongs PlaySong AddToPlaylist FollowArtist",
    "Fitbit": "LogWorkout RecordActivity SyncDevice SetGoals",
    "Chase": "GetBalance GetTransactions SearchTransactions TransferMoney PayBill",
    "Robinhood": "GetPortfolio GetWatchlist SearchStocks GetStockQuote BuyStock SellStock",
    "WhatsApp": "GetMessages SendMessage SendMedia",
    "Gmail": "GetInbox ReadEmail SendEmail ReplyEmail",
    "LinkedIn": "UpdateProfile AddExperience AddSkill PostUpdate GetFeed LikePost CommentOnPost SearchJobs ApplyJob "
    "SendConnectionRequest",
    "Notion": "GetPages CreatePage UpdatePage SearchContent CreateDatabaseEntry",
    "Netflix": "SearchContent ShowTitle PlayContent AddToMyList RateContent",
    "Goodreads": "SearchBooks ShowBook AddToShelf RateBook WriteReview",
    "Instagram": "CreatePost PostStory LikePost CommentOnPost SendDirectMessage FollowUser UnfollowUser GetFollowing",
    "Google": "Search ClickResult",
    "LLM Assistant": "CreateConversation ContinueConversation",
    "Google Maps": "ShareLocation CheckIn GetDirections SearchPlaces",
    "UberEats": "SearchRestaurants GetMenu PlaceOrder GetOrderHistory",
}
"""All apps and APIs of reference 1.3."""


def test_all_79_published_apis_are_there_and_no_other() -> None:
    assert {name: set(app.apis) for name, app in APPS.items()} == {
        name: set(apis.split()) for name, apis in PUBLISHED.items()
    }
    assert len(CALLS) == len(RUNNING) == 79
    assert all(app.name == name for name, app in APPS.items())


def test_unknown_apps_and_apis_are_refused_by_name() -> None:
    phone = Phone(PERSONA, HOME)
    with pytest.raises(CannotRender, match="there is no app 'Pager'; the apps are Amazon, Chase"):
        phone.call(event("Pager", "Beep"))
    with pytest.raises(CannotRender, match="e: Gmail has no API 'Burn'; its APIs are GetInbox, ReadEmail"):
        phone.call(event("Gmail", "Burn"))


@pytest.mark.parametrize(("app", "api"), [call for call in CALLS if APPS[call[0]].apis[call[1]].needs])
def test_a_slot_that_is_needed_is_asked_for_and_suffices(app: str, api: str) -> None:
    needs = APPS[app].apis[api].needs
    full = {need.split("|")[0]: CHOICES[need.split("|")[0]][0] for need in needs}
    Phone(PERSONA, HOME).call(event(app, api, full))
    for need in needs:
        for nothing in ({}, {need.split("|")[0]: ""}):
            lacking = {name: value for name, value in full.items() if name != need.split("|")[0]} | nothing
            with pytest.raises(CannotRender) as refusal:
                Phone(PERSONA, HOME).call(event(app, api, lacking))
            assert f"e: {app}.{api} needs the slot {need}" in str(refusal.value)


def test_either_of_two_needs_suffices() -> None:
    phone = Phone(PERSONA, HOME)
    assert phone.call(event("LinkedIn", "UpdateProfile", {"title": "Baker"}))[0] == {"headline": "Baker"}
    assert phone.call(event("LinkedIn", "UpdateProfile", {"text": "I bake."}))[0] == {"summary": "I bake."}


def test_a_projection_drops_the_id_and_the_running_parts_alone() -> None:
    log = {"app_log_id": "log_00001", "timestamp": "t", "app_name": "Chase", "api_name": "GetBalance"}
    accounts = [{"account_id": "a", "balance": 1.0}, {"account_id": "b", "balance": 2.0}]
    whole = {**log, "request": {"balance": 3}, "response": {"accounts": accounts, "total_balance": 3.0, "at": "now"}}
    before = deepcopy(whole)
    assert projected(whole) == {
        **{name: text for name, text in log.items() if name != "app_log_id"},
        "request": {"balance": 3},
        "response": {"accounts": [{"account_id": "a"}, {"account_id": "b"}], "at": "now"},
    }
    assert whole == before


@given(histories(), st.data())
@settings(deadline=None, max_examples=150)
def test_what_else_happened_changes_only_running_parts(history: list, data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(history), max_size=len(history)))
    whole, part = Phone(PERSONA, HOME), Phone(PERSONA, HOME)
    for one, stays in zip(history, kept, strict=True):
        log = log_of(whole, one)
        if stays:
            assert projected(log) == projected(log_of(part, one))


@pytest.mark.parametrize(("app", "api"), CALLS)
def test_the_first_and_the_thousandth_call_differ_only_in_running_parts(app: str, api: str) -> None:
    used = Phone(PERSONA, HOME)
    mine = [call for call in CALLS if call[0] == app]
    for one in many_events(300, mine):
        used.call(one)
    for n in range(20):
        one = drawn_event(app, api, 7 * 60 * 300 + n, Place(f"last/{n}"))
        assert projected(log_of(used, one)) == projected(log_of(Phone(PERSONA, HOME), one))


def parts(value: object, steps: list[str]) -> list[str]:
    if isinstance(value, list):
        return [part for item in value for part in parts(item, steps)]
    if not steps:
        return [json.dumps(value)]
    return parts(value[steps[0]], steps[1:]) if isinstance(value, dict) and steps[0] in value else []


@pytest.mark.parametrize(("app", "api", "path"), [(*call, path) for call in CALLS for path in RUNNING[call]])
def test_every_running_part_does_depend_on_what_was_called_before(app: str, api: str, path: str) -> None:
    mine, steps = [call for call in CALLS if call[0] == app], path.split(".")

    def depends(n: int) -> bool:
        used, place = Phone(PERSONA, HOME), Place(f"before/{n}")
        for at in range(6):
            used.call(drawn_event(*place.one(at, mine), at, place.at(at)))
        last = drawn_event(app, api, 6, place.at("last"))
        alone = log_of(Phone(PERSONA, HOME), last)
        return parts(log_of(used, last)["response"], steps) != parts(alone["response"], steps)

    assert any(depends(n) for n in range(500))


def test_logs_are_the_same_again_and_never_change_after_they_were_handed_out() -> None:
    events = many_events(1500)
    first, second = Phone(PERSONA, HOME), Phone(PERSONA, HOME)
    logs = [log_of(first, one) for one in events]
    at_once = [json.dumps(log_of(second, one)) for one in events]
    assert [json.dumps(log) for log in logs] == at_once


def test_another_user_has_other_accounts_but_the_same_things() -> None:
    mine, theirs = Phone(PERSONA, HOME), Phone(PERSONA, Place("7/002_user_002"))
    balance = event("Chase", "GetBalance")
    assert mine.call(balance)[1]["total_balance"] != theirs.call(balance)[1]["total_balance"]
    product = event("Amazon", "ShowProduct", {"entity": "Larkspur Kettle"})
    assert mine.call(product)[1]["product"] == theirs.call(product)[1]["product"]


def lists(value: object) -> list[list]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, list) else []) + [one for part in inner for one in lists(part)]


def test_no_account_grows_without_bound() -> None:
    phone = Phone(PERSONA, HOME)
    for n, (app, api) in enumerate(CALLS * 40):
        drawn = drawn_event(app, api, n * 60, Place(f"{n}"))
        slots = {**drawn.slots, "entity": f"thing {n}", "title": f"title {n}"}
        response = phone.call(event(app, api, slots, n * 60, f"{n}"))[1]
        assert max(map(len, lists(response)), default=0) <= 20


def test_what_renderers_make_up_tells_nothing_of_the_user() -> None:
    """Nothing of the persona but its id, and none of the slots of other events, outside of running parts."""
    marked = type(PERSONA)("001_user_001", "Zarchetype", "Zcity", "Zhousehold", "Zwork", {"traits": ["Ztrait"]})
    phone = Phone(marked, HOME)
    for n, (app, api) in enumerate(CALLS * 5):
        needs = {need.split("|")[0] for need in APPS[app].apis[api].needs}
        slots = {name: CHOICES[name][0] for name in needs}
        words = {name: f"Zq{n} {name}" for name in needs & {"text", "title", "entity", "person", "place", "category"}}
        text = json.dumps(projected(log_of(phone, event(app, api, slots | words, n, f"{n}"))))
        for part in ("Zarchetype", "Zcity", "Zhousehold", "Zwork", "Ztrait"):
            assert part.lower() not in text.lower()
        assert f"zq{n - 1} " not in text.lower()
        assert f"zq{n - 1}_" not in text.lower()


def test_what_renderers_make_up_is_nothing_that_is_true_of_anybody() -> None:
    """No maker, merchant, song, … of theirs is held by a name of the ontology, or holds one of several words."""
    made_up = {
        *(*amazon.MAKERS, *amazon.ORDINARY, *spotify.ARTISTS, *spotify.SONGS, *robinhood.COMPANIES, *linkedin.PAGES),
        *(*linkedin.COMPANIES, *robinhood.INDEXES, *(merchant for merchant, *_ in chase.EVERYDAY)),
    }
    real = {
        name
        for index in range(40)
        for one in world_of(3, index).intervals
        for name in (one.facts.get("entity"), *one.facts.get("others", ()), one.facts.get("place"))
        if name
    }
    assert len(real) > 200
    held = [(a, b) for a in made_up for b in real if a.lower() in b.lower() or (" " in b and b.lower() in a.lower())]
    assert held == []


def test_gaps_of_months_and_events_out_of_order_change_only_running_parts() -> None:
    phone = Phone(PERSONA, HOME)
    for minutes in (0, 600_000, 10, 600_001):
        for app, api in CALLS:
            one = drawn_event(app, api, minutes, Place(f"{minutes}"))
            assert projected(log_of(phone, one)) == projected(log_of(Phone(PERSONA, HOME), one))
