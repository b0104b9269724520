"""Running positions: the recursion by hand, a slow oracle, borders, and the two real wallets' ledgers."""

import json
from pathlib import Path

import polars as pl
import pytest
from chain_worlds import at, in_order, market, table, trade, trades, wallet, world
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.onchain.ordering import misplaced
from pipelines.onchain.positions import follow, follow_ledger, positions
from pipelines.onchain.redemptions import reconcile, share_reconciled
from pipelines.onchain.settings import OnchainSettings

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"
LIMIT = 2**63 - 1
LEDGER = {
    "wallet": pl.Binary,
    "condition_id": pl.Binary,
    "outcome": pl.Int16,
    "kind": pl.String,
    "delta": pl.Int64,
    "block_number": pl.Int64,
    "log_index": pl.Int32,
}


def test_q_is_taken_after_each_event_and_per_outcome() -> None:
    frame = follow(
        trades(
            trade(0, 0, 0, "BUY", 10, 1),
            trade(0, 0, 1, "BUY", 4, 2),
            trade(0, 0, 0, "SELL", 3, 3),
            trade(0, 1, 0, "BUY", 8, 3, 5),
            trade(0, 0, 0, "SELL", 7, 4),
            trade(0, 0, 0, "SELL", 2, 5),
        )
    )
    assert frame["position_after"].to_list() == [10, 4, 7, 8, 0, -2]
    assert frame["event"].to_list() == [0, 1, 2, 3, 4, 5]
    assert frame["market_event"].to_list() == [0, 1, 2, 0, 3, 4]
    assert frame["last_of_outcome"].to_list() == [False, True, False, True, False, True]
    assert frame["last_of_market"].to_list() == [False, False, False, True, False, True]


def test_log_index_orders_within_a_block_and_a_missing_transaction_index_does_not_matter() -> None:
    rows = [trade(0, 0, 0, "BUY", 1, 1, 9), trade(0, 0, 0, "BUY", 2, 1, 10), trade(0, 0, 0, "BUY", 4, 2, 0)]
    blind = [{**row, "tx_index": None} for row in rows]
    assert follow(trades(*reversed(rows)))["position_after"].to_list() == [1, 3, 7]
    assert follow(trades(*blind))["position_after"].to_list() == [1, 3, 7]
    assert misplaced(trades(*rows)).is_empty()
    assert misplaced(trades({**rows[0], "tx_index": 5}, rows[1]))["log_index"].to_list() == [10]


def test_trades_of_unknown_tokens_are_left_out() -> None:
    rows = [trade(0, 0, 0, "BUY", 1, 1), {**trade(0, 0, 0, "BUY", 2, 2), "condition_id": None, "outcome": None}]
    assert follow(trades(*rows)).height == 1
    assert follow(trades()).is_empty()


def test_two_trades_at_one_place_are_an_error_that_names_the_place() -> None:
    with pytest.raises(ValueError, match=r"block 7, log 3; drop duplicates"):
        follow(trades(trade(0, 0, 0, "BUY", 1, 7, 3), trade(0, 1, 0, "BUY", 1, 7, 3)))
    # Also where the second one would be beyond what is looked at.
    with pytest.raises(ValueError, match=r"block 7, log 3; drop duplicates"):
        follow(trades(trade(0, 0, 0, "BUY", 1, 7, 3), trade(0, 0, 0, "BUY", 2, 7, 3)), most=1)


def test_a_position_may_reach_the_last_integer_and_not_pass_it() -> None:
    rows = [trade(0, 0, 0, "BUY", LIMIT - 1, 1), trade(0, 0, 0, "BUY", 1, 2)]
    assert follow(trades(*rows))["position_after"].to_list() == [LIMIT - 1, LIMIT]
    with pytest.raises(OverflowError, match="block 3"):
        follow(trades(*rows, trade(0, 0, 0, "BUY", 1, 3)))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 80))
def test_equals_a_dictionary_of_sums_in_any_row_order(seed: int, n: int) -> None:
    rows = world(seed, n)
    held: dict[tuple[bytes, bytes, int], int] = {}
    expected = []
    for row in in_order(rows):
        key = (row["wallet"], row["condition_id"], row["outcome"])
        held[key] = held.get(key, 0) + (row["amount"] if row["direction"] == "BUY" else -row["amount"])
        expected.append((*at(row), held[key]))
    frame = follow(trades(*rows))
    assert frame.select("block_number", "log_index", "position_after").rows() == expected
    assert follow(trades(*rows).sample(fraction=1, shuffle=True, seed=seed)).equals(frame)
    finals = frame.filter("last_of_outcome").select("wallet", "condition_id", "outcome", "position_after").rows()
    assert {row[:3]: row[3] for row in finals} == held


def _ledger(*rows: tuple[int, int, str, int | None, int]) -> pl.DataFrame:
    """Rows of wallet 0 in market 0: (outcome, log, kind, delta, block)."""
    return pl.DataFrame(
        [(wallet(0), market(0), outcome, kind, delta, block, log) for outcome, log, kind, delta, block in rows],
        schema=LEDGER,
        orient="row",
    )


MOVES = _ledger(
    (0, 0, "split", 17, 10),
    (1, 0, "split", 17, 10),
    (0, 0, "trade", -3, 20),
    (0, 0, "merge", -13, 40),
    (1, 0, "merge", -13, 40),
    (0, 0, "redeem", None, 50),
    (1, 0, "redeem", None, 50),
    (1, 1, "transfer", 6, 60),
)
RESOLVED = table("resolutions", {"condition_id": market(0), "numerators": [0, 1], "block_number": 30, "log_index": 0})
TRADED = trades(trade(0, 0, 0, "SELL", 3, 20))


@pytest.mark.parametrize(
    ("cut", "resolutions", "expected"),
    [("resolution", RESOLVED, [14, 17]), ("redemption", RESOLVED, [1, 4]), ("resolution", RESOLVED[:0], [1, 4])],
)
def test_the_full_ledger_is_read_before_the_cut(cut: str, resolutions: pl.DataFrame, expected: list[int]) -> None:
    followed = follow_ledger(MOVES, resolutions, OnchainSettings(full_ledger_cut=cut))
    assert followed.filter("final").sort("outcome")["position_after"].to_list() == expected
    table_ = positions(follow(TRADED), followed)
    assert table_["full"].to_list() == expected
    assert table_["trade_only"].to_list() == [-3, 0]


def test_a_change_at_the_place_of_the_resolution_is_too_late() -> None:
    moves = _ledger((0, 5, "trade", 4, 30), (0, 6, "trade", 4, 30))
    late = RESOLVED.with_columns(pl.lit(6, pl.Int32).alias("log_index"))
    followed = follow_ledger(moves, late, OnchainSettings())
    assert followed.filter("final")["position_after"].to_list() == [4]


def test_a_redemption_burns_the_balance_and_is_paid_for_it() -> None:
    followed = follow_ledger(MOVES, RESOLVED, OnchainSettings())
    assert followed.filter(pl.col("kind") == "redeem")["position_before"].to_list() == [1, 4]
    assert followed["position_after"][-1] == 6
    for payout, reconciles in ((4, True), (5, False)):
        paid = table(
            "position_changes",
            {"kind": "redeem", "collateral": payout, "block_number": 50, "log_index": 0, "leg": 0},
            {"kind": "redeem", "block_number": 50, "log_index": 0, "leg": 1},
        )
        checked = reconcile(followed, paid, RESOLVED)
        assert checked.select("expected", "payout", "reconciles").rows() == [(4, payout, reconciles)]
        assert reconcile(followed, paid, RESOLVED[:0])["reconciles"].to_list() == [None]
        assert share_reconciled(checked) == (int(reconciles), 1, 1)


def test_a_payout_is_rounded_down_for_each_outcome() -> None:
    moves = _ledger((0, 0, "split", 5, 1), (1, 0, "split", 3, 1), (0, 0, "redeem", None, 9), (1, 0, "redeem", None, 9))
    even = table("resolutions", {"condition_id": market(0), "numerators": [1, 1], "block_number": 5, "log_index": 0})
    paid = table("position_changes", {"kind": "redeem", "collateral": 3, "block_number": 9, "log_index": 0, "leg": 0})
    assert reconcile(follow_ledger(moves, even, OnchainSettings()), paid, even)["expected"].to_list() == [2 + 1]


@pytest.mark.parametrize("folder", ["wallet_a0932d9", "wallet_a79af3b_part1"])
def test_the_steps_of_real_wallets(folder: str) -> None:
    path = DATA / folder / "expected.json"
    if not path.exists():
        pytest.skip(f"real logs are not at {path.parent}")
    expected = json.loads(path.read_text())
    steps = expected["derived_steps"]
    tokens = sorted({step["token_id"] for step in steps})
    # Tokens of unknown conditions: each stands for a market of its own, which is enough for a ledger of tokens.
    moved = pl.DataFrame(
        [
            (
                wallet(0),
                int(step["token_id"]).to_bytes(32, "big"),
                0,
                step["event"],
                int(step["delta_raw"]),
                step["blockNumber"],
                step["logIndex"],
            )
            for step in steps
        ],
        schema=LEDGER,
        orient="row",
    )
    full = follow_ledger(moved, table("resolutions"), OnchainSettings()).sort("block_number", "log_index", "outcome")
    by_place = {
        (row["condition_id"], row["block_number"], row["log_index"]): row["position_after"]
        for row in full.iter_rows(named=True)
    }
    traded = follow(
        trades(
            *(
                {
                    **trade(0, 0, 0, step["event"], abs(int(step["delta_raw"])), step["blockNumber"], step["logIndex"]),
                    "condition_id": int(step["token_id"]).to_bytes(32, "big"),
                }
                for step in steps
                if step["event"] in ("BUY", "SELL")
            )
        )
    )
    trade_only = {
        (row["condition_id"], row["block_number"], row["log_index"]): row["position_after"]
        for row in traded.iter_rows(named=True)
    }
    for step in steps:
        key = (int(step["token_id"]).to_bytes(32, "big"), step["blockNumber"], step["logIndex"])
        assert by_place[key] == int(step["with_ctf_events_after_raw"])
        if step["event"] in ("BUY", "SELL"):
            assert trade_only[key] == int(step["trade_only_after_raw"])
    lows = dict(traded.group_by("condition_id").agg(pl.col("position_after").min().clip(upper_bound=0)).iter_rows())
    for final in expected["derived_final"]:
        if final["token_id"] in tokens:
            assert lows.get(int(final["token_id"]).to_bytes(32, "big"), 0) == int(final["trade_only_min_raw"])
