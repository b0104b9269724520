"""Built-in sources on real rows: known counts."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from pipelines.commerce.events import read_drop
from pipelines.commerce.sources import SOURCES
from pipelines.commerce.sources.complete_journey import packaged_files

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ecommerce"
real = pytest.mark.skipif(not DATA.is_dir(), reason="the real samples are not on this machine")


def read(name, *files):
    return read_drop([DATA / file for file in files], SOURCES[name])


def actions(drop):
    return dict(Counter(drop.events["action"].to_list()))


@real
def test_taobao():
    drop = read("taobao", "taobao_userbehavior/UserBehavior.csv")
    assert (drop.counts["rows_in"], drop.counts["events"], drop.counts["rejects"]) == (2579, 2579, 0)
    assert drop.events["user_id"].n_unique() == 21
    assert actions(drop) == {"browse": 2401, "cart": 105, "favourite": 45, "purchase": 28}
    first = drop.events.filter(pl.col("user_id") == "1").row(0, named=True)
    assert first["time"] == datetime(2017, 11, 24, 17, 21, 10, tzinfo=UTC)
    assert (first["item_id"], first["l1"], first["l2"]) == ("2268318", None, "2520377")
    assert (drop.capabilities.l1, drop.capabilities.l2) == (False, True)
    assert any("no first category level" in note for note in drop.warnings)


@real
def test_rees46_multicategory_with_its_cut_last_line():
    drop = read("rees46", "rees46_multicategory/2019-Oct.csv")
    assert (drop.counts["rows_in"], drop.counts["events"], drop.counts["duplicates"]) == (8516, 8512, 3)
    assert drop.rejects.row(0, named=True) == {
        "file": "2019-Oct.csv",
        "line": 8517,
        "reason": "8 fields, expected 9",
        "raw": "2019-10-01 02:50:00 UTC,view,10900305,2053013555069845885,"
        "appliances.kitchen.mixer,elenberg,25.71,52040330",
    }
    # Of 8,516 lines 34.1 % have no code; the cut line has one.
    assert drop.events["l1"].null_count() / drop.events.height == pytest.approx(0.341, abs=0.001)
    heater = drop.events.filter(pl.col("item_id") == "3900821").row(0, named=True)
    assert (heater["l1"], heater["l2"], heater["price"]) == ("appliances", "appliances.environment", 33_200_000)


@real
def test_rees46_repeats_are_dropped_and_counted():
    drop = read("rees46", "rees46_electronics/duplicate_rows.csv")
    assert (drop.counts["rows_in"], drop.counts["events"], drop.counts["duplicates"]) == (663, 326, 337)
    assert drop.events["user_id"].n_unique() == 303
    assert drop.events["user_id"].str.len_chars().min() == 19


@real
def test_rees46_long_users_without_session_and_with_offset():
    drop = read("rees46", "rees46_electronics/long_users.csv")
    assert actions(drop) == {"browse": 172, "purchase": 143, "cart": 69}
    assert drop.events["time"].min() == datetime(2021, 1, 24, 10, 54, 9, tzinfo=UTC)
    assert drop.events["time"].max() == datetime(2021, 2, 18, 14, 1, 55, tzinfo=UTC)
    assert "unknown" not in drop.events["l1"].to_list() and "Unknown" not in drop.events["brand"].to_list()


@real
def test_complete_journey_sample():
    drop = read("complete_journey", "completejourney/transactions.csv", "completejourney/products.csv")
    assert drop.counts["rows_in"] == 30227
    assert drop.reasons == {"quantity not positive": 148}
    assert drop.events["user_id"].n_unique() == 55
    assert actions(drop) == {"purchase": 30079}
    row = drop.events.filter((pl.col("user_id") == "16") & (pl.col("item_id") == "2432562")).row(0, named=True)
    assert row["time"] == datetime(2017, 1, 2, 19, 54, 50, tzinfo=UTC)
    assert row["session_id"] == "31246891184"
    assert drop.warnings == ()


@real
def test_complete_journey_without_products_says_so():
    drop = read("complete_journey", "completejourney/transactions.csv")
    assert (drop.capabilities.l1, drop.capabilities.l2) == (False, False)
    assert any("products" in note for note in drop.warnings)


def test_complete_journey_whole():
    try:
        files = packaged_files()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    drop = read_drop(files, SOURCES["complete_journey"])
    assert drop.counts["rows_in"] == 1_469_307
    assert drop.reasons == {"quantity not positive": 8_869}
    assert drop.counts["events"] == 1_460_438
    assert drop.events["user_id"].n_unique() == 2_469
    if DATA.is_dir():
        sample = read("complete_journey", "completejourney/transactions.csv", "completejourney/products.csv")
        users = sample.events["user_id"].unique()
        assert drop.events.filter(pl.col("user_id").is_in(users.implode())).equals(sample.events)


@real
def test_amazon_reviews():
    drop = read("amazon_reviews", "amazon_reviews_2023/reviews.jsonl")
    assert (drop.counts["rows_in"], drop.counts["events"]) == (1740, 1740)
    assert drop.events["user_id"].n_unique() == 177
    assert drop.events["l1"].n_unique() == 23
    assert (~drop.events["item_id"].str.starts_with("B")).sum() == 3
    assert (drop.capabilities.l1, drop.capabilities.l2) == (True, False)
    assert any("second category level" in note for note in drop.warnings)


@real
def test_otto():
    drop = read("otto", "otto/train.jsonl")
    assert (drop.counts["rows_in"], drop.counts["events"]) == (548, 548)
    assert drop.events["user_id"].n_unique() == 10
    assert drop.events["time"].min() == datetime(2022, 7, 31, 22, 0, 0, 25_000, tzinfo=UTC)
    assert set(actions(drop)) == {"click", "cart", "purchase"}


@real
def test_tianchi_mobile():
    folder = "tianchi_mobile/tianchi_mobile_recommend_train_"
    drop = read("tianchi_mobile", f"{folder}user.csv", f"{folder}item.csv")
    assert (drop.counts["events"], drop.counts["duplicates"]) == (1046, 0)
    assert drop.events.height - drop.events.n_unique() == 42 + _other_geohash()
    assert actions(drop) == {"browse": 978, "cart": 45, "purchase": 18, "favourite": 5}
    assert drop.events["time"].min() == datetime(2014, 11, 18, 2, tzinfo=UTC)
    assert drop.events["time"].max() == datetime(2014, 12, 18, 14, tzinfo=UTC)
    assert any("item.csv: not read" in note for note in drop.warnings)
    assert any("gaps of 15 and 30 minutes cannot be decided" in note for note in drop.warnings)


def _other_geohash():
    """Rows that repeat another in all but the place, which events do not carry."""
    rows = pl.read_csv(DATA / "tianchi_mobile/tianchi_mobile_recommend_train_user.csv", infer_schema=False)
    return rows.n_unique() - rows.drop("user_geohash").n_unique()


@real
def test_instacart():
    drop = read("instacart", "instacart/order_lines.csv")
    assert (drop.counts["events"], drop.events["user_id"].n_unique()) == (19501, 70)
    assert drop.capabilities.clock == "synthetic"
    raw = pl.read_csv(DATA / "instacart/order_lines.csv", infer_schema_length=None)
    orders = raw.select("user_id", "order_id", "order_number", "days_since_prior_order").unique()
    days = orders.group_by("user_id").agg(pl.col("days_since_prior_order").sum()).cast({"user_id": pl.String})
    span = drop.events.group_by("user_id").agg(pl.col("time").max().dt.date() - pl.col("time").min().dt.date())
    joined = span.join(days, on="user_id")
    assert joined["time"].dt.total_days().to_list() == joined["days_since_prior_order"].cast(pl.Int64).to_list()


@real
def test_uci_online_retail():
    drop = read("uci_online_retail", "uci_online_retail/online_retail_sample.csv")
    assert (drop.counts["rows_in"], drop.reasons) == (1406, {"user missing": 332})
    raw = pl.read_csv(DATA / "uci_online_retail/online_retail_sample.csv", infer_schema=False)
    cancelled = raw.filter(
        (pl.col("CustomerID") != "NA")
        & (pl.col("InvoiceNo").str.starts_with("C") | (pl.col("Quantity").cast(pl.Int64) <= 0))
    )
    assert raw["InvoiceNo"].str.starts_with("C").sum() == 24
    assert actions(drop) == {"purchase": 1406 - 332 - cancelled.height, "cancel": cancelled.height}
    # 13:22 on 11 April is summer time in London.
    summer = drop.events.filter(pl.col("session_id") == "549682").row(0, named=True)
    assert summer["time"] == datetime(2011, 4, 11, 12, 22, tzinfo=UTC)
