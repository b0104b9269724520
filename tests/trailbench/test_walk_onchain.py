"""The commands of docs/onchain.md, and those on a chain of the other pages, in the order of the pages."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from documentation import save
from model_server import ModelServer
from walking import Walk, frozen, told

from pipelines.onchain.contenders import BASELINES
from pipelines.onchain.histories import INTERFACES
from pipelines.onchain.settings import OnchainSettings


def board(release: str, experiment: str) -> pl.DataFrame:
    return pl.read_csv(f"polygon/reports/{experiment}~{release}/prediction_board.csv")


@pytest.fixture(scope="module")
def polygon(walk: Walk) -> SimpleNamespace:
    """The home folder `polygon` with the release of a made-up chain and its baselines evaluated; what was said."""
    made = walk("trailbench generate onchain --wallets 1000 --seed 7 --out chain").out
    built = walk(
        "trailbench build --track onchain --source polygon_logs chain/logs-*.jsonl chain/markets.json --home polygon"
    ).out
    release = frozen(built)
    said = walk("trailbench evaluate RELEASE --home polygon", {"RELEASE": release}).out
    return SimpleNamespace(release=release, made=made, said=said)


def test_a_made_up_chain_ends_in_the_baselines(walk: Walk, polygon: SimpleNamespace) -> None:
    logs = sum(len(file.read_text().splitlines()) for file in Path("chain").glob("logs-*.jsonl"))
    assert polygon.made.startswith(f"{logs:,} logs and ") and Path("chain/truth/holdings.parquet").is_file()
    walk("trailbench export RELEASE --table funnel --to funnel.csv --home polygon", {"RELEASE": polygon.release})
    funnel = pl.read_csv("funnel.csv")
    assert funnel["wallets"][0] > funnel["wallets"][-1] > 50
    verified = walk("trailbench verify RELEASE --home polygon", {"RELEASE": polygon.release}).out
    assert f"release {polygon.release} is what its manifest says" in verified
    assert set(board(polygon.release, "baselines")["method"]) == set(BASELINES)
    assert told(polygon.said, "model_calls") == "0"
    listed = walk("trailbench settings --track onchain").out
    assert all(name[:20] in listed for name in OnchainSettings.model_fields)


def test_a_wallet_is_drawn_and_its_target_explained(walk: Walk, polygon: SimpleNamespace) -> None:
    (unit,) = re.findall(r"^Next: trailbench explain (\S+)", polygon.said, re.MULTILINE)
    wallet = unit.partition(":")[0]
    shown = walk("trailbench wallet 0x… --home polygon --plot wallet.png", {"0x…": wallet}).out
    assert told(shown, "wallet") == wallet and Path("wallet.png").read_bytes().startswith(b"\x89PNG")
    units = pl.concat(pl.read_parquet(file) for file in Path("polygon/gold/prediction_units").rglob("*.parquet"))
    belief = units.filter(pl.col("layer").cast(pl.String) == "belief").row(0, named=True)
    known = {"0x…": f"0x{belief['wallet'].hex()}", "12": belief["event"]}
    said = walk("trailbench explain 0x…:12:belief --home polygon", known).out
    assert f"Experiment baselines, release {polygon.release}" in said
    assert f"{known['0x…']}:{belief['event']}:belief" in said


def test_a_language_model_answers_behind_every_interface(
    walk: Walk, polygon: SimpleNamespace, model: ModelServer
) -> None:
    said = walk("trailbench evaluate RELEASE --home polygon --reader llm", {"RELEASE": polygon.release}).out
    assert told(said, "model_calls") == str(model.count) != "0"
    assert set(board(polygon.release, "interfaces")["method"]) == {*BASELINES, *INTERFACES}


def test_the_paper_s_settings_are_another_release(walk: Walk, polygon: SimpleNamespace, model: ModelServer) -> None:
    save("behaviorbench.yaml")
    save("interfaces.yaml")
    built = walk(
        "trailbench build --track onchain --source polygon_logs chain/logs-*.jsonl chain/markets.json "
        "--home polygon --config behaviorbench.yaml"
    ).out
    assert frozen(built) != polygon.release
    walk("trailbench evaluate --experiment interfaces.yaml --home polygon")
    rows = board(frozen(built), "interfaces")
    assert set(rows["method"]) == {*BASELINES, "none", "direct"}


def test_logs_of_a_file_become_trades(walk: Walk, polygon: SimpleNamespace) -> None:
    logs = [json.loads(line) for file in sorted(Path("chain").glob("logs-*.jsonl")) for line in file.open()][:500]
    integers = {"block_number": "blockNumber", "log_index": "logIndex", "timestamp": "blockTimestamp"}
    topics = {f"topic{place}": [(*log["topics"], None, None, None)[place] for log in logs] for place in range(4)}
    texts = {"block_hash": "blockHash", "transaction_hash": "transactionHash", "address": "address", "data": "data"}
    columns = {name: [int(log[key], 16) for log in logs] for name, key in integers.items()}
    columns |= {name: [log[key] for log in logs] for name, key in texts.items()}
    pl.DataFrame(columns | topics).write_parquet("logs.parquet")
    said = walk("trailbench decode logs.parquet --to trades.csv").out
    trades = pl.read_csv("trades.csv", infer_schema=False)
    assert f"500 logs in, {trades.height} trades in trades.csv" in said and trades.height > 100
    assert set(trades["tx_hash"]) <= {log["transactionHash"] for log in logs}
    assert pl.read_csv("trades.csv.rejects.csv").is_empty()
