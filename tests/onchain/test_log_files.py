"""Files of logs: every form gives the same rows, and every fault is a reject with its line or an error in words."""

import gzip
import json
from pathlib import Path

import chain_oracle as oracle
import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.commerce.reading import SourceError
from pipelines.onchain import logs_json, logs_parquet
from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.contracts import USDC_E
from pipelines.onchain.drop import decode_drop
from pipelines.onchain.hexes import NOT_HEX, ODD, unhex
from pipelines.onchain.logs import read_logs


def some_logs() -> list[dict]:
    fill = BY_NAME["order_filled_v1"]
    logs = [
        oracle.log(
            fill,
            [oracle.keccak_like(i), b"\xab" * 20, b"\xcd" * 20, 0, i + 1, 5 + i, 6, 0],
            block=40_000_000 + i // 3,
            index=i,
        )
        for i in range(7)
    ]
    logs.append(
        oracle.log(
            BY_NAME["ctf_split"], [b"\x01" * 20, USDC_E, bytes(32), b"\x02" * 32, [1, 2], 7], block=40_000_009, index=1
        )
    )
    logs.append(oracle.log(BY_NAME["order_cancelled"], [b"\x02" * 32], block=40_000_009, index=2))
    return logs


def columns(logs: list[dict]) -> pl.DataFrame:
    """Logs as columns of hex text and integers."""
    return pl.DataFrame(
        {
            "block_number": [int(log["blockNumber"], 16) for log in logs],
            "block_hash": [log["blockHash"] for log in logs],
            "timestamp": [int(log["blockTimestamp"], 16) for log in logs],
            "transaction_index": [int(log["transactionIndex"], 16) for log in logs],
            "log_index": [int(log["logIndex"], 16) for log in logs],
            "transaction_hash": [log["transactionHash"] for log in logs],
            "address": [log["address"] for log in logs],
            **{f"topic{i}": [log["topics"][i] if len(log["topics"]) > i else None for log in logs] for i in range(4)},
            "data": [log["data"] for log in logs],
        }
    )


def binary(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.String).str.slice(2).str.decode("hex"))


def sqd(logs: list[dict]) -> list[dict]:
    blocks: dict[str, dict] = {}
    for log in logs:
        header = {
            "number": int(log["blockNumber"], 16),
            "hash": log["blockHash"],
            "timestamp": int(log["blockTimestamp"], 16),
        }
        block = blocks.setdefault(log["blockNumber"], {"header": header, "logs": []})
        kept = {name: log[name] for name in ("address", "topics", "data", "transactionHash")}
        block["logs"].append(
            {**kept, "logIndex": int(log["logIndex"], 16), "transactionIndex": int(log["transactionIndex"], 16)}
        )
    return [*blocks.values(), {"header": {"number": 40_000_020, "hash": "0x" + "ee" * 32, "timestamp": 1}, "logs": []}]


def _lines(values: list) -> bytes:
    return ("\n".join(json.dumps(value) for value in values) + "\n").encode()


def _parquet(frame: pl.DataFrame):
    def write(path: Path) -> None:
        frame.write_parquet(path)

    return write


def forms() -> dict:
    logs = some_logs()
    upper = [
        {**log, "address": log["address"].upper().replace("0X", "0x"), "data": log["data"].upper().replace("0X", "0x")}
        for log in logs
    ]
    bare = [{**log, "address": log["address"][2:], "topics": [t[2:] for t in log["topics"]]} for log in logs]
    decimal = [
        {**log, "blockNumber": int(log["blockNumber"], 16), "logIndex": str(int(log["logIndex"], 16))} for log in logs
    ]
    flat = columns(logs)
    response = {"jsonrpc": "2.0", "id": 1}
    quantity = pl.col("timestamp").map_elements(lambda n: n.to_bytes(5, "big"), pl.Binary)
    return {
        "lines": _lines(logs),
        "blank lines, CRLF": _lines(logs).replace(b"\n", b"\r\n\r\n"),
        "array": json.dumps(logs).encode(),
        "pretty array": json.dumps(logs, indent=1).encode(),
        "response": json.dumps({**response, "result": logs}).encode(),
        "pretty response": json.dumps({**response, "result": logs}, indent=2).encode(),
        "responses a line": _lines(
            [{**response, "result": logs[:4]}, {**response, "result": []}, {**response, "result": logs[4:]}]
        ),
        "blocks": _lines(sqd(logs)),
        "gz": gzip.compress(_lines(logs)),
        "zst": zstandard.compress(_lines(logs)),
        "gz array": gzip.compress(json.dumps(logs).encode()),
        "upper case": _lines(upper),
        "without 0x": _lines(bare),
        "decimal": _lines(decimal),
        "cryo binary": _parquet(binary(flat)),
        "cryo hex": _parquet(flat.cast({"block_number": pl.UInt32, "log_index": pl.UInt32})),
        "hypersync": _parquet(
            binary(flat)
            .with_columns(pl.lit(False).alias("removed"), quantity)
            .cast({"log_index": pl.UInt64})
            .rename({"timestamp": "block_timestamp"})
        ),
        "hypersync hex": _parquet(
            flat.with_columns(
                pl.Series("block_number", [log["blockNumber"] for log in logs]),
                pl.Series("timestamp", [log["blockTimestamp"] for log in logs]),
            )
        ),
        "instants": _parquet(
            flat.with_columns(pl.from_epoch("timestamp", "s").dt.replace_time_zone("UTC").dt.cast_time_unit("ms"))
        ),
        "list of topics": _parquet(
            flat.select(pl.exclude("^topic.$"), pl.Series("topics", [log["topics"] for log in logs]))
        ),
    }


def put(path: Path, content) -> Path:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return decode_drop([put(tmp_path_factory.mktemp("logs") / "logs", forms()["lines"])])


@pytest.mark.parametrize("form", forms())
def test_every_form_gives_the_same_rows(tmp_path, reference, form):
    drop = decode_drop([put(tmp_path / "logs", forms()[form])])
    assert drop.rejects.is_empty()
    for name, table in reference.tables.items():
        assert drop.tables[name].equals(table), name
    assert drop.counts.equals(reference.counts)
    trades = drop.tables["trades"]
    assert trades.height == 7 and trades["wallet"].unique().to_list() == [b"\xab" * 20]
    assert trades["tx_index"].to_list() == [0, 0, 0, 0, 1, 1, 1]
    assert trades["time"].dt.epoch("s").to_list() == [1_680_000_000 + 2 * (i // 3) for i in range(7)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chunks_change_nothing(tmp_path, reference, size, monkeypatch):
    monkeypatch.setattr(logs_parquet, "ROWS", size)
    monkeypatch.setattr("pipelines.commerce.reading.CHUNK_BYTES", size * 900)
    for form in ("lines", "blocks", "cryo binary", "cryo hex"):
        drop = decode_drop([put(tmp_path / "logs", forms()[form])])
        assert all(drop.tables[name].equals(table) for name, table in reference.tables.items())
        assert drop.counts.equals(reference.counts)


def test_order_of_rows_and_files_changes_nothing(tmp_path, reference):
    logs = some_logs()[::-1]
    first = put(tmp_path / "b.jsonl", _lines(logs[:3]))
    second = put(tmp_path / "a.parquet", _parquet(binary(columns(logs[3:]))))
    for paths in ([first, second], [second, first]):
        drop = decode_drop(paths)
        assert all(drop.tables[name].equals(table) for name, table in reference.tables.items())


def faults() -> dict[str, tuple[dict, str]]:
    log = some_logs()[0]
    return {
        "odd data": ({**log, "data": log["data"][:-1]}, "data has an odd number of hex digits"),
        "letters in data": ({**log, "data": log["data"][:-1] + "g"}, "data is not hex"),
        "number sign in data": ({**log, "data": "0x" + "0" * 8 + ":" + "0" * 311}, "data is not hex"),
        "short address": ({**log, "address": log["address"][:-2]}, "address is not 20 bytes"),
        "long topic": ({**log, "topics": [*log["topics"][:2], log["topics"][2] + "00"]}, "topic2 is not 32 bytes"),
        "odd topic": ({**log, "topics": [log["topics"][0] + "0"]}, "topic0 has an odd number of hex digits"),
        "5 topics": ({**log, "topics": log["topics"] + log["topics"][:1]}, "more than 4 topics"),
        "null topic": ({**log, "topics": [log["topics"][0], None, log["topics"][2]]}, "a topic is null"),
        "no topics": ({k: v for k, v in log.items() if k != "topics"}, "topics are missing"),
        "topics no list": ({**log, "topics": log["topics"][0]}, "topics are missing"),
        "no data": ({**log, "data": None}, "data is missing"),
        "no address": ({k: v for k, v in log.items() if k != "address"}, "address is missing"),
        "pending": ({**log, "blockNumber": None}, "block_number is missing"),
        "no place": ({**log, "logIndex": None}, "log_index is missing"),
        "negative": ({**log, "logIndex": -1}, "log_index is no number in its range"),
        "words": ({**log, "blockNumber": "latest"}, "block_number is no number in its range"),
        "half hex": ({**log, "blockNumber": "0xzz"}, "block_number is no number in its range"),
        "huge": ({**log, "blockNumber": "0x" + "f" * 20}, "block_number is no number in its range"),
        "fraction": ({**log, "blockNumber": 4.5}, "block_number is no number in its range"),
        "short hash": ({**log, "blockHash": "0xab"}, "block_hash is not 32 bytes"),
        "removed twice": ({**log, "removed": "perhaps"}, "removed is neither true nor false"),
    }


@pytest.mark.parametrize("fault", faults())
def test_a_fault_is_a_reject_with_its_line(tmp_path, fault):
    bad, reason = faults()[fault]
    good = some_logs()[1:3]
    drop = decode_drop([put(tmp_path / "x.jsonl", _lines([good[0], bad, good[1]]))])
    assert drop.rejects.select("file", "line", "reason").rows() == [("x.jsonl", 2, reason)]
    assert drop.tables["trades"].height == 2
    assert drop.counts.filter(pl.col("outcome") == "reject")["rows"].to_list() == [1]


def _topics_as(form: str, logs: list[dict[str, object]], topics: list[list[str | None] | None]) -> pl.DataFrame:
    """Columns of logs with other topics: a list, an array of five places, or a column for each."""
    rest = columns(logs).select(pl.exclude("^topic.$"))
    if form == "flat":
        places = [[(one or [])[n] if n < len(one or []) else None for one in topics] for n in range(4)]
        return rest.with_columns(pl.Series(f"topic{n}", column, pl.String) for n, column in enumerate(places))
    if form == "list":
        return rest.with_columns(pl.Series("topics", topics, pl.List(pl.String)))
    padded = [None if one is None else (one + [None] * 5)[:5] for one in topics]
    return rest.with_columns(pl.Series("topics", padded, pl.Array(pl.String, 5)))


@pytest.mark.parametrize("form", ["json", "list", "array", "flat"])
def test_topics_are_judged_alike_in_every_form(form: str, tmp_path: Path) -> None:
    one = some_logs()[0]
    a, b, c, d = (one["topics"] + one["topics"][-1:] * 4)[:4]
    told = [[a, b, c, d], [a, None, c, d], [None, b, c, d], [a, b, None, d], None, [a, b, c, d, d], [a, b, c, d]]
    kept = [0, 1, 2, 3, 6] if form == "flat" else range(len(told))
    topics = [told[n] for n in kept]
    logs = [{**one, "topics": topic, "logIndex": hex(n)} for n, topic in enumerate(topics)]
    if form == "json":
        file = put(tmp_path / "x.jsonl", "\n".join(map(json.dumps, logs)).encode())
    else:
        plain = [{**log, "topics": one["topics"]} for log in logs]
        file = put(tmp_path / "x.parquet", _parquet(_topics_as(form, plain, topics)))
    drop = decode_drop([file])
    null, missing, many = "a topic is null", "topics are missing", "more than 4 topics"
    reasons = [None, null, null, null, missing, many, None]
    assert drop.rejects.select("line", "reason").sort("line").rows() == [
        (line, reasons[n]) for line, n in enumerate(kept, 1) if reasons[n]
    ]
    assert int(drop.counts["rows"].sum()) == len(topics)


@pytest.mark.parametrize("line", ['{"address": "0x', "[1]", "null", "42", '"text"', "{'a': 1}", "garbage", "{}{}"])
def test_a_line_that_is_no_object_is_a_reject(tmp_path, line):
    logs = [json.dumps(log) for log in some_logs()[:3]]
    path = put(tmp_path / "x.jsonl", "\n".join([logs[0], logs[1], line, "", logs[2]]).encode())
    drop = decode_drop([path])
    assert drop.rejects.select("line", "reason", "raw").rows() == [(3, "not a JSON object", line)]
    assert drop.tables["trades"].height == 3 and drop.counts["rows"].sum() == 4


def test_optional_fields_may_be_absent(tmp_path):
    log = {k: v for k, v in some_logs()[0].items() if k in ("address", "topics", "data", "blockNumber", "logIndex")}
    (row,) = decode_drop([put(tmp_path / "x.jsonl", _lines([log]))]).tables["trades"].to_dicts()
    assert [row[name] for name in ("tx_index", "time", "block_hash", "tx_hash")] == [None] * 4
    frame = binary(columns(some_logs())).select("block_number", "log_index", "address", "^topic.$", "data")
    assert decode_drop([put(tmp_path / "y", _parquet(frame))]).tables["trades"].height == 7


def test_a_column_that_is_null_throughout(tmp_path):
    logs = [log for log in some_logs() if len(log["topics"]) == 2]
    frame = binary(columns(logs)).with_columns(pl.lit(None).alias("topic3"), pl.lit(None).alias("transaction_hash"))
    drop = decode_drop([put(tmp_path / "x", _parquet(frame))])
    assert drop.counts.rows() == [("x", "other", "order_cancelled", 1)]


def test_blocks_without_logs_are_no_rows_and_answers_without_result_are_rejects(tmp_path):
    blocks = sqd(some_logs())
    bare = {"header": blocks[0]["header"]}
    drop = decode_drop([put(tmp_path / "x", _lines([bare, *blocks, {**bare, "logs": 5}]))])
    assert drop.rejects.select("line", "reason").rows() == [(len(blocks) + 2, "logs holds no list of logs")]
    assert drop.tables["trades"].height == 7
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32005, "message": "query returned more than 10000 results"}}
    drop = decode_drop([put(tmp_path / "y", _lines([{"id": 0, "result": some_logs()}, error]))])
    assert drop.rejects.select("line", "reason").rows() == [(2, "result holds no list of logs")]
    assert "more than 10000" in drop.rejects["raw"][0]


@pytest.mark.parametrize("first", ['{"id": 1, "error": {"code": -32005, "message": "limit"}}', '{"id": 1, "resu'])
def test_a_broken_first_line_costs_no_other(tmp_path, reference, first):
    path = tmp_path / "answers.jsonl"
    path.write_text(first + "\n" + json.dumps({"id": 2, "result": some_logs()}) + "\n")
    piece = decode_drop([path])
    assert piece.rejects.select("line").to_series().to_list() == [1]
    assert int(piece.counts["rows"].sum()) == len(some_logs()) + 1
    assert piece.tables["trades"].height == 7


def test_a_description_of_markets_is_no_log(tmp_path):
    path = tmp_path / "markets.json"
    path.write_text(json.dumps([{"conditionId": "0x" + "ab" * 32, "outcomes": '["Yes", "No"]'}]))
    with pytest.raises(SourceError, match=r"markets\.json: this describes markets and holds no logs"):
        decode_drop([path])


def test_a_drop_without_any_log_is_an_error_and_one_log_among_strangers_is_not(tmp_path):
    rows = [{"type": "TRADE", "size": 10}, {"type": "REDEEM", "size": 1}]
    with pytest.raises(SourceError, match=r"activity\.jsonl:1: no row is a log; the first is refused: topics are mis"):
        decode_drop([put(tmp_path / "activity.jsonl", _lines(rows))])
    piece = decode_drop([put(tmp_path / "mixed.jsonl", _lines([*rows, some_logs()[0]]))])
    assert piece.rejects.height == 2 and piece.tables["trades"].height == 1
    # A log that is broken is still one.
    cut = {**some_logs()[0], "data": some_logs()[0]["data"][:-1]}
    assert decode_drop([put(tmp_path / "cut.jsonl", _lines([cut]))]).rejects["event"].to_list() == ["order_filled_v1"]


def test_faults_in_parquet_are_rejects_with_their_row(tmp_path):
    frame = columns(some_logs())
    hexed = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 4).then(pl.col("data").str.slice(0, 321)).otherwise("data").alias("data")
    )
    drop = decode_drop([put(tmp_path / "hex", _parquet(hexed))])
    assert drop.rejects.select("line", "reason").rows() == [(5, "data has an odd number of hex digits")]
    short = binary(frame).with_columns(
        pl.when(pl.int_range(pl.len()) == 4)
        .then(pl.col("address").bin.slice(0, 19))
        .otherwise("address")
        .alias("address")
    )
    drop = decode_drop([put(tmp_path / "binary", _parquet(short))])
    assert drop.rejects.select("line", "reason").rows() == [(5, "address is not 20 bytes")]
    missing = binary(frame).with_columns(
        pl.when(pl.int_range(pl.len()) != 4).then("block_number").alias("block_number")
    )
    drop = decode_drop([put(tmp_path / "missing", _parquet(missing))])
    assert drop.rejects.select("line", "reason").rows() == [(5, "block_number is missing")]


@pytest.mark.parametrize(
    "kind, values, outside",
    [
        (pl.Int8, [1, -1, None, 3], [2]),
        (pl.Int16, [1, 2, -5, 3], [3]),
        (pl.Int32, [-1, 1, 2, 3], [1]),
        (pl.UInt8, [1, 2, 255, 3], []),
        (pl.UInt32, [1, 2**32 - 1, 2, 3], [2]),
        (pl.UInt64, [1, 2**63 + 5, 2**64 - 1, 3], [2, 3]),
    ],
    ids=str,
)
@pytest.mark.parametrize("column", ["log_index", "transaction_index"])
def test_integers_of_every_width_are_held_to_their_range(tmp_path, column, kind, values, outside):
    rows = columns(some_logs()[:4]).with_columns(pl.Series(column, values, kind))
    path = put(tmp_path / "logs.parquet", _parquet(rows))
    (chunk,) = read_logs(path)
    name = {"transaction_index": "tx_index"}.get(column, column)
    missing = [values.index(None) + 1] if None in values and column == "log_index" else []
    found = dict(chunk.refused.select("line", "reason").rows())
    assert found == {
        **dict.fromkeys(outside, f"{name} is no number in its range"),
        **dict.fromkeys(missing, f"{name} is missing"),
    }
    kept = [value for line, value in enumerate(values, 1) if line not in found]
    assert chunk.rows[name].to_list() == kept


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "only blank lines"),
        (json.dumps(some_logs()).encode()[:-40], "no whole JSON value"),
        (b'{\n"jsonrpc": "2.0",\n"result": [', "no whole JSON value"),
        (b'{\n"jsonrpc": "2.0",\n"result": {"a": 1}}', "no list of logs"),
        (gzip.compress(_lines(some_logs()), mtime=0)[:-20], "cut off"),
        (b"PAR1 and then nothing", "damaged or cut off"),
        (_parquet(columns(some_logs()).drop("data")), "column 'data' is missing"),
        (_parquet(columns(some_logs()).drop("topic0")), "column 'topic0' is missing"),
        (_parquet(columns(some_logs()).cast({"block_number": pl.Float64})), "column 'block_number' holds Float64"),
    ],
)
def test_a_file_that_is_no_log_is_an_error_that_names_it(tmp_path, content, words):
    path = put(tmp_path / "drop.x", content)
    with pytest.raises(SourceError, match=r"drop\.x") as error:
        decode_drop([path])
    assert words in str(error.value) and error.value.remedy


def test_an_empty_answer_has_no_rows(tmp_path):
    for content in (b"[]", b'{"jsonrpc":"2.0","id":1,"result":[]}'):
        drop = decode_drop([put(tmp_path / "x", content)])
        assert drop.counts.is_empty() and all(table.is_empty() for table in drop.tables.values())
    assert list(read_logs(put(tmp_path / "y", _parquet(binary(columns(some_logs())).clear())))) == []
    assert logs_json.SHAPES == ("log", "block", "response")


def slow_unhex(text: str | None) -> tuple[bytes | None, int]:
    if text is None:
        return None, 0
    digits = text[2:] if text[:2] in ("0x", "0X") else text
    if len(digits.encode()) % 2:
        return None, ODD
    if not digits.isascii() or any(c not in "0123456789abcdefABCDEF" for c in digits):
        return None, NOT_HEX
    return bytes.fromhex(digits), 0


HEX = st.text("0123456789abcdefABCDEF", max_size=40)
NEARLY = st.text("0123456789abcdefABCDEF/:@`gG x\x00\x10\x1fé\x7f", max_size=40)


@settings(deadline=None)
@given(st.lists(st.none() | HEX | HEX.map(lambda t: "0x" + t) | NEARLY | NEARLY.map(lambda t: "0X" + t), max_size=8))
def test_unhex_equals_the_slow_one(texts):
    values, failed = unhex(pl.Series("x", texts, dtype=pl.String))
    for text, value, fault in zip(texts, values, failed, strict=True):
        expected, expected_fault = slow_unhex(text)
        assert fault == expected_fault, text
        if not fault:
            assert value == expected


@pytest.mark.parametrize("character", [chr(i) for i in range(128)])
def test_unhex_knows_every_character(character):
    texts = ["0" * place + character + "0" * (15 - place) for place in range(16)]
    _, failed = unhex(pl.Series(texts))
    fine = character in "0123456789abcdefABCDEF"
    # A text that starts with 0x is shorter by it.
    expected = [0 if fine or (place == 1 and character in "xX") else NOT_HEX for place in range(16)]
    assert failed.tolist() == expected


def test_unhex_reads_slices_and_several_chunks():
    texts = pl.concat([pl.Series(["0x" + "ab" * 30, "0x01"]), pl.Series([None, "cd" * 50])], rechunk=False)
    values, failed = unhex(texts[1:])
    assert values.to_list() == [b"\x01", None, b"\xcd" * 50] and not np.any(failed)
