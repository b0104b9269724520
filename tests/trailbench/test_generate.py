"""`trailbench generate`: the same seed gives the same bytes, and the files say what they were made from."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl

from pipelines.onchain.drop import decode_drop
from pipelines.onchain.drop_files import describes_markets

Cli = Callable[..., SimpleNamespace]
FILES = ("logs-001.jsonl", "markets.json")


def test_a_seed_names_a_chain(cli: Cli, tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        result = cli("generate", "onchain", "--wallets", 20, "--seed", seed, "--out", tmp_path / name, "--json")
        assert result.code == 0, result.err
    same, other = (
        [(tmp_path / "a" / file).read_bytes() == (tmp_path / name / file).read_bytes() for file in FILES]
        for name in ("b", "c")
    )
    assert same == [True, True] and not all(other)
    lines = (tmp_path / "a" / FILES[0]).read_text().splitlines()
    markets = json.loads((tmp_path / "a" / FILES[1]).read_text())
    piece = decode_drop([tmp_path / "a" / FILES[0]])
    assert piece.rejects.is_empty() and piece.counts["rows"].sum() == len(lines)
    assert {"trade", "other"} == set(piece.counts["outcome"])
    asked = {"0x" + condition.hex() for condition in piece.tables["preparations"]["condition_id"]}
    assert asked == {market["conditionId"] for market in markets}
    truth = pl.read_parquet(tmp_path / "a" / "truth" / "holdings.parquet")
    assert (truth["balance"] > 0).all() and set(truth["condition_id"]) <= asked
    assert [describes_markets(tmp_path / "a" / file) for file in FILES] == [False, True]


def test_a_chain_leaves_no_part_of_a_longer_one_that_lay_there(cli: Cli, tmp_path: Path) -> None:
    longer = tmp_path / "logs-002.jsonl"
    longer.write_text("{}\n")
    result = cli("generate", "onchain", "--wallets", 20, "--out", tmp_path)
    assert result.code == 0, result.err
    assert f"{tmp_path}/markets.json --home polygon\n" in result.out
    assert sorted(file.name for file in tmp_path.glob("logs-*")) == ["logs-001.jsonl"]
    assert not list(tmp_path.rglob("*.partial"))


def test_only_the_chain_can_be_generated(cli: Cli, tmp_path: Path) -> None:
    result = cli("generate", "commerce", "--out", tmp_path / "x")
    assert result.code == 2 and "there is onchain" in result.err and not (tmp_path / "x").exists()
