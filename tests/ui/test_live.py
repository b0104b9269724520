"""The servers of one home folder as a person lives with them: drop a file, watch the release, stop, crash, go on."""

import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest
from looking import BROWSER, eyes
from servers import Servers, environment, wait_for
from shop_log import HOSTILE, rows

from pipelines.hashing import bucket_column

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SHARDED = ("visits", "batches", "cohort", "transitions", "positives", "pools")
WHOLE = ("taxonomy", "domains", "popularity", "funnel")
USERS = [str(number) for number in range(1, 21)]
OF_ONE_SHARD = [user for user, bucket in zip(USERS, bucket_column(pl.Series(USERS)), strict=True) if bucket % 2 == 1]


class Home:
    """A home folder with its servers, and what a person puts into it."""

    def __init__(self, folder):
        self.folder = folder
        self.servers = Servers(folder).wait_ready()

    def drop(self, source, name, content):
        """Write under a hidden name, so that nothing half-written is seen, then rename."""
        box = self.folder / "inbox" / source
        box.mkdir(parents=True, exist_ok=True)
        hidden = box / f".{name}.partial"
        hidden.write_bytes(content)
        hidden.rename(box / name)

    def drops(self):
        return sorted(path.stem for path in (self.folder / "drops").glob("*.json"))

    def release(self, drops):
        """The backfill over exactly these drops, once it has ended: its release key and its runs."""

        def ended():
            for path in (self.folder / "store/specs/release").glob("*.json"):
                if json.loads(path.read_text())["drops"] == sorted(drops):
                    backfill = self.servers.backfills().get(f"release-{path.stem}")
                    if backfill and backfill["status"].startswith("COMPLETED"):
                        return path.stem, backfill
            return None

        key, backfill = wait_for(ended, 420, self.servers.log.read_text)
        assert backfill["status"] == "COMPLETED_SUCCESS", self.servers.log.read_text()[-3000:]
        return key

    def restart(self):
        self.servers = Servers(self.folder).wait_ready()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = Home(tmp_path_factory.mktemp("live") / "home")
    yield made
    made.servers.kill()


def csv(lines):
    return ("\n".join(lines) + "\n").encode()


FIRST = csv(rows(USERS, "2025-10-01", sessions=20))
# Later than every transition of the first drop and of known categories, so that other shards see nothing of it.
SECOND = csv(rows(OF_ONE_SHARD, "2026-03-01", sessions=5, days_between=4, key="second"))


@pytest.fixture(scope="module")
def first(home):
    """The release over the first drop, with a drop beside it that nobody can read."""
    home.drop("taobao", "garbage.csv", b"\x00\xff\x01garbage" * 500)
    home.drop("rees46", "first.csv", FIRST)
    wait_for(lambda: len(home.drops()) == 2, 60)
    return home.release([drop for drop in home.drops() if drop.startswith("rees46")])


@pytest.fixture(scope="module")
def second(home, first):
    """The release over both drops."""
    home.drop("rees46", "second.csv", SECOND)
    wait_for(lambda: len(home.drops()) == 3, 60)
    return home.release([drop for drop in home.drops() if drop.startswith("rees46")])


def partitions(asset, release):
    return [f"{release}|s00", f"{release}|s01"] if asset in SHARDED else [release]


def test_a_renamed_drop_becomes_a_frozen_release_with_green_checks(home, first):
    servers = home.servers
    backfill = servers.backfills()[f"release-{first}"]
    assert backfill["title"] == f"Freeze {first}"
    assert backfill["tags"]["dagster/sensor_name"] == "releases"
    for asset in (*SHARDED, *WHOLE, "release"):
        for partition in partitions(asset, first):
            metadata = servers.metadata(asset, partition)
            assert asset == "release" or metadata["reused"] is False
            checks = servers.checks(asset, partition)
            assert checks and set(checks.values()) == {("SUCCEEDED", True)}, (asset, partition, checks)
    frozen = servers.metadata("release", first)
    assert frozen["release"] == frozen["content_hash"][:12] and frozen["pools rows"] > 50
    manifest = json.loads((home.folder / f"store/releases/{frozen['release']}/manifest.json").read_text())
    assert manifest["content_hash"] == frozen["content_hash"]


def test_every_invariant_is_judged_in_the_live_dag(home, first):
    for root in ("store", "gold"):
        for sidecar in (home.folder / root).rglob("*.json"):
            assert "not checked" not in sidecar.read_text(), sidecar


def test_an_unreadable_drop_fails_by_itself_and_says_why(home, first):
    failed = [run for run in home.servers.runs() if run["status"] == "FAILURE"]
    assert [run["jobName"] for run in failed] == ["ingest"]
    assert failed[0]["tags"]["dagster/partition"].startswith("taobao-")
    says = home.servers.causes(failed[0]["runId"])
    assert "garbage.csv:1: this is binary, not text. Give CSV, TSV, JSONL or Parquet" in says


def test_a_second_drop_rebuilds_only_the_shard_of_its_users(home, first, second):
    servers = home.servers
    for asset in SHARDED:
        reused = [servers.metadata(asset, partition)["reused"] for partition in partitions(asset, second)]
        assert reused == [True, False], asset
    before, after = (servers.metadata("release", key) for key in (first, second))
    assert before["content_hash"] != after["content_hash"]
    assert after["transitions rows"] > before["transitions rows"]


def test_the_same_content_under_another_name_starts_nothing(home, second):
    servers = home.servers
    runs, backfills = len(servers.runs()), set(servers.backfills())
    home.drop("rees46", "first-again.csv", FIRST)
    looks = servers.looks("drops")
    wait_for(lambda: servers.looks("drops") > looks + 3, 90)
    assert (home.folder / "inbox/rees46/first-again.csv.manifest.json").exists()
    assert (len(servers.runs()), set(servers.backfills())) == (runs, backfills)


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_a_person_sees_green_and_launches_by_hand(home, second, tmp_path):
    release, servers = second, home.servers
    pictures = os.environ.get("TRAILBENCH_SCREENSHOTS", tmp_path / "pictures")
    with eyes(servers.url, tmp_path / "profile", pictures) as see:
        see.open("/asset-groups/~", "commerce", "evaluation", picture="lineage")
        commerce = "/locations/__repository__@assets.definitions/asset-groups/commerce"
        see.open(f"{commerce}/lineage", "visits", "pools", "release", picture="lineage-commerce")
        see.open(f"{commerce}/list", "visits", "events", picture="assets")
        shard = f"{release}%7Cs01"
        see.open(f"/assets/visits?view=partitions&partition={shard}", "Metadata", HOSTILE, picture="partition-visits")
        see.open("/assets/visits?view=overview", "Columns", picture="overview-visits")
        see.open("/assets/pools?view=checks", "Passed", picture="checks-pools")
        see.open(f"/assets/release?view=partitions&partition={release}", "content_hash", picture="partition-release")
        see.open("/assets/release?view=checks", "Passed", picture="checks-release")
        see.open(f"/runs/b/release-{release}", "100% completed", picture="backfill")
        see.open("/runs", "releases", picture="runs")
        see.open("/automation", "drops", "nightly", picture="automation")

        known = set(servers.backfills())
        see.open("/assets/visits?view=partitions", "Partitions")
        see.page.get_by_role("button", name="Materialize").first.click()
        dialog = see.page.get_by_role("dialog")
        # One release of two: the list is filtered, then all that is left is taken. Then both shards.
        dialog.get_by_text("Select a partition or create one").first.click()
        see.page.get_by_placeholder("Filter partitions").fill(release)
        see.page.get_by_text("Select all (1)").click()
        see.page.keyboard.press("Escape")
        dialog.get_by_role("button", name="All").last.click()
        dialog.get_by_text("2 partitions", exact=True).wait_for()
        see.picture("launching")
        dialog.get_by_role("button", name="Launch backfill").click()
        (mine,) = wait_for(lambda: set(servers.backfills()) - known, 60)
        wait_for(lambda: servers.backfills()[mine]["status"].startswith("COMPLETED"), 240)
        see.open(f"/runs/b/{mine}", "visits", picture="launched")
        assert see.wrong == []
    assert servers.backfills()[mine]["status"] == "COMPLETED_SUCCESS"
    assert all(servers.metadata("visits", partition)["reused"] for partition in partitions("visits", release))


def test_a_polite_stop_leaves_no_process_and_a_restart_launches_nothing(home, second):
    runs, backfills = len(home.servers.runs()), set(home.servers.backfills())
    assert home.servers.stop(signal.SIGTERM) == 0
    assert home.servers.processes() == []
    home.restart()
    wait_for(lambda: home.servers.looks("drops") > 2 and home.servers.looks("releases") > 1, 120)
    assert (len(home.servers.runs()), set(home.servers.backfills())) == (runs, backfills)


def test_a_home_is_served_once(home):
    again = subprocess.run(
        [sys.executable, "-m", "trailbench.cli", "ui"], env=environment(home.folder, 2), capture_output=True, text=True
    )
    assert again.returncode == 2
    assert home.servers.url in again.stderr and "served already" in again.stderr


def test_a_crash_in_the_middle_of_a_backfill_changes_nothing_in_the_end(home, second, tmp_path):
    third = csv(rows(USERS[:5], "2026-06-01", sessions=6, key="third"))
    home.drop("rees46", "third.csv", third)

    def visits_running():
        running = [run for run in home.servers.runs() if run["status"] == "STARTED"]
        return any("dagster/backfill" in run["tags"] for run in running)

    wait_for(visits_running, 180, home.servers.log.read_text)
    home.servers.kill()
    assert home.servers.processes() == []
    home.restart()
    drops = [drop for drop in home.drops() if drop.startswith("rees46")]
    after = home.servers.metadata("release", home.release(drops))

    elsewhere = tmp_path / "elsewhere"
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for file, content in zip(files, (third, FIRST, SECOND), strict=True):
        file.write_bytes(content)
    command = [sys.executable, "-m", "trailbench.cli", "build", *map(str, files), "--source", "rees46", "--json"]
    built = subprocess.run(command, env=environment(elsewhere, 3), capture_output=True, text=True, check=True)
    assert json.loads(built.stdout)["content_hash"] == after["content_hash"]


def test_a_build_beside_the_running_servers_is_one_of_the_same_release(home, second, tmp_path):
    file = tmp_path / "first.csv"
    file.write_bytes(FIRST)
    command = [sys.executable, "-m", "trailbench.cli", "build", str(file), "--source", "rees46", "--json"]
    built = subprocess.run(command, env=environment(home.folder, 2), capture_output=True, text=True, check=True)
    assert json.loads(built.stdout)["content_hash"]
    assert {run["status"] for run in home.servers.runs() if run["tags"].get("trailbench/process")} == {"SUCCESS"}
