"""Decode of OrderFilled logs: Parquet → trades, by us, by peers, and the plain scan of the same file.

Run as `python -m bench.onchain [--logs N] [--json FILE]`: every decoder in a process of
its own, on one file of binary and one of hex columns; ratios are of one run. Peers
that are not installed are named and left out. Slow peers decode the first rows only.
"""

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.contracts import EXCHANGES_V1
from pipelines.onchain.decode import decode
from pipelines.onchain.logs import read_logs

EVENT = BY_NAME["order_filled_v1"]
TYPES = ["uint256"] * 5
ROUNDS = 3
FIRST = {"eth_abi": 50_000, "web3": 3_000}
"""Rows that a slow peer decodes; its rate is per log."""


def _column(values: "np.typing.NDArray[np.uint8]") -> pl.Series:
    array = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(values.shape[1]), len(values), [None, pa.py_buffer(np.ascontiguousarray(values).data)]
    )
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series


def fills(n: int, seed: int = 7) -> pl.DataFrame:
    """V1 OrderFilled logs in the columns of cryo: 4,000 wallets, 3,000 tokens, half of them buys, 256-bit token ids."""
    rng = np.random.Generator(np.random.Philox(seed))
    wallets = np.zeros((4_000, 32), np.uint8)
    wallets[:, 12:] = rng.integers(0, 256, (4_000, 20), np.uint8)
    tokens = rng.integers(0, 256, (3_000, 32), np.uint8)
    data = np.zeros((n, 160), np.uint8)
    buys = rng.random(n) < 0.5
    token = tokens[rng.integers(0, 3_000, n)]
    data[buys, 32:64] = token[buys]
    data[~buys, :32] = token[~buys]
    for word in (2, 3, 4):
        amounts = rng.integers(1, 2**31, n).astype(">u8") if word < 4 else np.zeros(n, ">u8")
        data[:, 32 * word + 24 : 32 * word + 32] = amounts.view(np.uint8).reshape(n, 8)
    topic0 = np.tile(np.frombuffer(EVENT.topic0, np.uint8), (n, 1))
    emitters = np.stack([np.frombuffer(address, np.uint8) for address in sorted(EXCHANGES_V1)])
    blocks = np.arange(n) // 40
    hashes = rng.integers(0, 256, (blocks[-1] + 1, 32), np.uint8)
    return pl.DataFrame(
        {
            "block_number": pl.Series(40_000_000 + blocks, dtype=pl.UInt32),
            "block_hash": _column(hashes[blocks]),
            "transaction_index": pl.Series(np.arange(n) % 40 // 4, dtype=pl.UInt32),
            "log_index": pl.Series(np.arange(n) % 40, dtype=pl.UInt32),
            "transaction_hash": _column(rng.integers(0, 256, (n // 4 + 1, 32), np.uint8)[np.arange(n) // 4]),
            "address": _column(emitters[rng.integers(0, 2, n)]),
            "topic0": _column(topic0),
            "topic1": _column(rng.integers(0, 256, (n, 32), np.uint8)),
            "topic2": _column(wallets[rng.integers(0, 4_000, n)]),
            "topic3": _column(wallets[rng.integers(0, 4_000, n)]),
            "data": _column(data),
        }
    )


def hexed(frame: pl.DataFrame) -> pl.DataFrame:
    """The same logs with hex text where bytes were."""
    names = [name for name, dtype in frame.schema.items() if dtype == pl.Binary]
    return frame.with_columns((pl.lit("0x") + pl.col(name).bin.encode("hex")).alias(name) for name in names)


def _scan(path: Path) -> Callable[[], int]:
    def run() -> int:
        return pl.scan_parquet(path).collect().height

    return run


def _ours(path: Path) -> Callable[[], int]:
    def run() -> int:
        return sum(decode(chunk.rows).tables["trades"].height for chunk in read_logs(path))

    return run


def _kernel(path: Path) -> Callable[[], int]:
    rows = pl.concat([chunk.rows for chunk in read_logs(path)], rechunk=True)

    def run() -> int:
        return decode(rows).tables["trades"].height

    return run


def _eth_abi(path: Path) -> Callable[[], int]:
    from eth_abi.abi import decode as decode_abi

    data = pl.scan_parquet(path).head(FIRST["eth_abi"]).collect()["data"].to_list()
    if isinstance(data[0], str):

        def run() -> int:
            return len([decode_abi(TYPES, bytes.fromhex(one[2:])) for one in data])

        return run
    return lambda: len([decode_abi(TYPES, one) for one in data])


def _web3(path: Path) -> Callable[[], int]:
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
    rows = pl.scan_parquet(path).head(FIRST["web3"]).collect().to_dicts()
    to_bytes: Callable[[Any], bytes] = lambda v: bytes.fromhex(v[2:]) if isinstance(v, str) else v  # noqa: E731
    logs = [
        AttributeDict(
            {
                "address": Web3.to_checksum_address("0x" + to_bytes(row["address"]).hex()),
                "topics": [to_bytes(row[f"topic{i}"]) for i in range(4)],
                "data": to_bytes(row["data"]),
                "blockNumber": row["block_number"],
                "blockHash": to_bytes(row["block_hash"]),
                "transactionHash": to_bytes(row["transaction_hash"]),
                "transactionIndex": row["transaction_index"],
                "logIndex": row["log_index"],
            }
        )
        for row in rows
    ]
    return lambda: len([event.process_log(log) for log in logs])


DECODERS: dict[str, tuple[Callable[[Path], Callable[[], int]], str]] = {
    "scan": (_scan, ""),
    "ours": (_ours, ""),
    "ours, rows in memory": (_kernel, ""),
    "eth_abi": (_eth_abi, "eth_abi"),
    "web3": (_web3, "web3"),
}
"""What is timed, by name, and the package that it needs."""


def measure(name: str, path: Path) -> dict[str, float]:
    """Best of three rounds after a warm-up: seconds, processor seconds, logs a second, peak memory in GB."""
    run = DECODERS[name][0](path)
    run()
    best = (float("inf"), 0.0, 0)
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        rows = run()
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu, rows))
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text()).group(1)) / 2**20
    return {"seconds": best[0], "cpu": best[1], "logs": best[2], "rate": best[2] / best[0], "peak": peak}


def compare(logs: int) -> dict[str, dict[str, dict[str, float]]]:
    """All decoders on both files: form → decoder → figures."""
    results: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        frame = fills(logs)
        for form in ("binary", "hex"):
            path = Path(folder) / f"{form}.parquet"
            (frame if form == "binary" else hexed(frame)).write_parquet(path)
        del frame
        for form in ("binary", "hex"):
            for name, (_, package) in DECODERS.items():
                if package and importlib.util.find_spec(package) is None:
                    continue
                command = [sys.executable, "-m", "bench.onchain", "--one", name, "--file", f"{folder}/{form}.parquet"]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                results.setdefault(form, {})[name] = json.loads(done.stdout)
    return results


def show(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The figures and their ratios as a table in text."""
    lines = ["form    decoder                 M logs/s   wall s    cpu s  peak GB  ours is faster by"]
    for form, of_form in results.items():
        for name, row in of_form.items():
            base = "ours, rows in memory" if name in ("eth_abi", "web3") else "ours"
            ratio = of_form[base]["rate"] / row["rate"]
            lines.append(
                f"{form:7} {name:22} {row['rate'] / 1e6:9.3f} {row['seconds']:8.3f} {row['cpu']:8.3f} "
                f"{row['peak']:8.2f}  {ratio:9.2f}"
            )
    absent = sorted({package for _, package in DECODERS.values() if package and not importlib.util.find_spec(package)})
    lines += [f"not installed, left out: {', '.join(absent)}"] if absent else []
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", choices=list(DECODERS))
    parser.add_argument("--file", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.file)))
        return
    results = compare(arguments.logs)
    print(show(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
