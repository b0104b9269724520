"""One range of blocks from a node: its logs as canonical lines, with proof of the chain they are from.

A node may be pruned, be several nodes on different forks, or change its mind between
two requests. So the hash of the last block is read before the logs and again after
them, every header that is read must agree with the logs of its block, and no answer
without logs is believed at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from pipelines.onchain.abi import EVENTS
from pipelines.onchain.decode import BUILDERS
from pipelines.onchain.ids import keccak256
from resources.chain.rpc import RpcFailure, RpcNode

_FIELDS = (
    "address",
    "topics",
    "data",
    "blockNumber",
    "blockHash",
    "blockTimestamp",
    "transactionHash",
    "transactionIndex",
    "logIndex",
)
"""Fields of a log that are kept, in this order."""
_QUANTITIES = frozenset({"blockNumber", "blockTimestamp", "transactionIndex", "logIndex"})
_ASKED = 8
"""About how many blocks of a range without logs are asked for one by one, where blooms cannot tell."""
_ROUND = 1_000
"""Limits on results are round numbers: an answer of so many logs may have been cut without a word."""


@dataclass(frozen=True)
class Header:
    """What is used of a block's header: `time` in seconds, `bloom` (2,048 bits) of what its logs are about."""

    hash: str
    parent: str
    time: str
    bloom: int


@dataclass(frozen=True)
class Span:
    """The logs of the blocks `first` … `last`, one JSON line each in the order of the chain.

    `parent` is the hash of the block before `first`, `hash` that of `last`; `blocks`
    counts the blocks with logs.
    """

    first: int
    last: int
    parent: str
    hash: str
    blocks: int
    lines: tuple[str, ...]


@lru_cache(maxsize=1)
def filters() -> tuple[Mapping[str, Any], ...]:
    """What to ask for: events that enter a table, by contract; and those of pools, whose addresses only logs tell."""
    wanted = [event for event in EVENTS if event.name in BUILDERS]
    contracts = sorted({address for event in wanted for address in event.contracts})
    asked = []
    for of_pools in (False, True):
        topics = sorted({event.topic0 for event in wanted if of_pools is not bool(event.contracts)})
        by_address = {} if of_pools else {"address": [f"0x{address.hex()}" for address in contracts]}
        asked.append({**by_address, "topics": [[f"0x{topic.hex()}" for topic in topics]]})
    return tuple(asked)


def read_span(node: RpcNode, first: int, last: int) -> Span:
    """Logs of a range, proven as far as a node can prove them.

    Raises `RpcFailure` when the node fails, contradicts itself, or seems to lack what it should have.
    """
    before = headers(node, [last])[last]
    answers = [_twice(node, first, last, asked) for asked in filters()]
    logs = [log for answer in answers for log in answer]
    taken_back = {_place(log) for log in logs if log.get("removed")}
    kept = [log for log in logs if _place(log) not in taken_back]
    # Without block times every block's header is needed; where logs were taken back, every hash is in doubt.
    doubted = {_number(log) for log in logs if taken_back or not log.get("blockTimestamp")}
    known = headers(node, sorted({first, last, *doubted}))
    if known[last].hash != before.hash:
        raise RpcFailure("broken", f"block {last} was replaced while its range was read")
    hashes = {number: header.hash for number, header in known.items()}
    for log in kept:
        number = _number(log)
        if hashes.setdefault(number, _text(log, "blockHash")) != _text(log, "blockHash"):
            raise RpcFailure("broken", f"logs of block {number} are of a block with another hash")
    if any(known[number].hash == block_hash for number, _, block_hash in taken_back):
        raise RpcFailure("broken", "a log was taken back that is of a block of the chain")
    if not answers[0]:
        _prove_empty(node, first, last)
    lines = sorted({(_number(log), _index(log), canonical(log, known)) for log in kept})
    blocks = len({number for number, _, _ in lines})
    return Span(first, last, known[first].parent, known[last].hash, blocks, tuple(line for _, _, line in lines))


def headers(node: RpcNode, numbers: Sequence[int]) -> dict[int, Header]:
    """Headers of blocks by number. Raises `RpcFailure` for a block that the node does not have."""
    found = node.batch("eth_getBlockByNumber", [[hex(number), False] for number in numbers])
    result = {}
    for number, block in zip(numbers, found, strict=True):
        if not isinstance(block, dict):
            raise RpcFailure("broken", f"the node has no block {number}")
        if quantity(block, "number") != number:
            raise RpcFailure("broken", f"the node gave another block for {number}")
        time, bloom = hex(quantity(block, "timestamp")), quantity(block, "logsBloom")
        result[number] = Header(_text(block, "hash"), _text(block, "parentHash"), time, bloom)
    return result


def _lower(value: Any) -> Any:
    """Text in lower case; anything else is left as it is, for the reader to refuse."""
    return value.lower() if isinstance(value, str) else value


def quantity(values: Mapping[str, Any], name: str) -> int:
    """A number that JSON-RPC gives as hex text; decimal is understood too. Raises `RpcFailure` when it is none."""
    value = values.get(name)
    try:
        return int(value, 0) if isinstance(value, str) else int(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise RpcFailure("broken", f"{name} is no quantity") from None


def canonical(log: Mapping[str, Any], known: Mapping[int, Header]) -> str:
    """A log as one line: the fields of JSON-RPC in one order, lower case, quantities without leading zeros."""
    if not log.get("blockTimestamp"):
        log = {**log, "blockTimestamp": known[_number(log)].time}
    line: dict[str, Any] = {}
    for name in _FIELDS:
        value = log.get(name)
        if value is None:
            continue
        if name in _QUANTITIES:
            line[name] = hex(quantity(log, name))
        else:
            line[name] = [_lower(one) for one in value] if isinstance(value, list) else _lower(value)
    line["removed"] = False
    return json.dumps(line, separators=(",", ":"))


def _twice(node: RpcNode, first: int, last: int, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Logs of a range; asked for again when there are none."""
    return _logs(node, first, last, asked) or _logs(node, first, last, asked)


def _logs(node: RpcNode, first: int, last: int, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    logs = node.call("eth_getLogs", [{"fromBlock": hex(first), "toBlock": hex(last), **asked}])
    if not isinstance(logs, list) or not all(isinstance(log, dict) for log in logs):
        raise RpcFailure("broken", "eth_getLogs: the answer is no list of logs")
    if outside := [number for log in logs if not first <= (number := _number(log)) <= last]:
        raise RpcFailure("broken", f"eth_getLogs: a log of block {outside[0]}, which was not asked for")
    if logs and len(logs) % _ROUND == 0 and first < last:
        raise RpcFailure("broken", f"eth_getLogs: {len(logs)} logs may be a cut answer")
    return logs


def _prove_empty(node: RpcNode, first: int, last: int) -> None:
    """Do not believe that no contract of the protocol has a log in a range, unless the blocks themselves say so.

    Their blooms do, where they are not too full to tell. Of blocks that may have such
    logs, some are asked for one by one. And a node that lost its old logs has none for
    anything: it must show those of a block that has some.
    """
    blocks = headers(node, range(first, last + 1))
    eldest = next((number for number, header in blocks.items() if header.bloom), None)
    if eldest is not None and not node.call("eth_getLogs", [{"blockHash": blocks[eldest].hash}]):
        raise RpcFailure("broken", f"the node has lost the logs of block {eldest} (pruned?); use an archive node")
    asked = filters()[0]
    topics = _any_of(asked["topics"][0])
    contracts = _any_of(asked["address"])
    doubtful = [n for n, header in blocks.items() if _may_hold(header, contracts) and _may_hold(header, topics)]
    for number in doubtful[:: max(1, len(doubtful) // _ASKED)]:
        if node.call("eth_getLogs", [{"blockHash": blocks[number].hash, **asked}]):
            raise RpcFailure("broken", f"eth_getLogs: none for blocks {first} – {last}, but some for block {number}")


def _any_of(values: Sequence[str]) -> tuple[int, ...]:
    """The bits that each value sets in a bloom (yellow paper, 4.4.3)."""
    digests = (keccak256(bytes.fromhex(value[2:])) for value in values)
    return tuple(
        reduce(int.__or__, (1 << (int.from_bytes(digest[i : i + 2]) & 2047) for i in (0, 2, 4))) for digest in digests
    )


def _may_hold(header: Header, any_of: Sequence[int]) -> bool:
    return any(header.bloom & bits == bits for bits in any_of)


def _place(log: Mapping[str, Any]) -> tuple[int, int, str]:
    return _number(log), _index(log), _text(log, "blockHash")


def _number(log: Mapping[str, Any]) -> int:
    return quantity(log, "blockNumber")


def _index(log: Mapping[str, Any]) -> int:
    return quantity(log, "logIndex")


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str):
        raise RpcFailure("broken", f"{name} is missing")
    return value.lower()
