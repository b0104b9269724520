"""A small chain and how the tests of the live source fetch it."""

import json
from functools import cache
from pathlib import Path

import zstandard
from rpc_server import Chain, Log, RpcServer, matching, rpc_logs

from pipelines.onchain.generator import Plan, generate
from resources.chain.fetching import fetch
from resources.chain.settings import ChainSettings

FIRST, LAST = 40_000_000, 40_000_199
FOREIGN: Log = {
    "address": "0x" + "ee" * 20,
    "topics": ["0x" + "ab" * 32],
    "data": "0x",
    "blockNumber": "",
    "transactionHash": "0x" + "cd" * 32,
    "transactionIndex": "0x63",
    "blockHash": "",
    "logIndex": "0x3e7",
    "removed": False,
    "blockTimestamp": "0x64",
}


@cache
def generated() -> tuple[Log, ...]:
    return tuple(log for piece in generate(Plan(operations=1_000)) for log in rpc_logs(piece.logs))


def chain(without: range = range(0)) -> Chain:
    """200 blocks of the protocol's logs with a foreign one in each, and some blocks around them."""
    logs = [log for log in generated() if int(log["blockNumber"], 16) not in without]
    made = Chain(logs, LAST + 20)
    for number in range(FIRST - 5, LAST + 15):
        foreign = {
            **FOREIGN,
            "blockNumber": hex(number),
            "blockHash": made.hash(number),
            "blockTimestamp": made.time(number),
        }
        made.logs[number].append(foreign)
    return made


def settings(node: RpcServer, **changed) -> ChainSettings:
    usual = {"url": node.url, "request_blocks": 50, "concurrency": 1, "timeout": 5.0, "patience": 5.0}
    return ChainSettings(**{**usual, **changed})


def logs_in(path: Path | str) -> list[Log]:
    text = zstandard.ZstdDecompressor().decompressobj().decompress(Path(path).read_bytes())
    return [json.loads(line) for line in text.splitlines()]


def expected(of: Chain, first: int = FIRST, last: int = LAST) -> list[Log]:
    """Logs of the protocol in order, by plain Python."""
    asked = {"fromBlock": hex(first), "toBlock": hex(last)}
    ours = [log for log in matching(of, asked) if log["address"] != FOREIGN["address"]]
    return sorted(ours, key=lambda log: (int(log["blockNumber"], 16), int(log["logIndex"], 16)))


def fetched(node: RpcServer, folder: Path, **changed) -> list[Log]:
    return logs_in(fetch(settings(node, **changed), FIRST, LAST, folder).file)
