"""`trailbench decode`: real logs become the trades that their sources and the chain assert, exactly."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

Cli = Callable[..., SimpleNamespace]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"
WITH_FILLS = (
    "fabibal_v2_negrisk_buy",
    "polyprinter_maker_and_taker_leg",
    "rss3_tx_a475_mint",
    "vike_v1_fill_with_outcome_token_fee",
    "wallet_a0932d9",
    "wallet_a79af3b_part1",
)
TEXT = {"token_id": pl.String}


def folder(name: str) -> Path:
    if not DATA.is_dir():
        pytest.skip("the shared real logs are not beside this checkout")
    return DATA / name


@pytest.mark.parametrize("name", WITH_FILLS)
def test_real_fills_come_out_as_their_sources_say(name: str, cli: Cli, tmp_path: Path) -> None:
    case = folder(name)
    to = tmp_path / "trades.csv"
    result = cli("decode", case / "logs.json", "--to", to, "--json")
    assert result.code == 0, result.err
    expected = json.loads((case / "expected.json").read_text())["fills"]
    rows = pl.read_csv(to, schema_overrides=TEXT).to_dicts()
    assert len(rows) == len(expected) == result.json["trades"] == result.json["outcomes"]["trade"]
    for row, fill in zip(rows, sorted(expected, key=lambda one: (one["blockNumber"], one["logIndex"])), strict=True):
        assert (row["block_number"], row["log_index"]) == (fill["blockNumber"], fill["logIndex"])
        assert (row["abi"], row["exchange"]) == (fill["abi"].lower(), fill["exchange"])
        assert (row["wallet"], row["counterparty"]) == (fill["wallet"], fill["counterparty"])
        assert row["role"] == {"maker_order": "maker", "taker_own_order": "taker"}[fill["leg"]]
        assert (row["direction"], row["token_id"]) == (fill["side"], fill["token_id"])
        assert (str(row["amount"]), str(row["collateral"])) == (fill["shares_raw"], fill["usdc_raw"])
        assert (str(row["fee"]), row["fee_asset"]) == (fill["fee_raw"], fill["fee_asset"])
        assert row["price"] == pytest.approx(fill["price"], abs=1e-9)
    assert sum(result.json["outcomes"].values()) == result.json["rows_in"]
    assert (tmp_path / "trades.csv.rejects.csv").is_file()


def test_a_log_that_lost_a_nibble_is_refused_and_told(cli: Cli, tmp_path: Path) -> None:
    case = folder("zetta_malformed_and_rest_of_tx")
    to = tmp_path / "trades.parquet"
    result = cli("decode", case / "logs.json", "--to", to, "--json")
    assert result.code == 0, result.err
    assert result.json["trades"] == 0 and pl.read_parquet(to).height == 0
    refused = pl.read_csv(tmp_path / "trades.parquet.rejects.csv")
    assert refused.height == result.json["outcomes"]["reject"] == sum(result.json["rejected"].values()) >= 1
    assert sum(result.json["outcomes"].values()) == result.json["rows_in"]


def test_parquet_holds_what_csv_holds(cli: Cli, tmp_path: Path) -> None:
    case = folder("wallet_a0932d9")
    for ending in ("csv", "parquet"):
        assert cli("decode", case / "logs.json", "--to", tmp_path / f"t.{ending}").code == 0
    csv = pl.read_csv(tmp_path / "t.csv", schema_overrides=TEXT)
    parquet = pl.read_parquet(tmp_path / "t.parquet")
    assert csv.columns == parquet.columns
    shared = [name for name in csv.columns if name not in ("time", "price")]
    assert csv.select(shared).equals(parquet.select(shared).cast(csv.select(shared).schema))


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        ("\x1f\x8b\x08 cut off", "t.csv", "logs.json"),
        ("[]", "t.txt", "must end in .csv or .parquet"),
    ],
)
def test_what_cannot_be_decoded_is_refused_in_words(
    content: str, name: str, says: str, cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "logs.json").write_bytes(content.encode("latin-1"))
    result = cli("decode", tmp_path / "logs.json", "--to", tmp_path / name)
    assert result.code == 2 and says in " ".join(result.err.split())
    assert "Traceback" not in result.err and not (tmp_path / name).exists()
