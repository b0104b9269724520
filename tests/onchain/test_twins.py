"""Removed logs go with their twin, equal logs stand once, and contradictions are refused on both sides."""

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import chain_oracle as oracle
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.hashing import frame_hash
from pipelines.onchain import drop as drop_module
from pipelines.onchain import twins
from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.contracts import CONDITIONAL_TOKENS, USDC_E
from pipelines.onchain.drop import Piece, decode_drop, decode_pieces
from pipelines.onchain.logs import read_raw, typed
from pipelines.onchain.logs_raw import Hand

FILL = BY_NAME["order_filled_v1"]
A, B = "0x" + "aa" * 32, "0x" + "bb" * 32
CONFLICT = "two different logs stand at one place of the chain"
TWO_HASHES = "its block number appears with two block hashes"
TWO_TRANSACTIONS = "its place appears with two transaction hashes"


def fill(index: int = 0, amount: int = 5, **more) -> dict:
    values = [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, 0, 4, amount, 6, 0]
    return oracle.log(FILL, values, index=index, **more)


def put(path: Path, logs: list[dict]) -> Path:
    path.write_text("\n".join(json.dumps(log) for log in logs) + "\n")
    return path


def streamed_of(paths: list[Path]) -> list[Piece]:
    """The pieces of a stream that count."""
    pieces: list[Piece] = []
    for piece in decode_pieces(paths, void=pieces.clear):
        pieces.append(piece)
    return pieces


def outcomes(drop) -> dict[str, int]:
    return dict(drop.counts.group_by("outcome").agg(pl.col("rows").sum()).rows())


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("files", [1, 3])
def test_a_removed_log_goes_with_its_twin(tmp_path, order, files):
    logs = [fill(0, blockHash=A), fill(0, blockHash=A, removed=True), fill(1, blockHash=A)]
    logs = [logs[i] for i in order]
    groups = [logs] if files == 1 else [[log] for log in logs]
    drop = decode_drop([put(tmp_path / f"{i}.jsonl", group) for i, group in enumerate(groups)])
    assert outcomes(drop) == {"removed": 2, "trade": 1}
    assert drop.tables["trades"]["log_index"].to_list() == [1]


def test_the_block_that_replaced_it_stays(tmp_path):
    logs = [fill(0, blockHash=A), fill(0, blockHash=A, removed=True), fill(0, amount=9, blockHash=B)]
    drop = decode_drop([put(tmp_path / "x", logs)])
    assert outcomes(drop) == {"removed": 2, "trade": 1}
    assert drop.tables["trades"].select("collateral", "block_hash").rows() == [(9, bytes.fromhex(B[2:]))]


def test_a_removed_log_without_twin_is_dropped(tmp_path):
    assert outcomes(decode_drop([put(tmp_path / "x", [fill(0, removed=True), fill(1)])])) == {"removed": 1, "trade": 1}


def test_without_block_hashes_the_number_is_the_key(tmp_path):
    logs = [fill(0, blockHash=None), fill(0, blockHash=None, removed=True)]
    assert outcomes(decode_drop([put(tmp_path / "x", logs)])) == {"removed": 2}


def test_equal_logs_stand_once_and_the_fullest_is_kept(tmp_path):
    poor = {k: v for k, v in fill(0).items() if k not in ("blockHash", "transactionHash", "transactionIndex")}
    for i, logs in enumerate(itertools.permutations([poor, fill(0), fill(0), fill(1)])):
        drop = decode_drop([put(tmp_path / f"{i}.jsonl", list(logs))])
        assert outcomes(drop) == {"duplicate": 2, "trade": 2}
        assert drop.tables["trades"]["block_hash"].null_count() == 0
        assert drop.tables["trades"]["tx_index"].to_list() == [0, 0]


def test_the_same_index_in_another_block_is_another_log(tmp_path):
    drop = decode_drop([put(tmp_path / "x", [fill(0), fill(0, block=40_000_001), fill(1)])])
    assert outcomes(drop) == {"trade": 3}


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (fill(0, amount=9), CONFLICT),
        (oracle.log(BY_NAME["order_cancelled"], [b"\x02" * 32], index=0), CONFLICT),
        (fill(0, blockHash=B), TWO_HASHES),
        (fill(0, transactionHash=B), TWO_TRANSACTIONS),
    ],
)
def test_a_contradiction_is_refused_on_both_sides(tmp_path, other, reason):
    for logs in ([fill(0), other, fill(1)], [other, fill(1), fill(0)]):
        drop = decode_drop([put(tmp_path / "x", logs)])
        assert outcomes(drop) == {"reject": 2, "trade": 1}
        assert drop.rejects["reason"].to_list() == [reason] * 2
        assert drop.rejects["raw"].null_count() == 0 and set(drop.rejects["block_number"]) == {40_000_000}


def test_a_stranger_at_the_same_place_changes_nothing(tmp_path):
    """State-sync transactions may repeat a log index of their block."""
    stranger = {**fill(0), "address": "0x" + "99" * 20, "transactionHash": B}
    unknown = {**fill(0), "topics": ["0x" + "77" * 32]}
    drop = decode_drop([put(tmp_path / "x", [stranger, fill(0), unknown])])
    assert outcomes(drop) == {"foreign": 2, "trade": 1}


def test_a_malformed_log_does_not_stand_against_a_good_one(tmp_path):
    bad = {**fill(0), "data": fill(0)["data"][:-1]}
    drop = decode_drop([put(tmp_path / "x", [bad, fill(0)])])
    assert outcomes(drop) == {"reject": 1, "trade": 1}


def test_duplicates_between_parquet_and_json(tmp_path):
    log = fill(3)
    frame = pl.DataFrame(
        {
            "address": [bytes.fromhex(log["address"][2:])],
            **{f"topic{i}": [bytes.fromhex(topic[2:])] for i, topic in enumerate(log["topics"])},
            "data": [bytes.fromhex(log["data"][2:])],
            "block_number": [40_000_000],
            "log_index": [3],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    drop = decode_drop([tmp_path / "a.parquet", put(tmp_path / "b.jsonl", [log])])
    assert drop.counts.filter(pl.col("outcome") == "duplicate")["file"].to_list() == ["a.parquet"]
    assert drop.tables["trades"]["tx_hash"].null_count() == 0


def test_a_pool_may_be_created_in_a_later_file(tmp_path):
    pool, stranger = b"\x07" * 20, b"\x08" * 20
    buy = oracle.log(BY_NAME["pool_buy"], [b"\x01" * 20, 18, 1, 1, 19], address=pool, index=0)
    other = oracle.log(BY_NAME["pool_buy"], [b"\x01" * 20, 18, 1, 1, 19], address=stranger, index=1)
    creation = oracle.log(
        BY_NAME["pool_creation"], [b"\x09" * 20, pool, CONDITIONAL_TOKENS, USDC_E, [b"\x02" * 32], 0], index=2
    )
    paths = [put(tmp_path / "a", [buy, other]), put(tmp_path / "b", [creation])]
    drop = decode_drop(paths)
    assert drop.tables["position_changes"]["contract"].to_list() == [pool]
    assert outcomes(drop) == {"other": 2, "foreign": 1}
    assert outcomes(decode_drop(paths[:1])) == {"foreign": 2}
    assert outcomes(decode_drop(paths[:1], pools={stranger})) == {"foreign": 1, "other": 1}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), files=st.integers(1, 4))
def test_a_shuffled_drop_with_twins_gives_the_same_tables(tmp_path, seed, files):
    draw = random.Random(seed)
    logs = [fill(i, block=40_000_000 + i // 4, amount=i + 1) for i in range(12)]
    kept = [log for i, log in enumerate(logs) if i not in (2, 5)]
    clean = decode_drop([put(tmp_path / "clean", kept)]).tables["trades"]
    dirty = logs + draw.choices(logs, k=5) + [{**logs[i], "removed": True} for i in (2, 5)]
    draw.shuffle(dirty)
    paths = [put(tmp_path / f"part{i}", dirty[i::files]) for i in range(files)]
    drop = decode_drop(paths)
    assert drop.tables["trades"].equals(clean)
    assert frame_hash(drop.tables["trades"]) == frame_hash(clean)
    assert drop.counts["rows"].sum() == len(dirty)
    streamed = streamed_of(paths)
    trades = pl.concat([piece.tables["trades"] for piece in streamed if "trades" in piece.tables])
    assert trades.sort("block_number", "log_index").equals(clean)
    counts = (
        pl.concat([piece.counts for piece in streamed]).group_by("file", "outcome", "event").agg(pl.col("rows").sum())
    )
    assert counts.sort("file", "outcome", "event").equals(drop.counts)


def test_a_stream_judges_twins_as_a_whole_drop_does(tmp_path):
    logs = [fill(0), fill(0), fill(1, removed=True), fill(2), fill(2, amount=9), fill(3)]
    for name, part in (("a", logs[::2]), ("b", logs[1::2])):
        put(tmp_path / name, part)
    paths = [tmp_path / "a", tmp_path / "b"]
    drop, streamed = decode_drop(paths), streamed_of(paths)
    assert outcomes(drop) == {"trade": 2, "duplicate": 1, "removed": 1, "reject": 2}
    assert pl.concat([piece.counts for piece in streamed])["rows"].sum() == 6
    rejects = pl.concat([piece.rejects for piece in streamed])
    assert rejects.sort(rejects.columns).equals(drop.rejects.sort(rejects.columns))
    trades = pl.concat([piece.tables["trades"] for piece in streamed if "trades" in piece.tables])
    assert trades.sort("log_index")["log_index"].to_list() == [0, 3] == drop.tables["trades"]["log_index"].to_list()


@pytest.mark.parametrize(
    ("late", "readings"),
    [
        (fill(7), 1),
        (fill(0, block=39_999_999), 1),
        # Read, found out, compared, read again.
        (fill(0), 3),
        (fill(8, removed=True), 3),
    ],
)
def test_a_file_is_read_once_unless_a_place_is_shared(tmp_path, monkeypatch, late, readings):
    paths = [put(tmp_path / "a", [fill(0), fill(1)]), put(tmp_path / "b", [fill(2), late])]
    read: list[str] = []

    def counting(path: Path) -> Iterator[Hand]:
        read.append(path.name)
        yield from read_raw(path)

    monkeypatch.setattr(drop_module, "read_raw", counting)
    monkeypatch.setattr(twins, "read_logs", lambda path: (typed(hand()) for hand in counting(path)))
    voided: list[int] = []
    given = list(decode_pieces(paths, void=lambda: voided.append(len(read))))
    assert read == ["a", "b"] * readings
    assert voided == ([] if readings == 1 else [2])
    assert len(given) == (2 if readings == 1 else 4)


def test_bytes_are_hashed_by_content():
    frame = pl.DataFrame({"id": [b"\xff\x00", None, b"a" * 40], "ids": [[b"x"], [], [b"y", b"z"]]})
    chunked = pl.concat([frame[:1], frame[1:]], rechunk=False)
    assert frame_hash(frame) == frame_hash(chunked) == frame_hash(pl.DataFrame(frame.to_dict(as_series=False)))
    assert frame_hash(frame) != frame_hash(frame.reverse())
    assert frame_hash(pl.DataFrame({"id": [b"ab", b"c"]})) != frame_hash(pl.DataFrame({"id": [b"a", b"bc"]}))
    assert frame_hash(pl.DataFrame({"id": [b"ab"]})) != frame_hash(pl.DataFrame({"id": ["ab"]}))
