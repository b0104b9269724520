"""Two real wallets, from their logs to a release: positions, labels and payouts as the chain itself asserts them."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from pipelines.onchain import ids

Cli = Callable[..., SimpleNamespace]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"
FOLDERS = ("wallet_a0932d9", "wallet_a79af3b_part1")
ALL = (
    "min_markets: 1\nmin_trades: 1\nmin_rows: 1\nmax_concentration_percent: 100\nmax_burst_percent: 100\n"
    "drop_negative: false\nfull_ledger_cut: redemption\n"
)


@pytest.fixture(scope="module")
def release(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    if not DATA.is_dir():
        pytest.skip("the shared real logs are not beside this checkout")
    folder = tmp_path_factory.mktemp("real")
    (folder / "all.yaml").write_text(ALL)
    logs = [DATA / name / "logs.json" for name in FOLDERS]
    words = (
        "--source",
        "polygon_logs",
        *logs,
        "--config",
        folder / "all.yaml",
        "--shards",
        1,
        "--home",
        folder / "home",
    )
    result = cli("build", *words, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**{**result.json, "home": folder / "home"})


@pytest.fixture(scope="module")
def expected() -> dict[str, dict]:
    return {name: json.loads((DATA / name / "expected.json").read_text()) for name in FOLDERS}


def exported(cli: Cli, release: SimpleNamespace, table: str, to: Path) -> pl.DataFrame:
    result = cli("export", release.release, "--table", table, "--to", to, "--gold", "--home", release.home)
    assert result.code == 0, result.err
    frame = pl.read_parquet(to)
    return frame.with_columns(
        ids.hex_text(pl.col(name)).alias(name) for name in ("wallet", "condition_id") if name in frame.columns
    )


def test_every_fill_is_a_trade(release: SimpleNamespace, expected: dict[str, dict], cli: Cli, tmp_path: Path) -> None:
    trades = exported(cli, release, "trades", tmp_path / "t.parquet")
    fills = [fill for case in expected.values() for fill in case["fills"]]
    found = set(trades.select("block_number", "log_index", "wallet", "amount").iter_rows())
    assert found == {(f["blockNumber"], f["logIndex"], f["wallet"], int(f["shares_raw"])) for f in fills}


def test_payouts_are_what_the_chain_paid(
    release: SimpleNamespace, expected: dict[str, dict], cli: Cli, tmp_path: Path
) -> None:
    paid = exported(cli, release, "redemptions", tmp_path / "r.parquet")
    checks = expected["wallet_a79af3b_part1"]["chain_checks"]["payout_redemptions"]
    rows = paid.sort("block_number").select(
        "block_number", "log_index", "condition_id", "payout", "expected", "reconciles"
    )
    assert rows.rows() == [
        (
            check["blockNumber"],
            check["logIndex"],
            check["condition_id"],
            int(check["chain_payout_raw"]),
            int(check["reconstructed_payout_raw"]),
            check["matches_chain"],
        )
        for check in checks
    ]


def test_labels_are_those_of_both_ledgers(
    release: SimpleNamespace, expected: dict[str, dict], cli: Cli, tmp_path: Path
) -> None:
    case = expected["wallet_a79af3b_part1"]
    beliefs = exported(cli, release, "belief_instances", tmp_path / "b.parquet")
    mine = {row["condition_id"]: row for row in beliefs.to_dicts() if row["wallet"] == case["source_asserts"]["wallet"]}
    for said in case["derived_belief_labels"]:
        row = mine[said["condition_id"]]
        for end, ledger in (("", "trade_only"), ("_full", "with_splits_and_merges_before_redemption")):
            side = said[ledger]["side_outcome_index"]
            assert row[f"side{end}"] == (-1 if side is None else side)
            assert row[f"confidence{end}"] == pytest.approx(said[ledger]["confidence"], abs=1e-9)
            assert row[f"mass{end}"] == sum(map(int, said[ledger]["positive_positions_raw"]))
        assert row["flips"] == (said["trade_only"]["side_outcome_index"] is None)


def test_a_condition_that_only_a_split_names_is_known(
    release: SimpleNamespace, expected: dict[str, dict], cli: Cli, tmp_path: Path
) -> None:
    said = expected["wallet_a0932d9"]["chain_checks"]["token_ids_of_split_condition"]
    markets = exported(cli, release, "markets", tmp_path / "m.parquet")
    (row,) = markets.filter(pl.col("condition_id") == said["condition_id"]).to_dicts()
    assert [str(int.from_bytes(token, "big")) for token in row["token_ids"]] == [said["outcome0"], said["outcome1"]]
    trades = exported(cli, release, "trades", tmp_path / "t.parquet")
    known = trades.filter(pl.col("condition_id") == said["condition_id"])
    assert set(known["outcome"]) == {0, 1}


def test_the_release_stands_and_says_what_it_lacks(release: SimpleNamespace, cli: Cli) -> None:
    result = cli("verify", release.release, "--home", release.home, "--json")
    assert result.json["verified"], result.json
    card = json.loads((release.home / "store" / "releases" / release.release / "card.json").read_text())
    assert "questions" in card["refusals"]
    assert any("market is unknown" in warning for warning in card["warnings"])
