"""Accounts of notes, films, books, pictures, searches, talks, places and meals agree with all that was done in them."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from app_events import HOME, PERSONA, event, histories
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.applogs.synthesis.apps import google_maps, llm_assistant, ubereats
from pipelines.applogs.synthesis.apps.app import KEPT, Json
from pipelines.applogs.synthesis.apps.entities import contact_id, slug
from pipelines.applogs.synthesis.apps.phone import Phone
from pipelines.applogs.synthesis.events import Event

Called = tuple[Event, Json, Json]


def played(history: list[Event]) -> Iterator[Called]:
    """Every event with its request and response, on one phone."""
    phone = Phone(PERSONA, HOME)
    for one in history:
        yield one, *phone.call(one)


def of(app: str) -> st.SearchStrategy[list[Event]]:
    return histories((app,), most=60)


quick = settings(deadline=None, max_examples=60)


@given(of("Netflix"))
@quick
def test_my_list_holds_what_was_added(history: list[Event]) -> None:
    added: list[str] = []
    for one, _, response in played(history):
        name = one.slots.get("entity")
        if one.api == "AddToMyList":
            added = [*(known for known in added if known != name), name]
            assert [title["name"] for title in response["my_list"]] == added[-KEPT:]
        elif one.api == "ShowTitle":
            assert response["in_my_list"] == (name in added)


def test_my_list_shows_its_last_titles_and_forgets_none() -> None:
    phone = Phone(PERSONA, HOME)
    for n in range(30):
        shown = phone.call(event("Netflix", "AddToMyList", {"entity": f"Film {n}"}, n, f"{n}"))[1]["my_list"]
    assert [title["name"] for title in shown] == [f"Film {n}" for n in range(15, 30)]
    assert phone.call(event("Netflix", "ShowTitle", {"entity": "Film 0"}, 99))[1]["in_my_list"] is True
    assert phone.call(event("Netflix", "ShowTitle", {"entity": "Film 30"}, 99))[1]["in_my_list"] is False


@pytest.mark.parametrize(("stars", "thumb"), [(1, 0), (3, 0), (4, 1), (5, 1)])
def test_four_stars_are_a_thumb_up(stars: int, thumb: int) -> None:
    slots = {"entity": "Nine Windows", "rating": stars}
    request, response = Phone(PERSONA, HOME).call(event("Netflix", "RateContent", slots))
    assert request["rating"] == response["rating"] == thumb


@given(of("Goodreads"))
@quick
def test_a_book_is_on_the_shelf_where_it_was_put_last(history: list[Event]) -> None:
    shelves: dict[str, str] = {}
    for one, request, response in played(history):
        name = one.slots.get("entity", "")
        if one.api == "AddToShelf":
            shelves[name] = one.slots.get("category", "to-read")
            assert request["shelf"] == response["shelf_entry"]["shelf"] == shelves[name]
            assert response["shelf_entry"]["title"] == name
        elif one.api == "ShowBook":
            assert response.get("on_shelf") == shelves.get(name)
        elif one.api == "WriteReview":
            assert response["review"].get("rating") == request.get("rating") == one.slots.get("rating")


@given(of("Notion"))
@quick
def test_a_page_keeps_its_id_and_its_birthday_and_says_what_was_written_last(history: list[Event]) -> None:
    born: dict[str, str] = {}
    written: set[str] = set()
    for one, request, response in played(history):
        text = one.slots.get("text")
        if one.api in ("CreatePage", "UpdatePage"):
            page = response["page"]
            assert page["content"] == request["content"] == text
            assert page["title"] == request.get("title", page["title"])
            assert request.get("page_id", page["page_id"]) == page["page_id"]
            written.add(page["page_id"])
            seen = [page]
        elif one.api == "GetPages":
            seen = response["pages"]
            assert len({page["page_id"] for page in seen}) == len(seen) <= KEPT + 1
            assert set(written) <= {page["page_id"] for page in seen} or len(seen) >= KEPT
            named = one.slots.get("title") or one.slots.get("entity")
            assert not named or seen[0]["title"] == named
        else:
            continue
        for page in seen:
            assert page["created_at"] <= page["updated_at"]
            assert born.setdefault(page["page_id"], page["created_at"]) == page["created_at"]


def test_a_page_is_found_by_its_words_until_it_is_written_anew() -> None:
    phone = Phone(PERSONA, HOME)

    def found(query: str) -> list[str]:
        response = phone.call(event("Notion", "SearchContent", {"text": query}, 9))[1]
        return [result["title"] for result in response["results"]]

    phone.call(event("Notion", "CreatePage", {"title": "Shed", "text": "Buy zinc hinges."}, 1))
    assert found("ZINC or brass?") == ["Shed"]
    assert found("brass") == found("what have you got for the list, and buy?") == []
    phone.call(event("Notion", "UpdatePage", {"entity": "Shed", "text": "Brass hinges it is."}, 2))
    assert (found("zinc"), found("brass")) == ([], ["Shed"])
    request, response = phone.call(
        event("Notion", "UpdatePage", {"entity": "Shed", "title": "Hut", "text": "Brass hinges."}, 3)
    )
    assert (request["title"], response["page"]["title"], found("brass")) == ("Hut", "Hut", ["Hut"])


def test_a_long_page_is_shortened_where_it_is_found() -> None:
    phone, text = Phone(PERSONA, HOME), "plank " * 60 + "end"
    assert phone.call(event("Notion", "CreatePage", {"title": "Shed", "text": text}))[1]["page"]["content"] == text
    [found] = phone.call(event("Notion", "SearchContent", {"text": "plank"}, 1))[1]["results"]
    assert len(found["snippet"]) <= 160
    assert text.startswith(found["snippet"].removesuffix("…"))


@given(of("Instagram"))
@quick
def test_those_followed_are_counted_and_the_others_are_not_listed(history: list[Event]) -> None:
    followed: dict[str, None] = {}
    for one, request, response in played(history):
        entity, person = one.slots.get("entity"), one.slots.get("person")
        about = slug(entity) if entity else contact_id(person) if person else None
        match one.api:
            case "FollowUser":
                followed.setdefault(about)
                assert response["following"][0]["user_id"] == request["user_id"] == about
            case "UnfollowUser":
                followed.pop(about, None)
            case "GetFollowing":
                if about:
                    followed.setdefault(about)
                assert response["following_count"] == len(followed)
            case _:
                continue
        listed = [account["user_id"] for account in response["following"]]
        assert len(set(listed)) == len(listed) == min(KEPT, len(followed))
        assert set(listed) <= set(followed)


def test_more_are_counted_than_listed() -> None:
    phone = Phone(PERSONA, HOME)
    for n in range(20):
        phone.call(event("Instagram", "FollowUser", {"entity": f"door {n}"}, n, f"{n}"))
    phone.call(event("Instagram", "FollowUser", {"entity": "door 3"}, 30))
    phone.call(event("Instagram", "UnfollowUser", {"entity": "door 0"}, 31))
    response = phone.call(event("Instagram", "GetFollowing", {}, 32))[1]
    assert response["following_count"] == 19
    assert [account["display_name"] for account in response["following"]] == [f"door {n}" for n in range(19, 4, -1)]


def test_a_post_that_is_liked_is_the_post_that_is_written_under() -> None:
    phone = Phone(PERSONA, HOME)
    liked = phone.call(event("Instagram", "LikePost", {"entity": "odd_doors", "text": "Blue one."}))[1]
    slots = {"entity": "odd_doors", "reply": "Blue one.", "text": "Lovely"}
    under = phone.call(event("Instagram", "CommentOnPost", slots, 3, "f"))[1]
    assert under["comment"]["post_id"] == under["post"]["post_id"] == liked["post"]["post_id"]
    assert under["post"]["caption"] == liked["post"]["caption"] == "Blue one."


@given(of("LLM Assistant"))
@quick
def test_conversations_begin_once_and_messages_are_their_own(history: list[Event]) -> None:
    begun: set[str] = set()
    messages: list[str] = []
    for one, request, response in played(history):
        conversation = response["conversation_id"]
        if one.api == "CreateConversation":
            assert conversation not in begun
        else:
            assert conversation == request["conversation_id"]
            assert response["user_message"]["content"] == request["message"] == one.slots["text"]
            assert response["user_message"]["timestamp"] < response["assistant_response"]["timestamp"]
            reply = one.slots.get("reply", "")
            answer = response["assistant_response"]["content"]
            assert answer.startswith(reply) == (not reply or len(reply) >= llm_assistant.SENTENCE)
            messages += [response[name]["message_id"] for name in ("user_message", "assistant_response")]
        begun.add(conversation)
    assert len(set(messages)) == len(messages)


def test_a_conversation_goes_on_by_its_title_or_among_siblings() -> None:
    phone = Phone(PERSONA, HOME)

    def conversation(api: str, at: int, path: str, **slots: str) -> str:
        return phone.call(event("LLM Assistant", api, {"text": "Hello", **slots}, at, path))[1]["conversation_id"]

    titled = conversation("CreateConversation", 0, "a/0", title="Shed")
    assert conversation("ContinueConversation", 90_000, "b/7", title="Shed") == titled
    assert conversation("CreateConversation", 90_001, "a/0/1", title="Shed") != titled
    assert conversation("ContinueConversation", 90_002, "c/2", title="Shed") == titled
    untitled = conversation("CreateConversation", 5, "s/0")
    assert conversation("ContinueConversation", 9, "s/1") == untitled
    assert conversation("ContinueConversation", 9 + 1440, "s/2") == untitled
    assert len({titled, untitled, conversation("ContinueConversation", 9, "t/1")}) == 3


words = st.sampled_from(["rain barrels", "a kettle", "how to mend a hinge " * 6, "Plain Rye"])


@given(words, st.none() | words, st.lists(words, max_size=4, unique=True), st.integers(0, 50))
@quick
def test_what_is_clicked_was_found(query: str, entity: str | None, others: list[str], seed: int) -> None:
    said = {"text": query, "entity": entity, "others": others}
    slots = {name: value for name, value in said.items() if value is not None}
    phone = Phone(PERSONA, HOME)
    results = phone.call(event("Google", "Search", slots, 0, f"{seed}/0"))[1]["results"]
    request, response = phone.call(event("Google", "ClickResult", slots, 2, f"{seed}/1"))
    assert response["result"] in results
    assert request == {"result_id": response["result"]["result_id"], "search_query": query}
    rivals = [other for other in others if other != entity][:3]
    named = {entity, *rivals} - {None}
    assert len({result["result_id"] for result in results}) >= len(named) + 4
    assert all(any(other in result["title"] for result in results) for other in named)


@given(of("Google Maps"))
@quick
def test_ways_add_up_and_visits_are_counted(history: list[Event]) -> None:
    visits: list[str] = []
    shares: dict[str, timedelta] = {}
    for one, request, response in played(history):
        match one.api:
            case "GetDirections":
                way = response["directions"]
                assert sum(step["minutes"] for step in way["steps"]) == way["duration_minutes"]
                assert sum(round(step["distance_km"] * 1000) for step in way["steps"]) == round(
                    way["distance_km"] * 1000
                )
                assert all(step["minutes"] >= 1 and step["distance_km"] > 0 for step in way["steps"])
                assert way["destination"]["name"] == request["destination"]
                assert way["travel_mode"] == request.get("travel_mode", "driving")
            case "CheckIn":
                name = one.slots.get("place") or one.slots["entity"]
                visits.append(name)
                assert response["checkin"]["visit_count"] == visits.count(name)
                earlier = [seen["name"] for seen in response["earlier_checkins"]]
                assert earlier == visits[-2 : -2 - google_maps.RECENT : -1]
            case "ShareLocation":
                shared = response["shared_location"]
                ends = (one.moment - history[0].moment) + timedelta(minutes=shared["duration_minutes"])
                shares[shared["contact_id"]] = ends
                now = one.moment - history[0].moment
                assert shared["active_shares"] == sum(until > now for until in shares.values())


@pytest.mark.parametrize(("minutes", "parts"), [(1, 1), (2, 2), (3, 3), (6, 6), (38, 6), (240, 5)])
def test_a_split_leaves_no_part_empty(minutes: int, parts: int) -> None:
    for draw in (0, 2**64 - 1, 0x00FF00FF00FF00FF, 0x123456789ABCDEF0):
        found = google_maps._split(minutes, parts, draw)
        assert (len(found), sum(found), min(found) >= 1) == (parts, minutes, True)


def test_a_short_way_has_as_many_steps_as_minutes() -> None:
    slots = {"place": "Harbour Steps", "fields": {"travel_minutes": 2, "travel_mode": "walking"}}
    way = Phone(PERSONA, HOME).call(event("Google Maps", "GetDirections", slots))[1]["directions"]
    assert [step["minutes"] for step in way["steps"]] == [1, 1]
    assert way["distance_km"] == 0.167


@pytest.mark.parametrize(
    ("vehicle", "mode"),
    [
        ("driving", "driving"),
        ("Heron estate car", "driving"),
        ("Ridge cable line", "transit"),
        ("the 62 bus", "transit"),
        ("cargo bike", "cycling"),
        ("on foot", "walking"),
    ],
)
def test_a_vehicle_has_its_travel_mode(vehicle: str, mode: str) -> None:
    slots = {"place": "Harbour Steps", "fields": {"travel_mode": vehicle}}
    request, response = Phone(PERSONA, HOME).call(event("Google Maps", "GetDirections", slots))
    assert request["travel_mode"] == response["directions"]["travel_mode"] == mode
    assert response["directions"].get("vehicle") == (None if vehicle == mode else vehicle)


@given(of("UberEats"))
@quick
def test_orders_are_paid_in_full_and_stand_in_the_history(history: list[Event]) -> None:
    orders: list[Json] = []
    for one, request, response in played(history):
        if one.api == "PlaceOrder":
            order = response["order"]
            cents = {name: round(order[name] * 100) for name in ("subtotal", "delivery_fee", "service_fee", "total")}
            assert cents["subtotal"] == sum(round(item["price"] * 100) * item["quantity"] for item in order["items"])
            assert cents["total"] == cents["subtotal"] + cents["delivery_fee"] + cents["service_fee"]
            assert request["items"] == [
                {name: item[name] for name in ("item_id", "quantity")} for item in order["items"]
            ]
            orders.append(order)
        elif one.api == "GetOrderHistory":
            assert response["order_count"] == len(orders)
            shown = [(line["order_id"], line["total"]) for line in response["orders"]]
            assert shown == [(order["order_id"], order["total"]) for order in reversed(orders[-KEPT:])]


@given(st.sampled_from([{}, {"amount": 1850}, {"fields": {"dish": "Leek Tart"}}]), st.integers(0, 200))
@quick
def test_what_is_ordered_stands_on_the_menu_at_its_price(more: Json, seed: int) -> None:
    phone, slots = Phone(PERSONA, HOME), {"entity": "Copper Ladle", "quantity": 2, **more}
    menu = phone.call(event("UberEats", "GetMenu", slots, 0, f"{seed}/0"))[1]["menu"]
    order = phone.call(event("UberEats", "PlaceOrder", slots, 4, f"{seed}/1"))[1]["order"]
    prices = {dish["item_id"]: (dish["name"], dish["price"]) for dish in menu}
    assert len(prices) == len(menu)
    assert all(prices[item["item_id"]] == (item["name"], item["price"]) for item in order["items"])
    assert order["items"][0]["quantity"] == 2
    if "amount" in more:
        assert order["subtotal"] == 37.0
    if "fields" in more:
        assert [item["name"] for item in order["items"]] == ["Leek Tart"]


def test_a_way_of_eating_is_told_to_the_kitchen_and_is_no_restaurant() -> None:
    slots = {"entity": "Low Salt plan", "category": "nutrition", "fields": {"nutrition": "a daily food log"}}
    order = Phone(PERSONA, HOME).call(event("UberEats", "PlaceOrder", slots))[1]["order"]
    assert order["note"] == "Low Salt plan, a daily food log"
    assert order["restaurant"]["name"] in ubereats.RESTAURANTS
