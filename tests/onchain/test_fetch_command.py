"""`trailbench fetch`: a node's blocks become drops of the home folder, range by range, and then a release."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from live_worlds import FIRST, LAST, chain, expected
from rpc_server import serving

from tests.trailbench.documentation import documented

Cli = Callable[..., SimpleNamespace]
SECRET = "k3y-that-must-not-be-seen"


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch):
    with serving(chain()) as server:
        (setting,) = documented("export TRAILBENCH_RPC_URL=…", {"…": f"{server.url}/{SECRET}"})[1:]
        monkeypatch.setenv(*setting.split("=", 1))
        monkeypatch.setenv("TRAILBENCH_RPC_RANGE_BLOCKS", "100")
        monkeypatch.setenv("TRAILBENCH_RPC_PATIENCE", "5")
        yield server


def test_blocks_are_fetched_once_and_make_a_release(
    node, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home, blocks = tmp_path / "polygon", {"61000000": FIRST, "61009999": LAST}
    words = (*documented("trailbench fetch --from 61000000 --to 61009999 --home polygon", blocks)[1:], "--json")
    result = cli(*words)
    assert result.code == 0, result.err
    ranges = result.json["ranges"]
    assert [one["range"] for one in ranges] == ["000040000000-000040000099", "000040000100-000040000199"]
    assert sum(one["logs"] for one in ranges) == len(expected(node.chain))
    asked = dict(node.asked)
    again = cli(*words)
    assert again.json == result.json and dict(node.asked) == asked, "a finished range is not asked for again"
    files = sorted((home / "chain").glob("*.jsonl.zst"))
    config = tmp_path / "loose.yaml"
    config.write_text("min_markets: 1\nmin_trades: 1\nmin_rows: 1\nmax_concentration_percent: 100\n")
    words = documented("trailbench build --source polygon_rpc polygon/chain/*.jsonl.zst --home polygon")[1:]
    assert [tmp_path / one for one in words if one.endswith(".zst")] == files
    built = cli(*words, "--config", config, "--json")
    assert built.code == 0, built.err
    drops = {path.stem for path in (home / "drops").glob("*.json")}
    assert drops == {one["drop"] for one in ranges}, "each range is the drop that was fetched"
    assert built.json["counts"]["trades"] > 500
    texts = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in text for text in texts)


def test_a_node_that_is_not_there_is_told_without_its_key(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAILBENCH_RPC_URL", f"http://127.0.0.1:1/{SECRET}")
    monkeypatch.setenv("TRAILBENCH_RPC_PATIENCE", "0.2")
    result = cli("fetch", "--from", FIRST, "--to", LAST, "--home", tmp_path / "home")
    assert result.code == 2 and "http://127.0.0.1:1" in result.err and "run the same again" in result.err
    assert SECRET not in result.err + result.out and "Traceback" not in result.err
