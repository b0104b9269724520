"""The full ledger: every kind of change by hand, and real redemptions reconciled to the base unit."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chain_worlds import market, table, trade, trades, wallet

from pipelines.onchain.beliefs import belief_instances
from pipelines.onchain.contracts import EXCHANGES_V1, NEG_RISK_ADAPTER
from pipelines.onchain.drop import decode_drop
from pipelines.onchain.ledger import ledger
from pipelines.onchain.positions import follow, follow_ledger, positions
from pipelines.onchain.redemptions import reconcile, share_reconciled
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import COHORT
from pipelines.onchain.trades import attach_markets
from pipelines.onchain.wallets import sequences

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"
EXCHANGE = sorted(EXCHANGES_V1)[0]
POOL = b"\x33" * 20
ORDER = ["wallet", "condition_id", "outcome", "block_number", "log_index"]


def token(m: int, outcome: int) -> bytes:
    return b"\x44" * 30 + bytes([m, outcome])


TOKENS = table(
    "tokens",
    *(
        {"token_id": token(m, o), "condition_id": market(m), "outcome": o, "neg_risk": False}
        for m in range(4)
        for o in range(2)
    ),
)


def change(kind: str, u: int = 0, block: int = 5, log: int = 0, **more: Any) -> dict[str, Any]:
    venue = "pool" if kind.startswith("pool") else "conditional_tokens"
    return {
        "kind": kind,
        "venue": venue,
        "wallet": wallet(u),
        "block_number": block,
        "log_index": log,
        "leg": 0,
        **more,
    }


def moved(*changes: dict[str, Any], **tables: pl.DataFrame) -> list[tuple[int, int, int, str, int | None]]:
    """(wallet, market, outcome, kind, delta) of every row of the ledger."""
    given = {"position_changes": table("position_changes", *changes), "tokens": TOKENS, **tables}
    number = {wallet(u): u for u in range(9)} | {market(m): m for m in range(9)} | {POOL: 99}
    return [
        (number[row["wallet"]], number[row["condition_id"]], row["outcome"], row["kind"], row["delta"])
        for row in ledger(given).sort(ORDER).iter_rows(named=True)
    ]


def test_a_fee_in_tokens_is_taken_from_a_buy_and_may_come_back() -> None:
    rows = [
        trade(0, 0, 0, "BUY", 100, 1, fee=7, fee_asset="outcome_token"),
        trade(0, 0, 0, "SELL", 10, 2, fee=3, fee_asset="collateral"),
    ]
    refund = {
        "kind": "refunded",
        "wallet": wallet(0),
        "token_id": token(0, 0),
        "amount": 2,
        "block_number": 1,
        "log_index": 4,
    }
    charged = {**refund, "kind": "charged", "log_index": 5}
    dollars = {**refund, "token_id": b"\0" * 32, "log_index": 6}
    found = moved(trades=trades(*rows), fees=table("fees", refund, charged, dollars))
    assert found == [(0, 0, 0, "trade", 93), (0, 0, 0, "fee_refund", 2), (0, 0, 0, "trade", -10)]


def test_splits_and_merges_move_every_outcome_and_nested_ones_are_left_out() -> None:
    legs = [
        {"condition_id": market(0), "outcome": o, "leg": o, "amount": 5, "parent_collection": bytes(32)}
        for o in range(2)
    ]
    assert moved(*(change("split", **leg) for leg in legs)) == [(0, 0, 0, "split", 5), (0, 0, 1, "split", 5)]
    assert moved(*(change("merge", **leg) for leg in legs)) == [(0, 0, 0, "merge", -5), (0, 0, 1, "merge", -5)]
    assert moved(*(change("split", **{**leg, "parent_collection": b"\1" * 32}) for leg in legs)) == []
    assert moved(change("split", condition_id=market(0), outcome=None, amount=5)) == []
    assert moved(change("split", condition_id=market(0), outcome=0, amount=5, wallet=EXCHANGE)) == []


def test_a_redemption_burns_the_balance_or_the_amounts() -> None:
    whole = change("redeem", condition_id=market(0), outcome=1, parent_collection=bytes(32), collateral=4)
    listed = change("redeem", 1, condition_id=market(0), outcome=0, amount=6, venue="neg_risk_adapter")
    assert moved(whole, listed) == [(0, 0, 1, "redeem", None), (1, 0, 0, "redeem", -6)]


def test_transfers_between_wallets_count_and_those_of_the_protocol_do_not() -> None:
    plain = {"token_id": token(1, 1), "amount": 9, "counterparty": wallet(2), "operator": wallet(0)}
    assert moved(change("transfer", **plain)) == [(0, 1, 1, "transfer", -9), (2, 1, 1, "transfer", 9)]
    for party in ("counterparty", "operator", "wallet"):
        assert moved(change("transfer", **{**plain, party: EXCHANGE})) == []
        assert moved(change("transfer", **{**plain, party: bytes(20)})) == []
    assert moved(change("transfer", **{**plain, "token_id": b"\7" * 32})) == []
    twice = [change("transfer", **plain, leg=leg) for leg in (0, 1)]
    assert moved(*twice) == [(0, 1, 1, "transfer", -18), (2, 1, 1, "transfer", 18)]
    assert sum(delta or 0 for *_, delta in moved(change("transfer", **{**plain, "counterparty": wallet(0)}))) == 0


def test_pool_trades_move_one_outcome_and_a_funder_gets_back_the_surplus() -> None:
    pools = table("fpmm_pools", {"pool": POOL, "condition_id": market(2), "block_number": 1, "log_index": 0})
    at = {"contract": POOL}
    assert moved(change("pool_buy", outcome=1, amount=30, **at), fpmm_pools=pools) == [(0, 2, 1, "pool_buy", 30)]
    assert moved(change("pool_sell", outcome=1, amount=30, **at), fpmm_pools=pools) == [(0, 2, 1, "pool_sell", -30)]
    added = [change("pool_add", outcome=o, amount=a, leg=o, **at) for o, a in ((0, 10), (1, 4))]
    assert moved(*added, fpmm_pools=pools) == [(0, 2, 0, "pool_add", 0), (0, 2, 1, "pool_add", 6)]
    removed = [change("pool_remove", outcome=o, amount=a, leg=o, **at) for o, a in ((0, 10), (1, 4))]
    assert moved(*removed, fpmm_pools=pools) == [(0, 2, 0, "pool_remove", 10), (0, 2, 1, "pool_remove", 4)]
    sent = change("transfer", token_id=token(2, 1), amount=30, wallet=POOL, counterparty=wallet(0), operator=POOL)
    assert moved(sent, fpmm_pools=pools) == []
    # Without its creation a pool is a stranger: only the transfer tells what moved.
    unknown = moved(change("pool_buy", outcome=1, amount=30, **at), {**sent, "log_index": 1})
    assert (0, 2, 1, "transfer", 30) in [row for row in unknown if row[0] == 0]


def _asked(n: int, fee: int = 0) -> dict[str, pl.DataFrame]:
    head = b"\x55" * 31
    prepared = {
        "event": "market_prepared",
        "market_id": head + b"\0",
        "fee_bips": fee,
        "block_number": 1,
        "log_index": 0,
    }
    questions = [
        {"event": "question_prepared", "market_id": head + b"\0", "question_id": head + bytes([i]), "index": i,
         "block_number": 2 + 10 * (i == 3), "log_index": i}
        for i in range(n)
    ]  # fmt: skip
    conditions = [
        {"condition_id": market(i), "question_id": head + bytes([i]), "oracle": NEG_RISK_ADAPTER, "outcomes": 2,
         "block_number": 2, "log_index": 10 + i}
        for i in range(n)
    ]  # fmt: skip
    return {"questions": table("questions", prepared, *questions), "preparations": table("preparations", *conditions)}


def test_a_conversion_turns_no_of_its_set_into_yes_of_the_others() -> None:
    at = {"market_id": b"\x55" * 31 + b"\0", "amount": 100, "venue": "neg_risk_adapter"}
    both = change("convert", index_set=(0b101).to_bytes(32, "big"), **at)
    expected = [(0, 0, 1, "convert", -100), (0, 1, 0, "convert", 100), (0, 2, 1, "convert", -100)]
    # Question 3 is prepared only after the conversion.
    assert moved(both, **_asked(4)) == expected
    single = change("convert", index_set=(0b010).to_bytes(32, "big"), **at)
    assert [row[1:3] for row in moved(single, **_asked(3))] == [(0, 0), (1, 1), (2, 0)]
    charged = moved(both, **_asked(4, fee=250))
    assert [row[4] for row in charged] == [-100, 98, -100]


def test_an_empty_ledger_has_its_columns() -> None:
    assert ledger({}).columns == ["wallet", "condition_id", "outcome", "kind", "delta", "block_number", "log_index"]


@pytest.mark.parametrize(
    ("cut", "confidences"), [("redemption", [0.8, 0.879697029]), ("resolution", [17 / 31, 0.879697029])]
)
def test_a_real_wallet_from_logs_to_payouts_and_labels(cut: str, confidences: list[float]) -> None:
    folder = DATA / "wallet_a79af3b_part1"
    if not folder.exists():
        pytest.skip(f"real logs are not at {folder}")
    expected = json.loads((folder / "expected.json").read_text())
    tables = dict(decode_drop([folder / "logs.json"]).tables)
    known = expected["chain_checks"]["token_ids_recomputed_from_condition"]
    tables["tokens"] = table(
        "tokens",
        *(
            {
                "token_id": int(row[f"outcome{outcome}"]).to_bytes(32, "big"),
                "condition_id": bytes.fromhex(row["condition_id"][2:]),
                "outcome": outcome,
                "neg_risk": False,
            }
            for row in known
            for outcome in range(2)
        ),
    )
    tables["trades"] = attach_markets(tables["trades"], tables["tokens"])
    limits = OnchainSettings(full_ledger_cut=cut)
    followed = follow_ledger(ledger(tables), tables["resolutions"], limits)
    checked = reconcile(followed, tables["position_changes"], tables["resolutions"])
    payouts = [int(row["chain_payout_raw"]) for row in expected["chain_checks"]["payout_redemptions"]]
    assert checked["payout"].to_list() == payouts == checked["expected"].to_list()
    assert share_reconciled(checked) == (2, 2, 2)
    owner = bytes.fromhex("a79af3bab636f41f1f7bd1c568857dbdf4650beb")
    cohort = pl.DataFrame({"wallet": [owner], "cohort": pl.Series(["evaluation"], dtype=COHORT)})
    traded = follow(tables["trades"].filter(pl.col("wallet") == owner))
    beliefs = belief_instances(traded, positions(traded, followed), cohort, limits)
    by_market = {row["condition_id"]: row for row in beliefs.iter_rows(named=True)}
    for case, confidence in zip(expected["derived_belief_labels"], confidences, strict=True):
        row = by_market[bytes.fromhex(case["condition_id"][2:])]
        wanted = case["trade_only"]
        assert row["side"] == (-1 if wanted["side_outcome_index"] is None else wanted["side_outcome_index"])
        assert row["confidence"] == wanted["confidence"]
        assert row["side_full"] == case["with_splits_and_merges_before_redemption"]["side_outcome_index"]
        assert row["confidence_full"] == pytest.approx(confidence, abs=1e-9)
    assert beliefs["flips"].sum() == 1


def test_the_filter_of_negative_positions_fires_on_a_real_wallet() -> None:
    folder = DATA / "wallet_a0932d9"
    if not folder.exists():
        pytest.skip(f"real logs are not at {folder}")
    traded = decode_drop([folder / "logs.json"]).tables["trades"]
    # Most of its tokens have no known condition: each stands for a market of its own.
    each = traded.with_columns(pl.col("token_id").alias("condition_id"), outcome=pl.lit(0, pl.Int16))
    found = sequences(follow(each), OnchainSettings())
    finals = json.loads((folder / "expected.json").read_text())["derived_final"]
    lows = {int(row["token_id"]).to_bytes(32, "big"): int(row["trade_only_min_raw"]) for row in finals}
    assert {row["condition_id"]: min(row["lowest"], 0) for row in found.iter_rows(named=True)}.items() <= lows.items()
    assert (found.height, found.filter(pl.col("lowest") < 0).height) == (6, 4)
