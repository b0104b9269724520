"""What the pages of users and `trailbench explain` read of an experiment on app logs: a user at a time, with gold."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from assets.applog_board_inputs import GivenAppLogBoard, answers_of
from assets.drilldown_inputs import replies_of
from pipelines.applogs.answers import ITEM
from pipelines.applogs.board import ARM
from pipelines.applogs.contenders import ORACLE
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.drilldown.state_stories import state_story
from pipelines.applogs.drilldown.state_tracing import (
    StateTables,
    held_against_gold,
    items_in_full,
    state_trail,
    value_by_user,
)
from pipelines.applogs.drilldown.state_trail import StateTrail
from pipelines.applogs.experiment import asked
from pipelines.applogs.failures import FAILURE
from pipelines.applogs.peers import oracle
from pipelines.applogs.settings import AppLogSettings
from pipelines.evaluation.drilldown.choosing import chosen
from pipelines.evaluation.drilldown.pages import pages_of
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.schema import TABLES
from resources.experiment_spec import ArmSpec
from resources.model_access import ModelAccess
from resources.tokenizer import load_tokens

Keep = Callable[[ArmSpec], bool]
OF_RELEASE = ("app_logs", "tasks", "gold_items", "gold_parts", "state_intervals", "state_evidence")


@dataclass(frozen=True)
class GivenStateTrails(GivenAppLogBoard):
    """The trails of some users of an experiment on app logs."""

    def shown(self) -> pl.DataFrame:
        """Frame `USERS`: who gets pages."""
        scores = value_by_user(self.of_arms("applog_units"))
        picked = chosen(scores, self.bound.experiment.pages, self.seed)
        return picked.with_columns(of=pl.lit(scores.height, pl.Int64))

    def pages(self, shown: pl.DataFrame) -> Iterator[tuple[str, str]]:
        """File name and text of the pages of the users of a frame `USERS`."""
        for trail in self.trails(shown["user"].to_list()):
            yield from pages_of(state_story(trail), self.bound.release)

    def asked_items(self) -> list[tuple[str, str, str]]:
        """(user, checkpoint, item) of every question of the experiment."""
        rows = self.of_arm("applog_units", self.bound.arms[0]).select("user_id", "checkpoint_id", "item")
        return list(rows.iter_rows())

    def trails(
        self, users: Sequence[str], keep: Keep = lambda _: True, item: str | None = None
    ) -> Iterator[StateTrail]:
        """The trails of users, in their order, with the answers of the arms that `keep` keeps.

        Where `item` is told, that question alone is there in full.
        """
        tables, tokens = self.state_tables(users, keep, item), load_tokens()
        return (state_trail(user, tables, tokens) for user in users)

    def state_tables(self, users: Sequence[str], keep: Keep, item: str | None = None) -> StateTables:
        """Tables of the users, of the arms that `keep` keeps."""
        arms = [spec for spec in self.bound.arms if keep(spec)]
        own = pl.col("user_id").is_in(list(users))
        release = {
            table: self._catalog(table).scan_published(self._published(table)).filter(own).collect()
            for table in OF_RELEASE
        }
        places = self.checkpoints.filter(own)
        questions = asked(release["tasks"], places, self.bound.slice, users)
        release |= {
            "tasks": questions,
            **{name: release[name].join(questions, on=ITEM, how="semi") for name in ("gold_items", "gold_parts")},
        }
        units = self._arms("applog_units", arms, own)
        answers = pl.concat(self._arms(answers_of(spec), [spec], own) for spec in arms)
        full = items_in_full(units, self.seed) if item is None else frozenset([item])
        in_full = pl.col("item").is_in(full)
        calls = self._calls(arms, answers.filter(in_full))
        judged, labelled = (arms if self.judges_by(rubric) else [] for rubric in (CORE_DETAIL, FAILURE))
        return StateTables(
            **release,
            checkpoints=places,
            units=units,
            answers=answers,
            **self._marks(arms, release, units.filter(in_full), answers.filter(in_full)),
            contexts=self._contexts(arms, release | {"tasks": questions.filter(in_full)}, places),
            verdicts=self._arms("applog_verdicts", judged, own & in_full),
            judged=self._arms("applog_judged", judged, own & in_full),
            failures=self._arms("applog_failures", labelled, own & in_full),
            model_calls=calls,
            replies=replies_of(ModelAccess(self.store.folder), calls["key"].unique().sort().to_list()),
            full=full,
        )

    def _marks(
        self, arms: Sequence[ArmSpec], release: Mapping[str, pl.DataFrame], units: pl.DataFrame, answers: pl.DataFrame
    ) -> dict[str, pl.DataFrame]:
        """`held_against_gold` of every arm."""
        gold = release["gold_items"], release["gold_parts"], release["state_evidence"]
        agreed, labels = [], []
        for spec in arms:
            own, told = (frame.filter(_of(spec)).drop(ARM) for frame in (units, answers))
            found = held_against_gold(own, told, *gold, self._minutes)
            agreed.append(_named(found[0], spec))
            labels.append(_named(found[1], spec))
        return {"agreed": pl.concat(agreed), "labels": pl.concat(labels)}

    @property
    def _minutes(self) -> float:
        settings = self.store.release(self.bound.release_key).settings
        assert isinstance(settings, AppLogSettings)
        return settings.minutes

    def _arms(self, table: str, arms: Sequence[ArmSpec], mine: pl.Expr) -> pl.DataFrame:
        """Rows of a table of arms that are `mine`, with the columns `ARM`."""
        rows = [_named(TABLES[table].empty(), self.bound.arms[0])]
        for spec in arms:
            found = self._catalog(table).scan_published(self._of_arm(table, spec)).filter(mine).collect()
            rows.append(_named(found, spec))
        return pl.concat(rows)

    def _calls(self, arms: Sequence[ArmSpec], answers: pl.DataFrame) -> pl.DataFrame:
        keys = answers["call"].drop_nulls().unique()
        rows = [
            _named(self.of_arm("model_calls", spec).filter(pl.col("key").is_in(keys.implode())), spec) for spec in arms
        ]
        return pl.concat(rows)

    def _contexts(
        self, arms: Sequence[ArmSpec], release: Mapping[str, pl.DataFrame], places: pl.DataFrame
    ) -> pl.DataFrame:
        """What memories delivered, and what the reader of the oracle was shown, made again."""
        items = pl.col("item").is_in([*release["tasks"]["item"], WHOLE])
        mine = pl.col("user_id").is_in(places["user_id"].unique().implode()) & items
        rows = [self._arms("contexts", [spec for spec in arms if spec.arm.method != ORACLE], mine)]
        for spec in arms:
            if spec.arm.method == ORACLE:
                made = oracle(release["app_logs"], places, release["tasks"], release["gold_items"], load_tokens())
                rows.append(_named(made, spec))
        return pl.concat(rows)


def _of(spec: ArmSpec) -> pl.Expr:
    arm = spec.arm
    mine = pl.col("method") == arm.label, pl.col("reader") == arm.reader, pl.col("budget") == arm.budget
    return pl.all_horizontal(*mine)


def _named(rows: pl.DataFrame, spec: ArmSpec) -> pl.DataFrame:
    """The rows with the columns `ARM` of their arm."""
    arm = spec.arm
    return rows.with_columns(method=pl.lit(arm.label), reader=pl.lit(arm.reader), budget=pl.lit(arm.budget, pl.Int32))
