"""What must hold of predictions, their units, boards and differences; each break is found by its name."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from expectations.audits import audit_for
from expectations.invariants import INVARIANTS
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.prediction_board import prediction_board
from pipelines.onchain.prediction_differences import prediction_differences
from pipelines.onchain.settings import OnchainSettings
from pipelines.schema import TABLES, conform

METHODS = (("direct", "llm"), ("none", "llm"), ("last_direction", "rule"))
ACTIONS = ("accumulate", "close")
Tables = dict[str, pl.DataFrame]


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Answers of two interfaces and a baseline to 60 trades and 30 beliefs of 15 wallets, one in seven unusable."""
    draw = np.random.default_rng(5)
    answers, units = [], []
    for number, (method, reader) in enumerate(METHODS):
        for layer, n in (("belief", 30), ("trade", 60)):
            if layer == "belief" and reader == "rule":
                continue
            for event in range(n):
                wallet = bytes([event % 15]) * 20
                ok = bool(draw.random() < 6 / 7)
                key = {"method": method, "reader": reader, "layer": layer, "wallet": wallet, "event": event}
                given: dict[str, Any] = {"side": 0, "confidence": 0.5} if layer == "belief" else {}
                given = given or {"direction": "BUY", "amount": 7}
                answers.append(key | {"status": "ok" if ok else "invalid"} | (given if ok else {}))
                error = float(draw.random()) if layer == "belief" else float(draw.integers(1, 90) * (number + 1))
                units.append(
                    key
                    | {"split": "test", "condition_id": b"\x01" * 32, "status": "ok" if ok else "invalid"}
                    | {"correct": bool(draw.random() < 0.5) if ok else None, "error": error if ok else None}
                    | {"error_all": error if ok else 1.0 if layer == "belief" else 50.0}
                    | {"action": None if layer == "belief" else ACTIONS[event % 2]}
                )
    made = {"predictions": frame("predictions", answers), "prediction_units": frame("prediction_units", units)}
    pairs = prediction_differences(made["prediction_units"], resamples=200, flips=300)
    board = prediction_board(made["prediction_units"], pairs, resamples=200)
    histories = made["predictions"].select("layer", "wallet", "event").unique()
    return {**made, "prediction_differences": pairs, "prediction_board": board, "histories": histories}


def frame(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    schema = TABLES[table].schema
    made = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema, orient="row")
    return made.sort(TABLES[table].sort_by)


def failed(tables: Tables, table: str, change: pl.Expr | None = None) -> list[str]:
    frames = {name: one.lazy() for name, one in tables.items()}
    if change is not None:
        frames[table] = conform(frames[table].with_columns(change), table)
    return [one.name for one in INVARIANTS[table](frames, OnchainSettings()) if not one.passed]


@pytest.mark.parametrize("table", PREDICTION_TABLES)
def test_tables_as_computed_pass_both_checks(tables: Tables, table: str) -> None:
    others = {name: one.lazy() for name, one in tables.items() if name != table}
    findings = audit_for(table, others)(tables[table].lazy())
    assert [str(one) for one in findings if not one.passed] == []


def test_what_lacks_a_companion_is_said_not_to_be_checked(tables: Tables) -> None:
    assert {table: failed({table: tables[table]}, table) for table in PREDICTION_TABLES} == {
        "predictions": ["of_a_target"],
        "prediction_units": ["of_a_prediction"],
        "prediction_board": ["counts"],
        "prediction_differences": ["pairs", "of_values"],
    }


def first(**same: Any) -> pl.Expr:
    """The first row with these values."""
    hit = pl.all_horizontal(pl.col(name).cast(pl.String) == str(value) for name, value in same.items())
    return hit & (hit.cum_sum() == 1)


def put(where: pl.Expr, column: str, value: Any) -> pl.Expr:
    put_there = value if isinstance(value, pl.Expr) else pl.lit(value)
    return pl.when(where).then(put_there).otherwise(pl.col(column)).alias(column)


OK_BELIEF = {"layer": "belief", "status": "ok"}
OK_TRADE = {"layer": "trade", "status": "ok"}
HEAD = {"reading": "all", "group_kind": "all", "layer": "trade", "metric": "medae", "method": "direct"}
VALID = {**HEAD, "reading": "valid"}
ACCURACY = {**HEAD, "metric": "accuracy"}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (put(first(**OK_BELIEF), "side", None), ["answered"]),
        (put(first(**OK_TRADE), "confidence", 0.5), ["answered"]),
        (put(first(**OK_TRADE), "status", "failed"), ["answered"]),
        (put(first(**OK_TRADE), "event", 999), ["of_a_target"]),
    ],
)
def test_a_wrong_prediction_is_found(tables: Tables, change: pl.Expr, names: list[str]) -> None:
    assert failed(tables, "predictions", change) == names


def test_rows_twice_or_in_another_order_are_found(tables: Tables) -> None:
    given = tables["predictions"]
    twice = {**tables, "predictions": pl.concat([given.head(1), given])}
    assert failed(twice, "predictions") == ["answered_once"]
    for table in PREDICTION_TABLES:
        assert "ordered" in failed({**tables, table: tables[table].reverse()}, table)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (put(first(**OK_TRADE), "correct", None), ["judged"]),
        (put(first(layer="trade", status="invalid"), "error", 1.0), ["judged"]),
        (put(first(**OK_TRADE), "error_all", 0.25), ["judged"]),
        (put(first(layer="belief", status="invalid"), "error_all", 0.5), ["confidence"]),
        (put(first(**OK_TRADE), "action", None), ["action"]),
        (put(first(layer="trade", status="invalid"), "status", "missing"), ["of_a_prediction"]),
    ],
)
def test_a_wrong_unit_is_found(tables: Tables, change: pl.Expr, names: list[str]) -> None:
    assert failed(tables, "prediction_units", change) == names


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (put(first(**HEAD), "low", pl.col("value") + 1), ["interval(value)"]),
        (put(first(**HEAD), "by_wallet_high", None), ["interval(by_wallet)"]),
        (put(first(**VALID), "value", None), ["valued"]),
        (put(first(**VALID), "best", 1.0), ["best"]),
        (put(first(**HEAD), "best", pl.col("value") + 1), ["best"]),
        (put(first(**ACCURACY), "best", pl.col("value") - 0.01), ["best"]),
        (put(first(**HEAD), "coverage", 0.25), ["statuses"]),
        (put(first(**VALID), "n_units", pl.col("n_units") + 1), ["statuses"]),
        (put(first(**HEAD), "band", None), ["competes"]),
        (put(first(**VALID), "rank", 1), ["competes"]),
        (put(first(**HEAD), "rank", 7), ["ranks"]),
        (put(first(**HEAD), "n_wallets", 3), ["same_units"]),
    ],
)
def test_a_wrong_board_is_found(tables: Tables, change: pl.Expr, names: list[str]) -> None:
    assert failed(tables, "prediction_board", change) == names


def test_shares_and_counts_of_a_board_are_held_against_what_they_come_from(tables: Tables) -> None:
    too_much = tables["prediction_board"].with_columns(
        put(first(**ACCURACY), "value", 1.5), put(first(**ACCURACY), "high", 1.5), put(first(**ACCURACY), "best", 1.5)
    )
    assert "shares" in failed({**tables, "prediction_board": too_much}, "prediction_board")
    fewer = tables["prediction_units"].filter(~first(**OK_TRADE))
    assert failed({**tables, "prediction_units": fewer}, "prediction_board") == ["counts"]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (pl.col("other").alias("method"), ["by_name", "pairs"]),
        (pl.lit(None, pl.Float64).alias("low"), ["interval"]),
        (pl.col("separable").not_(), ["separable"]),
        (pl.lit(None, pl.Float64).alias("p"), ["separable"]),
        ((pl.col("difference") * 0.99).alias("difference"), ["of_values"]),
    ],
)
def test_a_wrong_difference_is_found(tables: Tables, change: pl.Expr, names: list[str]) -> None:
    found = failed(tables, "prediction_differences", change)
    assert [name for name in found if name != "ordered"] == names


def test_a_pair_left_out_is_found(tables: Tables) -> None:
    fewer = {**tables, "prediction_differences": tables["prediction_differences"].slice(1)}
    assert failed(fewer, "prediction_differences") == ["pairs"]
