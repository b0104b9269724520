"""Evaluation of an on-chain release: histories → predictions → units, an arm and shard at a time."""

from collections.abc import Iterator
from contextlib import ExitStack

import dagster as dg
import polars as pl

from assets.asking import asking, spent_metadata
from assets.evaluation_steps import arm_step
from assets.experiment_costs import engine_of
from assets.onchain import belief_instances, cohort_trades, histories, markets, support, trade_instances
from assets.partitions import any_of, axes_of
from assets.predictors import GivenPredictor
from assets.publishing import UNANSWERED, Made, Result, publish
from pipelines.onchain.contenders import layers_of
from pipelines.onchain.scores import EVALUATOR_VERSION, units
from pipelines.onchain.wording import prompt_hash
from resources.dag import GoldStore, InputStore, Models
from resources.models.budget import Amount

PREDICTED_BY = ("pipelines.onchain.rules", "pipelines.onchain.prompting", "pipelines.onchain.experiment")
SCORED_BY = ("pipelines.onchain.scores", "pipelines.onchain.experiment")
INSTANCES = {"belief": ("belief_instances", "cut_event"), "trade": ("trade_instances", "event")}
"""Layer → the table of its labels, and its column with the trade at the cut."""


@arm_step(
    deps=[any_of(asset) for asset in (histories, cohort_trades, support, markets)], code=PREDICTED_BY, pool="reader"
)
def predictions(context: dg.AssetExecutionContext, store: InputStore, models: Models) -> Iterator[Result]:
    """What an arm answers to every target that is asked: a baseline by its rule, a reader by what it is shown."""
    given = GivenPredictor(store, {"store": store.catalog}, axes_of(context))
    names = given.names(["reader"]) if given.asks else {}
    known = [models.access.unasked(role, name) for role, name in names.items()]
    stated = {
        "reader": [model.fingerprint for model in known] or [given.arm.reader],
        "prompt": prompt_hash() if known else "",
        "weak": any(model.weak for model in known),
    }
    spent: list[Amount] = []
    lost: list[int] = []

    def make() -> Made:
        with ExitStack() as stack:
            if not names:
                made = given.by_rule()
            elif given.targets.is_empty():
                made = given.by_model(known[0])
            else:
                stack.enter_context(asking())
                engine = stack.enter_context(engine_of(given, models, names))
                stack.callback(lambda: spent.append(engine.spent))
                stack.callback(lambda: lost.append(engine.failed))
                made = given.by_model(engine.model("reader", given.scope("read")))
        return Made(
            {"predictions": made}, extra={**stated, UNANSWERED: sum(lost)}, companions={"histories": given.targets}
        )

    yield from publish(
        context,
        {"store": store.catalog},
        ["predictions"],
        inputs={
            **given.contents(),
            **stated,
            "arm": [given.arm.label, given.arm.method, given.arm.reader],
            "asked": [list(given.own_users), given.spec.slice.pools, given.spec.slice.split],
            "settings": given.thresholds.model_dump(mode="json"),
            # A larger sample needs the calls of a smaller one, and its account says so.
            **({"account": given.scope("read")} if names else {}),
        },
        code=PREDICTED_BY,
        settings=given.thresholds,
        make=make,
        show=lambda _: spent_metadata(spent),
    )


@arm_step(deps=[predictions, any_of(belief_instances), any_of(trade_instances)], code=SCORED_BY)
def prediction_units(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """Every target that was asked held against its label; one without a prediction is missing, never left out."""
    given = GivenPredictor(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    layers = layers_of(given.arm.method)
    stated = {"evaluator": EVALUATOR_VERSION}

    def make() -> Made:
        answered = given["predictions"]
        scored = []
        for layer in layers:
            table, event = INSTANCES[layer]
            evaluated = given[table].filter(pl.col("cohort").cast(pl.String) == "evaluation")
            targets = given.asked_of(evaluated, layer, event)
            scored.append(units(targets, answered, layer, method=given.arm.label, reader=given.arm.reader))
        return Made({"prediction_units": pl.concat(scored)}, extra=stated, companions={"predictions": answered})

    yield from publish(
        context,
        {"gold": gold.catalog},
        ["prediction_units"],
        inputs={
            "predictions": given.content("predictions"),
            **{INSTANCES[layer][0]: given.content(INSTANCES[layer][0]) for layer in layers},
            **stated,
            "arm": [given.arm.label, given.arm.reader],
            "asked": [list(given.own_users), given.spec.slice.pools, given.spec.slice.split],
        },
        code=SCORED_BY,
        settings=given.thresholds,
        make=make,
    )
