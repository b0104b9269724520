"""The answers of an arm on app logs: who gives them, from what, and what the calls took."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import dagster as dg
import polars as pl

from assets.applog_inputs import CODE, GivenAppLogs, asking_settings
from assets.asking import asking, progress_log, said, spent_metadata
from assets.experiment_costs import engine_of
from assets.publishing import UNANSWERED, Made, Result, publish
from pipelines.applogs.asking import AskingSettings
from pipelines.applogs.contenders import BASELINES
from pipelines.applogs.tables import APPLOG_TABLES
from resources.dag import Models
from resources.models.budget import Amount


def published_answers(
    context: dg.AssetExecutionContext,
    given: GivenAppLogs,
    models: Models,
    table: str,
    contents: Mapping[str, Any],
    shown: Callable[[], pl.DataFrame] | None,
) -> Iterator[Result]:
    """Publish `table` with the answers of the arm's rule, or of its reader to the contexts that `shown` gives.

    `contents` are the hashes of what these are made from. Without `shown`, the arm has no answers in this table.
    """
    stated = given.reader(models.access) if shown else {}
    spent: list[Amount] = []
    lost: list[int] = []

    def make() -> Made:
        if shown is None:
            made = APPLOG_TABLES["answers"].empty()
        elif given.arm.method in BASELINES:
            made = given.by_rule()
        else:
            made = _read(context, given, models, shown(), spent, lost)
        return Made({table: made}, extra={**stated, UNANSWERED: sum(lost)}, companions={"tasks": given.questions})

    yield from publish(
        context,
        given.catalogs,
        [table],
        inputs={
            **stated,
            **contents,
            "asked": given.sample if shown else [],
            # An arm whose prompts are those of another one needed the same calls, and its account says so.
            **({"account": given.scope("read")} if shown and given.asks else {}),
        },
        code=(CODE[given.who],),
        settings=given.thresholds,
        make=make,
        show=lambda _: spent_metadata(spent),
    )


def _read(
    context: dg.AssetExecutionContext,
    given: GivenAppLogs,
    models: Models,
    contexts: pl.DataFrame,
    spent: list[Amount],
    lost: list[int],
) -> pl.DataFrame:
    settings: AskingSettings = asking_settings(models.access)
    if not given.asks or given.questions.is_empty():
        return given.by_reader(contexts, None, settings)
    with ExitStack() as stack:
        stack.enter_context(asking())
        engine = stack.enter_context(engine_of(given, models, given.reader_names()))
        stack.callback(lambda: spent.append(engine.spent))
        stack.callback(lambda: lost.append(engine.failed))
        tell = progress_log(context, "questions", given.questions.height, lambda: said(engine.spent))
        return given.by_reader(contexts, engine.model("reader", given.scope("read")), settings, tell)
