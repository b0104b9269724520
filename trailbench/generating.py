"""`trailbench generate`: a chain whose truth is known, as the files that a node and the market service would give."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.onchain import ids
from pipelines.onchain.generator import Plan, generate, names
from pipelines.onchain.generator_files import gamma_markets, rpc_logs
from resources.documents import write_atomic

OPERATIONS_A_WALLET = 90
"""Enough for half of the wallets to pass the filters of the default settings."""


def plan_of(wallets: int, seed: int) -> Plan:
    """A chain in which many of `wallets` trade in enough markets."""
    markets = max(40, wallets // 5 // 4 * 4)
    return Plan(
        seed=seed,
        wallets=wallets,
        markets=markets,
        neg_risk_markets=markets // 4 // 4 * 4,
        operations=wallets * OPERATIONS_A_WALLET,
    )


def write_chain(plan: Plan, folder: Path, progress: Callable[[str], object]) -> dict[str, int]:
    """Write `logs-*.jsonl`, `markets.json` and `truth/holdings.parquet` (what every wallet ends with); rows of each."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, number = 0, 0
    last = np.zeros((plan.wallets, plan.markets, 2), np.int64)
    for number, piece in enumerate(generate(plan), 1):
        progress(f"logs, part {number}")
        part = folder / f".logs-{number:03}.partial"
        rpc_logs(piece.logs).write_ndjson(part)
        part.replace(folder / f"logs-{number:03}.jsonl")
        rows, last = rows + piece.logs.height, piece.balances
    # Parts of a longer chain that was written here before.
    for left in folder.glob("logs-*.jsonl"):
        if left.name > f"logs-{number:03}.jsonl":
            left.unlink()
    described = gamma_markets(plan)
    write_atomic(folder / "markets.json", json.dumps(described, indent=1))
    (folder / "truth").mkdir(exist_ok=True)
    known = names(plan)
    wallet, market, outcome = last.nonzero()
    truth = pl.DataFrame(
        {
            "wallet": [known.wallets[i].tobytes() for i in wallet],
            "condition_id": [known.conditions[i].tobytes() for i in market],
            "outcome": outcome,
            "balance": last[wallet, market, outcome],
        },
        schema={"wallet": pl.Binary, "condition_id": pl.Binary, "outcome": pl.Int16, "balance": pl.Int64},
    ).with_columns(ids.hex_text(pl.col(name)).alias(name) for name in ("wallet", "condition_id"))
    part = folder / "truth" / ".holdings.partial"
    truth.write_parquet(part)
    part.replace(folder / "truth" / "holdings.parquet")
    return {"logs": rows, "files": number, "markets": len(described), "holdings": truth.height}
