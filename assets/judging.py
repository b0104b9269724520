"""Judging: readouts → verdicts on their lines → what they come to, held against people's labels."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import dagster as dg
import polars as pl

from assets.arms import GivenArm
from assets.asking import spent_metadata
from assets.board_inputs import GivenExperiment
from assets.commerce import batches, taxonomy, transitions, visits
from assets.evaluation import readouts
from assets.evaluation_steps import arm_step, experiment_step
from assets.inputs import whole
from assets.judge_runs import run_judge
from assets.judges import EVIDENCE, judged_of, known_judges, parts_of, room, stated
from assets.metadata import table_value
from assets.partitions import any_of, axes_of
from assets.publishing import UNANSWERED, Made, Result, publish
from assets.steps import OWNERS
from pipelines.evaluation.comparable import agreed
from pipelines.evaluation.judging.grounded import GROUNDED, verdict_rows
from pipelines.evaluation.judging.verdict_summary import Judged
from pipelines.evaluation.judging.verdict_summary import verdict_summary as make_summary
from pipelines.hashing import frame_hash
from pipelines.schema import TABLES
from resources.dag import GoldStore, InputStore, Models
from resources.experiment_spec import ArmSpec
from resources.labels import read_labels
from resources.models.budget import Amount

CODE = ("pipelines.evaluation.judging.grounded", "pipelines.evaluation.judging.rubric")
SUMMARISED_BY = ("pipelines.evaluation.judging.verdict_summary",)
SHOWN = ("method", "budget", "model", "n_parts", "n_errors", "core", "core_low", "core_high", "calibration")


@arm_step(
    deps=[readouts, *(any_of(asset) for asset in (visits, batches, transitions, taxonomy))], code=CODE, pool="judge"
)
def verdicts(context: dg.AssetExecutionContext, store: InputStore, models: Models) -> Iterator[Result]:
    """Whether users' own visits support what an arm's memory says of them. Arms that share readouts share these."""
    given = GivenArm(store, {"store": store.catalog}, axes_of(context))
    spent: list[Amount] = []
    known = known_judges(given, models)
    told = {one.fingerprint: stated(name, one, given, models) for name, one in known.items()}
    yield from publish(
        context,
        {"store": store.catalog},
        ["verdicts"],
        inputs={
            **{name: given.content(name) for name in ("readouts", *EVIDENCE)},
            "judges": sorted(told),
            "room": asdict(room(models)),
            "judged": judged_of(given),
            # A larger sample needs the calls of a smaller one, and its account says so.
            **({"account": given.scope("judge")} if told and judged_of(given) else {}),
        },
        code=CODE,
        settings=given.settings,
        make=lambda: _judge(given, models, told, spent),
        show=lambda _: spent_metadata(spent),
    )


def _judge(given: GivenArm, models: Models, told: Mapping[str, Any], spent: list[Amount]) -> Made:
    """Every judge of the arm on every line."""
    judged, lost = judged_of(given) if told else [], 0
    found = [TABLES["verdicts"].empty()]
    parts = parts_of(given, models) if judged else pl.DataFrame()
    for name in given.spec.judges if parts.height else ():
        run = run_judge(name, given, models, parts)
        found.append(verdict_rows(run.verdicts, parts))
        spent.append(run.spent)
        lost += run.stated[UNANSWERED]
    asked = pl.DataFrame(judged, schema={"user_id": pl.String, "transition_index": pl.Int32}, orient="row")
    rows = pl.concat(found).sort(TABLES["verdicts"].sort_by)
    read = given["readouts"].join(asked, on=asked.columns, how="semi")
    return Made({"verdicts": rows}, extra={"judges": dict(told), UNANSWERED: lost}, companions={"readouts": read})


@dataclass(frozen=True)
class GivenVerdicts(GivenExperiment):
    """The verdicts behind an experiment."""

    def judged(self) -> list[Judged]:
        """Every arm under each of its judges; none when the experiment names no judge."""
        return [one for spec in self.bound.arms if spec.judges for one in self._judged(spec)]

    def _judged(self, spec: ArmSpec) -> Iterator[Judged]:
        found = self._of_arm("verdicts", spec)
        rows = self.store.catalog.scan_published(found).collect()
        shards = zip(self.store.shards, found, strict=True)
        told: dict[str, Any] = agreed(spec.arm.key, {shard: one.extra["judges"] for shard, one in shards})
        for judge, facts in sorted(told.items()):
            own = {name: facts[name] for name in ("rubric", "model", "weak", "evidence_tokens")}
            arm = (spec.arm.label, spec.arm.reader, spec.arm.budget)
            mine = rows.filter(pl.col("judge") == judge)
            yield Judged(*arm, **own, judge=judge, n_readouts=len(spec.judged), verdicts=mine)

    def contents_judged(self) -> list[list[Any]]:
        """What of every arm decides the summary: names, judges, and the logical hash of its verdicts."""
        return [
            [
                *(spec.arm.label, spec.arm.reader, spec.arm.budget, len(spec.judged)),
                *(found[0].extra["judges"], whole("verdicts", found)),
            ]
            for spec, found in ((spec, self._of_arm("verdicts", spec)) for spec in self.bound.arms if spec.judges)
        ]


@experiment_step(deps=[any_of(verdicts)], code=SUMMARISED_BY)
def verdict_summary(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """What the verdicts on every memory come to: share supported, errors, the share corrected by people's labels."""
    given = GivenVerdicts(store, gold, context.partition_key)
    labels = read_labels(gold.catalog.store, GROUNDED.name)

    def make() -> Made:
        judged = given.judged()
        rows = [
            one.verdicts.with_columns(method=pl.lit(one.method), reader=pl.lit(one.reader), budget=pl.lit(one.budget))
            for one in judged
        ]
        companions = {"verdicts": pl.concat(rows)} if rows else {}
        return Made({"verdict_summary": make_summary(judged, labels, given.seed)}, companions=companions)

    yield from publish(
        context,
        {"gold": gold.catalog},
        ["verdict_summary"],
        inputs={"arms": given.contents_judged(), "labels": frame_hash(labels), "seed": given.seed},
        code=SUMMARISED_BY,
        make=make,
        show=lambda tables: {"verdicts": table_value(tables["verdict_summary"].select(SHOWN).collect())},
    )


OWNERS["verdict_summary"] = verdict_summary
