"""Labels, actions and splits: by hand, against plain Python, and the labels of a real wallet."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from chain_worlds import at, in_order, market, trade, trades, wallet, world
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.onchain.beliefs import FLAT, belief_instances, label_counts, labels
from pipelines.onchain.positions import follow, positions
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.splits import sizes, split_codes, split_counts
from pipelines.onchain.tables import COHORT, ONCHAIN_TABLES
from pipelines.onchain.trade_instances import trade_instances

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"
SETTINGS = OnchainSettings()


def _labels(*runs: list[int]) -> list[tuple[int, int, int, bool]]:
    position = np.array([p for run in runs for p in run], np.int64)
    outcome = np.array([o for run in runs for o in range(len(run))], np.int64)
    starts = np.append(0, np.cumsum([len(run) for run in runs])).astype(np.int64)
    found = labels(position, outcome, starts)
    rows = zip(found.side, found.top, found.mass, found.tie, strict=True)
    return [(int(side), int(top), int(mass), bool(tie)) for side, top, mass, tie in rows]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ([3, 1], (0, 3, 4, False)),
        ([1, 3], (1, 3, 4, False)),
        ([-5, 2], (1, 2, 2, False)),
        ([0, 0], (FLAT, 0, 0, False)),
        ([-1, -2], (FLAT, 0, 0, False)),
        ([4, 4], (0, 4, 8, True)),
        ([0, 7, 7], (1, 7, 14, True)),
        ([8888892, 64998660], (1, 64998660, 73887552, False)),
    ],
)
def test_the_label_of_one_wallet_in_one_market(run: list[int], expected: tuple[int, int, int, bool]) -> None:
    assert _labels(run) == [expected]
    assert _labels([9, 1], run, [-1]) == [(0, 9, 10, False), expected, (FLAT, 0, 0, False)]


def test_a_mass_beyond_64_bits_is_an_error() -> None:
    assert _labels([2**61, 2**61])[0][2] == 2**62
    with pytest.raises(OverflowError):
        _labels([2**62, 2**62])


@pytest.mark.parametrize(
    ("n", "equal", "borders"),
    [
        (0, (0, 0, 0), (0, 0, 0)),
        (1, (1, 0, 0), (1, 0, 0)),
        (3, (3, 0, 0), (2, 1, 0)),
        (4, (2, 1, 1), (3, 0, 1)),
        (7, (5, 1, 1), (5, 1, 1)),
        (10, (6, 2, 2), (7, 1, 2)),
        (13, (9, 2, 2), (9, 2, 2)),
        (20, (14, 3, 3), (14, 3, 3)),
        (30, (20, 5, 5), (21, 5, 4)),
    ],
)
def test_how_many_instances_a_split_gets(n: int, equal: tuple[int, int, int], borders: tuple[int, int, int]) -> None:
    number = np.array([n], np.int64)
    assert tuple(int(part[0]) for part in sizes(number, 15, "equal_counts")) == equal
    assert tuple(int(part[0]) for part in sizes(number, 15, "rounded_borders")) == borders
    split = split_codes(np.zeros(n, np.int64), 15, "equal_counts")
    assert split.tolist() == [0] * equal[0] + [1] * equal[1] + [2] * equal[2]


@given(n=st.integers(0, 5000), percent=st.integers(0, 33))
def test_splits_are_the_rounded_shares(n: int, percent: int) -> None:
    share = Fraction(percent, 100) * n
    train, validation, test = (int(part[0]) for part in sizes(np.array([n]), percent, "equal_counts"))
    assert validation == test == int(share + Fraction(1, 2))
    assert train == n - 2 * validation >= 0
    train, validation, test = (int(part[0]) for part in sizes(np.array([n]), percent, "rounded_borders"))
    assert (train, train + validation) == (round(n - 2 * share), round(n - share))
    assert min(train, validation, test) >= 0
    assert train + validation + test == n


def _cohort(n: int) -> pl.DataFrame:
    return pl.DataFrame({"wallet": [wallet(u) for u in range(n)], "cohort": ["evaluation"] * n}).with_columns(
        pl.col("cohort").cast(COHORT)
    )


def _instances(rows: list[dict[str, Any]], n: int = 6) -> tuple[pl.DataFrame, pl.DataFrame]:
    followed = follow(trades(*rows))
    nothing = pl.DataFrame(schema={"wallet": pl.Binary, "condition_id": pl.Binary, "outcome": pl.Int16})
    none = nothing.with_columns(pl.lit(0).alias("position_after"), pl.lit(False).alias("final"))
    held = positions(followed, none)
    beliefs = belief_instances(followed, held, _cohort(n), SETTINGS)
    return beliefs, trade_instances(followed, _cohort(n), SETTINGS)


def test_actions_look_at_the_position_after_the_event() -> None:
    rows = [
        trade(0, 0, 0, "BUY", 10, 1),
        trade(0, 0, 0, "SELL", 9, 2),
        trade(0, 0, 0, "SELL", 1, 3),
        trade(0, 0, 0, "SELL", 1, 4),
        trade(0, 0, 0, "BUY", 1, 5),
        trade(0, 0, 0, "BUY", 0, 6),
        trade(0, 0, 0, "SELL", 0, 7),
    ]
    _, instances = _instances(rows)
    assert instances["action"].to_list() == [
        "accumulate",
        "reduce",
        "close",
        "close",
        "accumulate",
        "accumulate",
        "close",
    ]
    assert instances["amount"].to_list() == [10, 9, 1, 1, 1, 0, 0]
    assert instances["shares"][0] == 10 / 1e6
    assert instances["direction"].to_list()[:2] == ["BUY", "SELL"]


def test_beliefs_are_split_by_their_last_event() -> None:
    """Market 0 is entered first and left last: it is the test instance."""
    rows = [trade(0, 0, 0, "BUY", 1, 1)]
    rows += [trade(0, m, 0, "BUY", 1, 10 + m) for m in range(1, 7)]
    rows += [trade(0, 0, 1, "BUY", 3, 99)]
    beliefs, instances = _instances(rows)
    by_market = {row["condition_id"]: row for row in beliefs.iter_rows(named=True)}
    assert by_market[market(0)]["split"] == "test"
    assert by_market[market(6)]["split"] == "validation"
    assert [by_market[market(m)]["split"] for m in range(1, 6)] == ["train"] * 5
    last = by_market[market(0)]
    assert (last["side"], last["confidence"], last["n_trades"], last["cut_block"], last["cut_event"]) == (
        1,
        0.75,
        2,
        99,
        7,
    )
    assert instances["split"].to_list() == ["train"] * 6 + ["validation", "test"]


def test_wallets_without_a_row_in_a_split_are_counted() -> None:
    rows = [trade(0, m, 0, "BUY", 1, m + 1) for m in range(3)] + [trade(1, m, 0, "BUY", 1, m + 1, 9) for m in range(4)]
    beliefs, _ = _instances(rows)
    counts = split_counts(beliefs).rows()
    assert counts == [
        ("evaluation", "train", 3 + 2, 2, 0),
        ("evaluation", "validation", 1, 1, 1),
        ("evaluation", "test", 1, 1, 1),
    ]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 120))
def test_instances_equal_plain_python_in_any_row_order(seed: int, n: int) -> None:
    rows = world(seed, n)
    held: dict[tuple[bytes, bytes], dict[int, int]] = {}
    last: dict[tuple[bytes, bytes], tuple[int, int]] = {}
    actions = []
    for row in in_order(rows):
        pair = (row["wallet"], row["condition_id"])
        own = held.setdefault(pair, {})
        sign = 1 if row["direction"] == "BUY" else -1
        own[row["outcome"]] = after = own.get(row["outcome"], 0) + sign * row["amount"]
        last[pair] = at(row)
        actions.append("accumulate" if sign > 0 else "reduce" if after > 0 else "close")
    beliefs, instances = _instances(rows)
    assert instances["action"].to_list() == actions
    for row in beliefs.iter_rows(named=True):
        own = held[row["wallet"], row["condition_id"]]
        mass = sum(max(p, 0) for p in own.values())
        side = min(own, key=lambda o: (-max(own[o], 0), o)) if mass else FLAT
        assert row["side"] == side
        assert (row["top"], row["mass"]) == (max(max(own.values()), 0), mass)
        assert row["confidence"] == (row["top"] / mass if mass else 0)
        assert row["tie"] == (mass > 0 and sum(p == row["top"] for p in own.values()) > 1)
        assert (row["cut_block"], row["cut_log_index"]) == last[row["wallet"], row["condition_id"]]
    assert beliefs.height == len(held)
    assert beliefs.schema == ONCHAIN_TABLES["belief_instances"].schema
    for key in held:
        order = sorted(last[pair] for pair in held if pair[0] == key[0])
        place = {pair: order.index(last[pair]) for pair in held if pair[0] == key[0]}
        train, validation, _ = (int(part[0]) for part in sizes(np.array([len(order)]), 15, "equal_counts"))
        split = {
            row[0]: row[1] for row in beliefs.filter(pl.col("wallet") == key[0]).select("condition_id", "split").rows()
        }
        for pair, i in place.items():
            assert split[pair[1]] == ("train" if i < train else "validation" if i < train + validation else "test")
    again = _instances(list(reversed(rows)))
    assert again[0].equals(beliefs)
    assert again[1].equals(instances)


def test_both_labels_of_a_real_wallet() -> None:
    path = DATA / "wallet_a79af3b_part1" / "expected.json"
    if not path.exists():
        pytest.skip(f"real logs are not at {path.parent}")
    for case in json.loads(path.read_text())["derived_belief_labels"]:
        for reading in ("trade_only", "with_splits_and_merges_before_redemption"):
            expected = case[reading]
            side, top, mass, tie = _labels([int(p) for p in expected["positive_positions_raw"]])[0]
            assert side == (FLAT if expected["side_outcome_index"] is None else expected["side_outcome_index"])
            assert round(top / mass if mass else 0.0, 9) == expected["confidence"]
            assert not tie


def test_flips_between_the_ledgers_are_counted() -> None:
    followed = follow(trades(trade(0, 0, 0, "SELL", 3, 1), trade(0, 1, 1, "BUY", 3, 2)))
    full = pl.DataFrame(
        {
            "wallet": [wallet(0)] * 3,
            "condition_id": [market(0), market(0), market(1)],
            "outcome": pl.Series([0, 1, 1], dtype=pl.Int16),
            "position_after": [14, 17, 3],
            "final": [True] * 3,
        }
    )
    beliefs = belief_instances(followed, positions(followed, full), _cohort(1), SETTINGS)
    assert beliefs.select("side", "side_full", "flips").rows() == [(FLAT, 1, True), (1, 1, False)]
    assert beliefs["confidence_full"].to_list() == [17 / 31, 1.0]
    assert label_counts(beliefs) == {
        "instances": 2, "flat": 1, "flat_full": 0, "tied": 0, "tied_full": 0, "flips": 1,
    }  # fmt: skip
