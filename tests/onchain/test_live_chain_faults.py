"""Whatever a node does wrong, a fetch gives exactly the logs of the chain, or an error in words."""

import time
from pathlib import Path

import pytest
from live_worlds import FIRST, FOREIGN, LAST, chain, expected, fetched, logs_in, settings
from rpc_server import Chain, bloom, cut, empty, hang_up, refused, reorg, restart, serving, slow, status, taken_back

from pipelines.onchain.drop import decode_drop
from resources.chain import fetching, reading, rpc
from resources.chain.fetching import fetch
from resources.chain.settings import ChainError


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same waits, but shorter."""
    monkeypatch.setattr(rpc, "_WAITS", (0.02, 0.5))
    monkeypatch.setattr(fetching, "_PAUSE", 0.005)


BLOCKS, RESULTS = ({"max_blocks": 16}, 75), ({"max_results": 60}, 200)


@pytest.mark.parametrize(
    ("limit", "suggests"),
    [
        (BLOCKS, None),
        (RESULTS, None),
        (BLOCKS, lambda first, last: f"this block range should work: [{first:#x}, {first + 15:#x}]"),
        (BLOCKS, lambda first, last: f"retry with the range {first}-{first + 15}"),
        (BLOCKS, lambda first, last: f"this block range should work: [{first:#x}, {last:#x}]"),
        (RESULTS, lambda first, last: f"retry with the range {first}-{last}"),
        (BLOCKS, lambda first, last: f"retry with the range {first - 100}-{last + 100}"),
        (BLOCKS, lambda first, last: f"Try with this block range [{last:#x}, {first:#x}]."),
    ],
    ids=["none", "none", "true", "true, decimal", "the same", "the same, decimal", "larger", "backwards"],
)
def test_limits_are_met_by_smaller_ranges_and_useless_advice_is_not_taken(tmp_path, limit, suggests) -> None:
    limit, most = limit
    with serving(chain(), suggests=suggests, **limit) as node:
        assert fetched(node, tmp_path) == expected(node.chain)
        # Three requests a span of the width that worked, which is kept, and few in vain.
        assert node.asked["eth_getLogs"] < most


def test_a_bad_hour_does_not_narrow_the_requests_for_ever(tmp_path: Path) -> None:
    bad = {("eth_getLogs", n): refused(-32603, "internal error") for n in range(1, 5)}
    with serving(chain(), bad) as node:
        assert fetched(node, tmp_path) == expected(node.chain)
    widths = [last - first + 1 for first, last in node.ranges]
    # 50, 25, 13 and 7 were refused; then 4, twice that after 16 spans, and twice that again but for the range's end.
    assert (widths[0], max(widths)) == (4, 14)


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
        assert (result.logs, result.blocks) == (0, 0)
        assert node.asked["eth_getBlockByNumber"] >= 200
        later = fetch(settings(node), LAST + 1, LAST + 9, tmp_path)
    assert later.sha256 != result.sha256
    for one in (result, later):
        decoded = decode_drop([Path(one.file)])
        assert decoded.counts.is_empty()
        assert decoded.rejects.is_empty()
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
