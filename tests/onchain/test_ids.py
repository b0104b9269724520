"""Ids derived as the contracts derive them, against vectors of the official subgraph and real rows."""

import importlib.util
import json
from pathlib import Path

import chain_oracle
import polars as pl
import pytest

from pipelines.onchain import ids
from pipelines.onchain.contracts import NEG_RISK_ADAPTER
from pipelines.onchain.drop import decode_drop

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"
HAS_KECCAK = importlib.util.find_spec("Crypto") is not None
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared real logs are not beside this checkout")


@pytest.fixture(autouse=True)
def keccak(monkeypatch):
    """Where the library is absent the derivations are still tested, over the slow Keccak."""
    if not HAS_KECCAK:
        monkeypatch.setattr(ids, "keccak256", chain_oracle.keccak256)


def raw(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def vectors() -> dict:
    return json.loads((DATA / "subgraph_ids_standard" / "vectors.json").read_text())


@pytest.mark.skipif(not HAS_KECCAK, reason="pycryptodome is not installed")
@pytest.mark.parametrize("size", [0, 1, 63, 64, 135, 136, 137, 300])
def test_keccak_equals_the_slow_one(size):
    data = bytes(i % 251 for i in range(size))
    assert ids.keccak256(data) == chain_oracle.keccak256(data)


def test_the_slow_keccak_knows_the_empty_text():
    assert chain_oracle.keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


@needs_data
def test_collection_ids():
    for vector in vectors()["collection_ids"]:
        for outcome in (0, 1):
            found = ids.collection_id(raw(vector["condition_id"]), 1 << outcome)
            assert found == raw(vector[f"collection_id_outcome{outcome}"])


@needs_data
def test_position_ids():
    for vector in vectors()["position_ids_standard"]:
        for outcome in (0, 1):
            found = ids.token_id(raw(vector["condition_id"]), outcome, vector["neg_risk"])
            assert str(int.from_bytes(found, "big")) == vector[f"position_id_outcome{outcome}"]
    for vector in vectors()["position_ids_custom_collateral"]:
        for outcome in (0, 1):
            collection = ids.collection_id(raw(vector["condition_id"]), 1 << outcome)
            found = ids.position_id(raw(vector["collateral"]), collection)
            assert str(int.from_bytes(found, "big")) == vector[f"position_id_outcome{outcome}"]


def test_a_collection_id_keeps_its_leading_zero_byte():
    """A public port hashed 31 bytes of this id and got another token."""
    collection = raw("0x006b9aa7")  # the reported prefix; what matters is the width
    padded = collection + bytes(28)
    assert ids.position_id(bytes(20), padded) != ids.position_id(bytes(20), padded.lstrip(b"\0"))
    found = [ids.collection_id(bytes([i]) * 32, 1) for i in range(40)]
    assert {len(one) for one in found} == {32}


@needs_data
@pytest.mark.parametrize("folder", ["gamma_closed_binary", "gamma_legacy_zero_zero"])
def test_tokens_of_real_markets(folder):
    values = json.loads((DATA / folder / "expected.json").read_text())["values"]
    condition = raw(values["condition_id"])
    for kind, matches in ((False, values["token_ids_match_usdc_e"]), (True, values["token_ids_match_wcol"])):
        found = [str(int.from_bytes(ids.token_id(condition, i, kind), "big")) for i in (0, 1)]
        assert (found == values["clob_token_ids"]) is matches


@needs_data
def test_assets_of_real_activity_rows():
    rows = json.loads((DATA / "dataapi_activity_swisstony" / "activity.json").read_text())
    expected = json.loads((DATA / "dataapi_activity_swisstony" / "expected.json").read_text())
    found = {"usdc_e": 0, "wcol": 0, "skip": 0}
    for row in rows:
        if row["outcomeIndex"] == 999:
            found["skip"] += 1
            continue
        condition = raw(row["conditionId"])
        asset = int(row["asset"]).to_bytes(32, "big")
        found["usdc_e"] += ids.token_id(condition, row["outcomeIndex"], False) == asset
        found["wcol"] += ids.token_id(condition, row["outcomeIndex"], True) == asset
    assert found == expected["asset_equals_position_id"]


@needs_data
def test_conditions_and_tokens_of_real_logs():
    for folder in ("wallet_a0932d9", "wallet_a79af3b_part1"):
        tables = decode_drop([DATA / folder / "logs.json"]).tables
        for name in ("preparations", "resolutions"):
            assert ids.wrong_conditions(tables[name]).is_empty()
        assert tables["preparations"].height + tables["resolutions"].height in (6, 2)
    preparations = tables["resolutions"].select("condition_id", "oracle", "question_id", "outcomes")
    broken = preparations.with_columns(pl.col("question_id").reverse())
    assert ids.wrong_conditions(broken).height == 2
    tokens = ids.derive_tokens(ids.conditions_of(preparations))
    expected = json.loads((DATA / "wallet_a79af3b_part1" / "expected.json").read_text())
    for entry in expected["chain_checks"]["token_ids_recomputed_from_condition"]:
        rows = tokens.filter(pl.col("condition_id") == raw(entry["condition_id"])).sort("outcome")
        assert ids.decimal_text(rows["token_id"]).to_list() == [entry["outcome0"], entry["outcome1"]]


def test_tokens_of_both_collaterals_where_the_kind_is_unknown():
    frame = pl.DataFrame(
        {"condition_id": [b"\x01" * 32, b"\x02" * 32], "outcomes": [2, 3], "neg_risk": [None, True]},
        schema={"condition_id": pl.Binary, "outcomes": pl.Int16, "neg_risk": pl.Boolean},
    )
    tokens = ids.derive_tokens(pl.concat([frame, frame]))
    assert tokens.height == 2 * 2 + 3
    assert tokens.filter(pl.col("condition_id") == b"\x02" * 32).sort("outcome")["outcome"].to_list() == [0, 1, 2]
    oracles = pl.DataFrame(
        {"condition_id": [b"\x01" * 32, b"\x02" * 32], "outcomes": [2, 2], "oracle": [NEG_RISK_ADAPTER, b"\x01" * 20]}
    )
    assert ids.conditions_of(oracles).sort("condition_id")["neg_risk"].to_list() == [True, False]


@pytest.mark.parametrize("value", [0, 1, 2**63, 2**64, 2**255, 2**256 - 1])
def test_decimal_text_and_back(value):
    stored = pl.Series("token_id", [value.to_bytes(32, "big"), None], dtype=pl.Binary)
    text = ids.decimal_text(stored)
    assert text.to_list() == [str(value), None]
    assert ids.from_decimal(text).to_list() == stored.to_list()


def test_text_that_is_no_uint256():
    texts = pl.Series("token_id", [str(2**256), "-1", "1.0", "", " 1", "0x1", "١", None])
    assert ids.from_decimal(texts).to_list() == [None] * 8


def test_hex_text():
    frame = pl.DataFrame({"wallet": [b"\xab\x00", None]})
    assert frame.select(ids.hex_text(pl.col("wallet"))).to_series().to_list() == ["0xab00", None]
