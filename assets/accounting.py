"""The account of an arm's model calls, as a table beside its readings."""

from collections.abc import Iterator

import dagster as dg

from assets.arms import GivenArm
from assets.evaluation import GROUP, readings, readouts
from assets.experiment_costs import calls_of, scopes_of
from assets.partitions import ARM_SHARDS, axes_of
from assets.publishing import Made, Result, publish
from expectations import checks
from pipelines.hashing import frame_hash
from resources.code import code_version
from resources.dag import InputStore, Models


@dg.asset(
    partitions_def=ARM_SHARDS,
    deps=[
        readouts,
        readings,
        *map(dg.AssetDep, ("predictions", "contexts", "answers", "oracle_answers")),
        *map(dg.AssetDep, ("verdicts", "applog_verdicts", "applog_failures")),
    ],
    check_specs=checks.specs("model_calls", ARM_SHARDS),
    code_version=code_version("assets.experiment_costs"),
    group_name=GROUP,
    kinds={"sqlite", "parquet"},
    owners=["team:trailbench"],
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
        code=("assets.experiment_costs",),
        settings=given.settings,
        make=lambda: Made({"model_calls": rows}, extra={"scopes": scopes_of(given)}),
    )
