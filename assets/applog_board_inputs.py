"""What the board of an experiment on app logs reads: units, answers and gold of all arms."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from assets.board_inputs import GivenExperiment
from assets.inputs import content, whole
from pipelines.applogs.answers import standing
from pipelines.applogs.attribution import attribute, shown_fields
from pipelines.applogs.board import ARM
from pipelines.applogs.board_summaries import attributed, label_agreement, labels_by_judge, published_metrics
from pipelines.applogs.contenders import ORACLE
from pipelines.applogs.experiment import until
from pipelines.applogs.failures import FAILURE
from pipelines.applogs.judging import judge_named
from pipelines.evaluation.comparable import agreed
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.rubric import Rubric, only_judge
from pipelines.schema import TABLES
from resources.experiment_spec import ArmSpec

STATED = {
    "answers": ("reader", "prompt", "weak"),
    "oracle_answers": ("reader", "prompt", "weak"),
    "applog_units": ("evaluator",),
}
"""Which part of an arm's provenance the sidecars of which table state."""
JUDGED = {CORE_DETAIL.name: "applog_verdicts", FAILURE.name: "applog_failures"}
"""Rubric → the table of what its judge says."""


@dataclass(frozen=True)
class GivenAppLogBoard(GivenExperiment):
    """The tables behind an experiment on a release of app logs."""

    def of_arms(self, table: str) -> pl.DataFrame:
        """Rows of a table of all arms, with the columns `ARM`."""
        return pl.concat(
            self.of_arm(table, spec).with_columns(
                method=pl.lit(spec.arm.label),
                reader=pl.lit(spec.arm.reader),
                budget=pl.lit(spec.arm.budget, pl.Int32),
            )
            for spec in self.bound.arms
        )

    def judges_by(self, rubric: Rubric) -> bool:
        """Whether the experiment names a judge by a rubric."""
        return judge_named(self.bound.experiment.judges, rubric) is not None

    def judged(self) -> pl.DataFrame:
        """Judged units of all arms, with the columns `ARM`; none where no judge marks answers."""
        return self.of_arms("applog_judged") if self.judges_by(CORE_DETAIL) else self.of_arms("applog_units").clear()

    def of_arm(self, table: str, spec: ArmSpec) -> pl.DataFrame:
        """Rows of a table of one arm."""
        return self._catalog(table).scan_published(self._of_arm(table, spec)).collect()

    def contents(self) -> list[list[Any]]:
        """What of every arm decides the board: its names, and the logical hashes of units, marks, answers and calls."""
        return [
            [
                *arm_of(spec),
                *(whole(table, self._of_arm(table, spec)) for table in self._scored),
                whole(answers_of(spec), self._of_arm(answers_of(spec), spec)),
                [content(one) for one in self._of_arm("model_calls", spec)],
                self.weak_judge(FAILURE),
            ]
            for spec in self.bound.arms
        ]

    def marks(self) -> pl.DataFrame:
        """Marks of all arms by the judge of core and detail, with the columns `ARM`; none where there is none."""
        if not self.judges_by(CORE_DETAIL):
            return TABLES["applog_verdicts"].empty()
        return self.of_arms("applog_verdicts")

    def contents_marked(self) -> list[list[Any]]:
        """What of every arm decides how its judge is calibrated: its names, and the logical hash of its marks."""
        if not self.judges_by(CORE_DETAIL):
            return []
        return [
            [*arm_of(spec), whole("applog_verdicts", self._of_arm("applog_verdicts", spec))] for spec in self.bound.arms
        ]

    @property
    def n_judged(self) -> int:
        """Questions that are judged, the same of every arm."""
        return len(self.bound.arms[0].judged)

    @property
    def _scored(self) -> tuple[str, ...]:
        made = {"applog_judged": CORE_DETAIL, "applog_failures": FAILURE}
        return ("applog_units", *(table for table, rubric in made.items() if self.judges_by(rubric)))

    def weak_judge(self, rubric: Rubric) -> bool:
        """Whether a weak model is the experiment's judge by a rubric; its name is in no table."""
        arms = self.bound.arms if self.judges_by(rubric) else ()
        found = (one for spec in arms for one in self._of_arm(JUDGED[rubric.name], spec))
        return any(one.extra.get("weak_judge", False) for one in found)

    def _stated(self, spec: ArmSpec) -> dict[str, object]:
        asked = asdict(self.bound.slice)
        parts: dict[str, dict[str, object]] = {}
        for table, keys in STATED.items():
            if table in ("answers", "oracle_answers") and table != answers_of(spec):
                continue
            for shard, one in zip(self.store.shards, self._of_arm(table, spec), strict=True):
                own = parts.setdefault(shard, {"dataset": spec.arm.release, "asked": asked})
                own |= {key: one.extra[key] for key in keys}
        return agreed(spec.arm.key, parts)

    @cached_property
    def checkpoints(self) -> pl.DataFrame:
        """Table `checkpoints` of the sampled users, as far as the experiment goes."""
        return until(self.table("checkpoints"), self.bound.slice)

    def beside(self, units: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Tables `applog_attribution`, `applog_agreement`, `applog_compat`, from answers, gold and a judge's labels."""
        gold = {name: self.table(name) for name in ("gold_items", "gold_parts", "state_evidence")}
        labels, metrics = [], []
        for spec in self.bound.arms:
            arm = arm_of(spec)
            mine = units.filter(*(pl.col(name) == value for name, value in zip(ARM, arm, strict=True))).drop(ARM)
            items = gold["gold_items"].join(mine, on=["user_id", "item"], how="semi")
            stand = standing(items, self.of_arm(answers_of(spec), spec))
            shown = shown_fields(items, gold["state_evidence"]) if gold["state_evidence"].height else None
            scores = mine.select("user_id", "item", pl.col("mechanical").alias("score"))
            found = attribute(stand, scores, gold["gold_parts"], shown)
            labels.append(found.with_columns(pl.lit(v).alias(name) for name, v in zip(ARM, arm, strict=True)))
            metrics.append(published_metrics(arm, mine, stand))
        by_rule = pl.concat(labels).with_columns(pl.col("budget").cast(pl.Int32), pl.col("label").cast(pl.String))
        every = [by_rule.select(*ARM, "user_id", "item", pl.lit("rule").alias("by"), "label")]
        agreement = TABLES["applog_agreement"].empty()
        if self.judges_by(FAILURE):
            failures = self.of_arms("applog_failures")
            every.append(labels_by_judge(failures))
            if failures.height:
                weak = self.weak_judge(FAILURE)
                agreement = label_agreement(pl.concat(every), units, only_judge(failures), weak, self.seed)
        return {
            "applog_attribution": attributed(pl.concat(every), units),
            "applog_agreement": agreement,
            "applog_compat": pl.concat(metrics).sort(TABLES["applog_compat"].sort_by).sort(*ARM, "metric"),
        }

    def life(self) -> dict[str, pl.DataFrame] | None:
        """States, evidence and checkpoints of the first sampled user whose truth is told in intervals; None of none."""
        intervals = self.table("state_intervals")
        if intervals.is_empty():
            return None
        user = intervals["user_id"].min()
        own = pl.col("user_id") == user
        logs = self.table("app_logs").filter(own).select("app_log_id", "time")
        evidence = self.table("state_evidence").filter(own).join(logs, on="app_log_id")
        return {
            "state_intervals": intervals.filter(own),
            "state_evidence": evidence,
            "checkpoints": self.checkpoints.filter(own),
        }


def arm_of(spec: ArmSpec) -> tuple[str, str, int]:
    """What an arm is called on a board: values of the columns `ARM`."""
    return spec.arm.label, spec.arm.reader, spec.arm.budget


def answers_of(spec: ArmSpec) -> str:
    """The table that an arm's answers lie in: those of the oracle lie behind the wall."""
    return "oracle_answers" if spec.arm.method == ORACLE else "answers"
