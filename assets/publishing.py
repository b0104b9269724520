"""The one way in which an asset publishes: reuse, or make → audit → publish → point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import dagster as dg
import polars as pl
from pydantic import BaseModel

from assets.inputs import content
from assets.metadata import table_metadata
from assets.partitions import axes_of
from expectations import checks
from expectations.audits import audit_for
from pipelines.findings import Finding
from pipelines.hashing import bucket_hashes, digest_json, frame_hash
from pipelines.schema import SCHEMA_VERSION, TABLES
from resources.catalog import Catalog
from resources.code import code_version
from resources.settings import home_settings
from resources.store import AuditFailed, Published

Frame = pl.DataFrame | pl.LazyFrame


@dataclass(frozen=True)
class Made:
    """What an asset computed.

    `frames` by table; `extra` is written into the sidecars; `companions` are further
    frames, and `counts` numbers, that the audit compares with; `findings` are those of
    the asset's own checks, by table.
    """

    frames: Mapping[str, Frame]
    extra: Mapping[str, Any] = field(default_factory=dict)
    companions: Mapping[str, Frame] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)


UNANSWERED = "unanswered"
"""Number in `Made.extra`: calls of a model that got no reply. What was made with such a loss stands, and the next run
makes it again: replies are kept, so that it asks for the lost ones only."""
Result = dg.AssetCheckResult | dg.MaterializeResult  # type: ignore[type-arg]


def publish(
    context: dg.AssetExecutionContext,
    catalogs: Mapping[str, Catalog],
    tables: Sequence[str],
    *,
    inputs: Mapping[str, Any],
    code: Sequence[str],
    make: Callable[[], Made],
    settings: BaseModel | None = None,
    show: Callable[[Mapping[str, pl.LazyFrame]], Mapping[str, Any]] | None = None,
) -> Iterator[Result]:
    """Publish `tables` (the asset's own table first) for the partition in execution.

    `catalogs` maps a wall (`store`, `gold`) to its catalog; a table of a wall that the
    asset was not given raises `KeyError`. The fingerprint is made of `inputs`, the text
    of the modules `code` and the schema; content published under it before is reused,
    unless it says that calls were `UNANSWERED`.
    An error-level finding fails the run before anything is materialised. `settings` are
    the thresholds that audits judge by; `show` says what the UI shows of the published
    tables beyond what it shows of every table.
    """
    walls = {table: catalogs[TABLES[table].wall] for table in tables}
    fingerprint = digest_json(
        {"tables": list(tables), "inputs": inputs, "code": code_version(*code), "schema": SCHEMA_VERSION}
    )
    found = {table: walls[table].find(table, fingerprint) for table in tables}
    published = {table: one for table, one in found.items() if one and not one.extra.get(UNANSWERED)}
    if reused := len(published) == len(tables):
        findings = [Finding(**outcome) for one in published.values() for outcome in one.extra["findings"]]
    else:
        made = make()
        findings = []
        frames = {name: frame.lazy() for name, frame in {**made.companions, **made.frames}.items()}
        for table in tables:
            try:
                published[table] = _put(walls[table], table, fingerprint, made, frames, settings, findings)
            except AuditFailed as error:
                yield from checks.results(findings)
                raise checks.failure(findings) from error
    yield from checks.results(findings)
    for table in tables:
        walls[table].point(table, axes_of(context), fingerprint)
    shown = show({table: walls[table].scan_published([one]) for table, one in published.items()}) if show else {}
    yield dg.MaterializeResult(
        metadata={**table_metadata(published, walls, reused, fingerprint), **shown},
        data_version=dg.DataVersion(digest_json([content(one) for one in published.values()])),
    )


def _put(
    catalog: Catalog,
    table: str,
    fingerprint: str,
    made: Made,
    frames: Mapping[str, pl.LazyFrame],
    settings: BaseModel | None,
    findings: list[Finding],
) -> Published:
    companions = {name: frame for name, frame in frames.items() if name != table}
    judge = audit_for(table, companions, settings, counts=made.counts, engine=home_settings().expectations)
    own: list[Finding] = []

    def audit(scan: pl.LazyFrame) -> Sequence[Finding]:
        own.extend(_of_table(table, finding) for finding in judge(scan))
        own.extend(made.findings.get(table, ()))
        findings.extend(own)
        return own

    def extra(scan: pl.LazyFrame) -> dict[str, Any]:
        outcomes = [asdict(replace(finding, failed_rows=None)) for finding in own]
        return {**made.extra, **logical_hashes(scan, table), "findings": outcomes}

    return catalog.put(table, fingerprint, made.frames[table], audit=audit, extra=extra)


def _of_table(table: str, finding: Finding) -> Finding:
    """An asset may publish several tables under the same two checks: the table stands in the finding's name."""
    check, _, rest = finding.name.partition("/")
    return replace(finding, name=f"{check}/{table}: {rest}")


def logical_hashes(scan: pl.LazyFrame, table: str) -> dict[str, Any]:
    """Content hash of a table: one for each user bucket where it has users, else one for the whole."""
    frame = scan.collect()
    if TABLES[table].user_axis:
        return {"buckets": {str(bucket): value for bucket, value in bucket_hashes(frame, table).items()}}
    return {"hash": frame_hash(frame)}
