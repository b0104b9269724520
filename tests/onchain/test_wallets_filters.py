"""Candidates, the declared filters with their borders, the funnel, and the draw."""

from typing import Any

import polars as pl
import pytest
from chain_worlds import market, table, trade, trades, wallet

from pipelines.commerce.funnel import funnel
from pipelines.onchain.abi import EVENTS
from pipelines.onchain.contracts import CONDITIONAL_TOKENS, EXCHANGES_V1
from pipelines.onchain.funnel import cohort_steps
from pipelines.onchain.positions import follow
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import ONCHAIN_TABLES
from pipelines.onchain.wallets import (
    add_funnels,
    appearances,
    assess,
    cohort_trades,
    draw,
    filters,
    log_features,
    sequences,
    shares,
    traded_features,
    up_to_last_block,
)

OPEN = OnchainSettings(min_markets=1, max_concentration_percent=100, max_burst_percent=100, min_trades=1, min_rows=1)
TOPICS = {event.name: event.topic0 for event in EVENTS}
NO_LOGS = pl.DataFrame(
    schema={
        "wallet": pl.Binary,
        "logs": pl.Int64,
        "transactions": pl.Int64,
        "contracts": pl.Int64,
        "active_blocks": pl.Int64,
    }
)


def buys(u: int, m: int, n: int, block: int = 1_000, step: int = 10_000) -> list[dict[str, Any]]:
    return [trade(u, m, 0, "BUY", 5, block + i * step, u * 1_000 + m) for i in range(n)]


def judge(
    rows: list[dict[str, Any]], limits: OnchainSettings
) -> tuple[dict[int, str], set[tuple[int, int]], pl.DataFrame]:
    """Reason of every wallet, wallet–markets left, funnel."""
    wallets, left, funnel = assess(NO_LOGS, follow(up_to_last_block(trades(*rows), limits)), limits)
    number = {wallet(u): u for u in range(100)} | {market(m): m for m in range(100)}
    reasons = {number[row["wallet"]]: row["reason"] for row in wallets.iter_rows(named=True)}
    return reasons, {(number[w], number[m]) for w, m in left.select("wallet", "condition_id").rows()}, funnel


def test_exactly_ten_markets_are_enough() -> None:
    limits = OPEN.model_copy(update={"min_markets": 10})
    rows = [row for m in range(10) for row in buys(0, m, 1)] + [row for m in range(9) for row in buys(1, m, 1)]
    assert judge(rows, limits)[0] == {0: "", 1: "too few markets"}


def test_the_last_block_is_inside() -> None:
    rows = buys(0, 0, 1, 80_000_000) + buys(1, 0, 1, 80_000_001)
    kept = up_to_last_block(trades(*rows), OnchainSettings())
    assert kept["wallet"].to_list() == [wallet(0)]


@pytest.mark.parametrize(("mode", "left"), [("exclude", {(0, 0), (1, 1)}), ("keep_first", {(0, 0), (1, 0), (1, 1)})])
def test_thirty_rows_are_allowed_and_longer_sequences_are_left_out_or_cut(
    mode: str, left: set[tuple[int, int]]
) -> None:
    limits = OPEN.model_copy(update={"over_max_rows": mode})
    rows = buys(0, 0, 30) + buys(1, 0, 31) + buys(1, 1, 1)
    reasons, sequences_left, _ = judge(rows, limits)
    assert reasons == {0: "", 1: ""}
    assert sequences_left == left
    wallets, pairs, _ = assess(NO_LOGS, follow(trades(*rows)), limits)
    drawn = draw(wallets, limits)
    kept = cohort_trades(trades(*rows), drawn, pairs, limits)
    counts = kept.group_by("wallet", "condition_id").len().sort("wallet", "condition_id")["len"].to_list()
    assert counts == ([30, 1] if mode == "exclude" else [30, 30, 1])
    assert kept.filter(pl.col("wallet") == wallet(1))["event"].to_list() == list(range(1 if mode == "exclude" else 31))


def test_a_sequence_that_goes_below_zero_is_left_out_and_zero_is_not_below() -> None:
    rows = [trade(0, 0, 0, "BUY", 5, 1), trade(0, 0, 0, "SELL", 5, 2), trade(0, 1, 0, "BUY", 5, 3)]
    rows += [trade(0, 2, 0, "SELL", 1, 4), trade(0, 2, 0, "BUY", 9, 5)]
    assert judge(rows, OPEN)[1] == {(0, 0), (0, 1)}
    assert judge(rows, OPEN.model_copy(update={"drop_negative": False}))[1] == {(0, 0), (0, 1), (0, 2)}
    cut = OPEN.model_copy(update={"over_max_rows": "keep_first", "max_rows": 1})
    late = [trade(0, 0, 0, "BUY", 1, 1), trade(0, 0, 0, "SELL", 5, 2)]
    assert judge(late, cut)[1] == {(0, 0)}


def test_short_sequences_go_and_may_take_the_wallet_below_ten_markets() -> None:
    limits = OPEN.model_copy(update={"min_markets": 10, "min_rows": 2})
    ten = [row for m in range(10) for row in buys(0, m, 2)]
    nine = [row for m in range(10) for row in buys(1, m, 2 if m else 1)]
    reasons, left, _ = judge(ten + nine, limits)
    assert reasons == {0: "", 1: "too few markets left"}
    assert {u for u, _ in left} == {0}


def test_half_of_the_trades_in_one_market_is_not_yet_concentrated() -> None:
    limits = OPEN.model_copy(update={"max_concentration_percent": 50})
    rows = buys(0, 0, 3) + buys(0, 1, 3) + buys(1, 0, 4) + buys(1, 1, 3)
    assert judge(rows, limits)[0] == {0: "", 1: "concentrated"}


def test_bursts_are_counted_in_a_window_that_begins_anywhere() -> None:
    limits = OPEN.model_copy(update={"max_burst_percent": 50, "burst_blocks": 100})
    spread = [trade(0, 0, 0, "BUY", 1, block) for block in (1_050, 1_149, 1_150, 1_249)]
    dense = [trade(1, 0, 0, "BUY", 1, block) for block in (1_050, 1_149, 1_149, 1_249)]
    dense[2] = {**dense[2], "log_index": 1}
    features = traded_features(follow(trades(*spread, *dense)), limits)
    assert features["busiest_window_trades"].to_list() == [2, 3]
    assert judge(spread + dense, limits)[0] == {0: "", 1: "bursty"}


def test_lengths_have_both_borders_inside() -> None:
    limits = OPEN.model_copy(update={"min_trades": 3, "max_trades": 4})
    rows = [row for u in range(4) for row in buys(u, 0, u + 2)]
    assert judge(rows, limits)[0] == {0: "too few trades", 1: "", 2: "", 3: "too many trades"}


def test_the_funnel_names_every_filter_and_shards_add_up() -> None:
    rows = [row for u in range(4) for m in range(3) for row in buys(u, m, u + 1)]
    limits = OPEN.model_copy(update={"min_rows": 2, "max_trades": 9, "min_markets": 3})
    _, _, whole = judge(rows, limits)
    assert whole["filter"].to_list() == ["seen", *(each.name for each in filters(limits))]
    assert whole.select("wallets", "sequences", "trades").rows()[0] == (4, 12, 30)
    too_many = whole.filter(pl.col("filter") == "too many trades").row(0, named=True)
    assert (too_many["wallets"], too_many["sequences"], too_many["trades"]) == (3, 9, 18)
    assert too_many["threshold"] == "≤ 9 trades"
    assert too_many["origin"].endswith("threshold ours")
    assert whole.select("wallets", "sequences", "trades").rows()[-1] == (2, 6, 15)
    parts = [
        judge([row for row in rows if (row["wallet"] in (wallet(0), wallet(3))) == side], limits)[2]
        for side in (True, False)
    ]
    assert add_funnels(parts).equals(whole)


def test_a_wallet_without_trades_is_seen_and_stopped() -> None:
    features = pl.DataFrame([(wallet(7), 3, 2, 1, 2)], schema=NO_LOGS.schema, orient="row")
    wallets, _, funnel = assess(features, follow(trades(*buys(0, 0, 1))), OPEN)
    assert wallets.select("wallet", "logs", "trades", "reason").rows() == [
        (wallet(0), 0, 1, ""),
        (wallet(7), 3, 0, "no trade up to the last block"),
    ]
    assert funnel["wallets"].to_list()[:2] == [2, 1]
    assert sequences(follow(trades()), OPEN).is_empty()


def _log(name: str, topics: list[bytes], block: int, log: int, **more: Any) -> dict[str, Any]:
    return {
        "address": next(iter(sorted(EXCHANGES_V1))),
        "topic0": TOPICS[name],
        **{f"topic{i}": topic for i, topic in enumerate(topics, 1)},
        "data": b"",
        "block_number": block,
        "tx_index": log // 10,
        "log_index": log,
        "removed": False,
        **more,
    }


def test_features_count_what_indexed_addresses_name() -> None:
    pad = b"\0" * 12
    maker, taker, exchange = pad + wallet(0), pad + wallet(1), pad + next(iter(sorted(EXCHANGES_V1)))
    # An order hash that looks like an address is no wallet: that topic is no address.
    order = pad + wallet(9)
    logs = table(
        "logs",
        _log("order_filled_v1", [order, maker, taker], 1, 0),
        _log("order_filled_v1", [order, taker, exchange], 1, 1),
        _log("order_filled_v1", [order, maker, maker], 1, 12),
        _log("ctf_split", [maker, b"\0" * 32, market(0)], 2, 0, address=CONDITIONAL_TOKENS),
        _log("order_filled_v1", [order, maker, taker], 3, 0, removed=True),
        _log("condition_preparation", [market(0), pad + wallet(8), market(1)], 3, 1, address=CONDITIONAL_TOKENS),
    )
    features = log_features(appearances(logs.lazy()))
    assert features.rows() == [(wallet(0), 3, 3, 2, 2), (wallet(1), 2, 1, 1, 1)]
    assert features.columns == ["wallet", "logs", "transactions", "contracts", "active_blocks"]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (0, (0, 0)),
        (1, (1, 0)),
        (2, (1, 1)),
        (10, (5, 5)),
        (4_021, (2_000, 2_021)),
        (4_022, (2_000, 2_022)),
        (9_999, (2_000, 2_022)),
    ],
)
def test_few_wallets_are_shared_in_proportion(n: int, expected: tuple[int, int]) -> None:
    assert shares(n, OnchainSettings()) == expected


def test_the_draw_is_disjoint_and_depends_on_wallet_and_seed_alone() -> None:
    limits = OPEN.model_copy(update={"evaluation_wallets": 5, "support_wallets": 4})
    rows = [row for u in range(20) for row in buys(u, 0, 1)]
    wallets, _, _ = assess(NO_LOGS, follow(trades(*rows)), limits)
    drawn = draw(wallets, limits)
    by_cohort = {key[0]: part for key, part in drawn.partition_by("cohort", as_dict=True).items()}
    assert {name: part.height for name, part in by_cohort.items()} == {"evaluation": 5, "support": 4, "unused": 11}
    assert sorted(by_cohort["evaluation"]["rank"]) == [0, 1, 2, 3, 4]
    assert sorted(by_cohort["support"]["rank"]) == [0, 1, 2, 3]
    assert by_cohort["unused"]["rank"].null_count() == 11
    assert not set(by_cohort["evaluation"]["wallet"]) & set(by_cohort["support"]["wallet"])
    assert drawn.schema == ONCHAIN_TABLES["wallets"].schema
    assert draw(wallets.sample(fraction=1, shuffle=True, seed=3), limits).equals(drawn)
    other = draw(wallets, limits.model_copy(update={"seed": 1}))
    assert not other.equals(drawn)
    # A wallet that leaves moves only who comes after it.
    gone = by_cohort["unused"]["wallet"][0]
    assert draw(wallets.filter(pl.col("wallet") != gone), limits).equals(drawn.filter(pl.col("wallet") != gone))
    with pytest.raises(ValueError, match="two shards"):
        draw(pl.concat([wallets, wallets]), limits)


def test_every_setting_names_unit_and_origin() -> None:
    for name, field in OnchainSettings.model_fields.items():
        extra = field.json_schema_extra
        assert isinstance(extra, dict)
        assert extra["origin"].startswith(("paper §", "ours")), name
        assert field.description, name
    assert len({each.name for each in filters(OnchainSettings())}) == len(filters(OnchainSettings()))


def test_the_funnel_explains_every_wallet() -> None:
    rows = [row for u in range(8) for m in range(3) for row in buys(u, m, u % 3 + 1)]
    limits = OPEN.model_copy(update={"min_rows": 2, "min_markets": 3, "evaluation_wallets": 2, "support_wallets": 1})
    wallets, _, cohort_funnel = assess(NO_LOGS, follow(trades(*rows)), limits)
    steps = cohort_steps(cohort_funnel, draw(wallets, limits))
    assert funnel(steps).select("step", "unit", "reason", "n").rows() == [
        ("filters", "wallets", "", 5),
        ("filters", "wallets", "too few markets left", 3),
        ("filters", "wallet–markets", "", 15),
        ("filters", "wallet–markets", "sequence too short", 9),
        ("draw", "wallets", "", 2),
        ("draw", "wallets", "support", 1),
        ("draw", "wallets", "unused", 2),
    ]
