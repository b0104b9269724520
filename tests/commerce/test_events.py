"""The events table: order, duplicates, conservation, zones, merging of drops."""

import gzip
import os
import random
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.commerce.categories import category_key, key_column
from pipelines.commerce.events import merge_drops, read_drop
from pipelines.commerce.instants import instants
from pipelines.commerce.mapping import Mapping, Time
from pipelines.commerce.merging import in_total_order
from pipelines.commerce.sources import SOURCES
from pipelines.commerce.tables import ACTIONS
from pipelines.hashing import bucket_of, frame_hash
from pipelines.schema import TABLES, conform

ROOT = Path(__file__).resolve().parents[2]
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def mapping(**change):
    return Mapping.model_validate(
        {
            "name": "shop",
            "format": "csv",
            "columns": {"user": "user", "item": "item", "action": "action", "l1": "l1", "l2": "l2", "price": "price"},
            "time": {"column": "time", "unit": "s"},
            "actions": {name: name for name in ACTIONS},
        }
        | change
    )


HEAD = "user,time,item,action,l1,l2,price"
cells = st.tuples(
    st.sampled_from(["1", "01", "u", ""]),
    st.sampled_from(["1500000000", "1500000001", "99", "soon", ""]),
    st.sampled_from(["a", "b", ""]),
    st.sampled_from(["browse", "purchase", "cart", "stare"]),
    st.sampled_from(["Home ", "home", "", "ＨＯＭＥ"]),
    st.sampled_from(["Mugs", "MUGS", ""]),
    st.sampled_from(["1.5", "1.50", "", "x"]),
).map(",".join) | st.sampled_from(["garbage", "", 'a,"b'])


def read_lines(folder, lines, source, name="log.csv"):
    path = folder / name
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return read_drop([path], source)


@quick
@given(lines=st.lists(cells, max_size=40), seed=st.integers(0, 9), policy=st.sampled_from(["keep", "drop"]))
def test_rows_are_conserved_and_their_order_does_not_matter(tmp_path, lines, seed, policy):
    source = mapping(duplicates=policy)
    shuffled = lines[:]
    random.Random(seed).shuffle(shuffled)
    one, two = read_lines(tmp_path, lines, source), read_lines(tmp_path, shuffled, source)
    counts = one.counts
    assert counts["rows_in"] == sum(1 for line in lines if line.strip())
    assert counts["rows_in"] == counts["events"] + counts["rejects"] + counts["duplicates"]
    assert sum(one.reasons.values()) == counts["rejects"]
    assert one.events.equals(two.events)
    assert one.events.schema == TABLES["events"].schema and one.rejects.schema == TABLES["rejects"].schema
    assert one.counts == two.counts and one.reasons == two.reasons
    if policy == "drop":
        assert one.events.is_unique().all() or one.events.is_empty()


def test_a_drop_may_be_several_files_in_any_order(tmp_path):
    lines = [f"u{n % 3},{1500000000 + n},i{n},browse,a,b,1" for n in range(30)]
    whole = read_lines(tmp_path, lines, mapping())
    paths = []
    for name, part in (("z.csv", lines[:7]), ("a.csv", lines[7:])):
        paths.append(tmp_path / name)
        paths[-1].write_text("\n".join([HEAD, *part]))
    assert read_drop(paths, mapping()).events.equals(whole.events)
    assert read_drop(paths[::-1], mapping()).events.equals(whole.events)


def test_total_order_and_bucket(tmp_path):
    lines = [
        "u,1500000001,a,browse,l,m,1", "u,1500000000,b,purchase,l,m,1", "u,1500000000,b,cart,l,m,1",
        "u,1500000000,b,favourite,l,m,1", "u,1500000000,b,browse,l,m,1", "u,1500000000,a,browse,l,m,1",
        "u,1500000000,a,browse,l,m,", "u,1500000000,z,click,l,m,1", "u,999999999,a,browse,l,m,1",
    ]  # fmt: skip
    drop = read_lines(tmp_path, lines, mapping())
    seconds = drop.events["time"].dt.epoch("s")
    assert list(zip(seconds, drop.events["action"], drop.events["item_id"], drop.events["price"], strict=True)) == [
        (999999999, "browse", "a", 10**6),
        (1500000000, "click", "z", 10**6),
        (1500000000, "browse", "a", None),
        (1500000000, "browse", "a", 10**6),
        (1500000000, "browse", "b", 10**6),
        (1500000000, "favourite", "b", 10**6),
        (1500000000, "cart", "b", 10**6),
        (1500000000, "purchase", "b", 10**6),
        (1500000001, "browse", "a", 10**6),
    ]
    assert drop.events["bucket"].unique().to_list() == [bucket_of("u")]


def test_categories_need_their_first_level(tmp_path):
    lines = [
        "1,1500000000,a,browse,Home  & Garden ,ＭＵＧＳ,1",
        "2,1500000000,a,browse,,mugs,1",
        "3,1500000000,a,browse,Home,,1",
        "4,1500000000,a,browse,\u3000,mugs,1",
    ]
    events = read_lines(tmp_path, lines, mapping()).events.sort("user_id")
    assert events.select("l1", "l2", "l1_name", "l2_name").rows() == [
        ("home & garden", "mugs", "Home  & Garden ", "ＭＵＧＳ"),
        (None, None, None, None),
        ("home", None, "Home", None),
        (None, None, None, None),
    ]


@quick
@given(st.text(max_size=12))
def test_category_keys_are_stable(name):
    key = category_key(name)
    assert category_key(key) == key
    assert category_key(f"  {name}\t") == key
    assert key_column(pl.Series([name, None])).to_list() == [key or None, None]


def test_category_key_examples():
    assert category_key(" Straße\u00a0 9 ") == "strasse 9"
    assert category_key("ﬁsh") == category_key("FISH") == "fish"
    assert category_key("İ") == category_key(category_key("İ"))


# Time


def zoned(texts, zone, pattern="%Y-%m-%d %H:%M"):
    frame = instants(pl.Series(texts), Time(column=("t",), patterns=(pattern,), zone=zone))
    return [(t and t.strftime("%m-%d %H:%M"), a, m) for t, a, m in frame.iter_rows()]


def test_clock_changes():
    assert zoned(
        ["2011-03-27 00:59", "2011-03-27 01:00", "2011-03-27 01:30", "2011-03-27 02:00", None, "nonsense"],
        "Europe/London",
    ) == [
        ("03-27 00:59", False, False),
        ("03-27 01:00", False, True),
        ("03-27 01:30", False, True),
        ("03-27 01:00", False, False),
        (None, False, False),
        (None, False, False),
    ]
    assert zoned(["2011-10-30 00:59", "2011-10-30 01:00", "2011-10-30 01:59", "2011-10-30 02:00"], "Europe/London") == [
        ("10-29 23:59", False, False),
        ("10-30 00:00", True, False),
        ("10-30 00:59", True, False),
        ("10-30 02:00", False, False),
    ]
    # A half-hour change, and a day that never was.
    assert zoned(["2011-10-02 02:10"], "Australia/Lord_Howe") == [("10-01 15:40", False, True)]
    assert zoned(["2011-12-30 12:00"], "Pacific/Apia") == [("12-30 22:00", False, True)]


def test_clock_changes_are_counted(tmp_path):
    source = mapping(time={"column": "time", "patterns": "%Y-%m-%d %H:%M", "zone": "America/New_York"})
    lines = [f"u,{t},a,browse,l,m,1" for t in ("2021-03-14 02:30", "2021-11-07 01:30", "2021-11-07 02:30")]
    drop = read_lines(tmp_path, lines, source)
    assert (drop.counts["dst_ambiguous"], drop.counts["dst_moved"]) == (1, 1)
    assert any("America/New_York" in note for note in drop.warnings)
    assert [t.strftime("%H:%M") for t in drop.events["time"]] == ["07:30", "05:30", "07:30"]


@pytest.mark.parametrize(
    ("unit", "text", "expected"),
    [
        ("s", "1511544070", datetime(2017, 11, 24, 17, 21, 10, tzinfo=UTC)),
        ("s", "1511544070.25", datetime(2017, 11, 24, 17, 21, 10, 250_000, tzinfo=UTC)),
        ("ms", "1659304800025", datetime(2022, 7, 31, 22, 0, 0, 25_000, tzinfo=UTC)),
        ("us", "1604188800000001", datetime(2020, 11, 1, 0, 0, 0, 1, tzinfo=UTC)),
        ("s", "-1", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("s", "9" * 40, None),
        ("s", "2017-11-24", None),
        ("ms", "nan", None),
    ],
)
def test_units(unit, text, expected):
    assert instants(pl.Series([text]), Time(column=("t",), unit=unit))["time"].to_list()[0] == expected


def test_patterns_are_tried_in_turn_and_offsets_count():
    time = SOURCES["rees46"].time
    texts = ["2019-10-01 00:00:00 UTC", "2019-10-01 03:00:00+03:00", None, "2019-10-01T00:00:00Z"]
    expected = datetime(2019, 10, 1, tzinfo=UTC)
    assert instants(pl.Series(texts), time)["time"].to_list() == [expected, expected, None, None]


def test_hours_and_days_without_minutes():
    assert zoned(["2014-12-06 02"], "Asia/Shanghai", "%Y-%m-%d %H") == [("12-05 18:00", False, False)]
    assert zoned(["2014-12-06"], "Asia/Shanghai", "%Y-%m-%d") == [("12-05 16:00", False, False)]


SCRIPT = """
import sys, time
from pathlib import Path
from pipelines.commerce.events import read_drop
from pipelines.commerce.mapping import load_mapping
from pipelines.commerce.sources import SOURCES
from pipelines.hashing import frame_hash
folder = Path(sys.argv[1])
taobao = read_drop([folder / "t.csv"], SOURCES["taobao"]).events
uci = read_drop([folder / "u.csv"], SOURCES["uci_online_retail"]).events
print(taobao["time"].dt.epoch("s")[0], frame_hash(uci))
"""


def test_the_zone_of_the_machine_does_not_matter(tmp_path):
    (tmp_path / "t.csv").write_text("1,2268318,2520377,pv,1511544070\n")
    uci = "InvoiceNo,StockCode,Quantity,InvoiceDate,UnitPrice,CustomerID\n1,2,3,3/27/2011 1:30,2.5,7\n"
    (tmp_path / "u.csv").write_text(uci)
    here = frame_hash(read_drop([tmp_path / "u.csv"], SOURCES["uci_online_retail"]).events)
    for zone in ("Asia/Shanghai", "America/New_York"):
        environment = {**os.environ, "TZ": zone, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(len(zone))}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.split() == ["1511544070", here]


def test_resolution_is_measured(tmp_path):
    def notes(step):
        lines = [f"u,{1500000000 + n * step},a,browse,l,m,1" for n in range(4)]
        return [note for note in read_lines(tmp_path, lines, mapping()).warnings if "cannot be decided" in note]

    assert notes(900) == []
    assert len(notes(901)) == 1


# Order and merging


rows = st.fixed_dictionaries(
    {
        "user_id": st.sampled_from(["a", "b"]),
        "time": st.sampled_from([0, 1]),
        "action": st.sampled_from(["browse", "cart"]),
        "item_id": st.sampled_from(["x", "y"]),
        "l2": st.sampled_from([None, "c"]),
        "price": st.sampled_from([None, 1]),
    }
)


def frame(records):
    columns = {
        name: pl.Series(name, [record.get(name) for record in records], dtype=pl.Int64 if name == "time" else None)
        for name in ("user_id", "time", "action", "item_id", "l2", "price")
    }
    others = [
        pl.lit(None).alias(name) for name in TABLES["events"].schema.names() if name not in columns and name != "bucket"
    ]
    table = pl.DataFrame(columns).with_columns(others)
    table = table.with_columns(bucket=pl.Series([bucket_of(r["user_id"]) for r in records], dtype=pl.UInt8))
    return table.select(pl.col(name).cast(dtype) for name, dtype in TABLES["events"].schema.items())


@quick
@given(st.lists(rows, max_size=30))
def test_the_quick_sort_is_the_full_sort(records):
    table = frame(records)
    full = conform(table.lazy(), "events").collect()
    assert in_total_order(table).equals(full)
    assert in_total_order(table, distinct=True).equals(full.unique(maintain_order=True))


@quick
@given(st.lists(st.lists(rows, max_size=15), min_size=2, max_size=4))
def test_merged_multiplicity_is_the_largest_of_any_drop(drops):
    check_merge(drops)
    # The same when all rows collide.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.DataFrame, "hash_rows", lambda frame: pl.Series([7] * frame.height, dtype=pl.UInt64))
        check_merge(drops)


def check_merge(drops):
    merged = merge_drops([frame(records).lazy() for records in drops]).collect()
    expected = Counter()
    for records in drops:
        expected |= Counter(tuple(sorted(record.items(), key=str)) for record in records)
    found = Counter()
    for record in merged.with_columns(pl.col("time").cast(pl.Int64), pl.col("action").cast(pl.String)).to_dicts():
        kept = {name: record[name] for name in ("user_id", "time", "action", "item_id", "l2", "price")}
        found[tuple(sorted(kept.items(), key=str))] += 1
    assert found == expected
    assert merged.equals(conform(merged.lazy(), "events").collect())


def test_a_log_sent_again_adds_nothing(tmp_path):
    lines = [f"u{n % 3},{1500000000 + n // 2},i,browse,a,b,1" for n in range(40)] + ["u0,1500000000,i,browse,a,b,1"] * 2
    first = read_lines(tmp_path, lines[:25] + lines[-2:], mapping(), "first.csv").events
    cumulative = read_lines(tmp_path, lines, mapping(), "all.csv").events
    again = read_lines(tmp_path, lines[::-1], mapping(), "again.csv").events
    (tmp_path / "all.csv.gz").write_bytes(gzip.compress((tmp_path / "all.csv").read_bytes()))
    packed = read_drop([tmp_path / "all.csv.gz"], mapping()).events
    overlapping = read_lines(tmp_path, lines[20:], mapping(), "later.csv").events
    whole = frame_hash(cumulative)
    for drops in (
        [cumulative],
        [cumulative, again],
        [packed, cumulative, packed],
        [first, cumulative],
        [cumulative, first],
        [first, overlapping],
    ):
        assert frame_hash(merge_drops([drop.lazy() for drop in drops]).collect()) == whole
    assert merge_drops([]).collect().equals(TABLES["events"].empty())
    # The three equal rows within a drop stay three.
    assert cumulative.filter(user_id="u0", time=datetime(2017, 7, 14, 2, 40, tzinfo=UTC)).height == 3
