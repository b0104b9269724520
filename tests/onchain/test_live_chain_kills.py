"""A fetch that is killed, from a node that misbehaves, gives the same bytes as a file of the same logs."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
import zstandard
from rpc_server import (
    Chain,
    Log,
    RpcServer,
    call,
    cut,
    empty,
    hang_up,
    refused,
    reorg,
    restart,
    rpc_logs,
    serving,
    slow,
    status,
    taken_back,
)

from pipelines.onchain.drop import decode_drop
from pipelines.onchain.generator import Plan, generate
from resources.chain.chunks import Chunks, gaps
from resources.chain.fetching import fetch
from resources.chain.reading import Span, filters
from resources.chain.settings import ChainError, ChainSettings
from resources.drops import DropRegister

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent / "shared" / "data" / "onchain"
FIRST, BLOCKS = 40_000_000, 10_000
LAST = FIRST + BLOCKS - 1
FETCH = """
import sys
from pathlib import Path
from resources.chain.fetching import fetch_drop
from resources.chain.settings import ChainSettings
from resources.drops import DropRegister
home, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print(fetch_drop(DropRegister(home / "drops"), ChainSettings(), first, last, home / "chain").id)
"""


def in_order(logs: list[Log]) -> list[Log]:
    return sorted(logs, key=lambda log: (int(log["blockNumber"], 16), int(log["logIndex"], 16)))


def file_drop(path: Path, logs: list[Log]) -> Path:
    """The logs as somebody else would write them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(log, sort_keys=True) + "\n" for log in logs)
    path.write_bytes(zstandard.compress(text.encode()))
    return path


def published(drop: Path, folder: Path) -> dict[str, str]:
    """Hashes of the Parquet files of everything that is decoded from a drop, written as the store writes them."""
    decoded = decode_drop([drop])
    tables = {**decoded.tables, "onchain_rejects": decoded.rejects, "log_counts": decoded.counts}
    folder.mkdir(parents=True)
    for name, table in tables.items():
        table.lazy().sink_parquet(folder / name, compression="zstd")
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in tables}


def script(draw: random.Random, kill) -> dict:
    """Faults of every kind at drawn requests for logs; three of them kill the process that asks."""
    faults = [
        *(cut, hang_up, empty, taken_back, slow(0.05), restart(0.1), status(429), status(429, Retry_After="0.1")),
        *(status(502), refused(-32000, "execution timeout"), refused(-32005, "rate limit"), status(413, "too large")),
    ]
    deaths = {draw.randrange(start, start + 8): call(kill) for start in (6, 24, 44)}
    requests = draw.sample(range(5, 80), 24)
    faults = [*faults, *faults]
    moved = {draw.randrange(33, 40): reorg(FIRST + 900), draw.randrange(60, 75): reorg(LAST - 40, late=True)}
    planned = {**dict(zip(requests, faults, strict=True)), **moved, **deaths}
    return {("eth_getLogs", n): fault for n, fault in planned.items()}


@pytest.mark.parametrize("seed", [3])
def test_killed_three_times_under_faults_equals_the_file_drop(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    logs = [log for piece in generate(Plan(seed=seed, operations=5 * BLOCKS)) for log in rpc_logs(piece.logs)]
    children: list[subprocess.Popen[str]] = []

    def kill() -> None:
        # A little later: in the midst of an answer, of a commit, or of the next request.
        threading.Timer(draw.uniform(0, 0.1), os.kill, (children[-1].pid, signal.SIGKILL)).start()

    def hint(first: int, last: int) -> str:
        return f"[{first:#x}, {(last if first % 2 else first + 699):#x}]"

    node: RpcServer
    with serving(Chain(logs, LAST + 50), script(draw, kill), max_blocks=700, max_results=4_000, suggests=hint) as node:
        given = {"URL": node.url, "FINALITY": "0", "REQUEST_BLOCKS": "900", "CONCURRENCY": "3", "TIMEOUT": "20"}
        env = {**os.environ, "PYTHONPATH": str(ROOT), **{f"TRAILBENCH_RPC_{name}": v for name, v in given.items()}}
        codes = []
        while not codes or codes[-1] == -signal.SIGKILL:
            command = [sys.executable, "-c", FETCH, str(tmp_path / "home"), str(FIRST), str(LAST)]
            children.append(subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, text=True))
            said, _ = children[-1].communicate(timeout=120)
            codes.append(children[-1].returncode)
        assert codes == [-signal.SIGKILL] * 3 + [0]
        assert node.chain.name == "main fork fork"
        node.script, node.max_blocks, node.max_results = {}, None, None
        clean = fetch(ChainSettings(url=node.url, finality=0, concurrency=1), FIRST, LAST, tmp_path / "clean")
        truth = in_order([log for of_block in node.chain.logs.values() for log in of_block])

    (drop,) = DropRegister(tmp_path / "home" / "drops")
    assert said.strip() == drop.id
    (path,) = drop.verify()
    assert path.read_bytes() == Path(clean.file).read_bytes()
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name.replace("jsonl.zst", "json"), path.name]
    assert len(truth) == clean.logs > 50_000
    assert published(path, tmp_path / "live") == published(
        file_drop(tmp_path / "by_hand" / path.name, truth), tmp_path / "by_hand" / "tables"
    )


@pytest.mark.parametrize(
    "folder", ["wallet_a0932d9", "wallet_a79af3b_part1", "rss3_tx_a475_mint", "zetta_malformed_and_rest_of_tx"]
)
def test_real_logs_over_the_wire_decode_like_their_file(tmp_path: Path, folder: str) -> None:
    path = REAL / folder / "logs.json"
    if not path.is_file():
        pytest.skip("the shared real logs are not beside this checkout")
    logs = json.loads(path.read_text())
    numbers = [int(log["blockNumber"], 16) for log in logs]
    first, last = min(numbers) - 2, max(numbers) + 2
    made = Chain(logs, last + 300)
    for log in logs:
        log.setdefault("blockHash", "0x" + hashlib.sha256(log["blockNumber"].encode()).hexdigest())
        log.setdefault("blockTimestamp", made.time(int(log["blockNumber"], 16)))
    with serving(made) as node:
        # These wallets' logs are far apart, and the blocks between hold others' logs, which are not here.
        wide = ChainSettings(url=node.url, request_blocks=last - first + 1)
        fetched = Path(fetch(wide, first, last, tmp_path / "live").file)
    wanted = {topic for asked in filters() for topic in asked["topics"][0]}
    kept = in_order([log for log in logs if log["topics"][0] in wanted])
    assert kept
    assert published(fetched, tmp_path / "a") == published(
        file_drop(tmp_path / "by_hand" / fetched.name, kept), tmp_path / "b"
    )
    read = pl.DataFrame(decode_drop([fetched]).counts)
    assert read["rows"].sum() == len(kept)


def spans() -> list[Span]:
    return [
        Span(10, 14, "0x09", "0x14", 1, ('{"a":1}',)),
        Span(15, 15, "0x14", "0x15", 0, ()),
        Span(16, 20, "0x15", "0x20", 2, ('{"b":1}', '{"b":2}')),
    ]


@pytest.mark.parametrize("step", ["write", "sync", "rename", "sync the folder"])
def test_a_commit_that_dies_at_any_step_leaves_a_gap_or_the_span(tmp_path: Path, monkeypatch, step: str) -> None:
    kept = Chunks(tmp_path / "chunks")
    with kept.held():
        kept.commit(spans()[0])
        kept.commit(spans()[2])

    class Killed(BaseException):
        pass

    def die(*args) -> None:
        raise Killed

    count = {"sync": 1, "sync the folder": 2}
    real, calls = os.fsync, []

    def sync(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == count[step]:
            raise Killed
        real(descriptor)

    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr(Path, "write_bytes", lambda path, data: (path.open("wb").write(data[:7]), die()))
        elif step == "rename":
            patch.setattr(Path, "replace", die)
        else:
            patch.setattr(os, "fsync", sync)
        with pytest.raises(Killed):
            kept.commit(spans()[1])

    again = Chunks(tmp_path / "chunks")
    with again.held():
        missing = gaps(10, 22, again.committed())
        assert missing == ([(21, 22)] if step == "sync the folder" else [(15, 15), (21, 22)])
        again.commit(spans()[1])
        assert sorted(path.name for path in again.folder.iterdir() if path.suffix != ".zst") == [".lock"]
        again.join(again.committed(), tmp_path / "file")
    text = zstandard.ZstdDecompressor().decompressobj().decompress((tmp_path / "file").read_bytes())
    assert text == b'{"a":1}\n{"b":1}\n{"b":2}\n'


def test_a_damaged_span_is_fetched_again(tmp_path: Path) -> None:
    kept = Chunks(tmp_path / "chunks")
    with kept.held():
        for span in spans():
            kept.commit(span)
        files = sorted(kept.folder.glob("*.zst"))
        whole = files[2].read_bytes()
        files[1].write_bytes(b"no archive")
        files[2].write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert gaps(10, 20, kept.committed()) == [(15, 20)]


def test_a_span_that_is_damaged_at_the_end_is_not_left_out(tmp_path: Path) -> None:
    kept = Chunks(tmp_path / "chunks")
    with kept.held():
        for span in spans():
            kept.commit(span)
        chunks = kept.committed()
        (kept.folder / "000000000016-000000000020.zst").write_bytes(b"no archive")
        for _ in range(2):
            with pytest.raises(ChainError, match=r"000000000016-000000000020.zst: damaged, and removed"):
                kept.join(chunks, tmp_path / "file")
        assert not (tmp_path / "file").exists()
        assert gaps(10, 20, kept.committed()) == [(16, 20)]
