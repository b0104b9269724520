"""The on-chain bench compares equal things: decoders read the same trades, chains give back what they hold."""

import json
import shutil

import polars as pl
import pytest

from bench import commerce, onchain, onchain_decoders, onchain_logs, onchain_path
from pipelines.onchain.drop import decode_drop

LOGS = 4_000
CHAIN = 20_000


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


def test_logs_decode_alike_in_every_form(cache):
    frame = onchain_logs.fills(400)
    assert onchain_logs.fills(400).equals(frame) and not onchain_logs.fills(400, seed=8).equals(frame)
    drops = [decode_drop([onchain_logs.fill_file(400, form, cache)]) for form in onchain_logs.FORMS]
    trades = [drop.tables["trades"] for drop in drops]
    assert trades[0].height == 400 and all(drop.rejects.is_empty() for drop in drops)
    assert trades[1].equals(trades[0]) and trades[2].equals(trades[0])
    assert trades[0]["direction"].n_unique() == 2 and trades[0]["exchange"].n_unique() == 2


@pytest.mark.parametrize("form", onchain_logs.FORMS)
def test_peers_read_our_trades(cache, form):
    path, warm = (onchain_logs.fill_file(n, form, cache) for n in (LOGS, 50))
    found = {}
    for name in onchain_decoders.DECODERS:
        if name in onchain.absent():
            continue
        one = onchain_decoders.measure(name, form, path, warm)
        assert one["logs"] == min(LOGS, onchain_decoders.FIRST.get(name, LOGS))
        assert one["wall"] > 0 and one["peak"] > 2**20
        found[name] = one["trades"]
    assert found.pop("scan") is None
    assert len(set(found.values())) == 1 and {"trailbench", "trailbench_memory"} <= set(found)


def test_a_chain_is_as_long_as_asked_and_the_path_gives_it_back(cache):
    folder = onchain_logs.chain(CHAIN, cache)
    assert pl.scan_parquet(folder / "*.parquet").select(pl.len()).collect().item() == CHAIN
    one = onchain_path.measure(folder, folder)
    assert one["seen"] == json.loads((folder / "expected.json").read_text())
    assert all(one["made"][name] > 0 for name in ("positions", "belief_instances", "trade_instances", "histories"))
    assert list(one["stages"]) == ["read_and_decode", "candidates", "positions_and_instances", "histories"]


def test_shards_make_the_same_number_of_rows(cache, monkeypatch):
    folder = onchain_logs.chain(CHAIN, cache)
    whole = onchain_path.measure(folder, folder)
    monkeypatch.setattr(onchain_path, "SHARD_LOGS", CHAIN // 5)
    parts = onchain_path.measure(folder, folder)
    assert (whole["shards"], parts["shards"]) == (1, 5)
    assert parts["made"] == whole["made"]


def test_a_lost_log_stops_the_path(cache, tmp_path):
    folder = shutil.copytree(onchain_logs.chain(CHAIN, cache), tmp_path / "chain")
    file = next(folder.glob("*.parquet"))
    pl.read_parquet(file).head(-1).write_parquet(file)
    with pytest.raises(onchain_path.Lost, match="the chain holds"):
        onchain_path.measure(folder, folder)


def test_quick_mode_runs_and_stops_on_a_difference(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(onchain, "CACHE", tmp_path)
    monkeypatch.setattr(onchain, "QUICK", (3_000, [3_000]))
    monkeypatch.setattr(onchain, "WARM_CHAIN", 3_000)
    monkeypatch.setattr(onchain, "WARM_LOGS", 50)
    monkeypatch.setattr(onchain, "DECODERS", dict.fromkeys(["scan", "trailbench", "trailbench_memory"]))
    result = onchain.main(["--quick", "--forms", "hex"])
    assert result["path"][0]["seen"]["logs"] == 3_000
    assert "| hex: seconds, trailbench ÷ scan | ≤ 2.2 |" in capsys.readouterr().out

    def bent(module, *arguments):
        one = commerce.run(module, *arguments)
        return {**one, "trades": "others"} if arguments[0] == "trailbench_memory" else one

    monkeypatch.setattr(onchain, "run", bent)
    with pytest.raises(commerce.Unequal, match="trailbench_memory read other trades"):
        onchain.main(["--quick", "--forms", "hex"])


def test_an_aim_is_met_on_its_border_and_missed_beyond_it():
    def of(seconds, logs=1_000):
        rate = {"wall": logs / seconds, "cpu": logs / seconds}
        return {"wall": seconds, "cpu": seconds, "rate": rate}

    decoders = {"scan": of(1.0), "trailbench": of(2.2), "eth_abi": of(33.0), "web3": of(439.0)}
    rows = onchain.aims({"decode": [{"form": "hex", "decoders": decoders}], "path": []})
    found = {row["aim"].split(", ")[1]: row for row in rows}
    assert found["trailbench ÷ scan"]["met"] == {"wall": True, "cpu": True}
    assert found["trailbench ÷ eth_abi"]["measured"]["wall"] == pytest.approx(15.0)
    assert found["trailbench ÷ web3"]["met"] == {"wall": False, "cpu": False}
    decoders["trailbench"] = of(2.21)
    rows = onchain.aims({"decode": [{"form": "hex", "decoders": decoders}], "path": []})
    assert [row["met"]["wall"] for row in rows] == [False, False, False]
