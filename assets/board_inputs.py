"""What the board of an experiment reads: all shards of its release and of its arms, its users only."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from assets.inputs import content, whole
from assets.partitions import RELEASES
from assets.steps import OWNERS
from pipelines.evaluation.comparable import agreed
from pipelines.evaluation.faults import ARMS, counted
from pipelines.evaluation.scores import recall_by_position
from pipelines.schema import TABLES, conform
from resources.catalog import Catalog
from resources.dag import GoldStore, InputStore
from resources.experiment_spec import ArmSpec, BoundExperiment, load_experiment
from resources.results import Results
from resources.store import Published

STATED = {
    "readouts": ("method", "version", "wall", "budget", "tokens", "weak_builder", "model", "embedder", "prompts"),
    "readings": ("reader", "prompt", "weak"),
    "units": ("evaluator",),
}
"""Which part of an arm's provenance the sidecars of which table state."""


@dataclass(frozen=True)
class GivenExperiment:
    """The tables behind an experiment on a release."""

    store: InputStore
    gold: GoldStore
    key: str

    @cached_property
    def bound(self) -> BoundExperiment:
        """The experiment with its arms."""
        return load_experiment(self.store.catalog.store, self.key)

    @property
    def seed(self) -> int:
        """Seed of intervals and sign flips."""
        return self.bound.experiment.seed

    @property
    def users(self) -> tuple[str, ...]:
        """The sampled users."""
        return self.bound.slice.users

    @property
    def results(self) -> Results:
        """Where the files for people are written."""
        return Results(self.store.folder / "reports" / self.key)

    def _catalog(self, table: str) -> Catalog:
        return self.gold.catalog if TABLES[table].wall == "gold" else self.store.catalog

    def table(self, table: str) -> pl.DataFrame:
        """Rows of a table of the release; those the experiment asks about where the table has users."""
        rows = self._catalog(table).scan_published(self._published(table))
        return (self.bound.slice.of(rows) if "user_id" in TABLES[table].columns else rows).collect()

    def _published(self, table: str) -> list[Published]:
        release, catalog = {"release": self.bound.release_key}, self._catalog(table)
        if OWNERS[table].partitions_def == RELEASES:
            return [catalog.require(table, release)]
        return catalog.all(table, release, self.store.shards)

    def content(self, table: str) -> Any:
        """Logical hash of a table of the release, whatever its shards."""
        found = self._published(table)
        return whole(table, found) if "user_id" in TABLES[table].columns else content(found[0])

    def _of_arm(self, table: str, spec: ArmSpec) -> list[Published]:
        return self._catalog(table).all(table, {"arm": spec.key}, self.store.shards)

    def contents(self) -> list[list[Any]]:
        """What of every arm decides the board: its names, and the logical hashes of its units and readings."""
        return [
            [spec.arm.label, spec.arm.reader, spec.arm.budget]
            + [whole(table, self._of_arm(table, spec)) for table in ("units", "readings")]
            + [[content(one) for one in self._of_arm("model_calls", spec)]]
            for spec in self.bound.arms
        ]

    def provenance(self) -> dict[str, dict[str, object]]:
        """What every arm was made with, as its published shards state it, by arm key.

        Raises `UnlikeRuns` when the shards of an arm were made with different things.
        """
        return {spec.arm.key: self._stated(spec) for spec in self.bound.arms}

    def _stated(self, spec: ArmSpec) -> dict[str, object]:
        parts: dict[str, dict[str, object]] = {shard: {"dataset": spec.arm.release} for shard in self.store.shards}
        for table, keys in STATED.items():
            for shard, one in zip(self.store.shards, self._of_arm(table, spec), strict=True):
                parts[shard] |= {key: one.extra[key] for key in keys if key in one.extra}
        return agreed(spec.arm.key, parts)

    def units(self) -> pl.DataFrame:
        """Scored units of all arms."""
        return pl.concat(
            self.gold.catalog.scan_published(self._of_arm("units", spec)) for spec in self.bound.arms
        ).collect()

    def calls(self) -> pl.LazyFrame:
        """Model calls of all arms, with `method`, `reader` and `budget`."""
        return pl.concat(
            self.store.catalog.scan_published(self._of_arm("model_calls", spec)).with_columns(
                method=pl.lit(spec.arm.label), reader=pl.lit(spec.arm.reader), budget=pl.lit(spec.arm.budget)
            )
            for spec in self.bound.arms
        )

    def weakness(self) -> pl.DataFrame:
        """Frame `ARMS`: behind which arms a weak model stands."""
        stated = self.provenance()
        rows = [
            (one.label, one.reader, one.budget, bool(own.get("weak_builder")), bool(own.get("weak")))
            for one, own in ((spec.arm, stated[spec.arm.key]) for spec in self.bound.arms)
        ]
        return pl.DataFrame(rows, schema=ARMS, orient="row")

    def builds(self) -> pl.DataFrame:
        """Frame `COUNTS`: what the memories of all arms counted, summed over users."""
        arms = (
            self.store.catalog.scan_published(self._of_arm("builds", spec)).with_columns(method=pl.lit(spec.arm.label))
            for spec in self.bound.arms
        )
        return counted(pl.concat(arms))

    def positions(self) -> pl.DataFrame:
        """How often candidates are chosen by their place in the pool, an arm at a time."""
        roles = self.table("pool_gold")
        arms = pl.concat(
            recall_by_position(
                self.store.catalog.scan_published(self._of_arm("readings", spec)).collect(),
                roles,
                method=spec.arm.label,
                reader=spec.arm.reader,
                budget=spec.arm.budget,
            )
            for spec in self.bound.arms
        )
        return conform(arms.lazy(), "positions").collect()

    def board(self, table: str) -> pl.DataFrame:
        """A published table of the experiment."""
        return self.gold.catalog.scan(table, {"experiment": self.key}).collect()

    def manifest(self) -> dict[str, Any]:
        """Manifest of the release."""
        return dict(self.store.catalog.document(f"releases/{self.bound.release}/manifest.json"))

    def card(self) -> dict[str, Any]:
        """Card of the release."""
        return dict(self.store.catalog.document(f"releases/{self.bound.release}/card.json"))
