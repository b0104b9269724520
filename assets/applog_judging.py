"""Judging answers to questions on app logs: parts of answers → core and detail → judged units, an arm and shard."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import dagster as dg
import polars as pl

from assets.applog_board_inputs import answers_of
from assets.applog_inputs import GivenAppLogs
from assets.applogs_evaluation import SCORED_BY, applog_units
from assets.asking import asking, spent_metadata
from assets.evaluation import GROUP
from assets.experiment_costs import engine_of
from assets.judges import judge_model, rubric_judge
from assets.partitions import ARM_SHARDS, axes_of
from assets.publishing import UNANSWERED, Made, Result, publish
from expectations import checks
from pipelines.applogs.answers import standing
from pipelines.applogs.judging import judged_units, parts_shown, verdict_rows
from pipelines.applogs.mechanical import agreements
from pipelines.schema import TABLES
from resources.code import code_version
from resources.dag import GoldStore, InputStore, Models
from resources.models.budget import Amount

CODE = (*SCORED_BY, "pipelines.applogs.judging", "pipelines.evaluation.judging.rubric")
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
    judges = {name: judge_model(name, given.spec.models) for name in given.spec.judges}
    read = (answers_of(given.spec), "gold_items", "gold_parts", "tasks") if judges else ()
    spent: list[Amount] = []
    yield from publish(
        context,
        {"gold": gold.catalog},
        TABLES_MADE,
        inputs={
            **{name: given.content(name) for name in read},
            "judges": sorted(given.spec.judges.values()),
            "minutes": given.thresholds.minutes,
            "judged": judged_of(given),
            **({"account": given.scope("judge")} if judges else {}),
        },
        code=CODE,
        settings=given.thresholds,
        make=lambda: _judge(given, models, judges, spent),
        show=lambda _: spent_metadata(spent),
    )


def judged_of(given: GivenAppLogs) -> list[tuple[str, Any]]:
    """(user, item) of the questions of this shard that are judged."""
    own = set(given.own_users)
    return [(user, item) for user, item in given.spec.judged if user in own]


def _judge(given: GivenAppLogs, models: Models, judges: dict[str, str], spent: list[Amount]) -> Made:
    wanted = judged_of(given)
    if not judges or not wanted:
        return Made({name: TABLES[name].empty() for name in TABLES_MADE})
    asked = pl.DataFrame(wanted, schema={"user_id": pl.String, "item": pl.String}, orient="row")
    items = given.of_questions("gold_items").join(asked, on=["user_id", "item"], how="semi")
    told = given[answers_of(given.spec)].join(asked, on=["user_id", "item"], how="semi")
    stand = standing(items, told)
    parts = given.of_questions("gold_parts").join(asked, on=["user_id", "item"], how="semi")
    agreed = agreements(parts, stand, given.thresholds.minutes)
    ((name, model),) = judges.items()
    with ExitStack() as stack:
        stack.enter_context(asking())
        engine = stack.enter_context(engine_of(given, models, {"judge": model}))
        judge = rubric_judge(name, engine.model("judge", given.scope("judge")), models.access)
        shown = parts_shown(given["tasks"], agreed, stand)
        verdicts = judge.verdicts(shown)
        spent.append(engine.spent)
        lost = engine.failed
    units = judged_units(stand, agreed, verdicts)
    return Made(
        {"applog_verdicts": verdict_rows(verdicts), "applog_judged": units},
        extra={"judge": judge.fingerprint, "weak_judge": judge.weak, UNANSWERED: lost},
        companions={"gold_items": items, "applog_units": given["applog_units"]},
    )
