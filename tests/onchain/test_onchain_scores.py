"""Scores by hand: both readings of invalid replies, medians, wallets as clusters, and errors."""

from collections.abc import Iterable
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pytest
from chain_worlds import market, table, wallet
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.evaluation import intervals
from pipelines.onchain.scores import SCORES, scores, units

FEW = 50


def beliefs(*rows: tuple[int, int, float]) -> pl.DataFrame:
    """(wallet, side, confidence) of test beliefs; events count up."""
    return table(
        "belief_instances",
        *(
            {
                "wallet": wallet(u),
                "condition_id": market(i),
                "split": "test",
                "cut_event": i,
                "side": side,
                "confidence": c,
            }
            for i, (u, side, c) in enumerate(rows)
        ),
    )


def trade_targets(*rows: tuple[int, str, int]) -> pl.DataFrame:
    return table(
        "trade_instances",
        *(
            {"wallet": wallet(u), "condition_id": market(0), "split": "test", "event": i, "direction": d, "amount": a}
            for i, (u, d, a) in enumerate(rows)
        ),
    )


def answer(u: int, event: int, status: str = "ok", **more: Any) -> dict[str, Any]:
    layer = "trade" if more.keys() & {"direction", "amount"} or more.pop("trade", False) else "belief"
    base = {"layer": layer, "method": "m", "interface": "none", "wallet": wallet(u), "event": event}
    return {**base, "status": status, **more}


def pooled(parts: Iterable[list[float]]) -> list[float]:
    return [value for part in parts for value in part]


def of(board: pl.DataFrame, metric: str, reading: str) -> dict[str, Any]:
    return board.filter((pl.col("metric") == metric) & (pl.col("reading") == reading)).row(0, named=True)


def test_beliefs_by_hand_with_invalid_failed_and_missing_replies() -> None:
    targets = beliefs((0, 0, 1.0), (0, 1, 0.5), (0, -1, 0.0), (1, 0, 0.75), (1, 0, 1.0))
    given_ = table(
        "predictions",
        answer(0, 0, side=0, confidence=0.75),
        answer(0, 1, side=0, confidence=1.0),
        answer(0, 2, side=-1, confidence=0.25),
        answer(1, 3, "invalid"),
    )
    board = scores(units(targets, given_, "belief"), seed=1, resamples=FEW)
    valid, everything = of(board, "accuracy", "valid"), of(board, "accuracy", "all")
    assert (valid["value"], valid["by_wallet"], valid["n_units"], valid["n_wallets"]) == (
        round(2 / 3, 9),
        round(2 / 3, 9),
        3,
        1,
    )
    assert (valid["n_ok"], valid["n_invalid"], valid["n_failed"], valid["n_missing"]) == (3, 1, 0, 1)
    assert valid["low"] is None
    assert (everything["value"], everything["by_wallet"], everything["n_units"]) == (0.4, round(1 / 3, 9), 5)
    assert of(board, "mae", "valid")["value"] == round(1.0 / 3, 9)
    assert of(board, "mae", "all")["value"] == (1.0 + 2) / 5
    assert board.filter(pl.col("metric") == "medae").is_empty()
    assert board.schema == pl.Schema(SCORES)


def test_trades_by_hand() -> None:
    targets = trade_targets((0, "BUY", 10), (0, "SELL", 20), (0, "BUY", 30), (1, "BUY", 100), (1, "SELL", 7))
    given_ = table(
        "predictions",
        answer(0, 0, direction="BUY", amount=11),
        answer(0, 1, direction="BUY", amount=15),
        answer(0, 2, direction="BUY", amount=60),
        answer(1, 3, direction="BUY", amount=98),
        answer(1, 4, "failed", trade=True),
    )
    board = scores(units(targets, given_, "trade"), seed=1, resamples=FEW)
    assert of(board, "accuracy", "valid")["value"] == 0.75
    assert of(board, "accuracy", "all")["value"] == 0.6
    # Errors 1, 5, 30 and 2; the failed one counts as an amount of 0: 7.
    assert of(board, "medae", "valid")["value"] == 3.5
    assert of(board, "medae", "valid")["by_wallet"] == (5 + 2) / 2
    assert of(board, "medae", "all")["value"] == 5
    assert of(board, "medae", "all")["by_wallet"] == (5 + 4.5) / 2
    assert of(board, "mae", "valid")["value"] == 38 / 4
    assert of(board, "mae", "valid")["by_wallet"] == (12 + 2) / 2
    assert of(board, "mae", "all")["value"] == 45 / 5


def test_nothing_answered_gives_nulls_under_valid_and_wrong_under_all() -> None:
    board = scores(
        units(trade_targets((0, "BUY", 4)), table("predictions", answer(0, 0, "invalid", trade=True)), "trade")
    )
    assert of(board, "accuracy", "valid")["value"] is None
    assert of(board, "medae", "valid")["value"] is None
    assert (of(board, "accuracy", "all")["value"], of(board, "medae", "all")["value"]) == (0.0, 4.0)
    assert of(board, "medae", "all")["low"] is None
    assert scores(units(trade_targets(), table("predictions"), "trade")).is_empty()


def test_an_answer_twice_or_to_no_target_is_an_error() -> None:
    targets = beliefs((0, 0, 1.0))
    once = answer(0, 0, side=0, confidence=1.0)
    with pytest.raises(ValueError, match="answered twice"):
        units(targets, table("predictions", once, once), "belief")
    with pytest.raises(ValueError, match="1 answers name no target, the first of method m"):
        units(targets, table("predictions", once, answer(0, 9, side=0, confidence=1.0)), "belief")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), wallets=st.integers(1, 6))
def test_values_and_intervals_equal_a_slow_bootstrap(seed: int, n: int, wallets: int) -> None:
    draw = np.random.default_rng(seed)
    rows = [
        (int(draw.integers(wallets)), str(draw.choice(["BUY", "SELL"])), int(draw.integers(0, 50))) for _ in range(n)
    ]
    given_ = [
        answer(u, i, direction="BUY", amount=int(draw.integers(0, 50)))
        if draw.random() < 0.8
        else answer(u, i, "invalid", trade=True)
        for i, (u, _, _) in enumerate(rows)
    ]
    shuffled = [given_[i] for i in draw.permutation(n)]
    found = units(trade_targets(*rows), table("predictions", *shuffled), "trade")
    board = scores(found, seed=3, resamples=FEW)
    assert board.equals(scores(units(trade_targets(*rows), table("predictions", *given_), "trade"), 3, FEW))
    errors: dict[bytes, list[float]] = {}
    for row, reply in zip(rows, given_, strict=True):
        errors.setdefault(wallet(row[0]), []).append(
            abs((reply.get("amount") or 0) - row[2]) if reply["status"] == "ok" else row[2]
        )
    own = [errors[name] for name in sorted(errors)]
    got = of(board, "medae", "all")
    assert got["value"] == median(pooled(own))
    assert got["by_wallet"] == pytest.approx(sum(median(part) for part in own) / len(own))
    if len(own) > 1:
        drawn = [median(pooled(own[w] for w in picks)) for picks in _picks(len(own), 3, FEW)]
        low, high = np.quantile(drawn, [0.025, 0.975])
        assert (got["low"], got["high"]) == (pytest.approx(low), pytest.approx(high))
        means = [float(np.mean(pooled(own[w] for w in picks))) for picks in _picks(len(own), 3, FEW)]
        assert of(board, "mae", "all")["low"] == pytest.approx(np.quantile(means, 0.025))


def _picks(n: int, seed: int, resamples: int) -> list[list[int]]:
    """Wallets of every resample: the draws that every interval of the benchmark uses."""
    counts = np.concatenate(intervals.draws(n, seed, resamples), axis=0)
    return [[w for w in range(n) for _ in range(int(row[w]))] for row in counts]
