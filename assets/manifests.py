"""How a release of any track ends: proofs over the whole, manifest, card, and the frozen documents."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
import polars as pl

from assets.inputs import content, whole
from assets.metadata import table_value
from assets.partitions import RELEASES
from assets.publishing import Result
from assets.steps import Given
from pipelines.release import TableEntry
from pipelines.schema import TABLES
from resources.release_files import freeze_release


@dataclass(frozen=True)
class Frozen:
    """What a track freezes.

    `tables` make the manifest, `funnel` is the one that a person sees first. `proves` names
    every proof and what it proves; `proofs` gives their violations, on samples or, where
    `everything`, on the whole release. `rederived` derives every row again and says what differs. `pictures` are
    charts for the UI, PNG by title.
    """

    tables: tuple[str, ...]
    funnel: str
    manifest: Callable[[Mapping[str, TableEntry], Any], dict[str, Any]]
    card: Callable[[Given, str], dict[str, Any]]
    proves: Mapping[str, str]
    proofs: Callable[[Given, bool, int], Iterator[tuple[str, pl.DataFrame]]]
    rederived: Callable[[Given], pl.DataFrame]
    pictures: Callable[[Given], Mapping[str, bytes]] = lambda _: {}


def manifest_of(given: Given, frozen: Frozen) -> dict[str, Any]:
    """Manifest of a release as it is now."""
    entries = {}
    for table in frozen.tables:
        found = given.published(table)
        logical = whole(table, found) if TABLES[table].user_axis else str(content(found[0]))
        entries[table] = TableEntry(logical, sum(one.rows for one in found), {one.path: one.sha256 for one in found})
    return frozen.manifest(entries, given.settings)


def proof_specs(asset: str, frozen_proofs: Mapping[str, str]) -> list[dg.AssetCheckSpec]:
    """The proofs of a release as blocking checks of its asset."""
    return [
        dg.AssetCheckSpec(name, asset=asset, description=text, blocking=True, partitions_def=RELEASES)
        for name, text in frozen_proofs.items()
    ]


def freeze(context: dg.AssetExecutionContext, given: Given, frozen: Frozen, audited: int) -> Iterator[Result]:
    """Prove the release, then write its documents once; raises `dagster.Failure` when a proof fails."""
    manifest = manifest_of(given, frozen)
    failed = []
    for name, violations in frozen.proofs(given, False, audited):
        failed += [] if violations.is_empty() else [f"{name} ({violations.height} violations)"]
        shown: dict[str, Any] = {"violations": violations.height, "rows": table_value(violations.head(20))}
        yield dg.AssetCheckResult(check_name=name, passed=violations.is_empty(), metadata=shown)
    if failed:
        raise dg.Failure(f"the release is not frozen: {', '.join(failed)}", allow_retries=False)
    key, store = given.axes["release"], given.store
    lineage = {"key": key, "specification": given.spec.document(), "shards": len(store.shards)}
    card = frozen.card(given, manifest["release"])
    freeze_release(store.catalog.store, key, manifest, card, lineage)
    yield dg.MaterializeResult(
        metadata={**_shown(manifest, card), "funnel": table_value(given[frozen.funnel]), **_drawn(given, frozen)},
        data_version=dg.DataVersion(manifest["content_hash"]),
    )


def _drawn(given: Given, frozen: Frozen) -> dict[str, Any]:
    pictures = {title: b64encode(png).decode() for title, png in frozen.pictures(given).items()}
    return {
        title: dg.MetadataValue.md(f"![{title}](data:image/png;base64,{picture})")
        for title, picture in pictures.items()
    }


def _shown(manifest: dict[str, Any], card: dict[str, Any]) -> dict[str, Any]:
    """What the UI shows of a release: names, what it cannot support, statistics beside the paper's, rows."""
    found = [{key: "" if value is None else str(value) for key, value in row.items()} for row in card["statistics"]]
    return {
        "release": manifest["release"],
        "content_hash": manifest["content_hash"],
        "refusals": dg.MetadataValue.json(card["refusals"]),
        "warnings": dg.MetadataValue.json(card["warnings"]),
        "statistics": table_value(pl.DataFrame(found)),
        **{f"{table} rows": entry["rows"] for table, entry in manifest["tables"].items()},
    }
