"""Findings as Dagster asset checks: `sound` (the suite) and `consistent` (the invariants) of every table."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
import polars as pl

from expectations.audits import INVARIANT, SUITE
from pipelines.findings import Finding, failed_errors

AssetName = dg.AssetKey | str | Sequence[str]

_DESCRIPTIONS = {
    SUITE: "Schema, nulls, ranges, sets, uniqueness and row counts of the table.",
    INVARIANT: "What every row must keep, with companion tables and independent slow paths.",
}


def specs(
    asset: AssetName, partitions_def: dg.PartitionsDefinition | None = None, more: Mapping[str, str] | None = None
) -> list[dg.AssetCheckSpec]:
    """The two checks of an asset and `more` (name → description), on its own partitions; all are blocking."""
    return [
        dg.AssetCheckSpec(name, asset=asset, description=text, blocking=True, partitions_def=partitions_def)
        for name, text in {**_DESCRIPTIONS, **(more or {})}.items()
    ]


def results(findings: Sequence[Finding], asset: AssetName | None = None) -> Iterator[dg.AssetCheckResult]:
    """One result a check; to be yielded before the asset materialises or raises.

    A finding belongs to the check that its name begins with, up to the first `/`.
    A failed warning fails its check at severity WARN, which blocks nothing; an
    `info` finding never fails it. Metadata: how many expectations were evaluated
    and failed, all outcomes as a table, and the failing rows of each failed one.
    """
    key = None if asset is None else dg.AssetKey.from_coercible(asset)
    for check in dict.fromkeys((*_DESCRIPTIONS, *map(_check_of, findings))):
        yield _result(check, [finding for finding in findings if _check_of(finding) == check], key)


def failure(findings: Sequence[Finding]) -> dg.Failure:
    """The error that keeps an asset from materialising when an error-level expectation failed."""
    failed = failed_errors(findings)
    return dg.Failure(
        description="audit failed, nothing was published:\n" + "\n".join(str(finding) for finding in failed),
        metadata={"failed": [finding.name for finding in failed]},
        allow_retries=False,
    )


def _result(check: str, findings: Sequence[Finding], key: dg.AssetKey | None) -> dg.AssetCheckResult:
    failed = [finding for finding in findings if not finding.passed]
    errors = failed_errors(findings)
    # Nothing judged is no proof: the audit stops early when the columns are wrong.
    passed = bool(findings) and all(finding.severity == "info" for finding in failed)
    metadata: dict[str, dg.MetadataValue] = {
        "evaluated": dg.MetadataValue.int(len(findings)),
        "failed": dg.MetadataValue.int(len(failed)),
        "findings": _table(
            pl.DataFrame(
                [(_outcome(one), one.name, one.observed, one.description) for one in sorted(findings, key=_rank)],
                schema=dict.fromkeys(("outcome", "expectation", "observed", "meaning"), pl.String),
                orient="row",
            )
        ),
    }
    for finding in failed:
        if finding.failed_rows is not None:
            metadata[f"rows of {finding.name.removeprefix(f'{check}/')}"] = _table(finding.failed_rows)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=check,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR if errors or not findings else dg.AssetCheckSeverity.WARN,
        description="; ".join(str(finding) for finding in failed if finding.severity != "info") or None,
        metadata=metadata,
    )


def _check_of(finding: Finding) -> str:
    return finding.name.partition("/")[0]


def _outcome(finding: Finding) -> str:
    if finding.passed:
        return "passed"
    return "not checked" if finding.severity == "info" else finding.severity


def _rank(finding: Finding) -> int:
    return ["error", "warning", "not checked", "passed"].index(_outcome(finding))


def _table(frame: pl.DataFrame) -> dg.MetadataValue:
    """A frame as the UI's table; every value as text, so that ids and instants are shown exactly."""
    columns = [dg.TableColumn(name, str(dtype)) for name, dtype in frame.schema.items()]
    records = [
        dg.TableRecord({name: _text(value) for name, value in row.items()}) for row in frame.iter_rows(named=True)
    ]
    return dg.MetadataValue.table(records, dg.TableSchema(columns))


def _text(value: object) -> str:
    if value is None:
        return "null"
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
