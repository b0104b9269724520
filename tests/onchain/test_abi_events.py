"""Every event: its topic, its decoding against the slow ABI, and everything that must be refused."""

import json
from pathlib import Path

import chain_oracle as oracle
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.onchain.abi import BY_NAME, EVENTS
from pipelines.onchain.contracts import CONDITIONAL_TOKENS, EXCHANGES_V1, EXCHANGES_V2, USDC_E
from pipelines.onchain.decode import BUILDERS, decode, read_event
from pipelines.onchain.logs import read_logs
from pipelines.onchain.tables import ONCHAIN_TABLES

AMOUNTS = st.sampled_from([0, 1, 2**31, 2**32, 2**62, 2**63 - 1]) | st.integers(0, 2**63 - 1)
WORDS = st.sampled_from([bytes(32), b"\xff" * 32, b"\x80" + bytes(31)]) | st.binary(min_size=32, max_size=32)
POOL = b"\x07" * 20


def frame(tmp_path: Path, logs: list[dict]) -> pl.DataFrame:
    """Logs through a file, as the decoder gets them."""
    path = tmp_path / "logs.jsonl"
    path.write_text("\n".join(json.dumps(log) for log in logs) + "\n")
    return pl.concat([chunk.rows for chunk in read_logs(path)])


def strategy(argument, kind: str):
    if argument.kind == "bit":
        return st.integers(0, 1)
    if argument.kind in ("amount", "amounts"):
        return st.lists(AMOUNTS, max_size=4) if kind.endswith("[]") else AMOUNTS
    if kind.endswith("[]"):
        return st.lists(WORDS, max_size=4)
    if kind == "bytes":
        return st.binary(max_size=70)
    if kind == "address":
        return st.binary(min_size=20, max_size=20)
    return WORDS


def arguments(event):
    """Arguments of an event in the order of its declaration."""
    topics, data = iter(event.indexed), iter(event.data)
    return [next(topics) if flag == "i" else next(data) for flag in oracle.INDEXED[event.name]]


@st.composite
def emitted(draw, event):
    kinds = oracle.types_of(event.signature)
    values = [draw(strategy(argument, kind)) for argument, kind in zip(arguments(event), kinds, strict=True)]
    if event.name == "transfer_batch":
        size = min(len(values[3]), len(values[4]))
        values[3], values[4] = values[3][:size], values[4][:size]
    return values


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_topic_is_the_hash_of_the_signature(event):
    assert oracle.keccak256(event.signature.encode()) == event.topic0
    kinds = oracle.types_of(event.signature)
    assert len(kinds) == len(oracle.INDEXED[event.name]) == len(event.indexed) + len(event.data)
    for argument, kind in zip(arguments(event), kinds, strict=True):
        allowed = {
            "address": {"address"},
            "bytes32": {"bytes32"},
            "uint256": {"uint256", "token", "amount"},
            "uint8": {"bit"},
            "bool": {"bit"},
            "bytes": {"bytes"},
            "uint256[]": {"array", "amounts"},
            "bytes32[]": {"array"},
        }[kind]
        assert argument.kind in allowed, (event.name, argument.name)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_reads_what_the_abi_encodes(tmp_path, event, data):
    values = data.draw(emitted(event))
    rows = frame(tmp_path, [oracle.log(event, values)])
    read = [(found, size) for found, size, bad in read_event(event, rows) if found is not None]
    (found, size) = read[0]
    row = found.row(0, named=True)
    kinds = oracle.types_of(event.signature)
    for argument, kind, value in zip(arguments(event), kinds, values, strict=True):
        if kind.endswith("[]"):
            assert size == len(value)
            assert [row[f"{argument.name}.{i}"] for i in range(size)] == value
        elif kind != "bytes":
            assert row[argument.name] == value, argument.name
    assert rows["block_number"][0] == row["block_number"] == 40_000_000


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_any_other_shape_is_refused(tmp_path, event):
    kinds = oracle.types_of(event.signature)
    plain = {"address": b"\x05" * 20, "bytes32": b"\x06" * 32, "uint8": 1, "bool": 1, "bytes": b"abc", "uint256": 2}
    values = [[2, 2] if k == "uint256[]" else [b"\x06" * 32] if k == "bytes32[]" else plain[k] for k in kinds]
    good = oracle.log(event, values)
    address = good["address"]
    extra = "0x" + "00" * 32
    broken = [
        {**good, "data": good["data"] + "00" * 32},
        {**good, "data": good["data"] + "00"},
        *([{**good, "data": good["data"][:-64]}, {**good, "data": good["data"][:-2]}] if good["data"] != "0x" else []),
        {**good, "topics": good["topics"][:-1]}
        if len(good["topics"]) > 1
        else {**good, "topics": [*good["topics"], extra]},
        {**good, "topics": [*good["topics"], extra]}
        if len(good["topics"]) < 4
        else {**good, "topics": good["topics"][:3]},
    ]
    logs = [{**log, "logIndex": hex(i), "address": address} for i, log in enumerate(broken)]
    decoded = decode(frame(tmp_path, logs), pools={bytes(20)})
    assert decoded.counts.select("outcome", "event", "rows").rows() == [("reject", event.name, len(broken))]
    assert decoded.refused.height == len(broken) and decoded.refused["reason"].null_count() == 0
    assert set(decoded.refused["event"]) == {event.name}


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 2**64, 2**128, 2**255, 2**256 - 1])
@pytest.mark.parametrize("place", [3, 4, 5, 6, 7])
def test_amounts_of_2_63_and_more_are_refused_and_token_ids_stay_exact(tmp_path, value, place):
    event = BY_NAME["order_filled_v1"]
    values = [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, 0, 77, 5, 6, 0]
    values[place] = value
    if place == 3:
        values[4] = 0
    decoded = decode(frame(tmp_path, [oracle.log(event, values)]))
    if place in (3, 4):
        assert decoded.tables["trades"]["token_id"].to_list() == [value.to_bytes(32, "big")]
        assert decoded.tables["trades"]["direction"].to_list() == ["SELL" if place == 3 else "BUY"]
    else:
        name = ["maker_amount", "taker_amount", "fee"][place - 5]
        assert decoded.refused["reason"].to_list() == [f"{name} is 2^63 or more"]
        assert decoded.tables["trades"].height == 0
        assert decoded.counts.rows() == [("reject", "order_filled_v1", 1)]


@pytest.mark.parametrize("value", [0, 1, 2**53 + 1, 2**62 + 1, 2**63 - 1])
def test_amounts_below_2_63_are_exact(tmp_path, value):
    event = BY_NAME["order_filled_v2"]
    values = [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, 1, 2**256 - 1, value, 6, value, bytes(32), bytes(32)]
    (row,) = decode(frame(tmp_path, [oracle.log(event, values)])).tables["trades"].to_dicts()
    assert (row["amount"], row["collateral"], row["fee"]) == (value, 6, value)
    assert row["token_id"] == b"\xff" * 32 and row["direction"] == "SELL"
    assert row["price"] == (6.0 / float(value) if value else None)
    assert row["fee_asset"] == ("collateral" if value else None)


@pytest.mark.parametrize(
    ("assets", "reason"),
    [
        ((0, 0), "not exactly one of the two assets is collateral"),
        ((3, 4), "not exactly one of the two assets is collateral"),
    ],
)
def test_v1_needs_exactly_one_collateral(tmp_path, assets, reason):
    values = [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, *assets, 5, 6, 0]
    decoded = decode(frame(tmp_path, [oracle.log(BY_NAME["order_filled_v1"], values)]))
    assert decoded.refused["reason"].to_list() == [reason]


@pytest.mark.parametrize("side", [2, 255, 2**64, 2**255])
def test_side_is_0_or_1(tmp_path, side):
    values = [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, side, 9, 5, 6, 0, bytes(32), bytes(32)]
    decoded = decode(frame(tmp_path, [oracle.log(BY_NAME["order_filled_v2"], values)]))
    assert decoded.refused["reason"].to_list() == ["side is neither 0 nor 1"]


@pytest.mark.parametrize("place", range(12))
def test_an_address_topic_with_any_of_its_12_upper_bytes_set_is_refused(tmp_path, place):
    log = oracle.log(BY_NAME["order_filled_v1"], [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, 0, 4, 5, 6, 0])
    dirty = bytearray(12)
    dirty[place] = 1
    log["topics"][3] = "0x" + (bytes(dirty) + b"\x03" * 20).hex()
    decoded = decode(frame(tmp_path, [log]))
    assert decoded.refused["reason"].to_list() == ["topic 3 (taker) is no address"]


@pytest.mark.parametrize("place", range(12))
def test_an_address_word_with_any_of_its_12_upper_bytes_set_is_refused(tmp_path, place):
    log = oracle.log(BY_NAME["ctf_split"], [b"\x01" * 20, USDC_E, bytes(32), b"\x02" * 32, [1, 2], 7])
    data = bytearray.fromhex(log["data"][2:])
    data[place] = 1
    decoded = decode(frame(tmp_path, [{**log, "data": "0x" + data.hex()}]))
    assert decoded.refused["reason"].to_list() == ["collateral_token is no address"]


@pytest.mark.parametrize("at", [1, 3])
def test_offsets_and_lengths_are_those_of_the_encoding(tmp_path, at):
    log = oracle.log(BY_NAME["ctf_split"], [b"\x01" * 20, USDC_E, bytes(32), b"\x02" * 32, [1, 2], 7])
    data = bytearray.fromhex(log["data"][2:])
    data[32 * at + 31] += 32 if at == 1 else 1
    decoded = decode(frame(tmp_path, [{**log, "data": "0x" + data.hex()}]))
    assert decoded.refused["reason"].to_list() == ["index_set has another offset or length than its encoding"]


def test_foreign_logs_are_counted_and_enter_no_table(tmp_path):
    fill = [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, 0, 4, 5, 6, 0]
    event, v2 = BY_NAME["order_filled_v1"], BY_NAME["order_filled_v2"]
    stranger = bytes.fromhex("5afa51599b8b91cb025a7863d0cd77b7000293c6")
    split = [b"\x01" * 20, b"\x09" * 20, bytes(32), b"\x02" * 32, [1, 2], 7]
    almost = oracle.log(event, fill, index=4)
    almost["topics"][0] = almost["topics"][0][:-2] + "00"
    logs = [
        oracle.log(event, fill, address=stranger, index=0),
        oracle.log(event, fill, address=min(EXCHANGES_V2), index=1),
        oracle.log(v2, [*fill[:3], 0, 4, 5, 6, 0, bytes(32), bytes(32)], address=min(EXCHANGES_V1), index=2),
        oracle.log(BY_NAME["ctf_split"], split, index=3),
        almost,
        {**oracle.log(event, fill, index=5), "topics": []},
        oracle.log(BY_NAME["pool_buy"], [b"\x01" * 20, 5, 1, 0, 4], address=POOL, index=6),
        oracle.log(event, fill, index=7),
    ]
    decoded = decode(frame(tmp_path, logs))
    assert decoded.counts.rows() == [
        ("foreign", "", 2),
        ("foreign", "ctf_split", 1),
        ("foreign", "order_filled_v1", 2),
        ("foreign", "order_filled_v2", 1),
        ("foreign", "pool_buy", 1),
        ("trade", "order_filled_v1", 1),
    ]
    assert decoded.tables["trades"].height == 1 and decoded.refused.height == 0


def test_every_position_change_row(tmp_path):
    wallet, condition = b"\x01" * 20, b"\x02" * 32
    one, two = (1).to_bytes(32, "big"), (2).to_bytes(32, "big")
    logs = [
        oracle.log(BY_NAME["ctf_split"], [wallet, USDC_E, bytes(32), condition, [1, 2], 7], index=0),
        oracle.log(BY_NAME["ctf_merge"], [wallet, USDC_E, bytes(32), condition, [1, 2], 8], index=1),
        oracle.log(BY_NAME["ctf_redemption"], [wallet, USDC_E, bytes(32), condition, [2], 9], index=2),
        oracle.log(BY_NAME["ctf_redemption"], [wallet, USDC_E, bytes(32), condition, [], 0], index=3),
        oracle.log(BY_NAME["adapter_split"], [wallet, condition, 10], index=4),
        oracle.log(BY_NAME["adapter_redemption"], [wallet, condition, [11, 12], 13], index=5),
        oracle.log(BY_NAME["conversion"], [wallet, b"\x03" * 32, 2**200 + 1, 14], index=6),
        oracle.log(BY_NAME["transfer_single"], [b"\x04" * 20, wallet, b"\x05" * 20, 2**256 - 1, 15], index=7),
        oracle.log(BY_NAME["transfer_batch"], [b"\x04" * 20, wallet, b"\x05" * 20, [1, 2], [16, 17]], index=8),
        oracle.log(BY_NAME["transfer_batch"], [b"\x04" * 20, wallet, b"\x05" * 20, [], []], index=9),
        oracle.log(BY_NAME["pool_buy"], [wallet, 18, 1, 1, 19], address=POOL, index=10),
        oracle.log(BY_NAME["pool_sell"], [wallet, 20, 2, 0, 21], address=POOL, index=11),
        oracle.log(BY_NAME["pool_funding_added"], [wallet, [22, 23], 24], address=POOL, index=12),
        oracle.log(BY_NAME["pool_funding_removed"], [wallet, [25, 26], 27, 28], address=POOL, index=13),
    ]
    changes = decode(frame(tmp_path, logs), pools={POOL}).tables["position_changes"]
    shown = changes.sort("log_index", "leg").select(
        "log_index", "leg", "kind", "outcome", "index_set", "token_id", "amount", "collateral", "fee"
    )
    assert shown.rows() == [
        (0, 0, "split", 0, one, None, 7, None, None),
        (0, 1, "split", 1, two, None, 7, None, None),
        (1, 0, "merge", 0, one, None, 8, None, None),
        (1, 1, "merge", 1, two, None, 8, None, None),
        (2, 0, "redeem", 1, two, None, None, 9, None),
        (3, 0, "redeem", None, None, None, None, 0, None),
        (4, 0, "split", 0, one, None, 10, None, None),
        (4, 1, "split", 1, two, None, 10, None, None),
        (5, 0, "redeem", 0, None, None, 11, 13, None),
        (5, 1, "redeem", 1, None, None, 12, None, None),
        (6, 0, "convert", None, (2**200 + 1).to_bytes(32, "big"), None, 14, None, None),
        (7, 0, "transfer", None, None, b"\xff" * 32, 15, None, None),
        (8, 0, "transfer", None, None, one, 16, None, None),
        (8, 1, "transfer", None, None, two, 17, None, None),
        (9, 0, "transfer", None, None, None, None, None, None),
        (10, 0, "pool_buy", 1, None, None, 19, 18, 1),
        (11, 0, "pool_sell", 0, None, None, 21, 20, 2),
        (12, 0, "pool_add", 0, None, None, 22, None, None),
        (12, 1, "pool_add", 1, None, None, 23, None, None),
        (13, 0, "pool_remove", 0, None, None, 25, 27, None),
        (13, 1, "pool_remove", 1, None, None, 26, None, None),
    ]
    assert set(changes["wallet"]) == {wallet}
    assert changes.filter(pl.col("kind") == "transfer")["counterparty"].unique().to_list() == [b"\x05" * 20]
    assert changes.filter(pl.col("kind") == "convert")["market_id"].to_list() == [b"\x03" * 32]
    assert changes.filter(pl.col("kind") == "split")["condition_id"].unique().to_list() == [condition]


def test_what_contracts_say_of_conditions(tmp_path):
    condition, question, oracle_ = b"\x02" * 32, b"\x03" * 32, b"\x04" * 20
    factory = BY_NAME["pool_creation"]
    logs = [
        oracle.log(BY_NAME["condition_preparation"], [condition, oracle_, question, 2], index=0),
        oracle.log(BY_NAME["condition_preparation"], [condition, oracle_, question, 257], index=1),
        oracle.log(BY_NAME["condition_preparation"], [condition, oracle_, question, 1], index=2),
        oracle.log(BY_NAME["condition_resolution"], [condition, oracle_, question, 3, [0, 1, 10**18]], index=3),
        oracle.log(BY_NAME["condition_resolution"], [condition, oracle_, question, 2, [0, 1, 0]], index=4),
        oracle.log(BY_NAME["token_registered"], [2**256 - 1, 5, condition], index=5),
        oracle.log(BY_NAME["outcome_reported"], [b"\x06" * 32, question, 1], index=6),
        oracle.log(BY_NAME["outcome_reported"], [b"\x06" * 32, question, 2], index=7),
        oracle.log(BY_NAME["question_prepared"], [b"\x06" * 32, question, 255, b"title: x"], index=8),
        oracle.log(factory, [b"\x07" * 20, POOL, CONDITIONAL_TOKENS, USDC_E, [condition], 2**255], index=9),
        oracle.log(factory, [b"\x07" * 20, POOL, CONDITIONAL_TOKENS, USDC_E, [condition] * 2, 0], index=10),
        oracle.log(factory, [b"\x07" * 20, POOL, b"\x08" * 20, USDC_E, [condition], 0], index=11),
        oracle.log(BY_NAME["fee_refunded"], [b"\x09" * 32, b"\x0a" * 20, 0, 5, 6], index=12),
        oracle.log(BY_NAME["fee_withdrawn"], [b"\x0b" * 20, b"\x0a" * 20, 1, 7], index=13),
    ]
    decoded = decode(frame(tmp_path, logs))
    tables = decoded.tables
    assert tables["preparations"].select("log_index", "condition_id", "oracle", "question_id", "outcomes").rows() == [
        (0, condition, oracle_, question, 2)
    ]
    assert tables["resolutions"].select("log_index", "outcomes", "numerators").rows() == [(3, 3, [0, 1, 10**18])]
    assert tables["token_registrations"]["token0"].to_list() == [b"\xff" * 32]
    assert tables["questions"].sort("log_index").select("log_index", "event", "index", "outcome").rows() == [
        (6, "outcome_reported", None, True),
        (8, "question_prepared", 255, None),
    ]
    assert tables["fpmm_pools"].select("log_index", "pool", "condition_id", "fee").rows() == [
        (9, POOL, condition, b"\x80" + bytes(31))
    ]
    assert tables["fees"].sort("log_index").select("kind", "order_hash", "amount", "charged").rows() == [
        ("refunded", b"\x09" * 32, 5, 6),
        ("withdrawn", None, 7, None),
    ]
    assert decoded.refused.sort("log_index").select("log_index", "reason").rows() == [
        (1, "the number of outcomes is not 2 to 256"),
        (2, "the number of outcomes is not 2 to 256"),
        (4, "3 numerators for another number of outcomes"),
        (7, "outcome is neither 0 nor 1"),
        (10, "a pool over 2 conditions"),
    ]
    assert decoded.counts.filter(pl.col("outcome") == "foreign").rows() == [("foreign", "pool_creation", 1)]


def test_every_builder_fills_its_table(tmp_path):
    for name, builder in BUILDERS.items():
        assert builder.table in ONCHAIN_TABLES and name in BY_NAME
