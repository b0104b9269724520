"""Every defect that files and lines of public logs have, with the right outcome."""

import csv
import gzip
import itertools
import pickle

import pytest
import zstandard
from dirty_logs import HEAD, read, rees, row, text

from pipelines.commerce import reading
from pipelines.commerce.events import read_drop
from pipelines.commerce.reading import SourceError
from pipelines.commerce.reading_delimited import _record
from pipelines.commerce.sources import SOURCES


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
