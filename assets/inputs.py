"""What an asset reads, and the hashes that say whether it changed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from pipelines.commerce.events import merge_drops
from pipelines.commerce.mapping import Mapping as SourceMapping
from pipelines.commerce.sources import source
from pipelines.hashing import combine_buckets, frame_hash
from resources.catalog import Catalog
from resources.release_spec import ReleaseSpec
from resources.store import Published

if TYPE_CHECKING:
    from assets.steps import Given


def mapping_of(name: str, declared: Mapping[str, Any]) -> SourceMapping:
    """Mapping of a source: the declared one of a `mapping` source, else the built-in one."""
    return SourceMapping.model_validate(declared) if name == "mapping" else source(name)


def content(published: Published) -> Any:
    """Logical hash of published content: by user bucket, or of the whole."""
    return published.extra["buckets"] if "buckets" in published.extra else published.extra["hash"]


def whole(table: str, published: list[Published]) -> str:
    """Logical hash of a sharded table, equal for any shard count."""
    return combine_buckets(
        table, ({int(bucket): value for bucket, value in one.extra["buckets"].items()} for one in published)
    )


def merged_events(catalog: Catalog, spec: ReleaseSpec, buckets: list[int] | None) -> pl.LazyFrame:
    """Events of the users in `buckets` (all of them by default) over all drops of a release, re-sent rows once."""
    drops = [catalog.scan_published([catalog.require("events", {"drop": drop})]) for drop in spec.drops]
    if buckets is not None:
        drops = [events.filter(pl.col("bucket").is_in(buckets)) for events in drops]
    return merge_drops(drops)


def drop_hashes(catalog: Catalog, spec: ReleaseSpec, table: str, buckets: list[int] | None) -> dict[str, list[str]]:
    """Bucket → distinct hashes of its rows of a table in the drops of a release.

    A re-sent drop brings no new hash, and a drop without a user of the buckets none at
    all, so neither rebuilds anything.
    """
    hashes: dict[str, set[str]] = {}
    for drop in spec.drops:
        for bucket, value in content(catalog.require(table, {"drop": drop})).items():
            if buckets is None or int(bucket) in buckets:
                hashes.setdefault(bucket, set()).add(value)
    return {bucket: sorted(hashes[bucket]) for bucket in sorted(hashes, key=int)}


def domain_hashes(given: "Given") -> dict[str, Any]:
    """Hashes of the domain tables of those quarters that a shard's transitions use: others change nothing here."""
    tables = given.published("domains")[0].extra["quarters"]
    used = given.lazy("transitions").select(pl.col("quarter").unique().sort()).collect()["quarter"]
    return {str(quarter): tables.get(str(quarter)) for quarter in used}


def vocabulary_hash(given: "Given") -> str:
    """Hash of the categories alone: another display name changes no pool."""
    return frame_hash(given.lazy("taxonomy").select("l1", "l2").collect())
