"""App logs in the inbox: a folder is one drop, read by its own job, and makes a release of its track."""

import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from assets import automation
from assets.definitions import defs
from assets.partitions import RELEASE_SHARDS, RELEASES
from pipelines.applogs.settings import AppLogSettings
from resources.home import Home
from trailbench.running import RunFailed, dagster_instance, run_job

sys.path.insert(0, str(Path(__file__).parents[1] / "applogs"))
from applog_drops import write_users


@pytest.fixture
def home(tmp_path: Path, at_home: Callable[[Path], Home]) -> Home:
    """A home folder with two users in the inbox, gold beside them, and a truth of its own."""
    opened = at_home(tmp_path / "home")
    folder = opened.settings.inbox / "app_logs" / "first"
    folder.mkdir(parents=True)
    write_users(folder, 2, days=60)
    (folder / "README.md").write_text("two users")
    (opened.folder / "applogs.yaml").write_text("truth: finished_chain\ntasks: [state_completion]\n")
    return opened


def look(instance: dg.DagsterInstance, cursor: str | None) -> dg.SensorResult:
    return automation.drops(dg.build_sensor_context(instance, cursor=cursor, definitions=defs))


def test_a_folder_of_users_is_one_drop_and_makes_a_release(home: Home) -> None:
    with dagster_instance(home.folder) as instance:
        first = look(instance, None)
        assert first.run_requests == [], "it may still be written"
        (request,) = look(instance, first.cursor).run_requests
        assert request.job_name == "read_apps" and request.partition_key.startswith("app_logs-")
        instance.add_dynamic_partitions("drop", [request.partition_key])
        with pytest.raises(RunFailed, match="is of app_logs"):
            run_job(instance, "ingest", {"drop": request.partition_key})
        assert list(automation.waiting_releases(home)) == [], "nothing is read yet"
        run_job(instance, "read_apps", {"drop": request.partition_key})
        (spec,) = automation.waiting_releases(home)
        assert (spec.track, spec.source, spec.drops) == ("applogs", "app_logs", (request.partition_key,))
        assert spec.settings == AppLogSettings(truth="finished_chain", tasks=("state_completion",))
        context = dg.build_sensor_context(instance, repository_def=defs.get_repository_def())
        assert "launched" in str(automation.releases(context).skip_message)
        backfill = instance.get_backfill(f"release-{spec.key}")
        subset = backfill.get_asset_backfill_data(defs.resolve_asset_graph()).target_subset
        covered = {one.asset_key.to_user_string() for one in subset.iterate_asset_partitions()}
        graph = defs.resolve_asset_graph()
        assert covered == {
            key.to_user_string()
            for key in graph.materializable_asset_keys
            if graph.get(key).group_name == "applogs" and graph.get(key).partitions_def in (RELEASES, RELEASE_SHARDS)
        }
        assert {"app_logs", "checkpoints", "tasks", "state_keys", "applog_funnel", "applog_release"} == covered


def test_an_asset_of_app_logs_reads_no_drop_of_another_track(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "logs.jsonl"
    file.write_text("{}\n")
    drop = home.register.register("polygon_logs", [file])
    with dagster_instance(home.folder) as instance:
        instance.add_dynamic_partitions("drop", [drop.id])
        with pytest.raises(RunFailed, match="is of polygon_logs, a source of onchain"):
            run_job(instance, "read_apps", {"drop": drop.id})


def test_the_same_files_elsewhere_are_the_same_drop_and_of_another_user_another(home: Home, tmp_path: Path) -> None:
    ids = {}
    for place, user in (("a", "001_user_001"), ("b", "001_user_001"), ("c", "900_user_900")):
        folder = write_users(tmp_path / place, 1, days=20)
        for side in (folder, folder / "gold"):
            (side / "001_user_001").rename(side / user)
        ids[place] = home.register.register("app_logs", [folder]).id
    assert ids["a"] == ids["b"] != ids["c"]
