"""The account of an arm's model calls, as a table beside its readings."""

from collections.abc import Iterator

import dagster as dg

from assets.arms import GivenArm
from assets.evaluation import readings, readouts
from assets.evaluation_steps import arm_step
from assets.experiment_costs import calls_of, scopes_of
from assets.partitions import axes_of
from assets.publishing import Made, Result, publish
from pipelines.hashing import frame_hash
from resources.dag import InputStore, Models

CODE = ("assets.experiment_costs",)


@arm_step(
    deps=[
        readouts,
        readings,
        *map(dg.AssetDep, ("predictions", "contexts", "answers", "oracle_answers")),
        *map(dg.AssetDep, ("verdicts", "applog_verdicts", "applog_failures")),
    ],
    code=CODE,
    kinds=("sqlite", "parquet"),
)
def model_calls(context: dg.AssetExecutionContext, store: InputStore, models: Models) -> Iterator[Result]:
    """Every model call that the arm's memory and answers needed: tokens, time, cost, status; made or cached."""
    given = GivenArm(store, {"store": store.catalog}, axes_of(context))
    rows = calls_of(given, models)
    yield from publish(
        context,
        {"store": store.catalog},
        ["model_calls"],
        inputs={"calls": frame_hash(rows), "scopes": scopes_of(given)},
        code=CODE,
        settings=given.settings,
        make=lambda: Made({"model_calls": rows}, extra={"scopes": scopes_of(given)}),
    )
