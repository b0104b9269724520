"""An audit comes before publication: what fails it is never materialised, and what stood there stands."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets import commerce, publishing
from resources.home import Home
from trailbench.running import RunFailed, dagster_instance, run_job

SHARD = "s01"


def doubled(rows: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([rows, rows.head(1)])


def upside_down(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.reverse()


def fingerprints(home: Home, key: str, table: str) -> str:
    return home.store.require(table, {"release": key, "shard": SHARD}).path


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.parquet")}


@pytest.mark.parametrize(
    ("asset", "job", "spoil", "after"),
    [
        ("batches", "trajectories", doubled, {"cohort", "transitions"}),
        ("visits", "trajectories", upside_down, {"batches", "cohort", "transitions"}),
        ("positives", "labels", doubled, {"pools"}),
    ],
)
def test_what_fails_its_audit_is_not_published(
    asset: str,
    job: str,
    spoil: Callable[[pl.DataFrame], pl.DataFrame],
    after: set[str],
    copied: SimpleNamespace,
    at_home: Callable[[Path], Home],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = at_home(copied.home)
    catalog = home.gold if asset == "positives" else home.store
    partition = {"release": copied.key, "shard": SHARD}
    before, on_disk = catalog.require(asset, partition), files(copied.home)
    real_code, real = publishing.code_version, getattr(commerce, f"make_{asset}")

    def broken(*rows: Any, **more: Any) -> pl.DataFrame:
        return spoil(real(*rows, **more).lazy().collect())

    # A changed rule: without it, what is published already would be taken.
    monkeypatch.setattr(publishing, "code_version", lambda *modules: real_code(*modules) + "+")
    monkeypatch.setattr(commerce, f"make_{asset}", broken)
    with dagster_instance(home.folder) as instance:
        with pytest.raises(RunFailed, match="audit failed, nothing was published") as failure:
            run_job(instance, job, partition)
        run = instance.get_runs(limit=1)[0]
        logs = instance.all_logs(run.run_id)
        events = [entry.dagster_event for entry in logs if entry.dagster_event is not None]
        materialised = {event.asset_key.to_user_string() for event in events if event.is_step_materialization}
        started = {event.step_key for event in events if event.is_step_start}
        evaluated = [
            event.asset_check_evaluation_data
            for event in events
            if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION
        ]
        latest = instance.get_latest_materialization_event(dg.AssetKey(asset))

    assert asset not in materialised and materialised.isdisjoint(after)
    assert started.isdisjoint(after)
    assert latest is not None and latest.run_id != run.run_id
    failed = [one for one in evaluated if one.asset_key.to_user_string() == asset and not one.passed]
    assert failed and all(one.severity == dg.AssetCheckSeverity.ERROR for one in failed)
    assert {one.partition for one in failed} == {dg.MultiPartitionKey(partition)}
    rows = [value for one in failed for name, value in one.metadata.items() if name.startswith("rows of")]
    assert rows and all(len(table.records) >= 1 for table in rows), "the failing rows are there to be looked at"
    assert asset in str(failure.value)

    assert catalog.require(asset, partition) == before
    assert catalog.scan(asset, partition).collect().height == before.rows
    # What came before the failing step may be published again under the changed rule; nothing of it was.
    new = files(copied.home) - on_disk
    assert [path for path in new if f"/{asset}/" in path or any(f"/{later}/" in path for later in after)] == []
    assert [path for path in copied.home.rglob("*") if path.name.startswith(".staged")] == []
