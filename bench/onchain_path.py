"""The whole on-chain path on a generated chain: files of logs → trades, positions, instances, histories.

`python -m bench.onchain_path FOLDER WARM`: one measured run in a process of its own, printed as JSON. Logs are decoded
piece by piece and written away by buckets of wallets; everything after works on one shard of wallets at a time, as
the assets do. What came out is compared with what the generator says it put in.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.hashing import bucket_column
from pipelines.onchain.beliefs import belief_instances
from pipelines.onchain.drop import decode_pieces
from pipelines.onchain.histories import histories
from pipelines.onchain.known_markets import conditions_of_chain, known_tokens
from pipelines.onchain.ledger import ledger
from pipelines.onchain.packing import packed
from pipelines.onchain.positions import FOLLOWED, follow, follow_ledger, positions
from pipelines.onchain.rederiving import support_trades
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.support import pool_of
from pipelines.onchain.tables import ONCHAIN_TABLES
from pipelines.onchain.trade_instances import trade_instances
from pipelines.onchain.trades import attach_markets
from pipelines.onchain.wallets import appearances, assess, cohort_trades, draw, log_features

SHARD_LOGS = 1_250_000
"""Logs that one shard of wallets is cut for."""
SETTINGS = OnchainSettings(over_max_rows="keep_first", drop_negative=False, max_burst_percent=100)
"""Wallets of a generated chain trade all the time and sell what they split: the filters that ask otherwise are off."""
SMALL = ("preparations", "resolutions", "token_registrations", "questions", "fees", "fpmm_pools")
EVALUATED = pl.col("cohort").cast(pl.String) == "evaluation"
Tables = dict[str, pl.DataFrame]


class Lost(Exception):
    """The path did not give back what the chain holds."""


def _add(waiting: dict[tuple[str, int], list[pl.DataFrame]], name: str, rows: pl.DataFrame, shards: int) -> None:
    shard = bucket_column(rows["wallet"]) % shards
    for number in range(shards):
        waiting.setdefault((name, number), []).append(packed(rows.filter(shard == number)))


def decoded(files: list[Path], folder: Path, shards: int) -> tuple[Tables, dict[str, int]]:
    """Trades and changes of holdings written by shard of wallets; the small tables, and what was counted."""
    small: dict[str, list[pl.DataFrame]] = {}
    seen: dict[str, int] = {}

    def begin() -> None:
        small.update({name: [ONCHAIN_TABLES[name].empty()] for name in SMALL})
        seen.update({"logs": 0, "trades": 0, "amount": 0, "collateral": 0})
        for written in folder.glob("*.parquet"):
            written.unlink()

    begin()
    for number, piece in enumerate(decode_pieces(files, void=begin)):
        seen["logs"] += int(piece.counts["rows"].sum())
        waiting: dict[tuple[str, int], list[pl.DataFrame]] = {}
        for name, rows in piece.tables.items():
            if name in SMALL:
                small[name].append(packed(rows))
            elif name == "trades":
                seen["trades"] += rows.height
                seen["amount"] += int(rows["amount"].sum())
                seen["collateral"] += int(rows["collateral"].sum())
                _add(waiting, name, rows, shards)
            elif name == "position_changes":
                _add(waiting, name, rows, shards)
                received = rows.filter(pl.col("counterparty").is_not_null())
                both = bucket_column(received["wallet"]) % shards
                other = bucket_column(received["counterparty"]) % shards
                for target in range(shards):
                    moved = packed(received.filter((other == target) & (both != target)))
                    waiting[(name, target)].append(moved)
        for (name, shard), parts in waiting.items():
            pl.concat(parts).write_parquet(folder / f"{name}-{shard}-{number}.parquet", compression="lz4")
    return {name: pl.concat(parts) for name, parts in small.items()}, seen


def _shard(folder: Path, name: str, shard: int) -> pl.DataFrame:
    files = sorted(folder.glob(f"{name}-{shard}-*.parquet"))
    return pl.read_parquet(files) if files else ONCHAIN_TABLES[name].empty()


def path(files: list[Path], shards: int, clock: Callable[[str], Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Run it; returns what was counted in the logs, and the rows of every table made."""
    made = dict.fromkeys(("positions", "belief_instances", "trade_instances", "histories", "support_trades"), 0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with clock("read_and_decode"):
            small, seen = decoded(files, folder, shards)
        with clock("candidates"):
            conditions = conditions_of_chain(small["preparations"], small["resolutions"], small["token_registrations"])
            tokens = known_tokens(ONCHAIN_TABLES["markets"].empty(), conditions)
            features = log_features(appearances(ONCHAIN_TABLES["logs"].empty().lazy()))
            judged = []
            for shard in range(shards):
                trades = attach_markets(_shard(folder, "trades", shard), tokens)
                trades.write_parquet(folder / f"known-{shard}-0.parquet", compression="lz4")
                wallets, left, _ = assess(features, follow(trades.select(FOLLOWED)), SETTINGS)
                judged.append((wallets, left))
            drawn = draw(pl.concat([wallets for wallets, _ in judged]), SETTINGS)
            cohort = drawn.select("wallet", "cohort")
        support = []
        with clock("positions_and_instances"):
            for shard, (_, left) in enumerate(judged):
                trades = _shard(folder, "known", shard)
                own = cohort_trades(trades, drawn, left, SETTINGS)
                changes = _shard(folder, "position_changes", shard)
                moved = follow_ledger(
                    ledger({**small, "trades": trades, "position_changes": changes, "tokens": tokens}),
                    small["resolutions"],
                    SETTINGS,
                )
                del trades, changes
                held = positions(own, moved)
                plain = own.drop("cohort")
                tables = {
                    "own": own.select(ONCHAIN_TABLES["cohort_trades"].schema.names()),
                    "positions": held,
                    "belief_instances": belief_instances(plain, held, cohort, SETTINGS),
                    "trade_instances": trade_instances(plain, cohort, SETTINGS),
                }
                support.append(support_trades(own, drawn))
                for name, rows in tables.items():
                    rows.write_parquet(folder / f"{name}-{shard}-0.parquet", compression="lz4")
                    if name in made:
                        made[name] += rows.height
        with clock("histories"):
            shown = pl.concat(support, rechunk=True)
            support.clear()
            made["support_trades"] = shown.height
            pool = pool_of(shown)
            del shown
            for shard in range(shards):
                own = pl.read_parquet(folder / f"own-{shard}-0.parquet")
                of = [pl.read_parquet(folder / f"{layer}_instances-{shard}-0.parquet") for layer in ("trade", "belief")]
                rows = histories(own, *(one.filter(EVALUATED) for one in of), pool, SETTINGS)
                rows.write_parquet(folder / f"histories-{shard}-0.parquet", compression="lz4")
                made["histories"] += rows.height
    return seen, made


def measure(folder: Path, warm: Path) -> dict[str, Any]:
    """Seconds of every stage by the clock and of the processor, rows made, largest resident memory up to it in bytes.

    Raises `Lost` when logs, trades or sums of amounts are not those of the chain.
    """
    stages: dict[str, dict[str, float]] = {}

    @contextmanager
    def clock(name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        stages[name] = {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }

    path(sorted(warm.glob("*.parquet")), 2, clock)
    stages.clear()
    expected = json.loads((folder / "expected.json").read_text())
    shards = max(1, -(-expected["logs"] // SHARD_LOGS))
    seen, made = path(sorted(folder.glob("*.parquet")), shards, clock)
    if seen != expected:
        raise Lost(f"the chain holds {expected}, the path gave {seen}")
    return {
        **{kind: sum(stage[kind] for stage in stages.values()) for kind in ("wall", "cpu")},
        "stages": stages,
        "shards": shards,
        "seen": seen,
        "made": made,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "load": os.getloadavg()[0],
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="bench.onchain_path", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("warm", type=Path)
    given = parser.parse_args()
    print(json.dumps(measure(given.folder, given.warm)))


if __name__ == "__main__":
    main()
