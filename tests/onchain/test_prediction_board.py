"""Boards of predictors against slow Python: metrics, intervals, differences, groups, ranks, flags, and the borders."""

from collections import defaultdict
from itertools import product
from statistics import fmean, median
from typing import Any

import numpy as np
import polars as pl
import pytest
from chain_worlds import market, wallet
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.evaluation import intervals
from pipelines.onchain.board_tables import PREDICTION_TABLES, STATUSES
from pipelines.onchain.prediction_board import prediction_board
from pipelines.onchain.prediction_differences import prediction_differences

FEW = 30
SEED = 3
Cell = dict[str, Any]


def unit(method: str, u: int, event: int, error: float | None, correct: bool | None, **more: Any) -> Cell:
    row = {
        "method": method,
        "reader": "llm" if method in ("none", "direct", "profile") else "rule",
        "layer": "trade",
        "split": "test",
        "wallet": wallet(u),
        "event": event,
        "condition_id": market(0),
        "status": "ok" if error is not None else "invalid",
        "correct": correct,
        "error": error,
        "error_all": 8.0 if error is None else error,
        "action": ("accumulate", "reduce", "close")[event % 3],
        **more,
    }
    return row


def frame(rows: list[Cell]) -> pl.DataFrame:
    schema = PREDICTION_TABLES["prediction_units"].schema
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema, orient="row")


def world(seed: int, n: int, wallets: int, methods: tuple[str, ...], valid: float = 0.8) -> list[Cell]:
    draw = np.random.default_rng(seed)
    owners = [int(draw.integers(wallets)) for _ in range(n)]
    rows = []
    for method in methods:
        for event, u in enumerate(owners):
            answered = draw.random() < valid
            error = float(draw.integers(0, 9)) if answered else None
            rows.append(unit(method, u, event, error, bool(draw.random() < 0.5) if answered else None))
    return rows


def made(rows: list[Cell]) -> tuple[pl.DataFrame, pl.DataFrame]:
    pairs = prediction_differences(frame(rows), SEED, FEW)
    return prediction_board(frame(rows), pairs, SEED, FEW), pairs


def cell(frame_: pl.DataFrame, **where: Any) -> Cell:
    where = {"reading": "all", "group_kind": "all", **where}
    found = frame_.filter(
        pl.all_horizontal(pl.col(name).cast(pl.String) == str(value) for name, value in where.items())
    )
    return found.row(0, named=True)


def values_of(rows: list[Cell], method: str, metric: str, reading: str) -> dict[bytes, list[float]]:
    """Numbers that a metric adds up, by wallet; wallets without one too."""
    out: dict[bytes, list[float]] = defaultdict(list)
    for row in rows:
        if row["method"] != method:
            continue
        out[row["wallet"]] += []
        if row["error"] is None and reading == "valid":
            continue
        number = float(bool(row["correct"])) if metric == "accuracy" else row["error_all"]
        out[row["wallet"]].append(number)
    return out


def slow(by_wallet: dict[bytes, list[float]], metric: str) -> tuple[list[float | None], list[float | None]]:
    """Value with interval, and the mean of the wallets' own with its interval."""
    middle = median if metric == "medae" else fmean
    wallets = sorted(by_wallet)
    asked = [name for name in wallets if by_wallet[name]]
    drawn, drawn_own = [], []
    for times in np.concatenate(intervals.draws(len(wallets), SEED, FEW)):
        picks = [name for name, count in zip(wallets, times, strict=True) for _ in range(int(count)) if by_wallet[name]]
        if picks:
            drawn.append(middle([value for name in picks for value in by_wallet[name]]))
            drawn_own.append(fmean(middle(by_wallet[name]) for name in picks))
    if not asked:
        return [None] * 3, [None] * 3
    ends = [list(np.quantile(of, [0.025, 0.975])) if len(asked) > 1 else [None, None] for of in (drawn, drawn_own)]
    value = middle([value for name in asked for value in by_wallet[name]])
    return [value, *ends[0]], [fmean(middle(by_wallet[name]) for name in asked), *ends[1]]


def close(found: list[float | None], expected: list[float | None]) -> bool:
    return all(
        (a is None) == (b is None) and (a is None or abs(a - b) < 1e-8) for a, b in zip(found, expected, strict=True)
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), wallets=st.integers(1, 6), valid=st.sampled_from([0, 0.2, 1]))
def test_every_metric_and_interval_equals_a_slow_one(seed: int, n: int, wallets: int, valid: float) -> None:
    rows = world(seed, n, wallets, ("wallet_median", "direct"), valid)
    board, _ = made([rows[i] for i in np.random.default_rng(seed).permutation(len(rows))])
    assert board.equals(made(rows)[0])
    assert board.schema == PREDICTION_TABLES["prediction_board"].schema
    for method, metric, reading in product(("wallet_median", "direct"), ("accuracy", "mae", "medae"), ("all", "valid")):
        got = cell(board, method=method, metric=metric, reading=reading)
        by_wallet = values_of(rows, method, metric, reading)
        micro, macro = slow(by_wallet, metric)
        assert close([got[name] for name in ("value", "low", "high")], micro)
        assert close([got[f"by_wallet{end}"] for end in ("", "_low", "_high")], macro)
        assert got["n_units"] == sum(map(len, by_wallet.values()))
        assert got["n_wallets"] == sum(map(bool, by_wallet.values()))
        mine = [row for row in rows if row["method"] == method]
        assert [got[f"n_{name}"] for name in STATUSES] == [sum(r["status"] == name for r in mine) for name in STATUSES]
        assert got["coverage"] == pytest.approx(got["n_ok"] / n)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), wallets=st.integers(1, 5))
def test_differences_equal_slow_ones(seed: int, n: int, wallets: int) -> None:
    rows = world(seed, n, wallets, ("market_median", "none", "direct"))
    _, pairs = made(rows)
    assert pairs.height == 3 * 3
    for row in pairs.iter_rows(named=True):
        first, second = (values_of(rows, row[name], row["metric"], "all") for name in ("method", "other"))
        middle = median if row["metric"] == "medae" else fmean
        names = sorted(first)

        def apart(picks: list[bytes], first: Any = first, second: Any = second, middle: Any = middle) -> float:
            return middle([v for name in picks for v in first[name]]) - middle(
                [v for name in picks for v in second[name]]
            )

        assert row["difference"] == pytest.approx(apart(names), abs=1e-8)
        assert (row["n_units"], row["n_users"]) == (n, len(names))
        if len(names) < 2:
            assert (row["low"], row["p"], row["separable"]) == (None, None, False)
            continue
        counts = np.concatenate(intervals.draws(len(names), SEED, FEW))
        drawn = [apart([name for name, c in zip(names, times, strict=True) for _ in range(int(c))]) for times in counts]
        assert close([row["low"], row["high"]], list(np.quantile(drawn, [0.025, 0.975])))
        sums = []
        for name in names:
            gaps = [a - b for a, b in zip(first[name], second[name], strict=True)]
            sums.append(sum(np.sign(gaps)) if row["metric"] == "medae" else sum(gaps))
        totals = [
            abs(sum(s * x for s, x in zip(signs, sums, strict=True))) for signs in product((1, -1), repeat=len(sums))
        ]
        assert row["p"] == pytest.approx(np.mean([total >= abs(sum(sums)) - 1e-9 for total in totals]))


def test_nothing_usable_gives_nulls_under_valid_and_wrong_under_all() -> None:
    rows = [unit("direct", u, u, None, None, error_all=float(u)) for u in range(3)]
    board, pairs = made(rows)
    assert pairs.is_empty()
    got = {
        (row["reading"], row["metric"]): row
        for row in board.filter(pl.col("group_kind") == "all").iter_rows(named=True)
    }
    assert [got["valid", metric]["value"] for metric in ("accuracy", "mae", "medae")] == [None] * 3
    assert [got["valid", metric]["n_units"] for metric in ("accuracy", "mae", "medae")] == [0] * 3
    assert [got["all", metric]["value"] for metric in ("accuracy", "mae", "medae")] == [0.0, 1.0, 1.0]
    assert [got["all", metric]["best"] for metric in ("accuracy", "mae", "medae")] == [1.0, 0.0, 0.0]
    assert got["all", "mae"]["coverage"] == 0.0
    assert got["all", "mae"]["flags"] == "coverage < 1"
    with pytest.raises(ValueError, match="no targets to rank"):
        prediction_board(frame([]), pairs)


def test_a_layer_that_nobody_was_asked_has_no_rows_and_a_missing_action_no_value() -> None:
    rows = [unit("last_direction", 0, 0, 1.0, True), unit("last_direction", 1, 3, 3.0, False)]
    board, _ = made(rows)
    assert set(board["layer"].cast(pl.String)) == {"trade"}
    assert set(board["board"]) == {"rule"}
    empty = cell(board, group_kind="action", group="close", metric="medae")
    assert (empty["value"], empty["n_units"], empty["n_wallets"], empty["coverage"]) == (None, 0, 0, None)
    full = cell(board, group_kind="action", group="accumulate", metric="medae")
    assert (full["value"], full["n_units"]) == (2.0, 2)


def test_groups_by_activity_are_quarters_of_wallets_and_make_up_the_whole() -> None:
    rows = [unit("last_direction", u, 100 * u + i, float(u), True) for u in range(8) for i in range(1 + u // 2)]
    board, _ = made(rows)
    parts = board.filter((pl.col("group_kind") == "activity") & (pl.col("metric") == "mae"))
    assert parts.select("place", "group", "n_units", "n_wallets").rows() == [
        (0, "1 targets", 2, 2),
        (1, "2 targets", 4, 2),
        (2, "3 targets", 6, 2),
        (3, "4 targets", 8, 2),
    ]
    assert parts["value"].to_list() == [0.5, 2.5, 4.5, 6.5]


def test_baselines_stand_in_every_board_and_ranks_follow_the_metric() -> None:
    def answers(method: str, error: float, right: int, reader: str) -> list[Cell]:
        return [unit(method, u, u, error, u < right, reader=reader) for u in range(20)]

    rows = [
        *answers("last_direction", 5.0, 10, "rule"),
        *answers("wallet_median", 3.0, 10, "rule"),
        *answers("none", 5.0, 12, "llm:a"),
        *answers("direct", 1.0, 20, "llm:a"),
        *answers("none", 9.0, 0, "llm:b"),
        *answers("profile", 6.0, 12, "llm:b"),
    ]
    board, pairs = made(rows)
    assert board.select("board", "method").unique().sort("board", "method").rows() == [
        ("llm:a", "direct"),
        ("llm:a", "last_direction"),
        ("llm:a", "none"),
        ("llm:a", "wallet_median"),
        ("llm:b", "last_direction"),
        ("llm:b", "none"),
        ("llm:b", "profile"),
        ("llm:b", "wallet_median"),
    ]
    whole = board.filter((pl.col("group_kind") == "all") & (pl.col("board") == "llm:a"))
    ranked = {(str(row["metric"]), row["method"]): row for row in whole.filter(reading="all").iter_rows(named=True)}
    order = ("direct", "none", "last_direction", "wallet_median")
    assert [ranked["accuracy", name]["rank"] for name in order] == [1, 2, 3, 3]
    order = ("direct", "wallet_median", "last_direction", "none")
    assert [ranked["medae", name]["rank"] for name in order] == [1, 2, 3, 3]
    assert ranked["medae", "last_direction"]["band"] == ranked["medae", "none"]["band"]
    assert ranked["medae", "direct"]["band"] == 1 < ranked["medae", "wallet_median"]["band"]
    assert whole.filter(reading="valid")["rank"].null_count() == whole.filter(reading="valid").height
    assert {row["method"]: row["kind"] for row in whole.iter_rows(named=True)} == {
        "direct": "method",
        "none": "control",
        "last_direction": "control",
        "wallet_median": "control",
    }
    assert ranked["medae", "direct"]["flags"] == ""
    weak = cell(board, board="llm:b", method="profile", metric="medae")
    assert weak["flags"] == "no better than wallet_median"
    assert cell(board, board="llm:b", method="profile", metric="accuracy")["flags"] == ""
    pair = pairs.filter(board="llm:a", method="direct", other="wallet_median").filter(metric="medae").row(0, named=True)
    assert (pair["difference"], pair["separable"]) == (-2.0, True)


def test_missing_targets_count_on_the_board_but_in_no_difference() -> None:
    rows = [unit("direct", u, u, 1.0, True) for u in range(4)] + [unit("none", u, u, 2.0, False) for u in range(4)]
    rows[0] |= {"status": "missing", "correct": None, "error": None, "error_all": 8.0}
    board, pairs = made(rows)
    got = cell(board, method="direct", metric="mae")
    assert (got["n_units"], got["n_missing"], got["value"], got["coverage"]) == (4, 1, (8 + 3) / 4, 0.75)
    assert set(pairs["n_units"]) == {3}
    assert pairs.filter(metric="mae")["difference"].to_list() == [-1.0]


def test_methods_of_a_board_stand_on_the_same_targets() -> None:
    rows = [unit("direct", 0, 0, 1.0, True), unit("direct", 0, 1, 1.0, True), unit("none", 0, 0, 1.0, True)]
    with pytest.raises(ValueError, match=r"board llm, trade: method none has 1 of 2 units; score it again"):
        made(rows)
    with pytest.raises(ValueError, match=r"method direct has 1 units twice"):
        made([rows[0], rows[0], rows[1]])
