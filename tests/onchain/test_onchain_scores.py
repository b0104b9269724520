"""Predictions held against labels, by hand: every status, both layers, and what is refused."""

from typing import Any

import polars as pl
import pytest
from chain_worlds import market, table, wallet

from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.scores import BadPredictions, units


def beliefs(*rows: tuple[int, int, float]) -> pl.DataFrame:
    """(wallet, side, confidence) of test beliefs; events count up."""
    return table(
        "belief_instances",
        *(
            {"wallet": wallet(u), "condition_id": market(i), "split": "test", "cut_event": i,
             "side": side, "confidence": c}
            for i, (u, side, c) in enumerate(rows)
        ),
    )  # fmt: skip


def trade_targets(*rows: tuple[int, str, int]) -> pl.DataFrame:
    return table(
        "trade_instances",
        *(
            {"wallet": wallet(u), "condition_id": market(0), "split": "test", "event": i, "direction": d, "amount": a,
             "action": "accumulate" if d == "BUY" else "close"}
            for i, (u, d, a) in enumerate(rows)
        ),
    )  # fmt: skip


def answer(layer: str, u: int, event: int, status: str = "ok", **more: Any) -> dict[str, Any]:
    return {"method": "m", "reader": "r", "layer": layer, "wallet": wallet(u), "event": event, "status": status, **more}


def held(targets: pl.DataFrame, layer: Any, *answers: dict[str, Any]) -> pl.DataFrame:
    return units(targets, table("predictions", *answers), layer, method="m", reader="r")


COLUMNS = ["status", "correct", "error", "error_all"]


def test_beliefs_by_hand() -> None:
    targets = beliefs((0, 0, 1.0), (0, 1, 0.5), (0, -1, 0.0), (1, 0, 0.75), (1, 0, 1.0), (1, 1, 0.25))
    found = held(
        targets,
        "belief",
        answer("belief", 0, 0, side=0, confidence=0.75),
        answer("belief", 0, 1, side=0, confidence=1.0),
        answer("belief", 0, 2, side=-1, confidence=0.25),
        answer("belief", 1, 3, "invalid"),
        answer("belief", 1, 5, side=1, confidence=1.5),
        answer("trade", 0, 0, direction="BUY", amount=1),
    )
    assert found.select(COLUMNS).rows() == [
        ("ok", True, 0.25, 0.25),
        ("ok", False, 0.5, 0.5),
        ("ok", True, 0.25, 0.25),
        ("invalid", None, None, 1.0),
        ("missing", None, None, 1.0),
        ("invalid", None, None, 1.0),
    ]
    assert found["event"].to_list() == list(range(6))
    assert found.schema == PREDICTION_TABLES["prediction_units"].schema
    assert set(found.select("method", "reader", "layer", "split").unique().rows()) == {("m", "r", "belief", "test")}
    assert found["action"].null_count() == 6


def test_trades_by_hand() -> None:
    big = 2**62
    targets = trade_targets((0, "BUY", 10), (0, "SELL", 20), (0, "BUY", 30), (1, "BUY", 100), (1, "SELL", big + 1))
    found = held(
        targets,
        "trade",
        answer("trade", 0, 0, direction="BUY", amount=11),
        answer("trade", 0, 1, direction="BUY", amount=None),
        answer("trade", 0, 2, "truncated", direction="BUY", amount=30),
        answer("trade", 1, 3, "failed"),
        answer("trade", 1, 4, direction="SELL", amount=big),
    )
    assert found.select(COLUMNS).rows() == [
        ("ok", True, 1.0, 1.0),
        ("invalid", None, None, 20.0),
        ("truncated", None, None, 30.0),
        ("failed", None, None, 100.0),
        ("ok", True, 1.0, 1.0),
    ]
    assert found["action"].to_list() == ["accumulate", "close", "accumulate", "accumulate", "close"]


def test_no_answer_at_all_is_missing_everywhere() -> None:
    assert held(trade_targets((0, "BUY", 4)), "trade").select(COLUMNS).rows() == [("missing", None, None, 4.0)]
    assert held(trade_targets(), "trade").is_empty()


def test_what_cannot_be_answers_to_these_targets_is_refused() -> None:
    targets, once = beliefs((0, 0, 1.0)), answer("belief", 0, 0, side=0, confidence=1.0)
    with pytest.raises(BadPredictions, match="1 targets are answered twice"):
        held(targets, "belief", once, once)
    with pytest.raises(BadPredictions, match="1 answers name no target"):
        held(targets, "belief", once, answer("belief", 0, 9, side=0, confidence=1.0))
    with pytest.raises(BadPredictions, match=r"unknown status \['missing'\]"):
        held(targets, "belief", answer("belief", 0, 0, "missing"))
