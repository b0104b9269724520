"""Judges of an arm on app logs, a shard at a time: core and detail of its answers, and why those fail that do."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import dagster as dg
import polars as pl

from assets.applog_board_inputs import answers_of
from assets.applog_inputs import GivenAppLogs
from assets.applogs_evaluation import SCORED_BY, applog_units, contexts
from assets.asking import asking, spent_metadata
from assets.evaluation import GROUP
from assets.experiment_costs import engine_of
from assets.judges import judge_model, rubric_judge
from assets.partitions import ARM_SHARDS, axes_of
from assets.publishing import UNANSWERED, Made, Result, publish
from expectations import checks
from pipelines.applogs.answers import ITEM, standing
from pipelines.applogs.attribution import wrong
from pipelines.applogs.contenders import ORACLE
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.failures import FAILURE, failure_parts, failure_rows
from pipelines.applogs.judging import judge_named, judged_units, parts_shown, verdict_rows
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.peers import oracle
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.schema import TABLES
from resources.code import code_version
from resources.dag import GoldStore, InputStore, Models
from resources.models.budget import Amount
from resources.tokenizer import load_tokens

CODE = (*SCORED_BY, "pipelines.applogs.judging", "pipelines.evaluation.judging.rubric")
FAILURES_BY = (
    *("pipelines.applogs.failures", "pipelines.applogs.attribution", "pipelines.applogs.answers"),
    *("pipelines.applogs.peers", "pipelines.evaluation.judging.rubric"),
)
TABLES_MADE = ("applog_verdicts", "applog_judged")


@dg.asset(
    partitions_def=ARM_SHARDS,
    deps=[applog_units],
    check_specs=checks.specs("applog_verdicts", ARM_SHARDS),
    code_version=code_version(*CODE),
    pool="judge",
    group_name=GROUP,
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
def applog_verdicts(
    context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore, models: Models
) -> Iterator[Result]:
    """Core and detail of the sampled answers of an arm, as the experiment's judge marks them; nothing without one."""
    given = GivenAppLogs(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    judge = judge_named(given.spec.judges, CORE_DETAIL)
    read = (answers_of(given.spec), "gold_items", "gold_parts", "tasks") if judge else ()
    spent: list[Amount] = []
    yield from publish(
        context,
        {"gold": gold.catalog},
        TABLES_MADE,
        inputs={"minutes": given.thresholds.minutes, **_inputs(given, judge, read)},
        code=CODE,
        settings=given.thresholds,
        make=lambda: _judge(given, models, judge, spent),
        show=lambda _: spent_metadata(spent),
    )


@dg.asset(
    partitions_def=ARM_SHARDS,
    deps=[applog_units, contexts],
    check_specs=checks.specs("applog_failures", ARM_SHARDS),
    code_version=code_version(*FAILURES_BY),
    pool="judge",
    group_name=GROUP,
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
def applog_failures(
    context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore, models: Models
) -> Iterator[Result]:
    """What an arm's memory delivered to its sampled wrong answers, as the experiment's judge labels it; or nothing."""
    given = GivenAppLogs(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    judge = judge_named(given.spec.judges, FAILURE)
    delivered = ("app_logs", "checkpoints") if given.arm.method == ORACLE else ("contexts",)
    read = (answers_of(given.spec), "applog_units", "gold_items", "gold_parts", "tasks", *delivered) if judge else ()
    spent: list[Amount] = []
    yield from publish(
        context,
        {"gold": gold.catalog},
        ["applog_failures"],
        inputs=_inputs(given, judge, read),
        code=FAILURES_BY,
        settings=given.thresholds,
        make=lambda: _label(given, models, judge, spent),
        show=lambda _: spent_metadata(spent),
    )


def judged_of(given: GivenAppLogs) -> list[tuple[str, Any]]:
    """(user, item) of the questions of this shard that are judged."""
    own = set(given.own_users)
    return [(user, item) for user, item in given.spec.judged if user in own]


def _inputs(given: GivenAppLogs, judge: str | None, read: tuple[str, ...]) -> dict[str, Any]:
    """What decides the verdicts of a judge that is shown what the tables `read` hold."""
    return {
        **{name: given.content(name) for name in read},
        "judge": given.spec.judges[judge] if judge else "",
        "judged": judged_of(given),
        **({"account": given.scope("judge")} if judge else {}),
    }


def _judge(given: GivenAppLogs, models: Models, judge: str | None, spent: list[Amount]) -> Made:
    wanted = judged_of(given)
    if judge is None or not wanted:
        return Made({name: TABLES[name].empty() for name in TABLES_MADE})
    items, stand, parts = _asked(given, wanted)
    agreed = agreements(parts, stand, given.thresholds.minutes)
    verdicts, stated = _verdicts(given, models, judge, parts_shown(given["tasks"], agreed, stand), spent)
    return Made(
        {"applog_verdicts": verdict_rows(verdicts), "applog_judged": judged_units(stand, agreed, verdicts)},
        extra=stated,
        companions={"gold_items": items, "applog_units": given["applog_units"]},
    )


def _label(given: GivenAppLogs, models: Models, judge: str | None, spent: list[Amount]) -> Made:
    wanted = judged_of(given)
    if judge is None or not wanted:
        return Made({"applog_failures": TABLES["applog_failures"].empty()})
    items, stand, parts = _asked(given, wanted)
    units = given["applog_units"]
    failed = wrong(stand, units.select(*ITEM, pl.col("mechanical").alias("score")))
    shown = failure_parts(given["tasks"], parts, _delivered(given, items), failed)
    verdicts, stated = _verdicts(given, models, judge, shown, spent)
    return Made(
        {"applog_failures": failure_rows(failed, verdicts, stated["judge"])},
        extra=stated,
        companions={"applog_units": units},
    )


def _asked(given: GivenAppLogs, wanted: list[tuple[str, Any]]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Of the questions that are judged: rows of `gold_items`, how they stand, rows of `gold_parts`."""
    asked = pl.DataFrame(wanted, schema={"user_id": pl.String, "item": pl.String}, orient="row")
    items, parts, told = (
        rows.join(asked, on=ITEM, how="semi")
        for rows in (given.of_questions("gold_items"), given.of_questions("gold_parts"), given[answers_of(given.spec)])
    )
    return items, standing(items, told), parts


def _delivered(given: GivenAppLogs, items: pl.DataFrame) -> pl.DataFrame:
    """What the arm's reader was shown, as `contexts`; that of the oracle is made again, for it lies nowhere."""
    if given.arm.method != ORACLE:
        return given.lazy("contexts").filter(pl.col("item").is_in([*items["item"], WHOLE])).collect()
    questions = given.questions.join(items, on=ITEM, how="semi")
    return oracle(given["app_logs"], given["checkpoints"], questions, items, load_tokens())


def _verdicts(
    given: GivenAppLogs, models: Models, name: str, shown: pl.DataFrame, spent: list[Amount]
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """What the judge `name` says of what it is `shown`, and what tables state of it."""
    with ExitStack() as stack:
        stack.enter_context(asking())
        engine = stack.enter_context(engine_of(given, models, {"judge": judge_model(name, given.spec.models)}))
        judge = rubric_judge(name, engine.model("judge", given.scope("judge")), models.access)
        verdicts = judge.verdicts(shown)
        spent.append(engine.spent)
        stated = {"judge": judge.fingerprint, "weak_judge": judge.weak, UNANSWERED: engine.failed}
    return verdicts, stated
