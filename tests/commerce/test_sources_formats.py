"""What each public format does in its own way, with the right outcome."""

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from dirty_logs import read, row, text

from pipelines.commerce.events import read_drop
from pipelines.commerce.mapping import Mapping
from pipelines.commerce.reading import SourceError
from pipelines.commerce.sources import SOURCES
from pipelines.commerce.sources.uci_online_retail import DAY_FIRST


def test_taobao_stamps_from_1902_to_2037(tmp_path):
    stamps = ["-2134567890", "2122867355", "0", "44", "1511539199", "1511539200", "1512316799", "1512316800"]
    path = text(tmp_path / "UserBehavior.csv", [f"1,{n},3,pv,{stamp}" for n, stamp in enumerate([*stamps, "9" * 25])])
    drop = read(path, "taobao")
    assert drop.reasons == {"time out of window": 6, "time unreadable": 1}
    assert drop.events["time"].to_list() == [
        datetime(2017, 11, 24, 16, tzinfo=UTC),
        datetime(2017, 12, 3, 15, 59, 59, tzinfo=UTC),
    ]


def test_tianchi_repeats_are_kept_and_taobao_repeats_are_not(tmp_path):
    head = "user_id,item_id,behavior_type,user_geohash,item_category,time"
    path = text(tmp_path / "user.csv", [head, *["1,2,1,,3,2014-12-06 02"] * 3])
    assert read(path, "tianchi_mobile").counts["events"] == 3
    path = text(tmp_path / "UserBehavior.csv", ["1,2,3,pv,1511544070"] * 3)
    drop = read(path, "taobao")
    assert (drop.counts["events"], drop.counts["duplicates"]) == (1, 2)


# JSON


def amazon(**change):
    review = {"user_id": "U", "parent_asin": "B000000001", "category": "Books", "timestamp": 1623362792221}
    return json.dumps(review | change)


def test_json_rows_with_absent_null_or_wrong_fields(tmp_path):
    lines = [
        amazon(),
        amazon(user_id=None),
        amazon(parent_asin=["B1"]),
        amazon(timestamp="1623362792221"),
        amazon(timestamp={"$date": 1}),
        amazon(timestamp=-62135596800000),
        json.dumps({"user_id": "U", "parent_asin": "B2"}),
        "{broken",
        "null",
        "[1, 2]",
        amazon() + "tail",
        "",
        amazon(user_id=2053013555631882655, category=None),
        amazon(user_id="[U]", parent_asin="0007"),
        amazon(category={"a": 1}, parent_asin="B3"),
    ]
    drop = read(text(tmp_path / "reviews.jsonl", lines), "amazon_reviews")
    found = dict(drop.rejects.select("line", "reason").iter_rows())
    assert found == {
        2: "user missing", 3: "item missing", 5: "time missing", 6: "time out of window", 7: "time missing",
        8: "not a JSON object", 9: "not a JSON object", 10: "not a JSON object", 11: "not a JSON object",
    }  # fmt: skip
    assert (drop.counts["rows_in"], drop.counts["events"], drop.counts["duplicates"]) == (14, 4, 1)
    assert row(drop, user_id="2053013555631882655")["l1"] is None
    assert row(drop, user_id="[U]")["item_id"] == "0007"
    assert row(drop, item_id="B3")["l1"] is None


def test_amazon_metadata_gives_domain_and_category(tmp_path):
    review = {"user_id": "U", "parent_asin": "B1", "timestamp": 1623362792221, "rating": 5.0, "asin": "B9"}
    other = review | {"parent_asin": "B2"}
    reviews = text(tmp_path / "Electronics.jsonl", [json.dumps(review), json.dumps(other)])
    drop = read(reviews, "amazon_reviews")
    assert drop.events["l1"].to_list() == ["electronics", "electronics"]
    meta = {
        "parent_asin": "B1",
        "main_category": "Computers",
        "store": "Acme",
        "categories": ["Electronics", " Cables "],
    }
    metadata = text(tmp_path / "meta_Electronics.jsonl", [json.dumps(meta)])
    drop = read_drop([reviews, metadata], SOURCES["amazon_reviews"])
    first = row(drop, item_id="B1")
    assert (first["l1"], first["l2"], first["l2_name"], first["brand"]) == ("computers", "cables", " Cables ", "Acme")
    assert row(drop, item_id="B2")["l2"] is None
    assert drop.capabilities.l2


def test_otto_sessions_without_events(tmp_path):
    event = {"aid": 2053013555631882655, "ts": 1659304800025, "type": "orders"}
    lines = [
        json.dumps({"session": 1, "events": [event, event | {"aid": 1}]}),
        json.dumps({"session": 2, "events": []}),
        json.dumps({"session": 3}),
        json.dumps({"session": 4, "events": [event | {"type": "stare"}, {"aid": 5}]}),
    ]
    drop = read(text(tmp_path / "train.jsonl", lines), "otto")
    assert drop.events["item_id"].to_list() == ["1", "2053013555631882655"]
    assert drop.counts["rows_in"] == 6
    assert sorted(drop.rejects.select("line", "reason").rows()) == [
        (2, "events holds no rows"), (3, "events holds no rows"), (4, "action unknown"), (4, "time missing"),
    ]  # fmt: skip


# Tables and typed files


def test_parquet_gives_the_events_of_the_csv(tmp_path):
    lines = ["household_id,product_id,quantity,basket_id,transaction_timestamp"]
    lines += [f"{n % 3},{n},{n - 1},77,2017-01-02 19:54:{n:02d}" for n in range(9)]
    products = text(tmp_path / "products.csv", ["product_id,product_category,product_type,brand", "3,A,B,C"])
    csv = text(tmp_path / "transactions.csv", lines)
    frame = pl.read_csv(csv).with_columns(pl.col("transaction_timestamp").str.to_datetime(time_unit="ns"))
    frame.write_parquet(tmp_path / "transactions.parquet")
    source = SOURCES["complete_journey"]
    one = read_drop([csv, products], source)
    two = read_drop([tmp_path / "transactions.parquet", products], source)
    assert one.events.equals(two.events) and one.reasons == two.reasons == {"quantity not positive": 2}
    assert json.loads(two.rejects["raw"][0])["product_id"] == "0"
    assert row(one, item_id="3")["l2"] == "b"


def test_parquet_ids_that_were_floats(tmp_path):
    frame = pl.DataFrame(
        {"household_id": [1.0, 2.0], "product_id": [7, 8], "quantity": [1, 1], "basket_id": [1, 1],
         "transaction_timestamp": [datetime(2017, 1, 1)] * 2}
    )  # fmt: skip
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    assert read(path, "complete_journey").events["user_id"].sort().to_list() == ["1", "2"]
    frame.with_columns(household_id=pl.Series([2053013555631882655.0, 1.0])).write_parquet(path)
    with pytest.raises(SourceError, match=r"household_id.*floats"):
        read(path, "complete_journey")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SourceError, match="cut off"):
        read(path, "complete_journey")


def test_instacart_as_published(tmp_path):
    files = {
        "orders.csv": [
            "order_id,user_id,eval_set,order_number,order_dow,order_hour_of_day,days_since_prior_order",
            "11,1,prior,1,2,08,", "12,1,prior,2,2,07,0.0", "13,1,train,3,4,10,30.0",
        ],
        "order_products__prior.csv": [
            "order_id,product_id,add_to_cart_order,reordered", "11,5,1,0", "12,5,1,1", "99,5,1,1",
        ],
        "order_products__train.csv": ["order_id,product_id,add_to_cart_order,reordered", "13,6,1,0"],
        "products.csv": ["product_id,product_name,aisle_id,department_id", "5,Tea,2,3", "6,Soap,4,3"],
        "aisles.csv": ["aisle_id,aisle", "2,tea", "4,soap"],
        "departments.csv": ["department_id,department", "3,Pantry"],
    }  # fmt: skip
    paths = [text(tmp_path / name, lines) for name, lines in files.items()]
    drop = read_drop(paths, SOURCES["instacart"])
    assert drop.reasons == {"user missing": 1}
    assert drop.events.select("time", "l1", "l2", "session_id").rows() == [
        (datetime(2015, 1, 4, 8, tzinfo=UTC), "pantry", "tea", "11"),
        # The second order of the day is stamped an hour before the first; it never precedes it.
        (datetime(2015, 1, 4, 8, tzinfo=UTC), "pantry", "tea", "12"),
        (datetime(2015, 2, 3, 10, tzinfo=UTC), "pantry", "soap", "13"),
    ]
    assert (drop.capabilities.l1, drop.capabilities.l2, drop.capabilities.clock) == (True, True, "synthetic")


def test_lookups_that_contradict_do_not_depend_on_order(tmp_path):
    log = text(
        tmp_path / "transactions.csv",
        ["household_id,product_id,quantity,basket_id,transaction_timestamp", "1,3,1,1,2017-01-02 19:54:00"],
    )
    rows = ["3,B,x,y", "3,A,x,y"]
    results = []
    for order in (rows, rows[::-1]):
        products = text(tmp_path / "products.csv", ["product_id,product_category,product_type,brand", *order])
        results.append(read_drop([products, log], SOURCES["complete_journey"]))
    assert results[0].events.equals(results[1].events)
    assert results[0].events["l1"].to_list() == ["a"]
    assert results[0].counts["lookup_conflicts"] == 1


def test_uci_cancellations_and_the_semicolon_copy(tmp_path):
    head = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country"
    lines = [
        head,
        "536365,85123A,MUG,6,12/1/2010 8:26,2.55,17850,United Kingdom",
        "C536379,D,Discount,-1,12/1/2010 9:41,27.5,14527,United Kingdom",
        "536589,21777,,-10,7/1/2010 16:50,0,17850,United Kingdom",
        "536589,21777,,0,7/1/2010 16:51,0,17850,United Kingdom",
        "536544,21773,BOX,1,12/1/2010 14:32,2.51,,United Kingdom",
        "536544,21774,BOX,1,12/1/2010 14:32,2.51,NA,United Kingdom",
    ]
    drop = read(text(tmp_path / "a.csv", lines), "uci_online_retail")
    assert drop.reasons == {"user missing": 2}
    assert drop.events.sort("time").select("action", "quantity", "time").rows() == [
        ("cancel", -10, datetime(2010, 7, 1, 15, 50, tzinfo=UTC)),
        ("cancel", 0, datetime(2010, 7, 1, 15, 51, tzinfo=UTC)),
        ("purchase", 6, datetime(2010, 12, 1, 8, 26, tzinfo=UTC)),
        ("cancel", -1, datetime(2010, 12, 1, 9, 41, tzinfo=UTC)),
    ]
    copy = [head.replace(",", ";"), "536365;85123A;MUG, blue;6;01/12/10 08:26;2,55;17850;United Kingdom"]
    other = read_drop([text(tmp_path / "b.csv", copy)], DAY_FIRST).events
    assert other.equals(drop.events.filter(session_id="536365"))


def test_a_mapping_for_anything_else(tmp_path):
    mapping = Mapping.model_validate(
        {
            "name": "ga4", "format": "jsonl", "nested": "items",
            "columns": {
                "user": ["user_id", "user_pseudo_id"], "item": "item_id", "action": "event_name", "l1": "item_category",
                "l2": "item_category2", "brand": "item_brand", "price": "price", "dwell": "engagement_time_msec",
            },
            "time": {"column": "event_timestamp", "unit": "us"},
            "actions": {"view_item": "browse", "add_to_wishlist": "favourite", "refund": "refund"},
            "missing": "(not set)",
        }
    )  # fmt: skip
    item = {"item_id": "X", "item_category": "Home", "item_category2": "(not set)", "price": 1.5}
    event = {
        "event_name": "view_item",
        "event_timestamp": 1604188800000001,
        "user_pseudo_id": "p",
        "items": [item, item | {"item_id": "Y"}],
    }
    event |= {"engagement_time_msec": 1500}
    drop = read_drop([text(tmp_path / "ga4.json", [json.dumps(event)])], mapping)
    first = row(drop, item_id="X")
    assert (first["user_id"], first["l1"], first["l2"], first["price"], first["dwell_ms"]) == (
        "p",
        "home",
        None,
        1_500_000,
        1500,
    )
    assert first["time"] == datetime(2020, 11, 1, 0, 0, 0, 1, tzinfo=UTC)
    assert drop.counts["events"] == 2


def test_a_json_line_does_not_depend_on_its_neighbours(tmp_path):
    odd = [
        amazon(user_id="\ud800"),
        amazon()[:-1] + ', "deep": ' + "[" * 200 + "]" * 200 + "}",
        amazon()[:-1] + ', "user_id": "twice"}',
        amazon()[:-1] + ', "rating": 1e400}',
        amazon()[:-1] + ', "rating": 01}',
        "{}",
        "  " + amazon(parent_asin="B7") + "  ",
    ]
    for line in odd:
        alone = read(text(tmp_path / "a.jsonl", [amazon(user_id="V"), line]), "amazon_reviews")
        beside = read(text(tmp_path / "b.jsonl", [amazon(user_id="V"), line, "{broken"]), "amazon_reviews")
        assert alone.events.equals(beside.events), line
        assert alone.counts["rejects"] + 1 == beside.counts["rejects"], line
