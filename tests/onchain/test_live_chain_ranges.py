"""A range of the live chain: one file and one drop of it, whoever asks how often, and no key in sight."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from live_worlds import FIRST, LAST, chain, expected, fetched, logs_in, settings
from pydantic import ValidationError
from rpc_server import cut, hang_up, refused, restart, serving, slow, status

from resources.chain import fetching, rpc
from resources.chain.fetching import fetch, fetch_drop, final_head, finished_ranges, next_range
from resources.chain.settings import ChainError, ChainSettings
from resources.drops import DropRegister


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same waits, but shorter."""
    monkeypatch.setattr(rpc, "_WAITS", (0.02, 0.5))
    monkeypatch.setattr(fetching, "_PAUSE", 0.005)


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


def test_finished_ranges_are_known_and_join_without_a_seam(tmp_path: Path) -> None:
    with serving(chain()) as node:
        ours = settings(node, first_block=FIRST, range_blocks=60)
        made = []
        while (following := next_range(ours, final_head(ours), [(one.first, one.last) for one in made])) is not None:
            fetch(ours, *following, tmp_path)
            made = finished_ranges(tmp_path)
    assert [(one.first, one.last) for one in made] == [(FIRST + 60 * i, FIRST + 60 * i + 59) for i in range(3)]
    assert [one.hash for one in made[:-1]] == [one.parent for one in made[1:]]
    assert [log for one in made for log in logs_in(one.file)] == expected(chain(), last=FIRST + 179)
    Path(made[1].file).unlink()
    assert finished_ranges(tmp_path) == [made[0], made[2]]


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


@pytest.mark.parametrize("url", [f"htp://x/{KEY}", f"http://x:{KEY}/", f"{KEY}", f"http:///{KEY}", f"http://[x/{KEY}"])
def test_a_wrong_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValidationError) as error:
        ChainSettings(url=url)
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
    with serving(chain()) as node, ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: fetch(settings(node), FIRST, LAST, tmp_path), range(3)))
        assert results[0] == results[1] == results[2]
        assert node.asked["eth_getLogs"] == 4 * 3
