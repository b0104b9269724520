"""Drops of one chain merged: every log once, nothing taken back, nothing in doubt, in whatever order."""

from itertools import permutations
from typing import Any

import polars as pl
import pytest

from pipelines.onchain.appearing import appearances
from pipelines.onchain.decode import decode
from pipelines.onchain.decoding import DROP_TABLES
from pipelines.onchain.drop import DECODED
from pipelines.onchain.generator import Plan, generate
from pipelines.onchain.merging import DIFFERENT, TAKEN_BACK, TWO_BLOCKS, merge, retractions
from pipelines.onchain.step_tables import PUBLISHED, STEP_TABLES
from pipelines.onchain.tables import ONCHAIN_TABLES
from pipelines.onchain.wallets import appearances as of_raw_logs

WALLET, OTHER = b"\x11" * 20, b"\x12" * 20
HASH, FORK = b"\xaa" * 32, b"\xbb" * 32


def fill(log: int, block_hash: bytes | None = HASH, **more: Any) -> dict[str, Any]:
    row = {
        "bucket": 1,
        "wallet": WALLET,
        "counterparty": OTHER,
        "amount": 10,
        "collateral": 5,
        "price": 0.5,
        "fee": 0,
        "block_number": 100,
        "log_index": log,
        "block_hash": block_hash,
        "direction": "BUY",
        "role": "maker",
        "abi": "v1",
        "token_id": b"\x01" * 32,
    }
    return {**row, **more}


def drop(*fills: dict[str, Any], removed: tuple[tuple[int, bytes | None], ...] = ()) -> dict[str, pl.DataFrame]:
    schema = STEP_TABLES["decoded_trades"].schema
    tables = {name: PUBLISHED[name].empty() for name in DROP_TABLES}
    rows = [{name: row.get(name) for name in schema} for row in fills]
    tables["decoded_trades"] = pl.DataFrame(rows, schema=schema, orient="row")
    tables["removals"] = pl.DataFrame(
        [(100, log, block_hash) for log, block_hash in removed], schema=STEP_TABLES["removals"].schema, orient="row"
    )
    return tables


def merged(*drops: dict[str, pl.DataFrame]) -> tuple[list[tuple[int, Any]], dict[str, int]]:
    rows, counts = merge([one["decoded_trades"] for one in drops], retractions(list(drops)), "decoded_trades")
    return list(rows.select("log_index", "amount").iter_rows()), counts


def reasons(*drops: dict[str, pl.DataFrame]) -> dict[int, str]:
    return dict(retractions(list(drops)).select("log_index", "reason").iter_rows())


def in_any_order(*drops: dict[str, pl.DataFrame]) -> tuple[list[tuple[int, Any]], dict[str, int]]:
    results = [merged(*order) for order in permutations(drops)]
    assert all(result == results[0] for result in results)
    return results[0]


def test_a_log_that_two_drops_hold_counts_once() -> None:
    first, second = drop(fill(1), fill(2)), drop(fill(2), fill(3))
    assert in_any_order(first, second) == ([(1, 10), (2, 10), (3, 10)], {"retracted": 0, "duplicates": 1})
    assert reasons(first, second) == {}


def test_a_source_that_knows_less_contradicts_nobody_and_gives_way() -> None:
    poor, rich = drop(fill(1, None, tx_index=None)), drop(fill(1, HASH, tx_index=7))
    for order in ((poor, rich), (rich, poor)):
        rows, counts = merge([one["decoded_trades"] for one in order], retractions(list(order)), "decoded_trades")
        assert counts == {"retracted": 0, "duplicates": 1}
        assert rows.select("block_hash", "tx_index").row(0) == (HASH, 7)


def test_what_one_drop_says_was_taken_back_is_left_out_of_all_and_its_successor_stays() -> None:
    held = drop(fill(1, HASH), fill(2, HASH))
    later = drop(fill(1, FORK, amount=11), removed=((1, HASH),))
    assert reasons(held, later) == {1: TAKEN_BACK}
    assert in_any_order(held, later) == ([(1, 11), (2, 10)], {"retracted": 1, "duplicates": 0})
    # The same log in another block: its place names one hash, once the other was taken back.
    again = drop(fill(1, FORK), removed=((1, HASH),))
    assert in_any_order(held, again, held) == ([(1, 10), (2, 10)], {"retracted": 2, "duplicates": 1})
    # Of two successors nothing tells which one the chain kept.
    assert in_any_order(held, later, drop(fill(1, FORK, amount=12)))[0] == [(2, 10)]
    only = drop(fill(2, FORK), removed=((1, HASH),))
    assert in_any_order(drop(fill(1, HASH)), only) == ([(2, 10)], {"retracted": 1, "duplicates": 0})
    assert reasons(drop(fill(1, HASH)), only) == {1: TAKEN_BACK}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"amount": 11}, DIFFERENT),
        ({"wallet": OTHER, "bucket": 2}, DIFFERENT),
        ({"block_hash": FORK}, TWO_BLOCKS),
        ({"tx_hash": b"\x02" * 32}, TWO_BLOCKS),
    ],
)
def test_a_place_that_two_drops_tell_differently_counts_in_neither(change: dict[str, Any], reason: str) -> None:
    first, second = drop(fill(1, tx_hash=b"\x01" * 32), fill(2)), drop(fill(1, **{"tx_hash": b"\x01" * 32, **change}))
    assert reasons(first, second) == {1: reason}
    rows, counts = in_any_order(first, second)
    assert rows == [(2, 10)] and counts == {"retracted": 2, "duplicates": 0}


def test_a_place_of_two_kinds_of_events_counts_in_neither() -> None:
    first, second = drop(fill(1), fill(2)), drop()
    change = {
        "kind": "split",
        "venue": "conditional_tokens",
        "contract": OTHER,
        "wallet": WALLET,
        "bucket": 1,
        "leg": 0,
    }
    place = {"block_number": 100, "log_index": 1, "block_hash": HASH}
    schema = STEP_TABLES["decoded_changes"].schema
    second["decoded_changes"] = pl.DataFrame(
        [{name: {**change, **place}.get(name) for name in schema}], schema=schema, orient="row"
    )
    assert reasons(first, second) == {1: DIFFERENT}
    assert merged(first, second)[0] == [(2, 10)]


def test_appearances_are_those_of_the_raw_logs() -> None:
    plan = Plan(seed=4, wallets=20, markets=8, neg_risk_markets=4, operations=1_500)
    logs = pl.concat([piece.logs for piece in generate(plan)])
    decoded = decode(logs.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("__line"))).tables
    tables = {name: decoded.get(name, ONCHAIN_TABLES[name].empty()) for name in DECODED}
    key = ["wallet", "address", "block_number", "log_index"]
    found = appearances({name: rows.select(ONCHAIN_TABLES[name].schema.names()) for name, rows in tables.items()})
    assert found.select(key).sort(key).equals(of_raw_logs(logs.lazy()).select(key).unique().sort(key).collect())
