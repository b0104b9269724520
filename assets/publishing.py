"""The one way in which an asset publishes: reuse, or make → audit → publish → point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import polars as pl
from expectations.audits import audit_for
from expectations.checks import findings_results, reused_results
from pydantic import BaseModel

from assets.metadata import table_metadata
from assets.partitions import axes_of
from pipelines.findings import Finding
from pipelines.hashing import bucket_hashes, digest_json, frame_hash
from pipelines.schema import SCHEMA_VERSION, TABLES
from resources.catalog import Catalog
from resources.code import code_version
from resources.store import AuditFailed, Published

Frame = pl.DataFrame | pl.LazyFrame


@dataclass(frozen=True)
class Made:
    """What an asset computed.

    `frames` by table; `extra` is written into the sidecars; `metadata` is shown in the
    UI; `companions` are further frames that the audit compares with.
    """

    frames: Mapping[str, Frame]
    extra: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    companions: Mapping[str, Frame] = field(default_factory=dict)


Result = dg.AssetCheckResult | dg.MaterializeResult  # type: ignore[type-arg]


def publish(
    context: dg.AssetExecutionContext,
    catalogs: Mapping[str, Catalog],
    tables: Sequence[str],
    *,
    inputs: Mapping[str, Any],
    code: Sequence[str],
    settings: BaseModel,
    make: Callable[[], Made],
) -> Iterator[Result]:
    """Publish `tables` (the asset's own table first) for the partition in execution.

    `catalogs` maps a wall (`store`, `gold`) to its catalog; a table of a wall that the
    asset was not given raises `KeyError`. The fingerprint is made of `inputs`, the text
    of the modules `code` and the schema; content published under it before is reused.
    An error-level finding fails the run before anything is materialised.
    """
    walls = {table: catalogs[TABLES[table].wall] for table in tables}
    fingerprint = digest_json(
        {"tables": list(tables), "inputs": inputs, "code": code_version(*code), "schema": SCHEMA_VERSION}
    )
    published = {table: walls[table].find(table, fingerprint) for table in tables}
    if reused := all(published.values()):
        metadata: Mapping[str, Any] = {}
        for table in tables:
            yield from reused_results(context, table)
    else:
        made = make()
        metadata = made.metadata
        frames = {name: frame.lazy() for name, frame in {**made.companions, **made.frames}.items()}
        for table in tables:
            findings: list[Finding] = []
            try:
                published[table] = _put(walls[table], table, fingerprint, made, frames, settings, findings)
            except AuditFailed as error:
                yield from findings_results(context, table, error.findings)
                raise dg.Failure(str(error), allow_retries=False) from error
            yield from findings_results(context, table, findings)
    for table in tables:
        walls[table].point(table, axes_of(context), fingerprint)
    complete = {table: one for table, one in published.items() if one}
    yield dg.MaterializeResult(
        metadata={**table_metadata(complete, walls, reused, fingerprint), **metadata},
        data_version=dg.DataVersion(digest_json([_logical(one) for one in complete.values()])),
    )


def _put(
    catalog: Catalog,
    table: str,
    fingerprint: str,
    made: Made,
    frames: Mapping[str, pl.LazyFrame],
    settings: BaseModel,
    findings: list[Finding],
) -> Published:
    companions = {name: frame for name, frame in frames.items() if name != table}

    def audit(scan: pl.LazyFrame) -> Sequence[Finding]:
        findings.extend(audit_for(table, companions, settings)(scan))
        return findings

    return catalog.put(
        table,
        fingerprint,
        made.frames[table],
        audit=audit,
        extra=lambda scan: {**made.extra, **logical_hashes(scan, table)},
    )


def logical_hashes(scan: pl.LazyFrame, table: str) -> dict[str, Any]:
    """Content hash of a table: one for each user bucket where it has users, else one for the whole."""
    frame = scan.collect()
    if "user_id" in frame.columns:
        return {"buckets": {str(bucket): value for bucket, value in bucket_hashes(frame, table).items()}}
    return {"hash": frame_hash(frame)}


def _logical(published: Published) -> Any:
    return published.extra.get("buckets") or published.extra.get("hash")
