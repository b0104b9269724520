"""Audits before publication, and findings as Dagster checks, by partition."""

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from expectations import checks
from expectations.audits import audit_for
from pipelines.commerce.settings import CommerceSettings
from pipelines.findings import Finding
from resources.store import AuditFailed, Store

SHARDS = dg.StaticPartitionsDefinition(["s00", "s01"])


def finding(name: str, passed: bool, severity: str = "error", rows: pl.DataFrame | None = None) -> Finding:
    return Finding(name, passed, severity, "seen", "must hold", rows)  # type: ignore[arg-type]


def test_a_failed_audit_leaves_the_published_partition(
    tmp_path: Path, world: dict[str, pl.DataFrame], settings: CommerceSettings
) -> None:
    store = Store(str(tmp_path))
    companions = {"batches": world["batches"].lazy(), "cohort": world["cohort"].lazy()}
    keys = {"release": "r", "shard": "s00"}
    good = audit_for("transitions", companions, settings)
    store.publish("transitions", world["transitions"], keys=keys, fingerprint="1", audit=good)
    bad = audit_for("transitions", companions, settings)
    with pytest.raises(AuditFailed, match="transitions = batches − users"):
        store.publish("transitions", world["transitions"].head(-1), keys=keys, fingerprint="2", audit=bad)
    assert store.scan("transitions").collect().equals(world["transitions"])
    assert {one.name for one in bad.findings if not one.passed} == {
        "consistent/pairs",
        "consistent/batches_minus_users",
    }
    assert all(one.passed for one in good.findings)


@pytest.mark.parametrize(
    ("findings", "passed", "severity"),
    [
        ([finding("sound/a", True)], True, dg.AssetCheckSeverity.WARN),
        ([finding("sound/a", True), finding("sound/b", False, "info")], True, dg.AssetCheckSeverity.WARN),
        ([finding("sound/a", False, "warning")], False, dg.AssetCheckSeverity.WARN),
        ([finding("sound/a", False), finding("sound/b", False, "warning")], False, dg.AssetCheckSeverity.ERROR),
        ([], False, dg.AssetCheckSeverity.ERROR),
    ],
)
def test_the_worst_failed_finding_decides(
    findings: list[Finding], passed: bool, severity: dg.AssetCheckSeverity
) -> None:
    sound, _ = checks.results(findings, "visits")
    assert sound.check_name == "sound"
    assert sound.passed is passed
    assert passed or sound.severity == severity


def test_an_asset_may_have_checks_of_its_own() -> None:
    more = {"credible": "can be believed"}
    assert [spec.name for spec in checks.specs("board", SHARDS, more)] == ["sound", "consistent", "credible"]
    findings = [finding("sound/a", True), finding("consistent/b", True), finding("credible", False, "warning")]
    results = {one.check_name: one for one in checks.results(findings, "board")}
    assert {name: one.passed for name, one in results.items()} == {"sound": True, "consistent": True, "credible": False}
    assert results["credible"].severity == dg.AssetCheckSeverity.WARN


def test_failing_rows_are_shown_exactly() -> None:
    rows = pl.DataFrame(
        {"user_id": ["9007199254740993"], "n": [2**60 + 1], "l1": [None]}, schema_overrides={"l1": pl.String}
    )
    _, consistent = checks.results([finding("consistent/gap", False, rows=rows)])
    table = consistent.metadata["rows of gap"]
    assert isinstance(table, dg.TableMetadataValue)
    assert table.records[0].data == {"user_id": "9007199254740993", "n": str(2**60 + 1), "l1": "null"}
    assert consistent.metadata["evaluated"].value == 1
    assert consistent.metadata["failed"].value == 1
    listed = consistent.metadata["findings"]
    assert isinstance(listed, dg.TableMetadataValue)
    assert listed.records[0].data["outcome"] == "error"


@dg.asset(partitions_def=SHARDS, check_specs=checks.specs("rejects", SHARDS))
def rejects(context: dg.AssetExecutionContext):  # type: ignore[no-untyped-def]
    """One partition that is in order, one that is not."""
    good = context.partition_key == "s00"
    frame = pl.DataFrame(
        {"file": "f", "line": [1, 2 if good else 0], "reason": "r", "raw": ""},
        schema={"file": pl.String, "line": pl.Int64, "reason": pl.String, "raw": pl.String},
    )
    audit = audit_for("rejects")
    findings = audit(frame.lazy())
    yield from checks.results(findings)
    if not good:
        raise checks.failure(findings)
    yield dg.MaterializeResult()


@pytest.mark.parametrize(("shard", "works"), [("s00", True), ("s01", False)])
def test_an_asset_reports_its_checks_by_partition_and_materialises_only_when_sound(shard: str, works: bool) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([rejects], instance=instance, partition_key=shard, raise_on_error=False)
        assert result.success is works
        evaluations = {one.check_name: one for one in result.get_asset_check_evaluations()}
        assert {name: one.passed for name, one in evaluations.items()} == {"sound": works, "consistent": works}
        assert {one.partition for one in evaluations.values()} == {shard}
        assert all(one.blocking for one in evaluations.values())
        materialised = instance.get_materialized_partitions(dg.AssetKey("rejects"))
        assert materialised == ({shard} if works else set())


def test_a_failure_names_what_failed_and_is_not_retried() -> None:
    failure = checks.failure([finding("sound/a", True), finding("consistent/b", False)])
    assert "consistent/b" in (failure.description or "")
    assert "sound/a" not in (failure.description or "")
    assert failure.allow_retries is False
