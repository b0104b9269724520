"""A Polygon node on loopback: replays logs as a chain of blocks over HTTP JSON-RPC, and misbehaves by a script.

A script names requests (`("eth_getLogs", 3)` = the third of its method) and what
happens to each. Limits and losses that a node has all the time are its attributes.
"""

import hashlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import polars as pl
from Crypto.Hash import keccak

Log = dict[str, Any]


def rpc_logs(frame: pl.DataFrame) -> list[Log]:
    """Rows of the table `logs` as JSON-RPC gives them."""
    hexed = {name: ("0x" + pl.col(name).bin.encode("hex")) for name, kind in frame.schema.items() if kind == pl.Binary}
    rows = frame.with_columns(**hexed, time=pl.col("time").dt.epoch("s")).iter_rows(named=True)
    return [
        {
            "address": row["address"],
            "topics": [row[f"topic{i}"] for i in range(4) if row[f"topic{i}"] is not None],
            "data": row["data"],
            "blockNumber": hex(row["block_number"]),
            "transactionHash": row["tx_hash"],
            "transactionIndex": hex(row["tx_index"]),
            "blockHash": row["block_hash"],
            "logIndex": hex(row["log_index"]),
            "removed": False,
            "blockTimestamp": hex(row["time"]),
        }
        for row in rows
    ]


class Chain:
    """Blocks 0 … `head`, of which only those with logs are given; the others are made up alike each time."""

    def __init__(self, logs: Iterable[Log], head: int, name: str = "main") -> None:
        self.head, self.name = head, name
        self.logs: dict[int, list[Log]] = defaultdict(list)
        for log in logs:
            self.logs[int(log["blockNumber"], 16)].append(log)
        self.below: tuple[int, Chain] | None = None

    def hash(self, number: int) -> str:
        if self.below and number < self.below[0]:
            return self.below[1].hash(number)
        if logs := self.logs.get(number):
            return logs[0]["blockHash"]
        return "0x" + hashlib.sha256(f"{self.name} {number}".encode()).hexdigest()

    def time(self, number: int) -> str:
        known = (log["blockTimestamp"] for log in self.logs.get(number, []) if log.get("blockTimestamp"))
        return next(known, hex(1_600_000_000 + 2 * (number - 10_000_000)))

    def header(self, number: int) -> dict[str, Any]:
        logs = self.logs.get(number, [])
        return {
            "number": hex(number),
            "hash": self.hash(number),
            "parentHash": self.hash(number - 1),
            "timestamp": self.time(number),
            "logsBloom": "0x" + bloom(logs).hex(),
            "transactions": [],
        }

    def fork(self, at: int) -> "Chain":
        """The chain with other blocks from `at` on: other hashes, and every third log is gone."""
        moved = []
        for number, logs in self.logs.items():
            other = "0x" + hashlib.sha256(f"{self.name} fork {number}".encode()).hexdigest()
            for i, log in enumerate(logs):
                if number < at:
                    moved.append(log)
                elif i % 3 != 2:
                    moved.append({**log, "blockHash": other})
        fork = Chain(moved, self.head, self.name + " fork")
        fork.below = (at, self)
        return fork


def matching(chain: Chain, asked: Mapping[str, Any]) -> list[Log]:
    """Logs that a filter object names."""
    if "blockHash" in asked:
        numbers: Iterable[int] = [n for n in chain.logs if chain.hash(n) == asked["blockHash"]]
    else:
        first, last = (int(asked[name], 16) for name in ("fromBlock", "toBlock"))
        numbers = range(first, last + 1) if last - first < len(chain.logs) else sorted(chain.logs)
        numbers = [n for n in numbers if first <= n <= last]
    addresses = frozenset(asked["address"]) if "address" in asked else None
    topics = [frozenset(of) for of in asked.get("topics", [])]
    return [
        log
        for number in numbers
        for log in chain.logs.get(number, [])
        if (addresses is None or log["address"].lower() in addresses)
        and all(i < len(log["topics"]) and log["topics"][i].lower() in of for i, of in enumerate(topics))
    ]


@lru_cache(maxsize=100_000)
def _bits(text: str) -> int:
    digest = keccak.new(data=bytes.fromhex(text[2:]), digest_bits=256).digest()
    return sum({1 << (int.from_bytes(digest[i : i + 2], "big") & 2047) for i in (0, 2, 4)})


def bloom(logs: Iterable[Log]) -> bytes:
    """Bloom filter of a block's logs: addresses and topics, 2,048 bits (yellow paper 4.4.3)."""
    bits = 0
    for log in logs:
        for text in (log["address"], *log["topics"]):
            bits |= _bits(text)
    return bits.to_bytes(256, "big")


class Refused(Exception):
    """A JSON-RPC error: code and message."""


class Reply(Exception):
    """Another HTTP answer than the right one."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.body, self.headers = status, body, headers or {}


class HangUp(Exception):
    """No answer: the connection is closed."""


Fault = Callable[["RpcServer", str, Any], Any]
"""What to do instead of answering a method with its parameters: raise one of the above, or return a `result`."""


Script = Mapping[tuple[str, int], Fault]


def refused(code: int, message: str) -> Fault:
    def fault(node: "RpcServer", method: str, params: Any) -> Any:
        raise Refused(code, message)

    return fault


def status(code: int, text: str = "", **headers: str) -> Fault:
    def fault(node: "RpcServer", method: str, params: Any) -> Any:
        raise Reply(code, text.encode(), {name.replace("_", "-"): value for name, value in headers.items()})

    return fault


def cut(node: "RpcServer", method: str, params: Any) -> Any:
    """Half of the right answer, as if it were whole."""
    whole = json.dumps({"jsonrpc": "2.0", "id": 0, "result": node.result(method, params)}).encode()
    raise Reply(200, whole[: len(whole) // 2])


def hang_up(node: "RpcServer", method: str, params: Any) -> Any:
    raise HangUp


def empty(node: "RpcServer", method: str, params: Any) -> Any:
    """No logs, without a word."""
    return []


def slow(seconds: float) -> Fault:
    def fault(node: "RpcServer", method: str, params: Any) -> Any:
        time.sleep(seconds)
        return node.result(method, params)

    return fault


def reorg(at: int, late: bool = False) -> Fault:
    """Blocks from `at` on are replaced before the answer, or just after it."""

    def fault(node: "RpcServer", method: str, params: Any) -> Any:
        result = node.result(method, params) if late else None
        node.chain = node.chain.fork(at)
        return result if late else node.result(method, params)

    return fault


def taken_back(node: "RpcServer", method: str, params: Any) -> Any:
    """The right answer, mixed with logs of blocks that are no more, and their removals."""
    result = node.result(method, params)
    stale = [{**log, "blockHash": "0x" + "0b" * 32, "data": "0x" + "77" * 160} for log in result[:3]]
    return [*stale[:1], *result, *stale[1:], *({**log, "removed": True} for log in stale)]


def restart(pause: float) -> Fault:
    """The node goes away without an answer, and is back on the same port after a pause."""

    def fault(node: "RpcServer", method: str, params: Any) -> Any:
        threading.Thread(target=node.restart, args=(pause,)).start()
        raise HangUp

    return fault


def call(hook: Callable[[], None]) -> Fault:
    """Something happens while the answer is being made."""

    def fault(node: "RpcServer", method: str, params: Any) -> Any:
        hook()
        return node.result(method, params)

    return fault


class RpcServer:
    """The node. `asked` counts requests by method; `ranges` keeps every range of logs that was asked for."""

    def __init__(self, chain: Chain, script: Script | None = None) -> None:
        self.chain, self.script = chain, dict(script or {})
        self.finalized: int | None = chain.head
        self.chain_id = 137
        self.max_blocks: int | None = None
        self.max_results: int | None = None
        self.suggests: Callable[[int, int], str] | None = None
        self.pruned_below = 0
        self.times = True
        self.batches = True
        self.asked: Counter[str] = Counter()
        self.ranges: list[tuple[int, int]] = []
        self.path = "/"
        self._lock = threading.Lock()
        self._http: ThreadingHTTPServer | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    def start(self) -> None:
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.server is not node._http:
                    self.close_connection = True
                    return
                try:
                    code, answer, headers = 200, node.answer(json.loads(body)), {}
                except Reply as reply:
                    code, answer, headers = reply.status, reply.body, reply.headers
                except HangUp:
                    self.close_connection = True
                    return
                try:
                    self.send_response(code)
                    for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    self.close_connection = True

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that was killed

        self._http = Server(("127.0.0.1", self.port), Handler)
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        http, self._http = self._http, None
        if http is not None:
            http.shutdown()
            http.server_close()

    def restart(self, pause: float) -> None:
        self.stop()
        time.sleep(pause)
        self.start()

    def answer(self, request: Any) -> bytes:
        if isinstance(request, list):
            if not self.batches:
                raise Reply(400, b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"no batches here"},"id":null}')
            return b"[" + b",".join(self._one(one) for one in request) + b"]"
        return self._one(request)

    def _one(self, request: Mapping[str, Any]) -> bytes:
        method, params = request["method"], request["params"]
        with self._lock:
            self.asked[method] += 1
            fault = self.script.get((method, self.asked[method]))
        try:
            result = fault(self, method, params) if fault else self.result(method, params)
            said: dict[str, Any] = {"result": result}
        except Refused as error:
            said = {"error": {"code": error.args[0], "message": error.args[1]}}
        return json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}).encode()

    def result(self, method: str, params: Any) -> Any:
        """The right answer, within the node's standing limits."""
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "eth_blockNumber":
            return hex(self.chain.head)
        if method == "eth_getBlockByNumber":
            if params[0] == "finalized":
                if self.finalized is None:
                    raise Refused(-32602, "invalid block tag finalized")
                return self.chain.header(self.finalized)
            number = int(params[0], 16)
            return self.chain.header(number) if number <= self.chain.head else None
        if method == "eth_getLogs":
            return self._logs(params[0])
        raise Refused(-32601, f"the method {method} does not exist")

    def _logs(self, asked: Mapping[str, Any]) -> list[Log]:
        found = matching(self.chain, asked)
        if "blockHash" not in asked:
            first, last = (int(asked[name], 16) for name in ("fromBlock", "toBlock"))
            self.ranges.append((first, last))
            hint = f" {self.suggests(first, last)}" if self.suggests else ""
            if self.max_blocks and last - first >= self.max_blocks:
                raise Refused(-32602, f"eth_getLogs is limited to {self.max_blocks} blocks.{hint}")
            if self.max_results and len(found) > self.max_results:
                raise Refused(-32005, f"query returned more than {self.max_results} results.{hint}")
        found = [log for log in found if int(log["blockNumber"], 16) >= self.pruned_below]
        return found if self.times else [{k: v for k, v in log.items() if k != "blockTimestamp"} for log in found]


@contextmanager
def serving(
    chain: Chain, script: Mapping[tuple[str, int], Fault] | None = None, **standing: Any
) -> Iterator[RpcServer]:
    """A running node; `standing` sets its attributes."""
    node = RpcServer(chain, script)
    for name, value in standing.items():
        assert hasattr(node, name), name
        setattr(node, name, value)
    node.start()
    try:
        yield node
    finally:
        node.stop()
