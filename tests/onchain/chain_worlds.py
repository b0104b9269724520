"""Small chains for tests: trades by hand, seeded worlds, and plain-Python answers about them."""

import random
from typing import Any

import polars as pl

from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.tables import ONCHAIN_TABLES


def wallet(n: int) -> bytes:
    return b"\x11" * 18 + n.to_bytes(2, "big")


def market(n: int) -> bytes:
    return b"\x22" * 30 + n.to_bytes(2, "big")


def trade(
    u: int, m: int, outcome: int, direction: str, amount: int, block: int, log: int = 0, **more: Any
) -> dict[str, Any]:
    return {
        "wallet": wallet(u),
        "condition_id": market(m),
        "outcome": outcome,
        "direction": direction,
        "amount": amount,
        "collateral": amount // 2,
        "price": 0.5 if amount else None,
        "fee": 0,
        "block_number": block,
        "log_index": log,
        "tx_index": log // 3,
        **more,
    }


def trades(*rows: dict[str, Any]) -> pl.DataFrame:
    """A frame in the shape of table `trades`; columns that tests do not name are null."""
    schema = ONCHAIN_TABLES["trades"].schema
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema, orient="row")


def table(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    schema = (ONCHAIN_TABLES | PREDICTION_TABLES)[name].schema
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema, orient="row")


def world(
    seed: int, n: int, wallets: int = 6, markets: int = 5, outcomes: int = 3, blocks: int = 40, sells: float = 0.35
) -> list[dict[str, Any]]:
    """Random trades with many in one block; log indices are unique in a block."""
    draw = random.Random(seed)
    logs: dict[int, int] = {}
    rows = []
    for _ in range(n):
        block = draw.randrange(1_000, 1_000 + blocks)
        logs[block] = logs.get(block, -1) + draw.randrange(1, 4)
        rows.append(
            trade(
                draw.randrange(wallets),
                draw.randrange(markets),
                draw.randrange(outcomes),
                "SELL" if draw.random() < sells else "BUY",
                draw.choice([0, 1, 5, 5, 7, 30, 1_000_000]),
                block,
                logs[block],
            )
        )
    return rows


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["wallet"], row["block_number"], row["log_index"]))


def at(row: dict[str, Any]) -> tuple[int, int]:
    return row["block_number"], row["log_index"]
