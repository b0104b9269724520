"""Histories: ranges by hand, retrieval against a slow oracle, no row at or after the cut, and planted leaks."""

from typing import Any

import polars as pl
import pytest
from chain_worlds import at, in_order, market, trade, trades, wallet, world
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.onchain.beliefs import belief_instances
from pipelines.onchain.histories import INTERFACES, gather, histories, violations
from pipelines.onchain.positions import follow, positions
from pipelines.onchain.profiles import profile, profiles
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import COHORT, ONCHAIN_TABLES
from pipelines.onchain.trade_instances import trade_instances

SMALL = OnchainSettings(history_events=3, retrieved_wallets=2, retrieved_events=2)
Built = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def build(rows: list[dict[str, Any]], evaluated: set[int], limits: OnchainSettings = SMALL) -> Built:
    """Histories, cohort trades and support trades; wallets that are not evaluated are support, ranked by number."""
    wallets = sorted({int.from_bytes(row["wallet"][-2:], "big") for row in rows})
    support = [u for u in wallets if u not in evaluated]
    cohort = pl.DataFrame(
        [
            (wallet(u), "evaluation" if u in evaluated else "support", support.index(u) if u in support else u)
            for u in wallets
        ],
        schema={"wallet": pl.Binary, "cohort": COHORT, "rank": pl.Int32},
        orient="row",
    )
    followed = follow(trades(*rows).join(cohort, on="wallet"))
    none = followed.select("wallet", "condition_id", "outcome", "position_after", final=pl.lit(False))
    beliefs = belief_instances(followed, positions(followed, none), cohort, limits)
    own = followed.select(ONCHAIN_TABLES["cohort_trades"].schema.names())
    of_support = followed.filter(pl.col("cohort") == "support")
    # Instances of support wallets exist as well; only evaluation wallets are targets.
    table = histories(
        own,
        trade_instances(followed.drop("cohort", "rank"), cohort, limits).filter(pl.col("cohort") == "evaluation"),
        beliefs.filter(pl.col("cohort") == "evaluation"),
        of_support,
        limits,
    )
    return table, own, of_support


def test_ranges_of_the_direct_history() -> None:
    rows = [trade(0, m, 0, "BUY", 10 * m + k, 10 * k + m) for k in range(5) for m in range(2)]
    table, own, support = build(rows, {0})
    targets = table.filter(pl.col("layer") == "trade")
    assert targets["direct_first"].to_list() == [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    assert targets["direct_n"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3, 3, 3]
    assert targets["all_first"].to_list() == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6]
    assert targets["all_n"].to_list() == [0, 1, 2, 3, 3, 3, 3, 3, 3, 3]
    last = targets.filter(pl.col("event") == 9)
    assert gather(last, own, support, "direct")["amount"].to_list() == [11, 12, 13]
    assert gather(last, own, support, "direct", "all_markets")["amount"].to_list() == [3, 13, 4]
    assert gather(last, own, support, "none").is_empty()
    beliefs = table.filter(pl.col("layer") == "belief").sort("event")
    assert beliefs.select("event", "direct_first", "direct_n").rows() == [(8, 1, 3), (9, 1, 3)]
    assert gather(beliefs, own, support, "direct").filter(pl.col("event") == 8)["amount"].to_list() == [1, 2, 3]


def test_a_profile_is_made_of_train_events_and_train_targets_have_none() -> None:
    rows = [trade(0, k % 2, k % 3, "SELL" if k == 4 else "BUY", k + 1, k + 1) for k in range(10)]
    table, own, support = build(rows, {0})
    targets = table.filter(pl.col("layer") == "trade")
    assert targets["profile_n"].to_list() == [None] * 6 + [6] * 4
    shown = gather(targets.filter(pl.col("event") == 9), own, support, "profile")
    assert shown["amount"].to_list() == [1, 2, 3, 4, 5, 6]
    names = pl.DataFrame({"condition_id": [market(0), market(1)], "category": ["b", None]})
    made = profile(profiles(own, table, names, "trade").row(0, named=True))
    assert made.model_dump() == {
        "trades": 6,
        "markets": 2,
        "buys": 5,
        "sells": 1,
        "median_amount": 3,
        "largest_amount": 6,
        "median_price": 0.5,
        "median_trades_per_market": 3,
        "by_outcome": [2, 2, 2],
        "categories": ["b"],
    }
    # Two beliefs: both in train, so that the layer has no profile at all.
    assert profiles(own, table, names, "belief").is_empty()


def test_support_of_the_same_block_is_not_shown_even_with_an_earlier_log() -> None:
    rows = [
        trade(1, 0, 0, "BUY", 7, 5, 0),
        trade(2, 0, 0, "BUY", 8, 9, 0),
        trade(0, 0, 0, "SELL", 1, 9, 5),
        trade(0, 0, 0, "SELL", 1, 10, 0),
    ]
    table, own, support = build(rows, {0})
    targets = table.filter(pl.col("layer") == "trade")
    # Equal overlap (this market): the wallet that traded last in it comes first.
    assert targets["support"].to_list() == [[0], [1, 0]]
    assert gather(targets, own, support, "retrieval")["amount"].to_list() == [7, 8, 7]


def test_support_wallets_that_share_more_markets_come_first() -> None:
    rows = [
        trade(0, 1, 0, "BUY", 1, 1),
        trade(1, 1, 0, "BUY", 2, 2),
        trade(1, 0, 0, "BUY", 3, 3),
        trade(1, 0, 0, "BUY", 4, 4),
        trade(1, 0, 0, "BUY", 5, 5),
        trade(2, 0, 0, "BUY", 6, 6),
        trade(3, 0, 0, "BUY", 7, 7),
        trade(0, 0, 0, "BUY", 8, 8),
    ]
    table, own, support = build(rows, {0})
    target = table.filter((pl.col("layer") == "trade") & (pl.col("event") == 1))
    assert target["support"].to_list() == [[0, 2]]
    shown = gather(target, own, support, "retrieval")
    assert shown.select("source", "rank", "amount").rows() == [(0, 0, 4), (0, 1, 5), (1, 0, 7)]


def slow_retrieval(rows: list[dict[str, Any]], target: dict[str, Any], evaluated: set[int]) -> list[tuple[int, int]]:
    """Support numbers and how many of their trades precede the target, most similar first."""
    past = [row for row in rows if row["block_number"] < target["block_number"]]
    mine = {row["condition_id"] for row in past if row["wallet"] == target["wallet"]}
    found = []
    for u in sorted({row["wallet"] for row in past} - {wallet(e) for e in evaluated}):
        own = [row for row in past if row["wallet"] == u]
        here = [row for row in own if row["condition_id"] == target["condition_id"]]
        if here:
            common = len(mine & {row["condition_id"] for row in own})
            block, log = max(at(row) for row in here)
            found.append((-common, -block, -log, u, len(here)))
    return [(int.from_bytes(u[-2:], "big"), n) for *_, u, n in sorted(found)[:2]]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 100))
def test_histories_equal_plain_python_in_any_row_order(seed: int, n: int) -> None:
    rows = in_order(world(seed, n, wallets=7, markets=4))
    evaluated = {0, 1, 2}
    table, own, support = build(rows, evaluated)
    present = sorted({row["wallet"] for row in rows} - {wallet(u) for u in evaluated})
    for layer in ("belief", "trade"):
        targets = table.filter(pl.col("layer") == layer)
        shown = gather(targets, own, support, "direct")
        everything = gather(targets, own, support, "direct", "all_markets")
        for target in targets.iter_rows(named=True):
            cut = (target["cut_block"], target["cut_log_index"])
            mine = [row for row in rows if row["wallet"] == target["wallet"] and at(row) < cut]
            here = [at(row) for row in mine if row["condition_id"] == target["condition_id"]]
            key = (pl.col("wallet") == target["wallet"]) & (pl.col("event") == target["event"])
            assert shown.filter(key).select("block_number", "log_index").rows() == here[-3:]
            assert everything.filter(key).select("block_number", "log_index").rows() == [at(row) for row in mine][-3:]
            row = next(row for row in rows if row["wallet"] == target["wallet"] and at(row) == cut)
            expected = slow_retrieval(rows, row, evaluated)
            numbers = [int.from_bytes(present[rank][-2:], "big") for rank in target["support"]]
            counts = [first + n for first, n in zip(target["support_first"], target["support_n"], strict=True)]
            assert list(zip(numbers, counts, strict=True)) == expected
            assert target["support_n"] == [min(2, n) for _, n in expected]
    assert violations(table, own, support).is_empty()
    assert build(list(reversed(rows)), evaluated)[0].equals(table)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(10, 60), cut=st.integers(0, 40))
def test_the_future_changes_no_history(seed: int, n: int, cut: int) -> None:
    """Whatever happens from a block on, what earlier trades were shown stays the same."""
    rows = world(seed, n, wallets=5, markets=3)
    early = [row for row in rows if row["block_number"] < 1_000 + cut]
    changed = early + [
        {**row, "wallet": rows[-1 - i]["wallet"], "outcome": 0, "direction": "BUY", "amount": 77, "log_index": 500 + i}
        for i, row in enumerate(rows)
        if row["block_number"] >= 1_000 + cut
    ]
    # Everyone stays present, so that ranks keep their meaning.
    anchors = [trade(u, 9, 0, "BUY", 1, 1, u) for u in range(5)]
    shown = []
    for world_ in (rows + anchors, changed + anchors):
        table, own, support = build(world_, {0, 1})
        targets = table.filter((pl.col("layer") == "trade") & (pl.col("cut_block") < 1_000 + cut))
        frames = [gather(targets, own, support, name) for name in INTERFACES if name != "profile"]
        shown.append(
            [targets.drop("split", "profile_n"), gather(targets, own, support, "direct", "all_markets"), *frames]
        )
    assert all(before.equals(after) for before, after in zip(*shown, strict=True))


@pytest.mark.parametrize(
    ("column", "value", "interface"),
    [
        ("direct_n", pl.col("direct_n") + 1, "direct"),
        ("all_n", pl.col("all_n") + 1, "all_markets"),
        ("profile_n", pl.col("event") + 1, "profile"),
        ("support_n", pl.col("support_n").list.eval(pl.element() + 1), "retrieval"),
    ],
)
def test_a_planted_leak_is_found(column: str, value: pl.Expr, interface: str) -> None:
    rows = world(5, 120, wallets=4, markets=3)
    table, own, support = build(rows, {0, 1})
    assert violations(table, own, support).is_empty()
    leaky = table.with_columns(value.cast(table.schema[column]).alias(column))
    found = violations(leaky, own, support)
    assert found.height > 0
    assert found["interface"].unique().to_list() == [interface]
    assert set(found["reason"]) <= {"a row at or after the cut", "a row that is not there"}


def test_a_false_number_or_place_is_found() -> None:
    rows = world(5, 60, wallets=4, markets=3)
    table, own, support = build(rows, {0, 1})
    swapped = own.with_columns(pl.when(pl.col("event") == 1).then(0).when(pl.col("event") == 0).then(1).otherwise("event").cast(pl.Int32).alias("event"))  # fmt: skip  # noqa: E501
    assert "event numbers fall" in violations(table, swapped, support)["reason"].to_list()
    missing = own.filter(pl.col("event") != 0)
    assert "a row that is not there" in violations(table, missing, support)["reason"].to_list()
    below = table.with_columns(pl.lit(-1, pl.Int32).alias("direct_first"))
    assert "a range begins below 0" in violations(below, own, support)["reason"].to_list()


def test_no_support_wallet_gives_empty_lists() -> None:
    table, _, _ = build([trade(0, 0, 0, "BUY", 1, 1), trade(0, 0, 0, "BUY", 1, 2)], {0})
    assert table["support"].to_list() == [[], [], []]
    assert table.schema == ONCHAIN_TABLES["histories"].schema
