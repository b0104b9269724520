"""Baselines against plain Python, blind to the future; prompts without a label; replies read or refused."""

import json
from collections import Counter
from typing import Any

import polars as pl
import pytest
from chain_worlds import at, in_order, trade, trades, wallet, world
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.models import Reply
from pipelines.onchain.beliefs import FLAT, belief_instances
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.contenders import BASELINES
from pipelines.onchain.histories import gather, histories
from pipelines.onchain.markets import TargetContext
from pipelines.onchain.positions import follow, positions
from pipelines.onchain.profiles import Profile
from pipelines.onchain.prompts import (
    BeliefAnswer,
    BeliefInput,
    History,
    TradeAnswer,
    TradeInput,
    belief_prompt,
    direct_history,
    profile_history,
    retrieval_history,
    trade_prompt,
)
from pipelines.onchain.rules import Known, known
from pipelines.onchain.rules import answers as answers_of
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import COHORT
from pipelines.onchain.trade_instances import trade_instances
from pipelines.onchain.wording import read_belief, read_trade

SETTINGS = OnchainSettings(history_events=3)
YES_NO = TargetContext(question="Will it rain?", outcomes=["Yes", "No"])


def build(rows: list[dict[str, Any]], wallets: int = 6) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    cohort = pl.DataFrame({"wallet": [wallet(u) for u in range(wallets)]}).with_columns(
        pl.lit("evaluation", COHORT).alias("cohort")
    )
    followed = follow(trades(*rows).join(cohort, on="wallet"))
    none = followed.select("wallet", "condition_id", "outcome", "position_after", final=pl.lit(False))
    beliefs = belief_instances(followed, positions(followed, none), cohort, SETTINGS)
    instances = trade_instances(followed.drop("cohort"), cohort, SETTINGS)
    return followed, beliefs, instances


def answers(rows: list[dict[str, Any]]) -> pl.DataFrame:
    followed, beliefs, instances = build(rows)
    own = Known(instances, beliefs)
    return pl.concat(answers_of(method, own, followed, own.train()) for method in BASELINES)


def lower_median(values: list[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]


def most(directions: list[str]) -> str:
    return "BUY" if 2 * directions.count("BUY") >= len(directions) else "SELL"


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 110))
def test_trade_baselines_equal_plain_python(seed: int, n: int) -> None:
    rows = in_order(world(seed, n))
    _, _, instances = build(rows)
    split = dict(zip(((row["wallet"], *at(row)) for row in rows), instances["split"].to_list(), strict=True))
    found = answers(rows).filter(pl.col("layer") == "trade")
    by_method = {
        key[0]: part.sort("wallet", "event") for key, part in found.partition_by("method", as_dict=True).items()
    }
    assert set(by_method) == {"last_direction", "wallet_median", "market_median"}
    for i, target in enumerate(rows):
        own = [row for row in rows if row["wallet"] == target["wallet"] and at(row) < at(target)]
        here = [row for row in own if row["condition_id"] == target["condition_id"]]
        others = [
            row
            for row in rows
            if row["condition_id"] == target["condition_id"]
            and row["wallet"] != target["wallet"]
            and row["block_number"] < target["block_number"]
            and split[row["wallet"], *at(row)] == "train"
        ]
        last = (here or own or [{"direction": "BUY", "amount": 0}])[-1]
        basis = "market" if here else "all" if own else "default"
        got = by_method["last_direction"].row(i, named=True)
        assert (got["direction"], got["amount"], got["basis"]) == (last["direction"], last["amount"], basis)
        median = (most([row["direction"] for row in own]), lower_median([row["amount"] for row in own]) if own else 0)
        got = by_method["wallet_median"].row(i, named=True)
        assert (got["direction"], got["amount"]) == median
        if others:
            median = (most([row["direction"] for row in others]), lower_median([row["amount"] for row in others]))
        got = by_method["market_median"].row(i, named=True)
        assert (got["direction"], got["amount"]) == median
        assert got["basis"] == ("market" if others else "all" if own else "default")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 110))
def test_belief_baselines_equal_plain_python(seed: int, n: int) -> None:
    rows = in_order(world(seed, n, sells=0.5))
    _, beliefs, _ = build(rows)
    found = answers(rows).filter(pl.col("layer") == "belief")
    of = {(row["method"], row["wallet"], row["event"]): row for row in found.iter_rows(named=True)}
    table = beliefs.to_dicts()
    for target in table:
        past = [row for row in table if row["split"] == "train" and row["cut_block"] < target["cut_block"]]
        here = [row["side"] for row in past if row["condition_id"] == target["condition_id"]]
        pool = here or [row["side"] for row in past]
        count = Counter(pool)
        side = min(count, key=lambda s: (-count[s], s == FLAT, s)) if pool else 0
        got = of["majority_side", target["wallet"], target["cut_event"]]
        assert (got["side"], got["confidence"]) == (side, 0.0 if side == FLAT else 1.0)
        assert got["basis"] == ("market" if here else "all" if past else "default")
        held: dict[int, int] = {}
        for row in rows:
            same = (row["wallet"], row["condition_id"]) == (target["wallet"], target["condition_id"])
            if same and at(row) < (target["cut_block"], target["cut_log_index"]):
                sign = 1 if row["direction"] == "BUY" else -1
                held[row["outcome"]] = held.get(row["outcome"], 0) + sign * row["amount"]
        earlier = [row for row in table if row["wallet"] == target["wallet"] and row["cut_event"] < target["cut_event"]]
        got = of["last_side", target["wallet"], target["cut_event"]]
        mass = sum(max(p, 0) for p in held.values())
        if held:
            side = min(held, key=lambda o: (-max(held[o], 0), o)) if mass else FLAT
            assert (got["side"], got["basis"]) == (side, "market")
            assert got["confidence"] == (max(held.values()) / mass if mass else 0)
        elif earlier:
            last = max(earlier, key=lambda row: row["cut_event"])
            assert (got["side"], got["confidence"], got["basis"]) == (last["side"], last["confidence"], "all")
        else:
            assert (got["side"], got["confidence"], got["basis"]) == (0, 1.0, "default")


def test_the_answers_are_a_table_and_do_not_depend_on_row_order() -> None:
    rows = world(4, 90)
    found = answers(rows)
    assert found.schema == PREDICTION_TABLES["predictions"].schema
    assert not found.select(PREDICTION_TABLES["predictions"].key).is_duplicated().any()
    assert answers(list(reversed(rows))).equals(found)


def test_what_happens_at_the_target_and_later_changes_no_answer() -> None:
    """Directions and amounts of the last block are flipped: nothing that was answered up to it moves."""
    rows = world(11, 100)
    end = max(row["block_number"] for row in rows)
    flipped = [
        {**row, "amount": row["amount"] + 999, "direction": "BUY" if row["direction"] == "SELL" else "SELL"}
        if row["block_number"] == end
        else row
        for row in rows
    ]
    first: dict[bytes, tuple[int, int]] = {}
    for row in in_order(rows):
        if row["block_number"] == end:
            first.setdefault(row["wallet"], at(row))
    keys = trades(*rows).join(pl.DataFrame({"wallet": list(first)}), on="wallet", how="anti")
    assert keys.height < len(rows)
    before, after = (answers(world_).filter(pl.col("layer") == "trade") for world_ in (rows, flipped))
    instances = build(rows)[2].select("wallet", "event", "block_number", "log_index")
    # Of the last block itself the first own trade is still blind to everything in it.
    kept = instances.filter(
        (pl.col("block_number") < end)
        | pl.struct("block_number", "log_index", "wallet").map_elements(
            lambda row: first.get(row["wallet"]) == (row["block_number"], row["log_index"]), return_dtype=pl.Boolean
        )
    )
    assert kept.filter(pl.col("block_number") == end).height > 0
    shown = [frame.join(kept, on=["wallet", "event"], how="semi") for frame in (before, after)]
    assert shown[0].equals(shown[1])


def test_a_prompt_has_no_place_for_the_target_itself() -> None:
    rows = [trade(0, 0, 0, "BUY", 1_234_567, 1), trade(0, 0, 1, "SELL", 7_654_321, 2), trade(1, 0, 0, "BUY", 5, 1, 9)]
    followed, beliefs, instances = build(rows, 2)
    nobody = followed[:0].with_columns(pl.lit(0, pl.Int32).alias("rank"))
    table = histories(followed, instances, beliefs, nobody, SETTINGS)
    target = table.filter((pl.col("layer") == "trade") & (pl.col("wallet") == wallet(0)) & (pl.col("event") == 1))
    shown = gather(target, followed, nobody, "direct").to_dicts()
    prompt = trade_prompt(YES_NO, 1, direct_history(shown))
    text = prompt.model_dump_json()
    assert "1234567" in text
    assert "7654321" not in text
    assert "SELL" not in text
    assert trade_prompt(YES_NO, 1, direct_history(shown), show_outcome=False).outcome is None
    fields = set(TradeInput.model_fields) | set(BeliefInput.model_fields) | set(TargetContext.model_fields)
    assert not fields & {"direction", "amount", "collateral", "price", "side", "confidence", "closed", "volume"}
    assert TradeInput.model_validate_json(text) == prompt
    assert json.dumps(TradeAnswer.model_json_schema())
    assert json.dumps(BeliefAnswer.model_json_schema())


def test_histories_of_every_interface_fit_the_input() -> None:
    row = {
        "condition_id": b"m", "outcome": 0, "direction": "BUY", "amount": 1, "collateral": 1, "price": 1.0,
        "block_number": 3, "log_index": 0, "time": None,
    }  # fmt: skip
    found = retrieval_history([{**row, "source": 0}, {**row, "source": 0}, {**row, "source": 1}])
    assert [len(wallet_.trades) for wallet_ in found.support] == [2, 1]
    everywhere = direct_history([row], {b"m": YES_NO})
    assert everywhere.trades[0].market == YES_NO
    assert profile_history(None).profile is None
    for history in (found, everywhere, History(interface="none")):
        assert belief_prompt(YES_NO, history).history == history
    assert set(Profile.model_fields) >= {"trades", "markets", "median_amount"}


def test_the_tables_that_any_method_may_read_hold_what_baselines_need() -> None:
    rows = world(17, 200)
    followed, beliefs, instances = build(rows)
    nobody = followed[:0].with_columns(pl.lit(0, pl.Int32).alias("rank"))
    found = known(histories(followed, instances, beliefs, nobody, SETTINGS), followed)
    for got, gold, order in (
        (found.trades, instances, ["wallet", "event"]),
        (found.beliefs, beliefs, ["wallet", "cut_event"]),
    ):
        assert got.sort(order).equals(gold.select(got.columns).sort(order))
        assert got.height >= 30
    assert set(found.beliefs["side"]) >= {FLAT, 0, 1}
    assert found.train().trades.height < found.trades.height
    empty = known(histories(followed, instances[:0], beliefs[:0], nobody, SETTINGS), followed[:0])
    assert all(answers_of(method, empty, followed[:0], found.train()).is_empty() for method in BASELINES)


INVALID: tuple[str, dict[str, Any]] = ("invalid", {})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"side": "Yes", "confidence": 0.7}', ("ok", {"side": 0, "confidence": 0.7})),
        ('\n```json\n{"side": " no ", "confidence": 1}\n```\n', ("ok", {"side": 1, "confidence": 1.0})),
        ('{"side": "FLAT", "confidence": 0}', ("ok", {"side": FLAT, "confidence": 0.0})),
        ('{"side": "Maybe", "confidence": 0.5}', INVALID),
        ('{"side": "Yes", "confidence": 1.01}', INVALID),
        ('{"side": "Yes", "confidence": NaN}', INVALID),
        ('{"side": "Yes", "confidence": 1e999}', INVALID),
        ('{"side": "Yes", "confidence": "0.7"}', INVALID),
        ('{"side": "Yes", "confidence": true}', INVALID),
        ('{"side": "Yes"}', INVALID),
        ('{"side": "Yes", "side": "No", "confidence": 0.7}', INVALID),
        ('{"side": "Yes", "confidence": 0.5, "why": "x"}', INVALID),
        ('I think {"side": "Yes", "confidence": 0.7}', INVALID),
        ("Yes, 0.7", INVALID),
        ('{"side": "Yes", "confidence": 0.7', INVALID),
    ],
)
def test_replies_about_beliefs(reply: str, expected: tuple[str, dict[str, Any]]) -> None:
    assert read_belief(Reply(reply, "ok"), ["Yes", "No"]) == expected


def test_an_outcome_called_flat_is_the_outcome() -> None:
    found = read_belief(Reply('{"side": "flat", "confidence": 1}', "ok"), ["Up", "Flat"])
    assert found == ("ok", {"side": 1, "confidence": 1.0})


def test_outcomes_that_differ_in_case_alone_can_each_be_named() -> None:
    for place, name in enumerate(("Over", "over")):
        found = read_belief(Reply(json.dumps({"side": name, "confidence": 1}), "ok"), ["Over", "over"])
        assert found == ("ok", {"side": place, "confidence": 1.0})
    assert read_belief(Reply('{"side": "OVER", "confidence": 1}', "ok"), ["Over", "over"])[1]["side"] == 0


@pytest.mark.parametrize("status", ["empty", "truncated", "refused", "failed"])
def test_a_reply_that_is_not_whole_keeps_its_status_and_is_not_read(status: Any) -> None:
    whole = '{"direction": "BUY", "amount": 1}'
    assert read_trade(Reply(whole, status)) == (status, {})
    assert read_belief(Reply(whole, status), ["Yes", "No"]) == (status, {})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"direction": "BUY", "amount": 1000000}', ("BUY", 1_000_000)),
        ('{"direction": "SELL", "amount": 0}', ("SELL", 0)),
        ('{"direction": "SELL", "amount": 1.0}', ("SELL", 1)),
        ('{"direction": "buy", "amount": 1}', None),
        ('{"direction": "BUY", "amount": -1}', None),
        ('{"direction": "BUY", "amount": 1.5}', None),
        ('{"direction": "BUY", "amount": true}', None),
        ('{"direction": "BUY", "amount": "1"}', None),
        ('{"direction": "BUY", "amount": 1e999}', None),
        ('{"direction": "BUY", "amount": 9223372036854775807}', ("BUY", 2**63 - 1)),
        ('{"direction": "BUY", "amount": 9223372036854775808}', None),
    ],
)
def test_replies_about_trades(reply: str, expected: tuple[str, int] | None) -> None:
    values = {} if expected is None else dict(zip(("direction", "amount"), expected, strict=True))
    assert read_trade(Reply(reply, "ok")) == ("invalid" if expected is None else "ok", values)
