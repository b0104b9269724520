"""Which published content a partition of the DAG stands for.

Content lives once, under the fingerprint of what it was made from (inputs, settings,
code). A DAG partition (`release=…/shard=…`) is a small reference to a fingerprint, so
that a new release costs only what changed and a crash costs only the partition in flight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from resources.files import polars_options
from resources.store import Audit, Extra, NotPublished, Published, Store


@dataclass(frozen=True)
class Catalog:
    """References over one store."""

    store: Store

    def find(self, table: str, fingerprint: str) -> Published | None:
        """Content already published under `fingerprint` by today's schema, or None."""
        return self.store.reusable(table, {"fingerprint": fingerprint}, fingerprint)

    def put(
        self,
        table: str,
        fingerprint: str,
        frame: pl.DataFrame | pl.LazyFrame,
        *,
        audit: Audit | None = None,
        extra: Extra | None = None,
    ) -> Published:
        """Audit content and publish it under its fingerprint; raises as `Store.publish`.

        No partition stands for it until `point`.
        """
        return self.store.publish(
            table, frame, keys={"fingerprint": fingerprint}, fingerprint=fingerprint, audit=audit, extra=extra
        )

    def point(self, table: str, axes: Mapping[str, str], fingerprint: str) -> None:
        """Let a partition stand for published content."""
        self.store.write_json(_reference(table, axes), {"fingerprint": fingerprint})

    def stands(self, table: str, axes: Mapping[str, str]) -> bool:
        """Whether a partition stands for content, be it there or lost."""
        try:
            self.store.read_json(_reference(table, axes))
        except NotPublished:
            return False
        return True

    def require(self, table: str, axes: Mapping[str, str]) -> Published:
        """What the partition stands for; raises `NotPublished` naming the partition and the remedy."""
        where = ", ".join(f"{axis} {key}" for axis, key in axes.items())
        try:
            fingerprint = self.store.read_json(_reference(table, axes))["fingerprint"]
        except NotPublished as error:
            raise NotPublished(f"{table} of {where} is not there yet; materialise it first") from error
        found = self.store.published(table, {"fingerprint": fingerprint})
        if found is None:
            raise NotPublished(f"{table} of {where}: its file is missing or of another size; materialise it again")
        return found

    def all(self, table: str, axes: Mapping[str, str], shards: tuple[str, ...]) -> list[Published]:
        """`require` for every shard of a partition."""
        return [self.require(table, {**axes, "shard": shard}) for shard in shards]

    def scan(self, table: str, axes: Mapping[str, str], shards: tuple[str, ...] = ()) -> pl.LazyFrame:
        """Rows of a partition, or of all `shards` of it in order."""
        found = self.all(table, axes, shards) if shards else [self.require(table, axes)]
        return self.scan_published(found)

    def scan_published(self, found: list[Published]) -> pl.LazyFrame:
        """Rows of published content, in the order given."""
        return pl.scan_parquet(
            list(dict.fromkeys(self.store.location(one) for one in found)),
            storage_options=polars_options(self.store.storage_options),
            glob=False,
            hive_partitioning=False,
        )

    def document(self, path: str) -> Any:
        """A small document of the store; raises `NotPublished`."""
        return self.store.read_json(path)


def _reference(table: str, axes: Mapping[str, str]) -> str:
    return "/".join(["references", table, *axes.values()]) + ".json"
