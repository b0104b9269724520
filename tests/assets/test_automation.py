"""What starts by itself: the drop sensor, the release sensor, the nightly schedule."""

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from assets import automation
from assets.definitions import defs
from assets.partitions import RELEASE_SHARDS, RELEASES
from resources.home import Home
from trailbench.running import RunFailed, dagster_instance, run_job

RELEASE_ASSETS = {"taxonomy", "domains", "popularity", "funnel", "release"}
SHARD_ASSETS = {"visits", "batches", "cohort", "transitions", "positives", "pools"}


class Watched:
    """A home folder, its instance, and its sensors as the daemon would ask them."""

    def __init__(self, home: Home, instance: dg.DagsterInstance) -> None:
        self.home, self.instance = home, instance
        self.cursor: str | None = None
        self.said: list[str] = []

    def drops(self) -> list[str]:
        """Partitions that the drop sensor requests runs for; adds them, as the daemon does."""
        context = dg.build_sensor_context(self.instance, cursor=self.cursor, definitions=defs)
        handler = logging.Handler()
        handler.emit = lambda record: self.said.append(record.getMessage())
        context.log.addHandler(handler)
        result = automation.drops(context)
        self.cursor = result.cursor
        for request in result.dynamic_partitions_requests:
            self.instance.add_dynamic_partitions("drop", list(request.partition_keys))
        assert [request.run_key for request in result.run_requests] == [
            request.partition_key for request in result.run_requests
        ]
        return [request.partition_key for request in result.run_requests]

    def settle(self) -> list[str]:
        """Two looks: at the second a file that stands still is taken."""
        assert self.drops() == []
        return self.drops()

    def releases(self) -> str:
        context = dg.build_sensor_context(self.instance, repository_def=defs.get_repository_def())
        return str(automation.releases(context).skip_message)

    def nightly(self) -> str:
        context = dg.build_schedule_context(
            self.instance,
            scheduled_execution_time=datetime(2026, 1, 1, 2, tzinfo=UTC),
            repository_def=defs.get_repository_def(),
        )
        return str(automation.nightly(context).skip_message)

    def covered(self, backfill_id: str) -> dict[str, set[str]]:
        """Asset → partitions of a backfill."""
        backfill = self.instance.get_backfill(backfill_id)
        data = backfill.get_asset_backfill_data(defs.resolve_asset_graph())
        found: dict[str, set[str]] = {}
        for one in data.target_subset.iterate_asset_partitions():
            found.setdefault(one.asset_key.to_user_string(), set()).add(one.partition_key)
        return found


@pytest.fixture
def inbox(tmp_path: Path, at_home: Callable[[Path], Home], shop: SimpleNamespace) -> Path:
    folder = at_home(tmp_path / "home").settings.inbox / "mapping"
    folder.mkdir()
    shutil.copyfile(shop.mapping, folder / "mapping.yaml")
    return folder


@pytest.fixture
def watched(inbox: Path, at_home: Callable[[Path], Home]) -> Iterator[Watched]:
    home = at_home(inbox.parents[1])
    with dagster_instance(home.folder) as instance:
        yield Watched(home, instance)


def test_a_file_is_read_once_whatever_it_is_called(watched: Watched, inbox: Path, shop: SimpleNamespace) -> None:
    shop.write(inbox / "monday.csv", shop.lines[:300])
    (monday,) = watched.settle()
    assert monday.startswith("mapping-") and watched.instance.has_dynamic_partition("drop", monday)
    assert watched.drops() == [] == watched.drops()

    shop.write(inbox / "again.csv", shop.lines[:300])
    assert watched.settle() == [monday], "the same content asks for the same run key, which is never run twice"
    assert watched.instance.get_dynamic_partitions("drop") == [monday]
    assert any("known" in text and "again.csv" in text for text in watched.said)


def test_a_file_that_still_grows_or_has_an_unfinished_name_waits(
    watched: Watched, inbox: Path, shop: SimpleNamespace
) -> None:
    shop.write(inbox / "growing.csv", shop.lines[:100])
    shop.write(inbox / "other.csv.partial", shop.lines[:100])
    assert watched.drops() == []
    shop.write(inbox / "growing.csv", shop.lines[:200])
    assert watched.drops() == []
    assert len(watched.drops()) == 1
    (inbox / "other.csv.partial").rename(inbox / "other.csv")
    assert len(watched.settle()) == 1


def test_a_file_changed_under_its_name_is_a_new_drop_and_is_reported(
    watched: Watched, inbox: Path, shop: SimpleNamespace
) -> None:
    shop.write(inbox / "monday.csv", shop.lines[:300])
    (first,) = watched.settle()
    shop.write(inbox / "monday.csv", shop.lines[:400])
    (second,) = watched.settle()
    assert second != first
    assert any("changed under the same name" in text and "monday.csv" in text for text in watched.said)
    assert set(watched.instance.get_dynamic_partitions("drop")) == {first, second}


def test_what_nobody_can_read_is_said_and_the_rest_goes_on(
    watched: Watched, inbox: Path, shop: SimpleNamespace
) -> None:
    (inbox.parent / "amazon").mkdir()
    (inbox / "bad.manifest.json").write_text("{")
    shop.write(inbox / "good.csv", shop.lines[:300])
    assert len(watched.settle()) == 1
    assert any("no source is named 'amazon'" in text for text in watched.said)
    assert any("bad.manifest.json" in text for text in watched.said)


def test_a_lost_cursor_asks_for_the_same_runs_again(watched: Watched, inbox: Path, shop: SimpleNamespace) -> None:
    shop.write(inbox / "monday.csv", shop.lines[:300])
    before = watched.settle()
    watched.cursor = None
    assert watched.drops() == before, "with run keys that were run already"
    assert watched.instance.get_dynamic_partitions("drop") == before
    assert json.loads(watched.cursor or "")


def test_a_log_in_the_inbox_is_the_drop_that_a_build_by_hand_registers(
    watched: Watched, inbox: Path, copied: SimpleNamespace, shop: SimpleNamespace
) -> None:
    shutil.copyfile(shop.log, inbox / "shop.csv")
    assert watched.settle() == [path.stem for path in (copied.home / "drops").glob("*.json")]


def test_a_release_is_launched_once_over_the_drops_that_can_be_read(
    watched: Watched, inbox: Path, shop: SimpleNamespace
) -> None:
    shop.write(inbox / "good.csv", shop.lines[:900])
    (inbox / "cut.csv").write_bytes(b"PK\x03\x04" + b"\0" * 200)
    requested = watched.settle()
    assert len(requested) == 2
    assert watched.releases() == "the drops did not change", "nothing was read yet"
    read = []
    for drop in requested:
        try:
            run_job(watched.instance, "ingest", {"drop": drop})
            read.append(drop)
        except RunFailed as error:
            assert "cut.csv" in str(error)
    (good,) = read

    assert watched.releases().startswith("launched mapping-")
    (backfill,) = watched.instance.get_backfills()
    (key,) = watched.instance.get_dynamic_partitions("release")
    assert watched.home.store.document(f"specs/release/{key}.json")["drops"] == [good]
    covered = watched.covered(backfill.backfill_id)
    assert set(covered) == RELEASE_ASSETS | SHARD_ASSETS
    assert all(covered[asset] == {key} for asset in RELEASE_ASSETS)
    shards = {dg.MultiPartitionKey({"release": key, "shard": shard}) for shard in watched.home.shards}
    assert all(covered[asset] == shards for asset in SHARD_ASSETS)
    assert RELEASES.name == "release" and len(RELEASE_SHARDS.partitions_defs) == 2

    assert watched.releases() == watched.nightly() == "the drops did not change"
    assert len(watched.instance.get_backfills()) == 1


def test_a_release_named_but_never_launched_is_launched_by_the_next_look(
    watched: Watched, inbox: Path, shop: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(inbox / "good.csv", shop.lines[:900])
    (drop,) = watched.settle()
    run_job(watched.instance, "ingest", {"drop": drop})

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(automation, "launch_release", crash)
        with pytest.raises(KeyboardInterrupt):
            watched.nightly()
    assert watched.instance.get_backfills() == []
    assert watched.nightly().startswith("launched")
    assert len(watched.instance.get_backfills()) == 1


def test_the_night_after_nothing_changed_starts_nothing(
    copied: SimpleNamespace, at_home: Callable[[Path], Home], shop: SimpleNamespace
) -> None:
    home = at_home(copied.home)
    with dagster_instance(home.folder) as instance:
        night = Watched(home, instance)
        assert night.nightly() == "the drops did not change"
        assert instance.get_backfills() == []
