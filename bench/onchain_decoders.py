"""Decode of OrderFilled logs by us and by peers, under one measure: one run in a process of its own, printed as JSON.

`python -m bench.onchain_decoders NAME FORM FILE WARM`. Every decoder first does its work on the small file WARM, so
that imports, compiled code and the allocator are ready. Peers that walk log by log decode the first logs only
(`FIRST`); their rate is per log. What each made of the first `COMPARED` logs is hashed: the hashes must be equal.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bench.onchain_logs import EVENT
from pipelines.hashing import frame_hash
from pipelines.onchain.decode import decode
from pipelines.onchain.drop import decode_drop, decode_pieces
from pipelines.onchain.logs import read_logs
from pipelines.onchain.packing import packed
from resources.chain.web3_imports import recursion_limit_kept

COMPARED = 3_000
FIRST = {"eth_abi": 50_000, "web3": 3_000}
"""Logs that a slow peer decodes."""
PACKAGES = {"eth_abi": "eth_abi", "web3": "web3"}
"""The package that a peer is."""
_SIDES = ("maker", "taker")
Filled = tuple[str, str, str, int, int, int, int, int]
"""Order hash, maker, taker (hex without 0x, lower case), both asset ids, both amounts, fee."""
Run = Callable[[], tuple[int, Callable[[], pl.DataFrame | None]]]
"""The timed work: the number of logs decoded, and what reads out the first `COMPARED` trades once the clock stopped."""
_SCHEMA = {
    "order_hash": pl.String,
    "wallet": pl.String,
    "counterparty": pl.String,
    "direction": pl.String,
    "token_id": pl.String,
    "amount": pl.Int64,
    "collateral": pl.Int64,
    "fee": pl.Int64,
}


def scan(form: str, path: Path) -> Run:
    """Polars reads every column and decodes nothing."""
    read = pl.read_ndjson if form == "json" else pl.read_parquet
    return lambda: (read(path).height, lambda: None)


def trailbench(form: str, path: Path) -> Run:
    """Ours, from the file to trades, rejects and counts, twins searched for, piece by piece."""

    def run() -> tuple[int, Callable[[], pl.DataFrame]]:
        first: list[pl.DataFrame] = []
        rows: list[int] = []

        def void() -> None:
            first.clear()
            rows.clear()

        for piece in decode_pieces([path], void=void):
            trades = piece.tables["trades"]
            if not first:
                first.append(packed(trades.head(COMPARED)))
            rows.append(trades.height)
            # What a piece was made of is let go before the next one comes, as by a consumer that writes it away.
            del piece, trades
        return sum(rows), lambda: _of_trades(first[0])

    return run


def trailbench_drop(form: str, path: Path) -> Run:
    """Ours, the whole file into sorted tables in memory, which keep no log: read once unless it has twins."""

    def run() -> tuple[int, Callable[[], pl.DataFrame]]:
        trades = decode_drop([path]).tables["trades"]
        return trades.height, lambda: _of_trades(trades.head(COMPARED))

    return run


def trailbench_memory(form: str, path: Path) -> Run:
    """Ours, one thread, the logs already in memory as bytes."""
    chunks = [chunk.rows for chunk in read_logs(path)]

    def run() -> tuple[int, Callable[[], pl.DataFrame]]:
        trades = [decode(rows).tables["trades"] for rows in chunks]
        return sum(part.height for part in trades), lambda: _of_trades(trades[0].head(COMPARED))

    return run


def eth_abi(form: str, path: Path) -> Run:
    """`eth_abi.decode` of the five words of the data; topics are left alone."""
    from eth_abi.abi import decode as decode_abi

    kinds = ["uint256"] * 5
    logs = _first(form, path, FIRST["eth_abi"])
    data = [log["data"] for log in logs]

    def run() -> tuple[int, Callable[[], pl.DataFrame]]:
        words = [decode_abi(kinds, bytes.fromhex(one[2:]) if isinstance(one, str) else one) for one in data]
        return len(words), lambda: _of_values(
            (*_topics(log), *found) for log, found in zip(logs[:COMPARED], words, strict=False)
        )

    return run


def web3(form: str, path: Path) -> Run:
    """`process_log` of a web3.py contract event."""
    with recursion_limit_kept():
        from web3 import Web3
        from web3.datastructures import AttributeDict

    names = ["orderHash", "maker", "taker", "makerAssetId", "takerAssetId"]
    names += ["makerAmountFilled", "takerAmountFilled", "fee"]
    kinds = EVENT.signature.split("(")[1].rstrip(")").split(",")
    inputs = [
        {"name": name, "type": kind, "indexed": i < 3} for i, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    abi = [{"type": "event", "name": "OrderFilled", "anonymous": False, "inputs": inputs}]
    event = Web3().eth.contract(abi=abi).events.OrderFilled()  # type: ignore[call-overload]
    logs = [
        AttributeDict(
            {
                "address": Web3.to_checksum_address(_hex(log["address"])),
                "topics": [bytes.fromhex(_hex(topic)) for topic in log["topics"]],
                "data": bytes.fromhex(_hex(log["data"])),
                "blockNumber": 1,
                "blockHash": bytes(32),
                "transactionHash": bytes(32),
                "transactionIndex": 0,
                "logIndex": 0,
            }
        )
        for log in _first(form, path, FIRST["web3"])
    ]

    def run() -> tuple[int, Callable[[], pl.DataFrame]]:
        found = [event.process_log(log)["args"] for log in logs]
        return len(found), lambda: _of_values(
            (
                bytes(args["orderHash"]).hex(),
                *(args[side][2:].lower() for side in _SIDES),
                *(args[name] for name in names[3:]),
            )
            for args in found[:COMPARED]
        )

    return run


DECODERS: dict[str, Callable[[str, Path], Run]] = {
    "scan": scan,
    "trailbench": trailbench,
    "trailbench_drop": trailbench_drop,
    "trailbench_memory": trailbench_memory,
    "eth_abi": eth_abi,
    "web3": web3,
}
"""What is timed, by name."""


def _first(form: str, path: Path, n: int) -> list[dict[str, Any]]:
    """The first logs as dicts of address, topics and data."""
    if form == "json":
        with path.open() as lines:
            return [json.loads(line) for _, line in zip(range(n), lines, strict=False)]
    rows = pl.read_parquet(path, n_rows=n).to_dicts()
    return [
        {"address": row["address"], "topics": [row[f"topic{i}"] for i in range(4)], "data": row["data"]} for row in rows
    ]


def _hex(value: str | bytes) -> str:
    return value.removeprefix("0x") if isinstance(value, str) else value.hex()


def _topics(log: dict[str, Any]) -> tuple[str, str, str]:
    order, maker, taker = (_hex(topic) for topic in log["topics"][1:])
    return order, maker[24:], taker[24:]


def _of_values(rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """What the values of OrderFilled mean, said once more in plain Python."""
    out = []
    for order, maker, taker, gives, takes, given, taken, fee in rows:
        buys = gives == 0
        token = f"{takes if buys else gives:064x}"
        amount, collateral = (taken, given) if buys else (given, taken)
        out.append((order, maker, taker, "BUY" if buys else "SELL", token, amount, collateral, fee))
    return pl.DataFrame(out, schema=_SCHEMA, orient="row")


def _of_trades(trades: pl.DataFrame | None) -> pl.DataFrame:
    assert trades is not None, "the file holds no log"
    return trades.select(
        (pl.col(name).bin.encode("hex") if trades.schema[name] == pl.Binary else pl.col(name)).cast(dtype)
        for name, dtype in _SCHEMA.items()
    )


def measure(name: str, form: str, path: Path, warm: Path) -> dict[str, Any]:
    """Seconds by the clock and of the processor, logs, hash of the first trades, largest resident memory in bytes."""
    DECODERS[name](form, warm)()
    run = DECODERS[name](form, path)
    wall, cpu = time.perf_counter(), time.process_time()
    logs, read_out = run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = read_out()
    return {
        "wall": wall,
        "cpu": cpu,
        "logs": logs,
        "peak": peak,
        "load": os.getloadavg()[0],
        "trades": None if found is None else f"{frame_hash(found)}",
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="bench.onchain_decoders", description=__doc__)
    parser.add_argument("name", choices=list(DECODERS))
    parser.add_argument("form")
    parser.add_argument("file", type=Path)
    parser.add_argument("warm", type=Path)
    given = parser.parse_args()
    print(json.dumps(measure(given.name, given.form, given.file, given.warm)))


if __name__ == "__main__":
    main()
