"""The shape that all release tables share: read tables → call the domain → audit → publish."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dagster as dg
import polars as pl

from assets.inputs import content, drop_hashes, merged_events, whole
from assets.partitions import DROPS, RELEASES, any_of, axes_of
from assets.publishing import Made, Result, publish
from expectations import checks
from pipelines.schema import TABLES
from resources.catalog import Catalog
from resources.code import code_version
from resources.dag import InputStore
from resources.home import buckets_of
from resources.release_spec import ReleaseSpec
from resources.store import Published

BUCKETS = ("bucket", "other_bucket")
"""Columns of a table of drops that say which shards a row belongs to."""
OWNERS: dict[str, dg.AssetsDefinition] = {}
"""Table → the asset that publishes it."""


@dataclass(frozen=True)
class Given:
    """The tables of a release that a step reads, for its shard or, in a step over the release, for all of them."""

    store: InputStore
    catalogs: Mapping[str, Catalog]
    axes: Mapping[str, str]

    @cached_property
    def spec(self) -> ReleaseSpec:
        """What the release is made of."""
        return self.store.release(self.axes["release"])

    @property
    def settings(self) -> Any:
        """Thresholds of the release, in the model of its track."""
        return self.spec.settings

    @property
    def buckets(self) -> list[int] | None:
        """User buckets of the step's shard; None in a step over the release."""
        return buckets_of(self.axes["shard"], self.store.shards) if "shard" in self.axes else None

    def published(self, table: str) -> list[Published]:
        """The partitions behind a table: one, or those of all drops or shards where the step reads them all."""
        catalog = self.catalogs[TABLES[table].wall]
        release = {"release": self.axes["release"]}
        axis = OWNERS[table].partitions_def
        if axis == DROPS:
            return [catalog.require(table, {"drop": drop}) for drop in self.spec.drops]
        if axis == RELEASES:
            return [catalog.require(table, release)]
        if "shard" in self.axes:
            return [catalog.require(table, self.axes)]
        return catalog.all(table, release, self.store.shards)

    def lazy(self, table: str) -> pl.LazyFrame:
        """Rows of a table; of `events`, those of the step's users over all drops, re-sent rows once."""
        if table == "events":
            return merged_events(self.store.catalog, self.spec, self.buckets)
        rows = self.catalogs[TABLES[table].wall].scan_published(self.published(table))
        return self._of_shard(rows, table) if OWNERS[table].partitions_def == DROPS else rows

    def by_drop(self, table: str) -> list[pl.LazyFrame]:
        """Rows of a table of drops, drop by drop; only those of the step's shard where the table has buckets."""
        catalog = self.catalogs[TABLES[table].wall]
        return [self._of_shard(catalog.scan_published([one]), table) for one in self.published(table)]

    def by_shard(self) -> list["Given"]:
        """The same release, shard by shard."""
        return [Given(self.store, self.catalogs, {**self.axes, "shard": shard}) for shard in self.store.shards]

    def _of_shard(self, rows: pl.LazyFrame, table: str) -> pl.LazyFrame:
        buckets = [name for name in BUCKETS if name in TABLES[table].columns]
        if self.buckets is None or not buckets:
            return rows
        return rows.filter(pl.any_horizontal(pl.col(name).is_in(self.buckets) for name in buckets))

    def comparable(self, table: str) -> pl.LazyFrame:
        """Rows of a table for comparing users in time: none where the log's clock was made from gaps."""
        rows = self.lazy(table)
        clocks = {drop.extra["capabilities"]["clock"] for drop in self.published("events")}
        return rows if clocks == {"real"} else rows.clear()

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.lazy(table).collect()

    def content(self, table: str) -> Any:
        """What of a table enters the fingerprint: the logical hashes of its rows."""
        if OWNERS[table].partitions_def == DROPS and TABLES[table].user_axis:
            # A row of two wallets lies in the bucket of the first, and counts in the shard of the second.
            cut = [name for name in BUCKETS if name in TABLES[table].columns] == ["bucket"]
            catalog = self.catalogs[TABLES[table].wall]
            return drop_hashes(catalog, self.spec, table, self.buckets if cut else None)
        found = self.published(table)
        if len(found) == 1:
            return content(found[0])
        return whole(table, found) if TABLES[table].user_axis else sorted(str(content(one)) for one in found)


Compute = Callable[[Given], Made]


def release_step(
    partitions: dg.PartitionsDefinition[str],
    *,
    track: str = "commerce",
    reads: Sequence[str],
    code: Sequence[str],
    tables: Sequence[str] = (),
    thresholds: Sequence[str] = (),
    hashes: Mapping[str, Callable[[Given], Any]] | None = None,
) -> Callable[[Compute], dg.AssetsDefinition]:
    """Make an asset of a function from `Given` to `Made`; its name and docstring are the asset's.

    `tables` are what it publishes (its own name unless given), `reads` the tables it needs,
    `code` the domain modules and `thresholds` the settings that its result depends on.
    `hashes` narrows what of a table enters the fingerprint. The gold store is handed over
    only when a table read or published lies there.
    """

    def build(compute: Compute) -> dg.AssetsDefinition:
        name = compute.__name__
        published = list(tables) or [name]
        walls = {"store"} | {TABLES[table].wall for table in (*published, *reads)}

        @dg.asset(
            name=name,
            description=compute.__doc__,
            partitions_def=partitions,
            deps=_dependencies(reads),
            check_specs=checks.specs(name, partitions),
            required_resource_keys=walls,
            code_version=code_version(*code),
            group_name=track,
            kinds={"polars", "parquet"},
            owners=["team:trailbench"],
        )
        def asset(context: dg.AssetExecutionContext) -> Iterator[Result]:
            catalogs = {wall: getattr(context.resources, wall).catalog for wall in walls}
            given = Given(context.resources.store, catalogs, axes_of(context))
            if given.spec.track != track:
                raise dg.Failure(f"{given.axes['release']} is a release of {given.spec.track}, {name} one of {track}")
            inputs = {table: (hashes or {}).get(table, _content_of(table))(given) for table in reads}
            inputs["settings"] = given.settings.model_dump(include=set(thresholds))
            yield from publish(
                context,
                catalogs,
                published,
                inputs=inputs,
                code=code,
                settings=given.settings,
                make=lambda: compute(given),
            )

        OWNERS.update(dict.fromkeys(published, asset))
        return asset

    return build


def _content_of(table: str) -> Callable[[Given], Any]:
    return lambda given: given.content(table)


def _dependencies(reads: Sequence[str]) -> list[Any]:
    owners = dict.fromkeys(OWNERS[table] for table in reads)
    return [any_of(owner) if owner.partitions_def == DROPS else owner for owner in owners]
