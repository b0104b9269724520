"""What the pages of users and `trailbench explain` read of an experiment: a few users, with gold, for people only."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import polars as pl

from assets.board_inputs import GivenExperiment
from pipelines.evaluation.drilldown.choosing import chosen, recall_by_user
from pipelines.evaluation.drilldown.pages import pages_of
from pipelines.evaluation.drilldown.stories import story
from pipelines.evaluation.drilldown.tracing import TrailTables, calls_by_user, trail
from pipelines.evaluation.drilldown.trail import Trail
from pipelines.memory.registry import builtin_methods
from resources.experiment_spec import ArmSpec
from resources.model_access import ModelAccess
from resources.models.ledger import Ledger
from resources.tokenizer import load_tokens

Keep = Callable[[ArmSpec], bool]
OF_RELEASE = ("visits", "batches", "transitions", "pools", "pool_gold")


def replies_of(access: ModelAccess, keys: Sequence[str]) -> dict[str, str]:
    """Replies by the key of their call, as far as the home's file of model calls holds them."""
    if not keys or not access.ledger.is_file():
        return {}
    with closing(Ledger(access.ledger)) as ledger:
        return {key: kept.text for key, kept in ledger.find(keys).items()}


@dataclass(frozen=True)
class GivenTrails(GivenExperiment):
    """The trails of some users of a commerce experiment."""

    def trail_tables(self, users: Sequence[str], keep: Keep = lambda _: True) -> TrailTables:
        """Tables of the users, of the arms that `keep` keeps."""
        arms = [spec for spec in self.bound.arms if keep(spec)]
        release = {table: self._of_users(table, users) for table in OF_RELEASE}
        calls = calls_by_user(self._arms("model_calls", arms)).filter(pl.col("user_id").is_in(list(users))).collect()
        readings = self._arms("readings", arms, users).collect()
        return TrailTables(
            **release,
            taxonomy=self.table("taxonomy"),
            units=self._arms("units", arms, users).collect(),
            readouts=self._arms("readouts", arms, users).collect(),
            claims=self._arms("claims", arms, users).collect(),
            readings=readings,
            model_calls=calls,
            replies=replies_of(ModelAccess(self.store.folder), calls["key"].unique().sort().to_list()),
            borrowed=frozenset(spec.arm.label for spec in arms if _borrows(spec.arm.method)),
        )

    def trails(self, users: Sequence[str], keep: Keep = lambda _: True) -> list[Trail]:
        """The trails of users, in their order."""
        tables, tokens = self.trail_tables(users, keep), load_tokens()
        return [trail(user, tables, tokens) for user in users]

    def shown(self) -> pl.DataFrame:
        """Frame `USERS`: who gets a page."""
        scores = recall_by_user(self.units())
        picked = chosen(scores, self.bound.experiment.pages, self.seed)
        return picked.with_columns(of=pl.lit(scores.height, pl.Int64))

    def pages(self, shown: pl.DataFrame) -> dict[str, str]:
        """Pages of the users of a frame `USERS`, by file name."""
        trails = self.trails(shown["user"].to_list())
        return dict(page for one in trails for page in pages_of(story(one), self.bound.release))

    def _of_users(self, table: str, users: Sequence[str]) -> pl.DataFrame:
        rows = self._catalog(table).scan_published(self._published(table))
        return self.bound.slice.of(rows, tuple(users)).collect()

    def _arms(self, table: str, arms: Sequence[ArmSpec], users: Sequence[str] | None = None) -> pl.LazyFrame:
        """Rows of a table of arms with `method`, `reader` and `budget`; of the users where they are named."""
        parts = [
            self._catalog(table)
            .scan_published(self._of_arm(table, spec))
            .with_columns(
                method=pl.lit(spec.arm.label), reader=pl.lit(spec.arm.reader), budget=pl.lit(spec.arm.budget, pl.Int32)
            )
            for spec in arms
        ]
        rows = pl.concat(parts)
        return rows if users is None else rows.filter(pl.col("user_id").is_in(list(users)))


def _borrows(method: str) -> bool:
    builtin = builtin_methods()
    return method in builtin and builtin[method].stream == "other_user"
