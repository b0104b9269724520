"""The end of a release: the funnel, the proofs over the whole, and the frozen manifest and card."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import polars as pl

# Importing the commerce assets is what registers the owners of the tables read here.
from assets.commerce import OWNERS
from assets.inputs import content, whole
from assets.metadata import table_value
from assets.partitions import RELEASES, axes_of
from assets.proofs import PROOFS, proofs
from assets.publishing import Made, Result
from assets.steps import Given, release_step
from pipelines.commerce.funnel import funnel as make_funnel
from pipelines.commerce.funnel import merge_step, read_step, release_steps
from pipelines.commerce.release import card as make_card
from pipelines.commerce.release import manifest as make_manifest
from pipelines.commerce.release import refusals
from pipelines.commerce.statistics import statistics
from pipelines.release import TableEntry
from pipelines.schema import TABLES
from resources.dag import GoldStore, InputStore
from resources.release_files import freeze_release

COUNTED = ("visits", "cohort", "batches", "transitions", "positives", "pool_counts")


@release_step(
    RELEASES,
    reads=("events", "rejects", *COUNTED),
    thresholds=("distractors_per_positive",),
    code=("pipelines.commerce.funnel",),
)
def funnel(given: Given) -> Made:
    """What went in, stayed and left at every step of the release, by reason."""
    drops = given.published("events")
    rejects = dict(given.lazy("rejects").group_by("reason").len().sort("reason").collect().iter_rows())
    rows_in, events_in, duplicates = (
        sum(drop.extra["counts"][name] for drop in drops) for name in ("rows_in", "events", "duplicates")
    )
    tables = {name: given.lazy(name) for name in COUNTED}
    events = given.lazy("events")
    merged = events.select(pl.len()).collect().item()
    steps = [
        read_step(rows_in, events_in, duplicates, rejects),
        merge_step(events_in, merged),
        *release_steps(events=events, **tables, settings=given.settings),
    ]
    return Made({"funnel": make_funnel(steps)})


def release_entries(given: Given) -> dict[str, TableEntry]:
    entries = {}
    for table in RELEASE_TABLES:
        found = given.published(table)
        logical = whole(table, found) if TABLES[table].user_axis else str(content(found[0]))
        entries[table] = TableEntry(logical, sum(one.rows for one in found), {one.path: one.sha256 for one in found})
    return entries


def _card(given: Given, name: str) -> dict[str, Any]:
    drops = [one.extra for one in given.published("events")]
    can = [drop["capabilities"] for drop in drops]
    tables = ("visits", "batches", "cohort", "transitions", "taxonomy", "positives", "pool_counts")
    return make_card(
        name=name,
        settings=given.settings,
        statistics=statistics(**{table: given.lazy(table) for table in tables}),
        funnel=given["funnel"],
        refusals=refusals(
            l1=any(one["l1"] for one in can),
            l2=any(one["l2"] for one in can),
            clock=can[0]["clock"],
            resolution=can[0]["resolution"],
        ),
        warnings=sorted({warning for drop in drops for warning in drop["warnings"]}),
    )


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


RELEASE_TABLES = (
    *("visits", "batches", "cohort", "transitions", "positives", "pools", "pool_gold", "pool_counts"),
    *("taxonomy", "domains", "popularity", "funnel"),
)


@dg.asset(
    partitions_def=RELEASES,
    deps=list(dict.fromkeys(OWNERS[table] for table in RELEASE_TABLES)),
    check_specs=[
        dg.AssetCheckSpec(name, asset="release", description=text, blocking=True, partitions_def=RELEASES)
        for name, text in PROOFS.items()
    ],
    group_name="commerce",
    kinds={"json"},
    owners=["team:trailbench"],
)
def release(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """The frozen release: proven free of the future, named by its content, never written again."""
    given = Given(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    manifest = make_manifest(release_entries(given), given.settings)
    failed = []
    for name, violations in proofs(given):
        failed += [] if violations.is_empty() else [f"{name} ({violations.height} violations)"]
        shown: dict[str, Any] = {
            "violations": violations.height,
            "rows": table_value(violations.head(20)),
        }
        yield dg.AssetCheckResult(check_name=name, passed=violations.is_empty(), metadata=shown)
    if failed:
        raise dg.Failure(f"the release is not frozen: {', '.join(failed)}", allow_retries=False)
    lineage = {"key": context.partition_key, "specification": given.spec.document(), "shards": len(store.shards)}
    card = _card(given, manifest["release"])
    freeze_release(store.catalog.store, context.partition_key, manifest, card, lineage)
    yield dg.MaterializeResult(
        metadata={**_shown(manifest, card), "funnel": table_value(given["funnel"])},
        data_version=dg.DataVersion(manifest["content_hash"]),
    )
