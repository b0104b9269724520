"""Accounts of shop, music, device, bank, broker, chats, mail and careers stay consistent whatever is called."""

from datetime import datetime

from app_events import CALLS, HOME, PERSONA, event, histories, many_events
from hypothesis import given, settings

from pipelines.applogs.synthesis.apps.app import Json
from pipelines.applogs.synthesis.apps.phone import Phone
from pipelines.applogs.synthesis.apps.robinhood import price_of, symbol_of
from pipelines.applogs.synthesis.events import Event

EIGHT = ("Amazon", "Spotify", "Fitbit", "Chase", "Robinhood", "WhatsApp", "Gmail", "LinkedIn")


def phone() -> Phone:
    return Phone(PERSONA, HOME)


def cents(dollars: float) -> int:
    return round(100 * dollars)


def total(lines: list[Json]) -> int:
    return sum(cents(line["price"]) * line["quantity"] for line in lines)


@given(histories(("Amazon",)))
@settings(deadline=None)
def test_a_cart_holds_what_was_added_since_the_last_checkout(history: list[Event]) -> None:
    mine, cart, wishes = phone(), {}, set()
    for one in history:
        request, response = mine.call(one)
        if one.api == "AddToCart":
            known = request["product_id"]
            cart[known] = cart.get(known, 0) + request["quantity"]
            assert {line["product_id"]: line["quantity"] for line in response["cart"]} == cart
            assert cents(response["cart_total"]) == total(response["cart"])
        elif one.api == "ShowCart":
            assert {line["product_id"]: line["quantity"] for line in response["cart_items"]} == cart
            assert cents(response["cart_total"]) == total(response["cart_items"])
        elif one.api == "Checkout":
            ordered = {line["product_id"]: line["quantity"] for line in response["order_items"]}
            assert ordered.items() >= cart.items()
            assert len(ordered) - len(cart) <= 1
            assert ordered
            assert cents(response["total_price"]) == total(response["order_items"])
            assert response["order_date"][:10] < response["estimated_delivery"]
            cart, wishes = {}, wishes - set(ordered)
        elif one.api in ("AddToWishlist", "ShowWishlist"):
            shown = {item["product_id"] for item in response["wishlist_items"]}
            assert wishes <= shown
            assert len(shown - wishes) <= 1
            wishes = shown
        elif one.api == "ShowProduct":
            known = request["product_id"]
            assert (response["in_cart"], response["in_wishlist"]) == (known in cart, known in wishes)


def test_a_search_shows_the_thing_and_the_alternative_with_their_own_categories() -> None:
    slots = {"text": "kettle", "entity": "Larkspur Kettle", "others": ["Tin Pan"], "category": "kettles"}
    slots |= {"amount": 4999, "fields": {"other_category": "pans"}}
    shown = phone().call(event("Amazon", "SearchProducts", slots))[1]["products"]
    found = {one["name"]: (one["category"], one["price"]) for one in shown}
    assert found["Larkspur Kettle"] == ("kettles", 49.99)
    assert found["Tin Pan"][0] == "pans"
    assert len(shown) == 8


@given(histories(("Spotify",)))
@settings(deadline=None)
def test_playlists_and_followed_artists_grow_in_order(history: list[Event]) -> None:
    mine, playlists, followed = phone(), {}, []
    for one in history:
        request, response = mine.call(one)
        if one.api == "AddToPlaylist":
            songs, song = response["playlist"]["song_ids"], request["song_id"]
            assert songs[-1] == song
            assert len(set(songs)) == len(songs) <= 15
            before = playlists.get(request["playlist_id"], songs[:-1])
            assert songs[:-1] == [other for other in before if other != song][-14:]
            playlists[request["playlist_id"]] = songs
        elif one.api == "FollowArtist":
            followed = [artist for artist in followed if artist != request] + [request]
            assert response["followed_artists"] == followed[-15:]


def test_a_playlist_keeps_its_last_15_songs() -> None:
    mine = phone()
    added = [
        mine.call(event("Spotify", "AddToPlaylist", {"entity": f"song {n}", "title": "Rye"}, n, f"{n}"))
        for n in range(30)
    ]
    assert added[-1][1]["playlist"] == {
        "playlist_id": "playlist_rye",
        "name": "Rye",
        "song_ids": [request["song_id"] for request, _ in added[-15:]],
    }


def test_a_song_is_the_same_wherever_it_is_shown() -> None:
    mine = phone()
    slots = {"entity": "Plain Rye", "category": "folk", "fields": {"artist": "North Quay"}}
    song = mine.call(event("Spotify", "PlaySong", slots))[1]["song"]
    found = mine.call(event("Spotify", "SearchSongs", {**slots, "text": "rye", "others": ["Red Rye"]}))[1]["songs"]
    assert song in found
    assert (song["title"], song["artist"], song["genre"]) == ("Plain Rye", "North Quay", "folk")
    assert "Red Rye" in [one["title"] for one in found]


@given(histories(("Fitbit",)))
@settings(deadline=None)
def test_active_minutes_of_a_day_add_up(history: list[Event]) -> None:
    mine, day, minutes = phone(), None, 0
    for one in history:
        request, response = mine.call(one)
        if one.api == "SetGoals":
            assert [goal for goal in response["goals"] if goal in request["goals"]] == request["goals"]
            continue
        if one.api == "SyncDevice":
            done, so_far = one.slots.get("minutes", 0), response["sync_data"]["active_minutes"]
        else:
            done, so_far = request["duration_minutes"], response["today_total_active_minutes"]
        if one.moment.date() == day:
            assert so_far == minutes + done
        else:
            assert done + 3 <= so_far <= done + 18
        day, minutes = one.moment.date(), so_far


@given(histories(("Chase",)))
@settings(deadline=None)
def test_balances_follow_what_is_paid_and_never_fall_below_zero(history: list[Event]) -> None:
    mine = phone()
    for one in history:
        at = int((one.moment - datetime(2023, 10, 1, 9, 30)).total_seconds()) // 60
        checking, savings = balances(mine, at)
        request, response = mine.call(one)
        now, saved = balances(mine, at)
        assert now >= 0
        if one.api in ("TransferMoney", "PayBill"):
            paid = cents(request["amount"])
            assert cents(response.get("new_balance", response.get("from_account_new_balance"))) == now
            # What is lacking comes in round sums from outside.
            assert now == checking - paid if paid <= checking else (now - checking + paid) % 10_000 == 0
            inside = request.get("to_account_id", "").startswith("Savings-")
            assert saved == savings + (paid if inside else 0)
            assert ("to_account_new_balance" in response) == inside
        elif one.api == "GetTransactions":
            dates = [posting["transaction_date"] for posting in response["transactions"]]
            assert dates == sorted(dates, reverse=True)
            assert cents(response["account_balance"]) == now
            assert all(dates_of(request, day) for day in dates)


def dates_of(request: Json, day: str) -> bool:
    return request.get("start_date", "") <= day <= request.get("end_date", "9")


def balances(mine: Phone, at: int) -> tuple[int, int]:
    """Checking and savings, by a call of both accounts."""
    for n in range(40):
        accounts = mine.call(event("Chase", "GetBalance", {}, at, f"look/{n}"))[1]["accounts"]
        if len(accounts) == 2:
            return cents(accounts[0]["balance"]), cents(accounts[1]["balance"])
    raise AssertionError("forty calls of one account each")


def test_days_are_booked_alike_whenever_somebody_looks() -> None:
    often, seldom = phone(), phone()
    seldom.call(event("Chase", "GetBalance"))
    for day in range(120):
        often.call(event("Chase", "GetBalance", {}, day * 1440))
    last = event("Chase", "GetTransactions", {}, 120 * 1440)
    assert often.call(last) == seldom.call(last)


def test_a_payment_is_found_by_a_word_of_its_merchant() -> None:
    mine = phone()
    mine.call(event("Chase", "PayBill", {"entity": "Larkspur Fibre", "amount": 5450}))
    found = mine.call(event("Chase", "SearchTransactions", {"text": "larkspur payments"}, 5))[1]["transactions"]
    assert [(one["merchant"], one["amount"], one["category"]) for one in found] == [("Larkspur Fibre", 54.5, "bills")]
    assert mine.call(event("Chase", "SearchTransactions", {"text": "yacht"}, 6))[1] == {"transactions": []}


@given(histories(("Robinhood",)))
@settings(deadline=None)
def test_cash_and_holdings_follow_buys_and_sells(history: list[Event]) -> None:
    mine, held, cash = phone(), {}, None
    for one in history:
        request, response = mine.call(one)
        if one.api in ("BuyStock", "SellStock"):
            symbol, deal, buys = request["symbol"], response["transaction"], one.api == "BuyStock"
            pieces, money = deal["quantity"], cents(deal["total_amount"])
            assert money == pieces * cents(deal["price"])
            assert 1 <= pieces <= request["quantity"]
            before = held.get(symbol, 0 if buys else 1)
            assert pieces == (request["quantity"] if buys else min(request["quantity"], before))
            after = response["new_holding" if buys else "remaining_holding"]
            held[symbol] = before + (pieces if buys else -pieces)
            assert (after["symbol"], after["quantity"]) == (symbol, held[symbol])
            held = {name: count for name, count in held.items() if count}
            new = cents(response["new_cash_balance"])
            assert new >= 0
            if cash is not None:
                expected = cash + (-money if buys else money)
                assert new == expected if expected >= 0 else (new - expected) % 10_000 == 0
            cash = new
        elif one.api == "GetPortfolio":
            shown = {holding["symbol"]: holding["quantity"] for holding in response["holdings"]}
            assert shown.items() >= held.items()
            assert len(shown) - len(held) <= 1
            worth = sum(count * price_of(symbol, one.moment.date()) for symbol, count in shown.items())
            assert cents(response["total_portfolio_value"]) == cents(response["cash_balance"]) + worth
            held, cash = shown, cents(response["cash_balance"])


def test_symbols_are_four_letters_of_the_name() -> None:
    names = ("Larkspur Kettle", "North Quay", "VOOQ", "Aa", "7 Élan Works 24")
    assert [symbol_of(name) for name in names] == ["LKRK", "NQRT", "VOOQ", "AXQ", "LWNR"]


@given(histories(("WhatsApp",)))
@settings(deadline=None)
def test_threads_keep_their_messages_in_time(history: list[Event]) -> None:
    mine, known = phone(), {}
    for one in history:
        request, response = mine.call(one)
        if one.api == "GetMessages":
            messages = response["messages"]
            assert [one["timestamp"] for one in messages] == sorted(one["timestamp"] for one in messages)
            assert len({one["message_id"] for one in messages}) == len(messages)
            assert {one["from_user"] for one in messages} <= {request["contact_id"], PERSONA.user_id}
            assert messages[-1]["from_user"] == request["contact_id"]
        else:
            messages = [response["message"]]
            assert messages[0]["to_user"] == request["to"]
        for message in messages:
            assert known.setdefault(message["message_id"], message) == message


def test_an_answer_is_seen_when_the_thread_is_opened() -> None:
    mine, person = phone(), {"person": "my sister"}
    sent = mine.call(event("WhatsApp", "SendMessage", {**person, "text": "Ladder?", "reply": "Yes, at six."}, 0, "a"))
    assert sent[0] == {"to": "contact_sister", "message": "Ladder?"}
    opened = mine.call(event("WhatsApp", "GetMessages", {**person, "text": "Bring tea"}, 90, "b"))[1]["messages"]
    assert [one["content"] for one in opened] == ["Ladder?", "Yes, at six.", "Bring tea"]
    assert opened[0] == sent[1]["message"]
    both = mine.call(event("WhatsApp", "GetMessages", {**person, "text": "Now?", "reply": "Soon"}, 300, "c"))[1]
    said = [(one["from_user"], one["content"]) for one in both["messages"][-2:]]
    assert said == [(PERSONA.user_id, "Now?"), ("contact_sister", "Soon")]


@given(histories(("Gmail",)))
@settings(deadline=None)
def test_an_inbox_counts_its_unread_mails(history: list[Event]) -> None:
    mine, read = phone(), set()
    for one in history:
        request, response = mine.call(one)
        if one.api == "GetInbox":
            mails = response["emails"]
            assert len({mail["email_id"] for mail in mails}) == len(mails)
            assert sum(not mail["is_read"] for mail in mails) <= response["unread_count"] <= 15
            assert all(mail["is_read"] == (mail["email_id"] in read) for mail in mails)
            assert not (request["unread_only"] and any(mail["is_read"] for mail in mails))
        elif one.api == "ReadEmail":
            assert response["email"]["is_read"]
            read.add(request["email_id"])
        elif one.api == "ReplyEmail":
            read.add(request["email_id"])


def test_a_mail_that_is_read_counts_one_less() -> None:
    mine, told = phone(), {"title": "The shed", "person": "my sister", "text": "The roof is done."}
    inbox = mine.call(event("Gmail", "GetInbox", told, 0, "a"))[1]
    first = inbox["emails"][0]
    assert (first["subject"], first["from_address"], first["is_read"]) == ("The shed", "sister@mail.example", False)
    opened = mine.call(event("Gmail", "ReadEmail", told, 5, "b"))[1]["email"]
    assert opened["email_id"] == first["email_id"]
    assert opened["body"].split("\n\n")[1] == opened["snippet"] == "The roof is done."
    assert opened["timestamp"] == first["timestamp"]


def test_reading_lowers_the_count_of_unread_mails_once() -> None:
    mine, told = phone(), {"title": "The shed", "person": "my sister"}
    # A look at which nothing else arrives.
    place = next(f"look/{n}" for n in range(99) if HOME.at(f"look/{n}").whole("count", 0, 2) == 0)
    look = event("Gmail", "GetInbox", {}, 5, place)
    mine.call(event("Gmail", "GetInbox", told))
    before = mine.call(look)[1]["unread_count"]
    mine.call(event("Gmail", "ReadEmail", told, 5))
    assert mine.call(look)[1]["unread_count"] == before - 1
    mine.call(event("Gmail", "ReadEmail", told, 6))
    assert mine.call(look)[1]["unread_count"] == before - 1
    mine.call(event("Gmail", "GetInbox", {**told, "title": "The roof"}, 7, place))
    assert mine.call(look)[1]["unread_count"] == before
    mine.call(event("Gmail", "ReplyEmail", {**told, "title": "The roof", "text": "Good!"}, 8))
    assert mine.call(look)[1]["unread_count"] == before - 1


def test_a_mail_that_was_answered_is_never_unread_again() -> None:
    mine, told = phone(), {"title": "The shed", "person": "my sister"}
    answered = mine.call(event("Gmail", "ReplyEmail", {**told, "text": "Good!"}))
    assert answered[1]["email"]["subject"] == "Re: The shed"
    looks = [mine.call(event("Gmail", "GetInbox", told, 1, f"{n}")) for n in range(20)]
    shown = [mail for _, response in looks for mail in response["emails"] if mail["subject"] == "The shed"]
    assert shown[0]["email_id"] == answered[0]["email_id"]
    assert all(mail["is_read"] for mail in shown)


@given(histories(("LinkedIn",)))
@settings(deadline=None)
def test_a_profile_grows(history: list[Event]) -> None:
    mine, skills, experiences = phone(), [], None
    for one in history:
        request, response = mine.call(one)
        if one.api == "AddSkill":
            skills = [skill for skill in skills if skill != request["skill"]] + [request["skill"]]
            assert response["skills"] == skills[-15:]
        elif one.api == "AddExperience":
            assert response["total_experiences"] == (experiences or response["total_experiences"] - 1) + 1
            experiences = response["total_experiences"]
        elif one.api == "UpdateProfile":
            assert response["updated_fields"] == request


def test_what_the_feed_shows_can_be_liked() -> None:
    mine, said = phone(), {"text": "We hire bakers.", "person": "a colleague in design"}
    first = mine.call(event("LinkedIn", "GetFeed", said))[1]["posts"][0]
    assert (first["author"], first["content"]) == ("member_colleague_in_design", "We hire bakers.")
    liked = mine.call(event("LinkedIn", "LikePost", said, 1))[1]["post"]
    assert liked == {**first, "likes_count": first["likes_count"] + 1}
    asked = mine.call(event("LinkedIn", "SendConnectionRequest", said, 2))[0]
    assert asked == {"user_id": first["author"], "message": "We hire bakers."}


SAME = {
    "product_id": ("name", "rating"),
    "song_id": ("title", "duration_minutes"),
    "artist_id": ("artist_name",),
    "transaction_id": ("merchant", "transaction_date", "amount", "transaction_type", "category"),
    "symbol": ("name",),
    "message_id": ("from_user", "to_user", "message_type", "content", "timestamp"),
    "email_id": ("from_address", "subject"),
    "post_id": ("author", "content", "timestamp"),
    "job_id": ("title",),
    "workout_id": ("activity_type", "duration_minutes"),
}
"""Id → what every log shows alike of a thing of this id."""


def objects(value: object) -> list[Json]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return ([value] if isinstance(value, dict) else []) + [one for part in inner for one in objects(part)]


def test_an_id_stands_for_the_same_thing_in_every_log() -> None:
    mine, known = phone(), {}
    for one in many_events(4000, [call for call in CALLS if call[0] in EIGHT], hours=2):
        for thing in objects(mine.call(one)):
            for name, parts in SAME.items():
                for part in parts if name in thing else ():
                    if part in thing:
                        assert known.setdefault((one.app, name, thing[name], part), thing[part]) == thing[part]
    assert {name for _, name, _, _ in known} == set(SAME)


def test_all_apis_of_these_apps_are_called_by_many_events() -> None:
    mine = [call for call in CALLS if call[0] in EIGHT]
    assert len(mine) == 44
    assert {(one.app, one.api) for one in many_events(1000, mine)} == set(mine)
