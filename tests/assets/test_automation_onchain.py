"""What starts by itself on the chain: files in the inbox and fetched ranges are decoded, and a release is named."""

import json
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from assets import automation
from assets.definitions import defs
from assets.partitions import RELEASE_SHARDS, RELEASES
from pipelines.onchain.generator import Plan
from pipelines.onchain.settings import OnchainSettings
from resources.home import Home
from trailbench.generating import write_chain
from trailbench.running import RunFailed, dagster_instance, run_job

PLAN = Plan(seed=5, wallets=20, markets=8, neg_risk_markets=4, operations=300)


@pytest.fixture
def home(tmp_path: Path, at_home: Callable[[Path], Home]) -> Home:
    """A home folder with a chain and its markets in the inbox, and thresholds of its own."""
    opened = at_home(tmp_path / "home")
    write_chain(PLAN, tmp_path / "chain", lambda _: None)
    for source, name in (("polygon_logs", "logs-001.jsonl"), ("gamma_markets", "markets.json")):
        folder = opened.settings.inbox / source
        folder.mkdir()
        (tmp_path / "chain" / name).rename(folder / name)
    (opened.folder / "onchain.yaml").write_text("min_markets: 1\nmin_trades: 1\n")
    return opened


def look(instance: dg.DagsterInstance, cursor: str | None) -> dg.SensorResult:
    return automation.drops(dg.build_sensor_context(instance, cursor=cursor, definitions=defs))


def test_drops_of_the_chain_are_decoded_and_make_one_release_with_their_markets(home: Home) -> None:
    with dagster_instance(home.folder) as instance:
        first = look(instance, None)
        assert first.run_requests == []
        found = look(instance, first.cursor)
        assert {request.job_name for request in found.run_requests} == {"decode"}
        drops = [request.partition_key for request in found.run_requests]
        assert sorted(drop.rsplit("-", 1)[0] for drop in drops) == ["gamma_markets", "polygon_logs"]
        instance.add_dynamic_partitions("drop", drops)
        assert list(automation.waiting_releases(home)) == [], "nothing is decoded yet"
        gamma, logs = sorted(drops)
        run_job(instance, "decode", {"drop": gamma})
        assert list(automation.waiting_releases(home)) == [], "descriptions alone are no release"
        run_job(instance, "decode", {"drop": logs})
        (spec,) = automation.waiting_releases(home)
        assert (spec.track, spec.source, spec.drops) == ("onchain", "polygon", (gamma, logs))
        assert spec.settings == OnchainSettings(min_markets=1, min_trades=1)
        context = dg.build_sensor_context(instance, repository_def=defs.get_repository_def())
        assert "launched" in str(automation.releases(context).skip_message)
        backfill = instance.get_backfill(f"release-{spec.key}")
        subset = backfill.get_asset_backfill_data(defs.resolve_asset_graph()).target_subset
        covered = {one.asset_key.to_user_string() for one in subset.iterate_asset_partitions()}
        graph = defs.resolve_asset_graph()
        assert covered == {
            key.to_user_string()
            for key in graph.materializable_asset_keys
            if graph.get(key).group_name == "onchain" and graph.get(key).partitions_def in (RELEASES, RELEASE_SHARDS)
        }
        with pytest.raises(RunFailed, match="is of polygon_logs, a source of onchain"):
            run_job(instance, "ingest", {"drop": logs})


def test_a_fetched_range_is_decoded_without_lying_in_the_inbox(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "range.jsonl"
    file.write_text(
        json.dumps({"address": "0x" + "00" * 20, "topics": [], "data": "0x", "blockNumber": "0x1", "logIndex": "0x0"})
    )
    drop = home.register.register("polygon_rpc", [file])
    with dagster_instance(home.folder) as instance:
        requests = look(instance, None).run_requests
        assert [(one.partition_key, one.job_name) for one in requests] == [(drop.id, "decode")]
        instance.add_dynamic_partitions("drop", [drop.id])
        assert look(instance, None).run_requests == []


def test_the_head_of_a_chain_without_endpoint_is_skipped_in_words(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAILBENCH_RPC_URL", raising=False)
    with dagster_instance(home.folder) as instance:
        result = automation.chain_head(dg.build_sensor_context(instance, definitions=defs))
    assert isinstance(result, dg.SkipReason) and "TRAILBENCH_RPC_URL" in str(result.skip_message)
