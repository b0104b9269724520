"""Logs without a built-in source, in the formats their publishers describe: right values, or a clear refusal."""

import json
from datetime import UTC, datetime

import pytest

from pipelines.commerce.batches import batches
from pipelines.commerce.events import read_drop
from pipelines.commerce.mapping import Mapping, MappingError, load_mapping
from pipelines.commerce.reading import SourceError
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.sources import SOURCES
from pipelines.commerce.visits import visits

S = CommerceSettings()


def written(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def said(path, *rows):
    return written(path, *(json.dumps(row) for row in rows))


def shown(drop, *columns):
    return drop.events.select(columns).rows()


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


# RetailRocket: milliseconds, unsorted rows, exact repeats; the category of an item changes over time.

RETAIL = {
    "name": "retailrocket",
    "format": "csv",
    "columns": {"user": "visitorid", "item": "itemid", "action": "event", "session": "transactionid"},
    "time": {"column": "timestamp", "unit": "ms"},
    "actions": {"view": "browse", "addtocart": "cart", "transaction": "purchase"},
    "duplicates": "drop",
}
RETAIL_LOG = (
    "timestamp,visitorid,event,itemid,transactionid",
    "1433221332119,257597,transaction,355908,7",
    "1433221332118,257597,addtocart,355908,",
    "1433221078117,257597,view,355908,",
    "1433221078117,257597,view,355908,",
)


def test_retailrocket_orders_by_the_millisecond_and_drops_repeats(tmp_path):
    drop = read_drop([written(tmp_path / "events.csv", *RETAIL_LOG)], Mapping.model_validate(RETAIL))
    assert shown(drop, "action", "time", "session_id") == [
        ("browse", at(2015, 6, 2, 4, 57, 58, 117_000), None),
        ("cart", at(2015, 6, 2, 5, 2, 12, 118_000), None),
        ("purchase", at(2015, 6, 2, 5, 2, 12, 119_000), "7"),
    ]
    assert (drop.counts["rows_in"], drop.counts["duplicates"]) == (4, 1)


def test_a_history_of_properties_is_no_lookup_table(tmp_path):
    mapping = RETAIL | {
        "columns": RETAIL["columns"] | {"l2": "value"},
        "lookups": [{"name": "properties", "key": "itemid", "columns": "value"}],
    }
    files = [
        written(tmp_path / "events.csv", *RETAIL_LOG),
        written(
            tmp_path / "item_properties.csv", "timestamp,itemid,property,value", "1435460400000,355908,categoryid,1338"
        ),
    ]
    with pytest.raises(SourceError, match=r"item_properties.csv:1: the table properties has the time column") as error:
        read_drop(files, Mapping.model_validate(mapping))
    assert "held at each event" in error.value.remedy


def test_an_as_of_join_cannot_be_declared(tmp_path):
    path = written(
        tmp_path / "shop.yaml",
        json.dumps(RETAIL | {"lookups": [{"name": "p", "key": "itemid", "columns": "value", "as_of": "timestamp"}]}),
    )
    with pytest.raises(MappingError, match=r"shop.yaml, line 1: lookups.0.as_of"):
        load_mapping(path)


def test_a_category_joined_as_of_the_event_stays_with_its_visit(tmp_path):
    mapping = Mapping.model_validate(RETAIL | {"columns": RETAIL["columns"] | {"l1": "parentid", "l2": "categoryid"}})
    lines = (
        "timestamp,visitorid,event,itemid,transactionid,categoryid,parentid",
        "1433221078117,1,view,9,,1338,140",
        "1435460400000,1,view,9,,1339,140",
        "1435460400001,1,view,9,,1340,140",
    )
    found = visits(read_drop([written(tmp_path / "events.csv", *lines)], mapping).events.lazy(), S)
    assert found["l2"].to_list() == ["1338", "1339"]
    assert found["n_browse"].to_list() == [1, 2]


# YOOCHOOSE: no users, no header, UTC with milliseconds; a popular copy is two hours early.

CLICKS = {
    "name": "yoochoose",
    "format": "csv",
    "positional": ["session", "at", "item", "category"],
    "columns": {"user": "session", "item": "item", "l2": "category"},
    "time": {"column": "at", "patterns": "%Y-%m-%dT%H:%M:%S%.fZ", "zone": "UTC"},
    "action": "click",
    "missing": "0",
}


def test_yoochoose_times_are_utc_to_the_millisecond(tmp_path):
    lines = ("1,2014-04-07T10:51:09.277Z,214536502,0", "01,2014-04-07T10:54:09.868Z,214536500,S")
    drop = read_drop([written(tmp_path / "yoochoose-clicks.dat", *lines)], Mapping.model_validate(CLICKS))
    assert sorted(shown(drop, "user_id", "l2", "l2_name")) == [("01", "s", "S"), ("1", None, None)]
    times = dict(shown(drop, "user_id", "time"))
    assert times["1"].timestamp() == 1396867869.277
    assert times["01"] == at(2014, 4, 7, 10, 54, 9, 868_000)


def test_yoochoose_buys_are_no_clicks(tmp_path):
    path = written(tmp_path / "yoochoose-buys.dat", "420374,2014-04-06T18:44:58.314Z,214537888,12462,1")
    with pytest.raises(SourceError, match=r"yoochoose-buys.dat:1: no line has 4 fields"):
        read_drop([path], Mapping.model_validate(CLICKS))


# Alibaba display ads: seconds in UTC, a category and a brand but no item.

BTAG = {
    "name": "alibaba",
    "format": "csv",
    "columns": {"user": "user", "item": "cate", "action": "btag", "l2": "cate", "brand": "brand"},
    "time": {"column": "time_stamp", "unit": "s"},
    "actions": {"pv": "browse", "cart": "cart", "fav": "favourite", "buy": "purchase"},
    "missing": "NULL",
    "duplicates": "drop",
}


def test_alibaba_behaviour_with_the_category_for_an_item(tmp_path):
    lines = (
        "user,time_stamp,btag,cate,brand ",
        "558157,1494032110,pv,6250,91286",
        "558157,1494032110,fav,6250,NULL",
        "558157,1494032111,ipv,6250,91286",
    )
    drop = read_drop([written(tmp_path / "behavior_log.csv", *lines)], Mapping.model_validate(BTAG))
    assert shown(drop, "time", "action", "item_id", "brand") == [
        (at(2017, 5, 6, 0, 55, 10), "browse", "6250", "91286"),
        (at(2017, 5, 6, 0, 55, 10), "favourite", "6250", None),
    ]
    assert drop.reasons == {"action unknown": 1}
    assert drop.warnings[0] == "action 'ipv' (1 row): add it to `actions:` of the mapping, or leave it rejected"


def test_the_most_frequent_unknown_actions_are_told(tmp_path):
    wrong = {"zz": 3, "a": 2, "b": 2, "c": 1, "d": 1, "e": 1, "f": 1}
    rows = [f"1,1494032110,{text},6250,{n}" for text, count in wrong.items() for n in range(count)]
    mapping = Mapping.model_validate(BTAG)
    log = written(tmp_path / "log.csv", "user,time_stamp,btag,cate,brand", "1,1494032110,pv,6250,1", *rows)
    told = [one.partition(":")[0] for one in read_drop([log], mapping).warnings if "action" in one]
    named = [
        f"action {text!r} ({rows})"
        for text, rows in zip(["zz", "a", "b", "c", "d"], ("3 rows", "2 rows", "2 rows", "1 row", "1 row"), strict=True)
    ]
    assert told == [*named, "2 more actions that the mapping does not know"]


def test_a_log_without_an_item_is_refused_and_two_columns_make_no_item(tmp_path):
    columns = {name: column for name, column in BTAG["columns"].items() if name != "item"}
    path = written(tmp_path / "shop.yaml", json.dumps(BTAG | {"columns": columns}))
    with pytest.raises(MappingError, match=r"shop.yaml, line 1: columns.item: Field required"):
        load_mapping(path)
    # A list means alternatives: the first that holds a value, never both together.
    mapping = Mapping.model_validate(BTAG | {"columns": columns | {"item": ["cate", "brand"]}})
    log = written(
        tmp_path / "log.csv", "user,time_stamp,btag,cate,brand", "1,1494032110,pv,6250,1", "1,1494032110,pv,,2"
    )
    assert read_drop([log], mapping).events["item_id"].to_list() == ["2", "6250"]


# GA4 export: microseconds, one event of many items, late and repeated days.

GA4 = {
    "name": "ga4",
    "format": "jsonl",
    "nested": "items",
    "columns": {
        "user": ["user_id", "user_pseudo_id"], "item": "item_id", "action": "event_name", "l1": "item_category",
        "l2": "item_category2", "session": "ecommerce.transaction_id",
    },
    "time": {"column": "event_timestamp", "unit": "us"},
    "actions": {
        "view_item": "browse", "add_to_cart": "cart", "add_to_wishlist": "favourite", "purchase": "purchase",
        "refund": "refund",
    },
    "missing": "(not set)",
    "duplicates": "drop",
}  # fmt: skip


def ga4(name, stamp, *items, **more):
    rows = [{"item_id": item, "item_category": "Apparel", "item_category2": "Hats"} for item in items]
    return {"event_date": "20201101", "event_timestamp": stamp, "event_name": name, "items": rows} | more


def test_ga4_days_that_come_twice_and_events_without_items(tmp_path):
    mapping = Mapping.model_validate(GA4)
    shop = {"user_pseudo_id": "1.2", "user_id": None}
    bought = ga4("purchase", "1604274000000001", "A", "B", **shop, ecommerce={"transaction_id": "T1"})
    final = said(
        tmp_path / "events_20201101.json",
        ga4("view_item", "1604273999999999", "A", **shop),
        bought,
        ga4("page_view", "1604274000000002", **shop),
        ga4("view_item", 1604274000000003, "(not set)", **shop),
    )
    today = said(tmp_path / "events_intraday_20201101.json", bought, ga4("refund", "1604360400000000", "A", **shop))
    drop = read_drop([today, final], mapping)
    assert shown(drop, "time", "action", "item_id", "session_id") == [
        # The calendar day of the shop (event_date) plays no part.
        (at(2020, 11, 1, 23, 39, 59, 999_999), "browse", "A", None),
        (at(2020, 11, 1, 23, 40, 0, 1), "purchase", "A", "T1"),
        (at(2020, 11, 1, 23, 40, 0, 1), "purchase", "B", "T1"),
        (at(2020, 11, 2, 23, 40), "refund", "A", None),
    ]
    assert drop.reasons == {"item missing": 1, "items holds no rows": 1}
    assert drop.counts["duplicates"] == 2
    # As two drops, the late day and its preview, they add up to the same.
    found = visits(drop.events.lazy(), S)
    assert found.select("item_id", "n_browse", "n_purchase").rows() == [("A", 1, 1), ("B", 0, 1)]


def test_ga4_parameters_by_name_cannot_be_reached(tmp_path):
    """`event_params` is a list of key and value: a mapping takes places in lists, not keys, and finds nothing there."""
    mapping = Mapping.model_validate(GA4 | {"columns": GA4["columns"] | {"dwell": "event_params.engagement_time_msec"}})
    event = ga4("view_item", "1604273999999999", "A", user_id="u")
    event["event_params"] = [{"key": "engagement_time_msec", "value": {"int_value": "70000"}}]
    drop = read_drop([said(tmp_path / "events.json", event)], mapping)
    assert shown(drop, "user_id", "dwell_ms") == [("u", None)]


# Snowplow: derived time, a category path in one text, events sent at least once.

PRODUCT = "contexts_com_snowplowanalytics_snowplow_ecommerce_product_1"
ACTION = "unstruct_event_com_snowplowanalytics_snowplow_ecommerce_snowplow_ecommerce_action_1"
SNOWPLOW = {
    "name": "snowplow",
    "format": "jsonl",
    "nested": PRODUCT,
    "columns": {
        "user": ["user_id", "domain_userid"], "item": "id", "action": f"{ACTION}.type", "dotted": "category",
        "price": "price", "session": "domain_sessionid",
    },
    "category_separator": "/",
    "time": {"column": "derived_tstamp", "patterns": "%Y-%m-%dT%H:%M:%S%.fZ", "zone": "UTC"},
    "actions": {
        "product_view": "browse", "add_to_cart": "cart", "remove_from_cart": "cancel", "transaction": "purchase",
        "refund": "refund",
    },
    "duplicates": "drop",
}  # fmt: skip


def snowplow(event, kind, when, category="Woman / Shoes/Boots", **more):
    product = {"id": "P1", "price": 19.9, "category": category}
    row = {"event_id": event, "collector_tstamp": "2022-08-02T00:00:00.000Z", "derived_tstamp": when}
    return row | {"domain_userid": "d", ACTION: {"type": kind}, PRODUCT: [product]} | more


def test_snowplow_category_paths_and_events_sent_twice(tmp_path):
    seen = snowplow("e1", "product_view", "2022-08-01T10:00:00.123Z")
    drop = read_drop(
        [
            said(
                tmp_path / "events.json",
                seen,
                seen | {"event_fingerprint": "other", "collector_tstamp": "2022-08-02T00:00:01.000Z"},
                snowplow("e2", "remove_from_cart", "2022-08-01T10:00:01.000Z", category="Woman"),
                snowplow("e3", "list_view", "2022-08-01T10:00:02.000Z"),
            )
        ],
        Mapping.model_validate(SNOWPLOW),
    )
    assert shown(drop, "time", "action", "l1", "l2", "l2_name", "price") == [
        (at(2022, 8, 1, 10, 0, 0, 123_000), "browse", "woman", "woman / shoes", "Woman / Shoes", 19_900_000),
        (at(2022, 8, 1, 10, 0, 1), "cancel", "woman", None, None, 19_900_000),
    ]
    assert (drop.counts["duplicates"], drop.reasons) == (1, {"action unknown": 1})


def test_a_session_kept_for_months_is_many_visits(tmp_path):
    """Bots keep one session id; gaps decide, and batches close by them too."""
    rows = [
        snowplow(
            f"e{k}", "product_view", f"2022-{1 + k // 28:02d}-{1 + k % 28:02d}T10:00:00.000Z", domain_sessionid="s"
        )
        for k in range(110)
    ]
    mapping = Mapping.model_validate(SNOWPLOW)
    found = visits(read_drop([said(tmp_path / "events.json", *rows)], mapping).events.lazy(), S)
    assert found.height == 110
    assert batches(found, S).select("n_visits", "closed").rows() == [(50, True), (50, True), (10, False)]


# Segment: one line a track event; an order is one event of many products.

SEGMENT = {
    "name": "segment",
    "format": "jsonl",
    "columns": {
        "user": ["userId", "anonymousId"], "item": "properties.product_id", "action": "event",
        "dotted": "properties.category", "quantity": "properties.quantity",
    },
    "category_separator": ">",
    "time": {"column": "timestamp", "patterns": "%Y-%m-%dT%H:%M:%S%.f%#z"},
    "actions": {
        "Product Viewed": "browse", "Product Added": "cart", "Product Removed": "cancel",
        "Product Added to Wishlist": "favourite", "Order Completed": "purchase", "Order Cancelled": "cancel",
        "Order Refunded": "refund",
    },
    "duplicates": "drop",
}  # fmt: skip


def segment(message, event, when, **properties):
    times = {"timestamp": when, "receivedAt": "2030-01-01T00:00:00.000Z"}
    return {"messageId": message, "anonymousId": "a", "event": event, "properties": properties} | times


def test_segment_product_events_and_orders_that_need_unfolding(tmp_path):
    product = {"product_id": "507f", "category": "Games > Board > Old"}
    seen = segment("m1", "Product Viewed", "2023-02-08T12:00:00.5+01:00", **product)
    rows = [
        seen,
        seen,
        segment("m2", "Product Removed", "2023-02-08T11:00:01Z", **product),
        segment("m3", "Order Completed", "2023-02-08T11:00:02Z", products=[product, product | {"product_id": "505b"}]),
        segment("m4", "Order Updated", "2023-02-08T11:00:03Z", **product),
    ]
    drop = read_drop([said(tmp_path / "tracks.json", *rows)], Mapping.model_validate(SEGMENT))
    assert shown(drop, "user_id", "time", "action", "l1", "l2") == [
        ("a", at(2023, 2, 8, 11, 0, 0, 500_000), "browse", "games", "games > board"),
        ("a", at(2023, 2, 8, 11, 0, 1), "cancel", "games", "games > board"),
    ]
    # An order is not read as if it were a product, and a repeated basket is not a second purchase.
    assert drop.reasons == {"action unknown": 1, "item missing": 1}
    with pytest.raises(ValueError, match=r"nested: a list at the top of the row, not the path 'properties.products'"):
        Mapping.model_validate(SEGMENT | {"nested": "properties.products"})


def test_an_order_unfolded_to_the_top_is_read(tmp_path):
    mapping = Mapping.model_validate(
        SEGMENT | {"nested": "products", "columns": SEGMENT["columns"] | {"item": "product_id", "dotted": "category"}}
    )
    order = segment("m3", "Order Completed", "2023-02-08T11:00:02Z")
    order["products"] = [{"product_id": "1", "category": "A>B"}, {"product_id": "01", "category": "A"}]
    drop = read_drop([said(tmp_path / "orders.json", order)], mapping)
    assert shown(drop, "item_id", "action", "l2") == [("01", "purchase", None), ("1", "purchase", "a>b")]


# OTTO and Amazon: what the real samples do not happen to show.


def test_otto_sessions_may_begin_with_an_order_and_orders_share_an_instant(tmp_path):
    session = {"session": 12, "events": [
        {"aid": 7, "ts": 1659304800025, "type": "orders"},
        {"aid": 5, "ts": 1659304800025, "type": "orders"},
        {"aid": 5, "ts": 1659304800025, "type": "carts"},
    ]}  # fmt: skip
    drop = read_drop([said(tmp_path / "train.jsonl", session)], SOURCES["otto"])
    assert shown(drop, "time", "action", "item_id") == [
        (at(2022, 7, 31, 22, 0, 0, 25_000), "cart", "5"),
        (at(2022, 7, 31, 22, 0, 0, 25_000), "purchase", "5"),
        (at(2022, 7, 31, 22, 0, 0, 25_000), "purchase", "7"),
    ]
    assert visits(drop.events.lazy(), S).select("item_id", "n_cart", "n_purchase").rows() == [("5", 1, 1), ("7", 0, 1)]


def test_amazon_times_before_1970_and_book_ids(tmp_path):
    def review(stamp, item="B000000001"):
        return {"user_id": "U", "parent_asin": item, "category": "Books", "timestamp": stamp}

    rows = [review(-62135596800000), review(1623362792000), review(1623362792221, "0062315005"), review(44)]
    drop = read_drop([said(tmp_path / "reviews.jsonl", *rows)], SOURCES["amazon_reviews"])
    assert shown(drop, "item_id", "time", "action") == [
        ("B000000001", at(2021, 6, 10, 22, 6, 32), "purchase"),
        ("0062315005", at(2021, 6, 10, 22, 6, 32, 221_000), "purchase"),
    ]
    assert drop.reasons == {"time out of window": 2}


# Rules that the public threads ask for, on the smallest log that shows them.

SHOP = {
    "name": "shop",
    "format": "csv",
    "columns": {"user": "user", "item": "item", "action": "action", "session": "session", "l2": "category"},
    "time": {"column": "at", "unit": "s"},
    "actions": {"view": "browse", "cart": "cart"},
}
HEAD = "user,item,action,session,category,at"


def test_times_and_ids_that_would_sort_wrong_as_text(tmp_path):
    lines = [f"{user},i{at},view,s,c,{at}" for user in ("1000", "1", "100", "01") for at in ("1000000010", "999999999")]
    drop = read_drop([written(tmp_path / "a.csv", HEAD, *lines)], Mapping.model_validate(SHOP))
    found = visits(drop.events.lazy(), S)
    assert found["user_id"].to_list() == ["01", "01", "1", "1", "100", "100", "1000", "1000"]
    assert found["item_id"].to_list() == ["i999999999", "i1000000010"] * 4
    assert found["visit_index"].to_list() == [0, 1] * 4


def test_a_visit_over_midnight_in_two_daily_files_is_one(tmp_path):
    midnight = 1_604_188_800
    before = [f"u,i,view,s,c,{midnight - 600 * k}" for k in (1, 2)]
    after = [f"u,i,view,t,c,{midnight + 600 * k}" for k in range(2)]
    mapping = Mapping.model_validate(SHOP)
    split = [written(tmp_path / "day1.csv", HEAD, *before), written(tmp_path / "day2.csv", HEAD, *after)]
    found = visits(read_drop(split, mapping).events.lazy(), S)
    assert found.select("n_browse").rows() == [(4,)]
    assert found.equals(
        visits(read_drop([written(tmp_path / "all.csv", HEAD, *after, *before)], mapping).events.lazy(), S)
    )


def test_sessions_of_the_log_never_cut_or_join_visits(tmp_path):
    """Two sessions that interleave, and one session of two users."""
    rows = [("u", "i", "s", 0), ("u", "i", "t", 60), ("u", "i", "s", 120), ("v", "i", "s", 130), ("u", "j", "s", 140)]
    lines = [f"{user},{item},view,{session},c,{1_600_000_000 + at}" for user, item, session, at in rows]
    found = visits(
        read_drop([written(tmp_path / "a.csv", HEAD, *lines)], Mapping.model_validate(SHOP)).events.lazy(), S
    )
    assert found.select("user_id", "item_id", "n_browse").rows() == [("u", "i", 3), ("u", "j", 1), ("v", "i", 1)]


def test_a_leap_second_and_a_day_that_does_not_exist(tmp_path):
    mapping = Mapping.model_validate(SHOP | {"time": {"column": "at", "patterns": "%Y-%m-%d %H:%M:%S", "zone": "UTC"}})
    stamps = ("2016-12-31 23:59:60", "2017-01-01 00:00:00", "2017-02-29 10:00:00", "2016-02-29 10:00:00")
    drop = read_drop(
        [written(tmp_path / "a.csv", HEAD, *(f"u,i{k},view,s,c,{stamp}" for k, stamp in enumerate(stamps)))], mapping
    )
    times = dict(shown(drop, "item_id", "time"))
    assert times["i1"] == at(2017, 1, 1)
    assert times["i3"] == at(2016, 2, 29, 10)
    assert drop.rejects["line"].to_list() == [4]
    # The second that calendars without leap seconds do not have is the one after it.
    assert times["i0"] == at(2017, 1, 1)
