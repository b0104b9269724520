"""Evaluation of a release of app logs: memories → contexts → answers → units, an arm and shard at a time."""

from collections.abc import Iterator
from contextlib import ExitStack

import dagster as dg

from assets.applog_answering import published_answers
from assets.applog_inputs import CODE, GivenAppLogs
from assets.applog_memories import READ, content_of, made_contexts, stated_of
from assets.applogs import app_logs, checkpoints, tasks
from assets.asking import spent_metadata
from assets.evaluation_steps import arm_step
from assets.partitions import any_of, axes_of
from assets.publishing import Made, Result, publish
from pipelines.applogs.answers import standing
from pipelines.applogs.contenders import BASELINES, ORACLE, remembers
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.peers import oracle
from pipelines.applogs.scores import EVALUATOR_VERSION, points_by_rule, units
from resources.dag import GoldStore, InputStore, Models
from resources.models.budget import Amount
from resources.plugin_process import open_method
from resources.tokenizer import load_tokens

DELIVERED_BY = ("pipelines.memory", "pipelines.applogs.contexts", "pipelines.applogs.peers")
SCORED_BY = ("pipelines.applogs.scores", "pipelines.applogs.mechanical", "pipelines.applogs.answers")
OF_RELEASE = [any_of(asset) for asset in (app_logs, checkpoints, tasks)]


@arm_step(deps=OF_RELEASE, code=DELIVERED_BY, pool="memory")
def contexts(context: dg.AssetExecutionContext, store: InputStore, models: Models) -> Iterator[Result]:
    """What an arm's memory, frozen at each checkpoint, delivers to the questions there. Arms may share it."""
    given = GivenAppLogs(store, {"store": store.catalog}, axes_of(context))
    spent: list[Amount] = []
    with ExitStack() as stack:
        name = given.arm.method
        method = stack.enter_context(open_method(name, store.hidden)) if remembers(name) else None
        stated = stated_of(given, models, method)
        more = {"asked": given.sample, "seed": given.spec.seed, **content_of(given, method)} if stated else {}
        yield from publish(
            context,
            given.catalogs,
            ["contexts"],
            inputs={**stated, **more},
            code=DELIVERED_BY,
            settings=given.thresholds,
            make=lambda: made_contexts(context, given, models, method, stated, spent),
            show=lambda _: spent_metadata(spent),
        )


@arm_step(deps=[contexts, *OF_RELEASE], code=[*CODE.values()], pool="reader")
def answers(context: dg.AssetExecutionContext, store: InputStore, models: Models) -> Iterator[Result]:
    """What an arm answers to every question that is asked: a baseline by its rule, a reader from the contexts."""
    given = GivenAppLogs(store, {"store": store.catalog}, axes_of(context))
    read = READ if given.arm.method in BASELINES else ("contexts", "tasks")
    contents = {name: given.content(name) for name in read}
    shown = None if given.arm.method == ORACLE else lambda: given["contexts"]
    yield from published_answers(context, given, models, "answers", contents, shown)


@arm_step(deps=[answers, *OF_RELEASE], code=[*CODE.values(), "pipelines.applogs.peers"], pool="reader")
def oracle_answers(
    context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore, models: Models
) -> Iterator[Result]:
    """What an oracle arm's reader answers when it is shown the logs that prove the right answer; else nothing."""
    given = GivenAppLogs(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    if given.arm.method != ORACLE:
        yield from published_answers(context, given, models, "oracle_answers", {}, None)
        return
    contents = {name: given.content(name) for name in (*READ, "gold_items")}
    yield from published_answers(
        context,
        given,
        models,
        "oracle_answers",
        contents,
        lambda: oracle(given["app_logs"], given["checkpoints"], given.questions, given["gold_items"], load_tokens()),
    )


@arm_step(deps=[answers, oracle_answers, *OF_RELEASE], code=SCORED_BY)
def applog_units(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """Every question that was asked held against its gold by rule; one without an answer is missing, never left out."""
    given = GivenAppLogs(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    table = "oracle_answers" if given.arm.method == ORACLE else "answers"
    stated = {"evaluator": EVALUATOR_VERSION}

    def make() -> Made:
        items, told = given.of_questions("gold_items"), given[table]
        stand = standing(items, told)
        agreed = agreements(given.of_questions("gold_parts"), stand, given.thresholds.minutes)
        made = units(stand, agreed, correct=points_by_rule(agreed))
        return Made({"applog_units": made}, extra=stated, companions={"gold_items": items, "answers": told})

    yield from publish(
        context,
        given.catalogs,
        ["applog_units"],
        inputs={
            **{name: given.content(name) for name in (table, "gold_items", "gold_parts", "tasks", "checkpoints")},
            **stated,
            "minutes": given.thresholds.minutes,
            "asked": given.sample,
        },
        code=SCORED_BY,
        settings=given.thresholds,
        make=make,
    )
