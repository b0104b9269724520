"""Real logs decode to the values that their public sources and the chain itself assert."""

import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import chain_oracle
import polars as pl
import pytest

from pipelines.onchain import ids
from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.drop import decode_drop
from pipelines.onchain.tables import EXCHANGES

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"
FOLDERS = (
    "fabibal_v2_negrisk_buy",
    "polyprinter_maker_and_taker_leg",
    "rss3_tx_a475_mint",
    "vike_ctf_split_and_merge",
    "vike_v1_fill_with_outcome_token_fee",
    "wallet_a0932d9",
    "wallet_a79af3b_part1",
    "zetta_malformed_and_rest_of_tx",
)


def known(folder: str) -> tuple[Path, dict]:
    if not DATA.is_dir():
        pytest.skip("the shared real logs are not beside this checkout")
    return DATA / folder / "logs.json", json.loads((DATA / folder / "expected.json").read_text())


def text(value: bytes) -> str:
    return "0x" + value.hex()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_fill_is_the_expected_one(folder):
    path, expected = known(folder)
    drop = decode_drop([path])
    trades = drop.tables["trades"]
    fills = [
        {
            "logIndex": row["log_index"],
            "abi": row["abi"].upper(),
            "exchange": row["exchange"],
            "wallet": text(row["wallet"]),
            "counterparty": text(row["counterparty"]),
            "leg": {"maker": "maker_order", "taker": "taker_own_order"}[row["role"]],
            "side": row["direction"],
            "token_id": str(int.from_bytes(row["token_id"], "big")),
            "shares_raw": str(row["amount"]),
            "usdc_raw": str(row["collateral"]),
            "price": round(row["price"], 10),
            "fee_raw": str(row["fee"]),
            "fee_asset": row["fee_asset"],
            "blockNumber": row["block_number"],
        }
        for row in trades.to_dicts()
    ]
    expected_fills = sorted(expected.get("fills", []), key=lambda fill: (fill["blockNumber"], fill["logIndex"]))
    assert fills == [{**fill, "price": round(fill["price"], 10)} for fill in expected_fills]
    logs = json.loads(path.read_text())
    assert drop.counts["rows"].sum() == len(logs)
    assert drop.counts.filter(pl.col("outcome").is_in(["foreign", "duplicate", "removed"])).is_empty()
    assert trades["price"].is_between(0, 1).all()


def test_the_malformed_log_is_refused_and_the_rest_of_its_transaction_is_read():
    path, expected = known("zetta_malformed_and_rest_of_tx")
    drop = decode_drop([path])
    assert expected["chain_checks"]["order_filled_data_nibbles"] == 447
    (reject,) = drop.rejects.to_dicts()
    assert (reject["line"], reject["event"], reject["reason"], reject["log_index"]) == (
        3,
        "order_filled_v2",
        "data has an odd number of hex digits",
        977,
    )
    assert reject["raw"].startswith("0x000000") and drop.tables["trades"].is_empty()
    changes = drop.tables["position_changes"]
    assert changes.select("log_index", "leg", "amount").rows() == [
        (973, 0, 6493505),
        (973, 1, 6493505),
        (976, 0, 6493505),
    ]
    true = expected["chain_checks"]["true_value"]
    single = changes.row(2, named=True)
    assert text(single["counterparty"]) == true["wallet"]
    assert str(int.from_bytes(single["token_id"], "big")) == true["token_id"]
    assert drop.tables["fees"].select("kind", "amount").rows() == [("charged", 96870)]
    assert text(drop.tables["fees"]["wallet"][0]) == expected["source_asserts"]["fee_charged"]["receiver"]
    # Well formed but shifted in the source, so its price is above 1: no trade comes from it.
    (match,) = drop.tables["matches"].to_dicts()
    assert match["direction"] == "SELL" and match["collateral"] > match["amount"]


def test_a_mint_invents_no_trade():
    path, expected = known("rss3_tx_a475_mint")
    trades = decode_drop([path]).tables["trades"]
    assert trades["direction"].to_list() == ["BUY", "BUY"]
    assert trades["role"].to_list() == ["maker", "taker"]
    assert trades["collateral"].sum() == trades["amount"][0] == 19_670_000
    taker = expected["chain_checks"]["orders_from_calldata"]["taker_order"]["maker"]
    own = trades.filter(pl.col("wallet") == bytes.fromhex(taker[2:]))
    assert own.height == 1 and own["amount"].to_list() == [19_670_000]
    assert trades["exchange"].to_list() == [EXCHANGES[0]] * 2


def test_counts_that_the_source_asserts():
    path, expected = known("wallet_a0932d9")
    asserted = expected["source_asserts"]
    counts = {row["event"]: row["rows"] for row in decode_drop([path]).counts.to_dicts()}
    assert counts == {
        "condition_preparation": asserted["ConditionPreparation"],
        "ctf_split": asserted["PositionSplit"],
        "ctf_merge": asserted["PositionsMerge"],
        "order_filled_v1": asserted["OrderFilled_as_maker"],
    }


def test_split_and_merge_of_a_user_and_of_an_adapter():
    path, expected = known("vike_ctf_split_and_merge")
    changes = decode_drop([path]).tables["position_changes"]
    for place, kind in ((0, "merge"), (2, "split")):
        said = expected["source_asserts"][kind]
        rows = changes[place : place + 2]
        assert rows["kind"].to_list() == [kind] * 2 and rows["outcome"].to_list() == [0, 1]
        assert rows["amount"].to_list() == [round(said["amount"] * 1e6)] * 2
        assert {text(wallet) for wallet in rows["wallet"]} == {said["stakeholder"]}
        assert {text(condition) for condition in rows["condition_id"]} == {said["condition_id"]}
        assert set(rows["block_number"]) == {said["block"]}


def test_redemptions_reconcile_to_the_base_unit():
    path, expected = known("wallet_a79af3b_part1")
    tables = decode_drop([path]).tables
    wallet = bytes.fromhex(expected["source_asserts"]["wallet"][2:])
    tokens = {
        int(entry[f"outcome{i}"]).to_bytes(32, "big"): (bytes.fromhex(entry["condition_id"][2:]), i)
        for entry in expected["chain_checks"]["token_ids_recomputed_from_condition"]
        for i in (0, 1)
    }
    numerators = {row["condition_id"]: row["numerators"] for row in tables["resolutions"].to_dicts()}
    steps = []
    for row in tables["trades"].filter(pl.col("wallet") == wallet).to_dicts():
        sign = 1 if row["direction"] == "BUY" else -1
        steps.append((row["block_number"], row["log_index"], "trade", *tokens[row["token_id"]], sign * row["amount"]))
    for row in tables["position_changes"].to_dicts():
        sign = {"split": 1, "merge": -1, "redeem": 0}[row["kind"]]
        amount = row["collateral"] if row["kind"] == "redeem" else sign * row["amount"]
        steps.append((row["block_number"], row["log_index"], row["kind"], row["condition_id"], row["outcome"], amount))
    held: dict[tuple[bytes, int], int] = defaultdict(int)
    paid = []
    for block, index, kind, condition, outcome, amount in sorted(steps, key=lambda step: step[:2]):
        if kind != "redeem":
            held[condition, outcome] += amount
        elif amount is not None:
            shares = numerators[condition]
            payout = sum(held[condition, i] * share for i, share in enumerate(shares)) // sum(shares)
            paid.append((block, index, text(condition), amount, payout, [held[condition, 0], held[condition, 1]]))
    assert paid == [
        (
            check["blockNumber"],
            check["logIndex"],
            check["condition_id"],
            int(check["chain_payout_raw"]),
            int(check["chain_payout_raw"]),
            [int(balance) for balance in check["balance_before_raw_by_outcome"]],
        )
        for check in expected["chain_checks"]["payout_redemptions"]
    ]
    for check in expected["chain_checks"]["payout_redemptions"]:
        assert numerators[bytes.fromhex(check["condition_id"][2:])] == check["payout_numerators"]


def test_all_folders_in_one_drop_keep_every_log_once():
    paths = [known(folder)[0] for folder in FOLDERS]
    drop = decode_drop(paths)
    logs = sum(len(json.loads(path.read_text())) for path in paths)
    assert drop.counts["rows"].sum() == logs
    trades = drop.tables["trades"]
    assert trades.height == 31 and not trades.select("block_number", "log_index").is_duplicated().any()
    twice = decode_drop([*paths, *paths])
    assert twice.tables["trades"].equals(trades)
    assert twice.counts.filter(pl.col("outcome") == "duplicate")["rows"].sum() == logs - drop.rejects.height
    assert twice.counts["rows"].sum() == 2 * logs
    assert ids.decimal_text(trades["token_id"]).str.len_chars().max() <= 78


def test_real_v2_taker_fees_follow_from_the_decoded_amounts(tmp_path):
    if not DATA.is_dir():
        pytest.skip("the shared real logs are not beside this checkout")
    vectors = json.loads((DATA / "nautilus_v2_taker_fees_part1" / "vectors.json").read_text())
    logs = []
    for index, vector in enumerate(vectors):
        exchange = bytes.fromhex(EXCHANGES[3 if vector["exchange"] == "neg_risk" else 2][2:])
        filled = [int(vector[name]) for name in ("maker_amount_filled", "taker_amount_filled", "fee")]
        side = 0 if vector["side"] == "BUY" else 1
        values = [b"\x01" * 32, b"\x02" * 20, exchange, side, 77, *filled, bytes(32), bytes(32)]
        logs.append(chain_oracle.log(BY_NAME["order_filled_v2"], values, address=exchange, index=index))
    path = tmp_path / "logs.jsonl"
    path.write_text("\n".join(json.dumps(log) for log in logs))
    trades = decode_drop([path]).tables["trades"]
    assert trades.height == len(vectors) == 11 and set(trades["role"]) == {"taker"}
    for row, vector in zip(trades.to_dicts(), vectors, strict=True):
        price, rate = Fraction(vector["price"]), Fraction(vector["fee_rate"])
        assert row["fee"] == int(rate * price * (1 - price) * row["amount"] / 10) * 10
        assert row["direction"] == vector["side"]
        assert row["fee_asset"] == ("collateral" if row["fee"] else None)
        better = row["price"] <= float(price) + 1e-6 if vector["side"] == "BUY" else row["price"] >= float(price) - 1e-6
        assert better
