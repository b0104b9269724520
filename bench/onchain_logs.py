"""Logs for the on-chain bench: OrderFilled alone, to compare decoders, and whole generated chains, for the whole path.

Both are written once into the cache folder, under names that say how they were made.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.contracts import EXCHANGES_V1
from pipelines.onchain.generator import Plan, generate
from pipelines.onchain.generator_logs import FILLED

EVENT = BY_NAME["order_filled_v1"]
FORMS = ("binary", "hex", "json")
"""Parquet with bytes, Parquet with hex text (both in the columns of cryo), JSON-RPC logs, one a line."""
LOGS_PER_FILE = 1_000_000
OPERATIONS_PER_LOG = 0.9
"""An operation emits about two logs until markets resolve, then fewer; what is left over is not made."""
LOGS_PER_WALLET = 12_500
MARKETS = 800
"""About nine trades of a wallet in a market; the paper has ten."""
_VERSION = 1
_RENAMED = {"tx_hash": "transaction_hash", "tx_index": "transaction_index"}
_RPC = {
    "block_number": "blockNumber",
    "block_hash": "blockHash",
    "transaction_index": "transactionIndex",
    "log_index": "logIndex",
    "transaction_hash": "transactionHash",
}


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


def rpc(frame: pl.DataFrame) -> pl.DataFrame:
    """The same logs as a node answers `eth_getLogs`: numbers as hex text, topics as a list."""
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_integer()]
    text = {value: f"0x{value:x}" for name in numbers for value in frame[name].unique()}
    return hexed(frame).select(
        "address",
        pl.concat_list(f"topic{i}" for i in range(4)).alias("topics"),
        "data",
        *(
            pl.col(name).replace_strict(text, return_dtype=pl.String).alias(said)
            if name in numbers
            else pl.col(name).alias(said)
            for name, said in _RPC.items()
        ),
        pl.lit(False).alias("removed"),
    )


def fill_file(n: int, form: str, folder: Path) -> Path:
    """`fills` as one file of the form."""
    path = folder / f"fills-{_VERSION}-{n}-{form}.{'jsonl' if form == 'json' else 'parquet'}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        frame = fills(n)
        partial = path.with_suffix(".partial")
        if form == "json":
            rpc(frame).write_ndjson(partial)
        else:
            (frame if form == "binary" else hexed(frame)).write_parquet(partial)
        partial.rename(path)
    return path


def chain(n: int, folder: Path) -> Path:
    """A folder with a generated chain of exactly `n` logs as Parquet, and what it must give back in `expected.json`."""
    out = folder / f"chain-{_VERSION}-{n}"
    if (out / "expected.json").exists():
        return out
    out.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        wallets=max(50, n // LOGS_PER_WALLET),
        markets=MARKETS,
        neg_risk_markets=MARKETS // 4,
        operations=int(n * OPERATIONS_PER_LOG),
    )
    expected = {"logs": n, "trades": 0, "amount": 0, "collateral": 0}
    waiting: list[pl.DataFrame] = []
    made = written = 0
    for piece in generate(plan):
        logs, truth = piece.logs.head(n - made), piece.truth.head(n - made)
        made += logs.height
        traded = truth.filter(pl.col("kind") == FILLED)
        expected["trades"] += traded.height
        for name in ("amount", "collateral"):
            expected[name] += int(traded[name].sum())
        waiting.append(logs.rename(_RENAMED).drop("removed"))
        if sum(part.height for part in waiting) >= LOGS_PER_FILE or made == n:
            pl.concat(waiting).write_parquet(out / f"logs-{written:04}.parquet")
            waiting, written = [], written + 1
        if made == n:
            break
    if made < n:
        raise ValueError(f"{plan.operations} operations made only {made} logs")
    (out / "expected.json").write_text(json.dumps(expected) + "\n")
    return out
