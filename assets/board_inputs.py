"""What the board of an experiment reads: all shards of its release and of its arms, its users only."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from assets.partitions import RELEASES
from assets.steps import OWNERS
from pipelines.evaluation.scores import recall_by_position
from pipelines.schema import TABLES
from resources.catalog import Catalog
from resources.dag import GoldStore, InputStore
from resources.experiment_spec import BoundExperiment, load_experiment
from resources.results import Results


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
        return self.bound.arms[0].users

    @property
    def results(self) -> Results:
        """Where leaderboard and report are written."""
        return Results(self.store.folder / "reports" / self.key)

    def _catalog(self, table: str) -> Catalog:
        return self.gold.catalog if TABLES[table].wall == "gold" else self.store.catalog

    def table(self, table: str) -> pl.DataFrame:
        """Rows of a table of the release; of the sampled users only where the table has users."""
        release = {"release": self.bound.release_key}
        shards = () if OWNERS[table].partitions_def == RELEASES else self.store.shards
        rows = self._catalog(table).scan(table, release, shards)
        if "user_id" in TABLES[table].columns:
            rows = rows.filter(pl.col("user_id").is_in(list(self.users)))
        return rows.collect()

    def _of_arms(self, table: str) -> pl.DataFrame:
        catalog = self._catalog(table)
        found = [catalog.scan(table, {"arm": spec.key}, self.store.shards) for spec in self.bound.arms]
        return pl.concat(found).collect()

    def units(self) -> pl.DataFrame:
        """Scored units of all arms."""
        return self._of_arms("units")

    def positions(self) -> pl.DataFrame:
        """How often candidates are chosen by their place in the pool, an arm at a time."""
        roles = self.table("pool_gold")
        return pl.concat(
            recall_by_position(
                self.store.catalog.scan("readings", {"arm": spec.key}, self.store.shards).collect(),
                roles,
                method=spec.arm.label,
                reader=spec.arm.reader,
                budget=spec.arm.budget,
            )
            for spec in self.bound.arms
        )

    def manifest(self) -> dict[str, Any]:
        """Manifest of the release."""
        return dict(self.store.catalog.document(f"releases/{self.bound.release}/manifest.json"))

    def card(self) -> dict[str, Any]:
        """Card of the release."""
        return dict(self.store.catalog.document(f"releases/{self.bound.release}/card.json"))
