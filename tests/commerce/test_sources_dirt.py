"""Every defect that public copies of these logs have, with the right outcome."""

import csv
import gzip
import itertools
import json
import pickle
from datetime import UTC, datetime

import polars as pl
import pytest
import zstandard

from pipelines.commerce import reading
from pipelines.commerce.events import read_drop
from pipelines.commerce.mapping import Mapping
from pipelines.commerce.reading import SourceError
from pipelines.commerce.reading_delimited import _record
from pipelines.commerce.sources import SOURCES
from pipelines.commerce.sources.uci_online_retail import DAY_FIRST

HEAD = "event_time,event_type,product_id,category_id,category_code,brand,price,user_id,user_session"


def rees(n, **change):
    row = {
        "time": f"2019-10-01 00:00:{n:02d} UTC",
        "type": "view",
        "item": str(100 + n),
        "category": "2053013555631882655",
        "code": "appliances.kitchen.mixer",
        "brand": "bosch",
        "price": "9.99",
        "user": "1515915625524816866",
        "session": "s",
    } | change
    return ",".join(row.values())


def text(path, lines, newline="\n", encoding="utf-8"):
    path.write_bytes((newline.join(lines) + newline).encode(encoding))
    return path


def read(path, name):
    return read_drop([path], SOURCES[name])


def row(drop, **where):
    return drop.events.filter(**where).row(0, named=True)


@pytest.fixture
def log(tmp_path):
    def write(*lines, **how):
        return text(tmp_path / "2019-Oct.csv", [HEAD, *lines], **how)

    return write


# Compression, encodings, line ends


def test_every_wrapping_of_a_file_gives_the_same_events(log, tmp_path):
    lines = [rees(n) for n in range(5)]
    plain = log(*lines)
    data, expected = plain.read_bytes(), read(plain, "rees46").events
    wrapped = {
        "a.csv.gz": gzip.compress(data),
        "b.csv": gzip.compress(data[:50]) + gzip.compress(data[50:]),
        "c.zst": zstandard.compress(data),
        "d.zst": zstandard.compress(data[:50]) + zstandard.compress(data[50:]),
        "bom.csv": b"\xef\xbb\xbf" + data,
        "crlf.csv": data.replace(b"\n", b"\r\n"),
        "open.csv": data.rstrip(b"\n"),
        "blank.csv": b"\n" + data.replace(b"\n", b"\n\n"),
    }
    for name, content in wrapped.items():
        (tmp_path / name).write_bytes(content)
        drop = read(tmp_path / name, "rees46")
        assert drop.events.equals(expected), name
        assert drop.counts["rows_in"] == 5, name


def test_latin_1_needs_its_declaration(log):
    path = log(rees(1, brand="café"), rees(2), encoding="latin-1")
    with pytest.raises(SourceError, match="not UTF-8") as error:
        read(path, "rees46")
    assert error.value.line == 2 and "latin-1" in error.value.remedy
    declared = SOURCES["rees46"].model_copy(update={"encoding": "latin-1"})
    assert row(read_drop([path], declared), item_id="101")["brand"] == "café"


def test_utf_16_is_named_and_works_when_declared(log):
    path = log(rees(1, brand="名"), encoding="utf-16")
    with pytest.raises(SourceError, match="UTF-16"):
        read(path, "rees46")
    declared = SOURCES["rees46"].model_copy(update={"encoding": "utf-16"})
    assert row(read_drop([path], declared), item_id="101")["brand"] == "名"


# Files that are no log


def test_truncated_archives(log, tmp_path):
    data = log(*(rees(n % 60) for n in range(4000))).read_bytes()
    for name, packed in (("x.csv.gz", gzip.compress(data)), ("x.csv.zst", zstandard.compress(data))):
        (tmp_path / name).write_bytes(packed[: len(packed) // 2])
        with pytest.raises(SourceError, match="cut off") as error:
            read(tmp_path / name, "rees46")
        assert error.value.file == name
    broken = bytearray(gzip.compress(data))
    broken[40] ^= 0xFF
    (tmp_path / "y.gz").write_bytes(broken)
    with pytest.raises(SourceError, match="damaged"):
        read(tmp_path / "y.gz", "rees46")


@pytest.mark.parametrize("name", ["rees46", "taobao", "otto", "complete_journey"])
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"),
        (b"\n\n \n", "blank|no line|empty"),
        (b"PK\x03\x04" + bytes(100), "zip"),
        (bytes(range(256)) * 20, "binary"),
        (b"PAR1 but not really PAR1", "Parquet|damaged"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"to be or not to be\nthat is the question\n", "missing|no line|no JSON"),
    ],
)
def test_files_of_another_kind(tmp_path, name, content, what):
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=what) as error:
        read(path, name)
    assert error.value.file == "file.csv" and error.value.remedy
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.remedy) == (str(error.value), error.value.remedy)


def test_a_missing_column_is_named(tmp_path):
    path = text(tmp_path / "x.csv", [HEAD.replace("product_id", "sku"), rees(1)])
    with pytest.raises(SourceError, match=r"x\.csv:1: column 'product_id' is missing"):
        read(path, "rees46")
    twice = text(tmp_path / "y.csv", [f"{HEAD},price", f"{rees(1)},1"])
    with pytest.raises(SourceError, match="'price' appears twice"):
        read(twice, "rees46")


def test_another_log_without_header(tmp_path):
    path = text(tmp_path / "x.csv", ["1,2,3,4,5", "6,7,8,9,10"])
    with pytest.raises(SourceError, match="no row can be read as taobao"):
        read(path, "taobao")


def test_header_only_is_legal_and_said(log):
    drop = read(log(), "rees46")
    assert drop.counts["rows_in"] == 0 and drop.events.height == 0
    assert drop.warnings[0] == "2019-Oct.csv: a header and no rows"


# Lines that are no rows


def test_garbage_lines_are_counted_with_their_line(log):
    lines = [rees(n) for n in range(50)]
    garbage = {
        3: "half a line",
        9: rees(9) + ",extra",
        12: "",
        15: "\x00\x01 binary",
        20: rees(20, user=""),
        21: rees(21, user="   "),
        25: rees(25, item=""),
        30: rees(30, type="looked"),
        31: rees(31, type=""),
        35: rees(35, time="yesterday"),
        36: rees(36, time=""),
        37: rees(37, time="2019-10-01 00:00:00"),
        38: rees(38, time="2019-02-30 00:00:00 UTC"),
        40: rees(40, price="cheap"),
    }
    for at, line in garbage.items():
        lines[at] = line
    drop = read(log(*lines), "rees46")
    assert drop.counts["rows_in"] == 49
    assert drop.counts["events"] == 50 - len(garbage)
    found = dict(drop.rejects.select("line", "reason").iter_rows())
    assert found == {
        5: "1 fields, expected 9",
        11: "10 fields, expected 9",
        17: "NUL byte",
        22: "user missing",
        23: "user missing",
        27: "item missing",
        32: "action unknown",
        33: "action missing",
        37: "time unreadable",
        38: "time missing",
        39: "time unreadable",
        40: "time unreadable",
        42: "price unreadable",
    }
    assert drop.reasons["time unreadable"] == 3


def test_lines_that_are_not_utf_8_are_rejected_one_by_one(log):
    path = log(rees(1, brand="名"), rees(2), rees(3))
    path.write_bytes(path.read_bytes().replace(b",102,", b",\xff\x81,"))
    drop = read(path, "rees46")
    assert drop.rejects.select("line", "reason").rows() == [(3, "not UTF-8")]
    assert drop.counts["events"] == 2


def test_raw_is_cut_at_500_characters(log):
    drop = read(log(rees(1), "x" * 2000), "rees46")
    assert drop.rejects["raw"].to_list() == ["x" * 500]


def test_quotes_of_every_kind(log):
    lines = [
        rees(1, brand='"a ""b"" c"'),
        rees(2, brand='"with, comma"'),
        rees(3, brand='"two\nlines"'),
        rees(4, brand='6" pipe'),
        rees(5, brand='""'),
        rees(6, brand='"ok"'),
        rees(7, brand='"three\n\nlines"'),
        rees(8, type='"looked"'),
        rees(9, brand='"never closed'),
    ]
    drop = read(log(*lines), "rees46")
    brands = dict(drop.events.select("item_id", "brand").iter_rows())
    assert brands == {
        "101": 'a "b" c', "102": "with, comma", "103": "two\nlines", "104": '6" pipe', "105": None,
        "106": "ok", "107": "three\n\nlines",
    }  # fmt: skip
    # The records before take 10 lines and the header one, so these stand on 12 and 13.
    assert drop.rejects.select("line", "reason").rows() == [(12, "action unknown"), (13, "quote never closed")]
    assert drop.counts["rows_in"] == 9


def test_a_stray_quote_does_not_swallow_the_file(log):
    lines = [rees(n % 60, session=f"s{n}") for n in range(500)]
    lines[100] = rees(1, brand='"open', session="s100")
    drop = read(log(*lines), "rees46")
    assert drop.rejects.select("line", "reason").rows() == [(102, "quote never closed")]
    assert drop.counts["events"] == 499


def test_pieces_of_any_size_give_the_same(log, monkeypatch):
    lines = [rees(n, brand='"a\nb"' if n % 7 == 0 else "x") for n in range(50)]
    lines[11] = "short"
    lines[13] = rees(13, brand='"x, ""y"""')
    path = log(*lines)
    whole = read(path, "rees46")
    for size in (40, 117, 1000):
        monkeypatch.setattr(reading, "CHUNK_BYTES", size)
        pieces = read(path, "rees46")
        assert pieces.events.equals(whole.events) and pieces.rejects.equals(whole.rejects)
        assert pieces.counts == whole.counts


# Values


def test_ids_are_text_to_the_last_digit(log):
    ids = ["1", "01", "001", "2053013555631882655", "2053013555631882656", "18446744073709551617", "1e3", "1.0", " 7"]
    drop = read(log(*(rees(n, user=user) for n, user in enumerate(ids))), "rees46")
    assert set(drop.events["user_id"]) == set(ids)


def test_prices_are_exact_and_may_be_negative(log):
    prices = {"-7.94": -7_940_000, "0": 0, "0.1": 100_000, "1234567.89": 1_234_567_890_000, "": None, "1e2": 10**8}
    drop = read(log(*(rees(n, price=price) for n, price in enumerate(prices))), "rees46")
    assert drop.events.sort("time")["price"].to_list() == list(prices.values())


def test_category_codes(log):
    codes = {
        "electronics.smartphone": ("electronics", "electronics.smartphone"),
        "appliances.kitchen.coffee.grinder": ("appliances", "appliances.kitchen"),
        "computers": ("computers", None),
        "Unknown": (None, None),
        "": (None, None),
    }
    drop = read(log(*(rees(n, code=code) for n, code in enumerate(codes))), "rees46")
    assert drop.events.sort("time").select("l1", "l2").rows() == list(codes.values())


def test_cosmetics_removals_are_cancels(log):
    drop = read(log(rees(1, type="remove_from_cart")), "rees46")
    assert drop.events["action"].to_list() == ["cancel"]


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


def test_two_stray_quotes_do_not_swallow_the_lines_between(log):
    lines = [rees(n) for n in range(9)]
    lines[2], lines[6] = rees(2, brand='"open'), rees(6, brand='"open')
    drop = read(log(*lines), "rees46")
    assert drop.rejects.select("line", "reason").rows() == [(4, "quote never closed"), (8, "quote never closed")]
    assert drop.counts["events"] == 7


def test_the_record_reader_agrees_with_the_csv_module():
    alphabet = ["a", '"', '""', ",", "b c", ""]
    for parts in itertools.product(alphabet, repeat=5):
        line = "".join(parts)
        count, fields = _record([line], ",", 3)
        if count:
            assert fields == (next(csv.reader([line]), []) or [""]), line


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
