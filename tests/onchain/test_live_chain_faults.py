"""Whatever a node does wrong, a fetch gives exactly the logs of the chain, or an error in words."""

import json
import logging
import time
from functools import cache
from pathlib import Path

import pytest
import zstandard
from pydantic import ValidationError
from rpc_server import (
    Chain,
    Log,
    bloom,
    cut,
    empty,
    hang_up,
    matching,
    refused,
    reorg,
    restart,
    rpc_logs,
    serving,
    slow,
    status,
    taken_back,
)

from pipelines.onchain.generator import Plan, generate
from resources.chain import fetching, reading, rpc
from resources.chain.fetching import fetch, fetch_drop, final_head, next_range
from resources.chain.settings import ChainError, ChainSettings
from resources.drops import DropRegister

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


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same waits, but shorter."""
    monkeypatch.setattr(rpc, "_WAITS", (0.02, 0.5))
    monkeypatch.setattr(fetching, "_PAUSE", 0.005)


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


def settings(node, **changed) -> ChainSettings:
    usual = {"url": node.url, "request_blocks": 50, "concurrency": 1, "timeout": 5.0, "patience": 5.0}
    return ChainSettings(**{**usual, **changed})


def lines(path: Path | str) -> list[str]:
    return zstandard.ZstdDecompressor().decompressobj().decompress(Path(path).read_bytes()).decode().splitlines()


def logs_in(path: Path | str) -> list[Log]:
    return [json.loads(line) for line in lines(path)]


def expected(of: Chain, first: int = FIRST, last: int = LAST) -> list[Log]:
    """Logs of the protocol in order, by plain Python."""
    asked = {"fromBlock": hex(first), "toBlock": hex(last)}
    ours = [log for log in matching(of, asked) if log["address"] != FOREIGN["address"]]
    return sorted(ours, key=lambda log: (int(log["blockNumber"], 16), int(log["logIndex"], 16)))


def fetched(node, folder: Path, **changed) -> list[Log]:
    return logs_in(fetch(settings(node, **changed), FIRST, LAST, folder).file)


def test_a_range_is_one_file_of_logs_in_the_shape_of_json_rpc(tmp_path: Path) -> None:
    with serving(chain()) as node:
        result = fetch(settings(node), FIRST, LAST, tmp_path)
        assert logs_in(result.file) == expected(node.chain)
        assert (result.parent, result.hash) == (node.chain.hash(FIRST - 1), node.chain.hash(LAST))
        assert (result.logs, result.blocks) == (
            len(expected(node.chain)),
            len({log["blockNumber"] for log in expected(node.chain)}),
        )
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "polygon_rpc-000040000000-000040000199.json",
            "polygon_rpc-000040000000-000040000199.jsonl.zst",
        ]
        # Two filters a span and no second look at what has logs; pools have none, so theirs is asked for twice.
        assert node.asked == {"eth_chainId": 1, "eth_getLogs": 4 * 3, "eth_getBlockByNumber": 1 + 4 * 3 + 1}


def test_how_it_was_fetched_changes_no_byte_of_the_file(tmp_path: Path) -> None:
    files = set()
    for i, (width, concurrency, times) in enumerate([(200, 1, True), (7, 4, True), (64, 3, False), (1, 8, True)]):
        with serving(chain(), times=times) as node:
            changed = {"request_blocks": width, "concurrency": concurrency}
            files.add(Path(fetch(settings(node, **changed), FIRST, LAST, tmp_path / str(i)).file).read_bytes())
    assert len(files) == 1


def test_a_block_header_gives_the_time_where_logs_do_not_and_is_asked_for_once(tmp_path: Path) -> None:
    with serving(chain(), times=False) as node:
        assert fetched(node, tmp_path) == expected(chain())
        # A block with logs once; ends of spans before and after, the tip, and the final head.
        assert node.asked["eth_getBlockByNumber"] <= 200 + 4 * 2 + 2


def test_a_node_without_batches_is_asked_one_by_one(tmp_path: Path) -> None:
    with serving(chain(), times=False, batches=False) as node:
        assert fetched(node, tmp_path) == expected(chain())


@pytest.mark.parametrize(
    "suggests",
    [
        None,
        lambda first, last: f"this block range should work: [{first:#x}, {first + 15:#x}]",
        lambda first, last: f"retry with the range {first}-{first + 15}",
        lambda first, last: f"this block range should work: [{first:#x}, {last:#x}]",
        lambda first, last: f"retry with the range {first - 100}-{last + 100}",
        lambda first, last: f"Try with this block range [{last:#x}, {first:#x}].",
    ],
    ids=["none", "true", "true, decimal", "the same", "larger", "backwards"],
)
@pytest.mark.parametrize(
    ("limit", "most"), [({"max_blocks": 16}, 75), ({"max_results": 60}, 200)], ids=["blocks", "results"]
)
def test_limits_are_met_by_smaller_ranges_and_useless_advice_is_not_taken(tmp_path, suggests, limit, most) -> None:
    with serving(chain(), suggests=suggests, **limit) as node:
        assert fetched(node, tmp_path) == expected(node.chain)
        # Three requests a span of the width that worked, which is kept, and few in vain.
        assert node.asked["eth_getLogs"] < most


def test_advice_that_is_true_and_better_than_half_is_taken(tmp_path: Path) -> None:
    advice = {"suggests": lambda first, last: f"[{first:#x}, {first + 39:#x}]"}
    with serving(chain(), max_blocks=40, **advice) as node:
        assert fetched(node, tmp_path) == expected(node.chain)
        assert node.ranges[:2] == [(FIRST, FIRST + 49), (FIRST, FIRST + 39)]
        assert max(last - first for first, last in node.ranges[2:]) == 39


@pytest.mark.parametrize(
    "fault",
    [
        cut,
        hang_up,
        empty,
        taken_back,
        slow(0.7),
        status(500, "oops"),
        status(504),
        status(413, "too large"),
        status(400, '{"error": {"code": -32602, "message": "range 50 exceeds limit of 10"}}'),
        status(200, "<html>sign in</html>"),
        status(200, '{"jsonrpc": "2.0", "id": 0}'),
        status(200, '{"jsonrpc": "2.0", "id": 0, "result": null}'),
        status(200, '{"jsonrpc": "2.0", "id": 0, "result": [{"data": "0x"}]}'),
        status(200, '{"jsonrpc": "2.0", "id": 0, "result": ["0x"]}'),
        status(200, "[]"),
        status(429),
        status(429, Retry_After="0.2"),
        status(429, Retry_After="Mon, 01 Jan 2024 00:00:00 GMT"),
        status(429, Retry_After="soon"),
        status(503),
        refused(429, "Too Many Requests"),
        refused(-32005, "daily request count exceeded, request rate limited"),
        refused(35, "ranges over 10000 blocks are not supported on freetier"),
        refused(-32000, "execution timeout"),
        restart(0.3),
    ],
)
def test_a_fault_now_and_then_changes_nothing(tmp_path: Path, fault) -> None:
    script = {("eth_getLogs", n): fault for n in (1, 5, 6)}
    with serving(chain(), script) as node:
        assert fetched(node, tmp_path, timeout=0.5) == expected(node.chain)


@pytest.mark.parametrize("method", ["eth_chainId", "eth_getBlockByNumber"])
@pytest.mark.parametrize("fault", [cut, status(429), status(429, Retry_After="0.1"), restart(0.2), hang_up])
def test_a_fault_of_another_request_changes_nothing(tmp_path: Path, method: str, fault) -> None:
    with serving(chain(), {(method, 1): fault, ("eth_getBlockByNumber", 4): fault}) as node:
        assert fetched(node, tmp_path, finality=0) == expected(node.chain)


def test_retry_after_is_waited_for(tmp_path: Path) -> None:
    with serving(chain(), {("eth_getLogs", 2): status(429, Retry_After="0.6")}) as node:
        start = time.monotonic()
        assert fetched(node, tmp_path) == expected(node.chain)
        assert time.monotonic() - start >= 0.6
        # The same again, not a part of it.
        assert node.ranges[:2] == [(FIRST, FIRST + 49)] * 2


def test_waiting_has_an_end_that_keeps_what_was_fetched(tmp_path: Path) -> None:
    late = {("eth_getLogs", n): status(429, Retry_After="3600") for n in range(7, 50)}
    with serving(chain(), late) as node:
        with pytest.raises(ChainError, match=r"HTTP 429; no answer for 5 s .*What was fetched is kept"):
            fetched(node, tmp_path)
        node.script, done = {}, node.asked["eth_getLogs"]
        assert fetched(node, tmp_path) == expected(node.chain)
        # Of four spans, two were kept.
        assert node.asked["eth_getLogs"] - done == 2 * 3


def test_nobody_listens(tmp_path: Path) -> None:
    with serving(chain()) as node:
        pass
    start = time.monotonic()
    with pytest.raises(ChainError, match=r"http://127.0.0.1:\d+: eth_chainId: no connection; no answer for 0.5 s"):
        fetched(node, tmp_path, patience=0.5)
    assert time.monotonic() - start < 3


@pytest.mark.parametrize("silent", [{1}, {1, 2}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 6, 7}, set(range(1, 12))])
def test_a_silent_empty_answer_is_not_believed(tmp_path: Path, silent: set[int]) -> None:
    # Both filters and both looks, then the logs of the oldest block, then blocks whose blooms speak of logs.
    with serving(chain(), {("eth_getLogs", n): empty for n in silent}) as node:
        assert fetched(node, tmp_path) == expected(node.chain)


def test_a_node_that_finds_none_for_a_filter_is_not_believed(tmp_path: Path) -> None:
    def lost_index(node, method, params):
        return [] if "fromBlock" in params[0] else node.result(method, params)

    script = {("eth_getLogs", n): lost_index for n in range(1, 2_000)}
    said = r"none for blocks 40000000 – 40000000, but some for block 40000000"
    with serving(chain(), script) as node, pytest.raises(ChainError, match=said):
        fetched(node, tmp_path)


def test_a_node_that_lost_its_logs_is_named_and_no_block_is_taken_for_empty(tmp_path: Path) -> None:
    with serving(chain(), pruned_below=FIRST + 120) as node:
        with pytest.raises(ChainError, match=r"has lost the logs of block 40000000 .*; use an archive node"):
            fetched(node, tmp_path)
        assert not list(tmp_path.glob("polygon*"))
    with serving(chain()) as node:
        assert fetched(node, tmp_path) == expected(node.chain)


def test_blocks_without_our_logs_are_coverage_once_the_node_has_shown_others(tmp_path: Path) -> None:
    quiet = range(FIRST + 50, FIRST + 150)
    with serving(chain(without=quiet)) as node:
        result = fetch(settings(node), FIRST, LAST, tmp_path)
        assert logs_in(result.file) == expected(node.chain)
        assert 0 < result.blocks <= 100
        # Two filters twice and the witness for two empty spans; three requests for each of the others.
        assert node.asked["eth_getLogs"] == 2 * 5 + 2 * 3


def test_blocks_without_any_log_are_proven_by_their_blooms(tmp_path: Path) -> None:
    with serving(Chain([], LAST + 20)) as node:
        result = fetch(settings(node), FIRST, LAST, tmp_path)
        assert (lines(result.file), result.logs, result.blocks) == ([], 0, 0)
        assert node.asked["eth_getBlockByNumber"] >= 200
    assert bloom([]) == bytes(256)
    assert bloom([FOREIGN]) != bytes(256)


def test_a_cut_answer_of_a_round_number_is_asked_for_in_parts(tmp_path: Path, monkeypatch) -> None:
    def first_hundred(node, method, params):
        return node.result(method, params)[:100]

    monkeypatch.setattr(reading, "_ROUND", 100)
    with serving(chain(), {("eth_getLogs", n): first_hundred for n in range(1, 200)}) as node:
        assert fetched(node, tmp_path) == expected(node.chain)


def test_logs_of_blocks_that_were_not_asked_for_are_not_taken(tmp_path: Path) -> None:
    def too_far(node, method, params):
        return node.result(method, [{**params[0], "toBlock": hex(LAST)}])

    with serving(chain(), {("eth_getLogs", 1): too_far}) as node:
        assert fetched(node, tmp_path) == expected(node.chain)


def test_removed_logs_go_with_their_twin_and_a_wrong_removal_is_a_fault(tmp_path: Path) -> None:
    def of_the_chain(node, method, params):
        result = node.result(method, params)
        return [*result, {**result[0], "removed": True}]

    with serving(chain(), {("eth_getLogs", 1): taken_back, ("eth_getLogs", 4): of_the_chain}) as node:
        found = fetched(node, tmp_path)
    assert found == expected(node.chain)
    assert not any(log["removed"] for log in found)
    assert "0x" + "0b" * 32 not in {log["blockHash"] for log in found}


@pytest.mark.parametrize("late", [False, True], ids=["before the answer", "after the answer"])
@pytest.mark.parametrize("n", [1, 5, 11])
@pytest.mark.parametrize("at", [FIRST - 3, FIRST + 49, FIRST + 50, LAST])
def test_a_reorganisation_in_the_midst_leaves_one_chain(tmp_path: Path, at: int, n: int, late: bool) -> None:
    before = chain()
    with serving(before, {("eth_getLogs", n): reorg(at, late)}) as node:
        result = fetch(settings(node, finality=0), FIRST, LAST, tmp_path)
        assert node.chain is not before
        assert logs_in(result.file) == expected(node.chain) != expected(before)
        assert (result.parent, result.hash) == (node.chain.hash(FIRST - 1), node.chain.hash(LAST))


def test_a_reorganisation_while_the_fetch_was_down_is_found_at_the_seams(tmp_path: Path) -> None:
    before = chain()
    with serving(before, {("eth_getLogs", n): refused(-32601, "gone") for n in range(7, 99)}) as node:
        with pytest.raises(ChainError, match=r"block 40000100: eth_getLogs|block 40000100: the node: -32601: gone"):
            fetched(node, tmp_path, finality=0)
        node.script, node.chain = {}, before.fork(FIRST + 20)
        assert fetched(node, tmp_path, finality=0) == expected(node.chain) != expected(before)


def test_blocks_that_are_replaced_for_ever_end_in_an_error(tmp_path: Path) -> None:
    script = {("eth_getBlockByNumber", n): reorg(LAST) for n in range(1, 2_000)}
    with serving(chain(), script) as node, pytest.raises(ChainError, match=r"replaced|another hash"):
        fetched(node, tmp_path, finality=0, request_blocks=200)


def test_only_final_blocks_are_fetched(tmp_path: Path) -> None:
    with serving(chain()) as node:
        node.finalized = LAST
        assert final_head(settings(node)) == LAST
        assert len(fetched(node, tmp_path)) == len(expected(node.chain))
        with pytest.raises(ChainError, match=rf"block {LAST + 1} is not final yet: .* up to {LAST}; wait"):
            fetch(settings(node), FIRST, LAST + 1, tmp_path)
        assert final_head(settings(node, finality=7)) == node.chain.head - 7
        node.finalized = None
        assert final_head(settings(node)) == node.chain.head - 256


def test_the_next_range_is_the_lowest_final_one_that_is_missing() -> None:
    grid = ChainSettings(first_block=100, range_blocks=10)
    assert next_range(grid, 108, []) is None
    assert next_range(grid, 109, []) == (100, 109)
    assert next_range(grid, 118, [(100, 109)]) is None
    assert next_range(grid, 139, [(100, 109), (120, 129)]) == (110, 119)
    assert next_range(grid, 139, [(100, 109), (110, 119), (120, 129)]) == (130, 139)
    assert next_range(grid, -1, []) is None


def test_wrong_endpoints_and_ranges_are_named(tmp_path: Path) -> None:
    with pytest.raises(ChainError, match="set TRAILBENCH_RPC_URL"):
        final_head(ChainSettings(url=""))
    with serving(chain(), chain_id=1) as node, pytest.raises(ChainError, match=r"is chain 1, not Polygon"):
        final_head(settings(node))
    with serving(chain(), {("eth_chainId", 1): status(401, "no such key")}) as node:
        with pytest.raises(ChainError, match=r"HTTP 401: no such key; check TRAILBENCH_RPC_URL"):
            final_head(settings(node))
        with pytest.raises(ChainError, match="no range"):
            fetch(settings(node), 5, 4, tmp_path)


KEY = "s3cr3tkey9"


@pytest.mark.parametrize(
    "fault",
    [
        status(403, f"key {KEY} is not allowed"),
        refused(-32000, f"bad key {KEY} for /v2/{KEY}"),
        cut,
        hang_up,
        slow(1.0),
        restart(3),
        status(429),
    ],
)
def test_the_key_of_the_endpoint_is_in_no_error_log_or_file(tmp_path: Path, caplog, monkeypatch, fault) -> None:
    monkeypatch.setattr(fetching, "_TRIES", 2)
    caplog.set_level(logging.DEBUG)
    script = {("eth_getLogs", n): fault for n in range(1, 500)}
    with serving(chain(), script, path=f"/v2/{KEY}?apikey={KEY}") as node:
        with_user = settings(node, url=node.url.replace("http://", f"http://{KEY}:{KEY}@"), timeout=0.3, patience=0.4)
        with pytest.raises(ChainError) as error:
            fetch(with_user, FIRST, FIRST + 3, tmp_path)
    shown, seen = "", error.value
    while seen is not None:
        shown += repr(seen) + str(seen)
        seen = seen.__cause__ or seen.__context__
    assert f"http://127.0.0.1:{node.port}: " in shown
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).decode("latin1")
    assert KEY not in shown + caplog.text + written + repr(with_user) + with_user.endpoint


def test_a_wrong_url_is_refused_without_being_shown() -> None:
    with pytest.raises(ValidationError) as error:
        ChainSettings(url=f"htp://x/{KEY}")
    assert "TRAILBENCH_RPC_URL is no http(s) URL" in str(error.value)
    assert KEY not in str(error.value)


def test_settings_come_from_the_environment(monkeypatch) -> None:
    for name, value in {"URL": "http://h/k", "FIRST_BLOCK": "9", "RANGE_BLOCKS": "8", "FINALITY": "128"}.items():
        monkeypatch.setenv(f"TRAILBENCH_RPC_{name}", value)
    read = ChainSettings()
    assert (read.url.get_secret_value(), read.first_block, read.range_blocks, read.finality) == (
        "http://h/k",
        9,
        8,
        128,
    )
    monkeypatch.setenv("TRAILBENCH_RPC_FINALITY", "finalized")
    assert ChainSettings().finality == "finalized"


def test_a_drop_is_registered_once_and_a_lost_file_is_fetched_again(tmp_path: Path) -> None:
    register = DropRegister(tmp_path / "drops")
    with serving(chain()) as node:
        drop = fetch_drop(register, settings(node), FIRST, LAST, tmp_path / "chain")
        asked = node.asked.total()
        assert fetch_drop(register, settings(node), FIRST, LAST, tmp_path / "chain") == drop
        assert node.asked.total() == asked
        assert (drop.source, [one.id for one in register]) == ("polygon_rpc", [drop.id])
        (path,) = drop.verify()
        path.write_bytes(b"damaged")
        assert fetch_drop(register, settings(node), FIRST, LAST, tmp_path / "chain") == drop
        assert logs_in(drop.verify()[0]) == expected(node.chain)


def test_progress_tells_blocks_that_are_kept(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with serving(chain(), {("eth_getLogs", 1): cut}) as node:
        fetch(settings(node), FIRST, LAST, tmp_path, lambda kept, wanted: told.append((kept, wanted)))
    assert told == [(25, 200), (50, 200), (100, 200), (150, 200), (200, 200)]


def test_two_fetches_of_one_range_do_the_work_once(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with serving(chain()) as node, ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: fetch(settings(node), FIRST, LAST, tmp_path), range(3)))
        assert results[0] == results[1] == results[2]
        assert node.asked["eth_getLogs"] == 4 * 3
