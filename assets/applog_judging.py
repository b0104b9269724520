"""Judges of an arm on app logs, a shard at a time: core and detail of its answers, and why those fail that do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
import polars as pl

from assets.applog_board_inputs import answers_of
from assets.applog_inputs import GivenAppLogs
from assets.applogs_evaluation import SCORED_BY, applog_units, contexts
from assets.asking import spent_metadata
from assets.evaluation_steps import arm_step
from assets.judge_runs import JudgeRun, run_judge
from assets.judges import judged_of
from assets.partitions import axes_of
from assets.publishing import Made, Result, publish
from pipelines.applogs.answers import ITEM
from pipelines.applogs.attribution import wrong
from pipelines.applogs.contenders import ORACLE
from pipelines.applogs.failures import FAILURE, delivered_to, failure_parts, failure_rows, proof_of
from pipelines.applogs.judging import (
    JudgedAnswers,
    judge_named,
    judged_answers,
    judged_units,
    parts_shown,
    verdict_rows,
)
from pipelines.applogs.mechanical import agreements
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.rubric import Rubric
from pipelines.schema import TABLES
from resources.dag import GoldStore, InputStore, Models
from resources.models.budget import Amount
from resources.tokenizer import load_tokens

CODE = (*SCORED_BY, "pipelines.applogs.judging", "pipelines.evaluation.judging.rubric")
FAILURES_BY = (
    *("pipelines.applogs.failures", "pipelines.applogs.attribution", "pipelines.applogs.answers"),
    *("pipelines.applogs.judging", "pipelines.applogs.peers", "pipelines.evaluation.judging.rubric"),
)
SHOWN = ("gold_items", "gold_parts", "tasks")
"""Tables that every judge is shown something of, beside the answers."""
Says = Callable[[pl.DataFrame], JudgeRun]
"""What an arm's judge says of what it is shown."""


@arm_step(deps=[applog_units], code=CODE, pool="judge")
def applog_verdicts(
    context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore, models: Models
) -> Iterator[Result]:
    """Core and detail of the sampled answers of an arm, as the experiment's judge marks them; nothing without one."""
    given = GivenAppLogs(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    tables, more = ("applog_verdicts", "applog_judged"), {"minutes": given.thresholds.minutes}
    yield from _published(context, given, models, CORE_DETAIL, tables, code=CODE, make=_marks, more=more)


@arm_step(deps=[applog_units, contexts], code=FAILURES_BY, pool="judge")
def applog_failures(
    context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore, models: Models
) -> Iterator[Result]:
    """What an arm's memory delivered to its sampled wrong answers, as the experiment's judge labels it; or nothing."""
    given = GivenAppLogs(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    reads = ("applog_units", *(("app_logs", "checkpoints") if given.arm.method == ORACLE else ("contexts",)))
    tables = ("applog_failures",)
    yield from _published(context, given, models, FAILURE, tables, code=FAILURES_BY, make=_labels, reads=reads)


def core_parts(given: GivenAppLogs) -> pl.DataFrame:
    """What of the arm's sampled answers the judge of core and detail is shown, and people are who label it."""
    judged = _sampled(given)
    return parts_shown(given["tasks"], _agreed(given, judged), judged.stand)


def _sampled(given: GivenAppLogs) -> JudgedAnswers:
    gold = (given.of_questions("gold_items"), given.of_questions("gold_parts"))
    return judged_answers(judged_of(given), *gold, given[answers_of(given.spec)])


def _agreed(given: GivenAppLogs, judged: JudgedAnswers) -> pl.DataFrame:
    return agreements(judged.parts, judged.stand, given.thresholds.minutes)


def _published(
    context: dg.AssetExecutionContext,
    given: GivenAppLogs,
    models: Models,
    rubric: Rubric,
    tables: Sequence[str],
    *,
    code: Sequence[str],
    make: Callable[[GivenAppLogs, JudgedAnswers, Says], Made],
    reads: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Iterator[Result]:
    """Publish what `make` makes of what the arm's judge by a rubric says; empty tables where there is none.

    `reads` are tables beyond `SHOWN` that the verdicts depend on, `more` what else decides them.
    """
    judge, judged = judge_named(given.spec.judges, rubric), judged_of(given)
    spent: list[Amount] = []

    def made() -> Made:
        if judge is None or not judged:
            return Made({name: TABLES[name].empty() for name in tables})

        def says(parts: pl.DataFrame) -> JudgeRun:
            run = run_judge(judge, given, models, parts)
            spent.append(run.spent)
            return run

        return make(given, _sampled(given), says)

    read = (answers_of(given.spec), *SHOWN, *reads) if judge else ()
    yield from publish(
        context,
        given.catalogs,
        tables,
        inputs={
            **{name: given.content(name) for name in read},
            "judge": given.spec.judges[judge] if judge else "",
            "judged": judged,
            **({"account": given.scope("judge")} if judge else {}),
            **(more or {}),
        },
        code=code,
        settings=given.thresholds,
        make=made,
        show=lambda _: spent_metadata(spent),
    )


def _marks(given: GivenAppLogs, judged: JudgedAnswers, says: Says) -> Made:
    """Tables `applog_verdicts` and `applog_judged`."""
    agreed = _agreed(given, judged)
    run = says(parts_shown(given["tasks"], agreed, judged.stand))
    units = judged_units(judged.stand, agreed, run.verdicts)
    return Made(
        {"applog_verdicts": verdict_rows(run.verdicts), "applog_judged": units},
        extra=run.stated,
        companions={"gold_items": judged.items, "applog_units": given["applog_units"]},
    )


def _labels(given: GivenAppLogs, judged: JudgedAnswers, says: Says) -> Made:
    """Table `applog_failures`."""
    units = given["applog_units"]
    failed = wrong(judged.stand, units.select(*ITEM, pl.col("mechanical").alias("score")))
    run = says(failure_parts(given["tasks"], judged.parts, _delivered(given, judged.items), failed))
    rows = failure_rows(failed, run.verdicts, run.stated["judge"])
    return Made({"applog_failures": rows}, extra=run.stated, companions={"applog_units": units})


def _delivered(given: GivenAppLogs, items: pl.DataFrame) -> pl.DataFrame:
    """What the arm's reader was shown, as `contexts`; that of the oracle is made again, for it lies nowhere."""
    if given.arm.method != ORACLE:
        return delivered_to(items, given.lazy("contexts"))
    return proof_of(items, given["app_logs"], given["checkpoints"], given.questions, load_tokens())
