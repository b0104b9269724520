"""The end of an experiment on an on-chain release: all units on one board, and the report."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import dagster as dg
import polars as pl

from assets.accounting import model_calls
from assets.boards import PICTURE_BYTES, PICTURES
from assets.evaluation_steps import experiment_step, report_step
from assets.metadata import table_value
from assets.onchain_evaluation import prediction_units
from assets.partitions import any_of
from assets.publishing import Made, Result, publish
from assets.steps import OWNERS
from assets.wallet_inputs import GivenPredictions
from pipelines.evaluation import plots
from pipelines.evaluation.comparable import UnlikeRuns, check_comparable
from pipelines.evaluation.costs import costs
from pipelines.evaluation.drilldown.pages import FOLDER
from pipelines.evaluation.leaderboard import csv_safe
from pipelines.onchain.baselines import RULE
from pipelines.onchain.prediction_board import METRICS_OF, prediction_board
from pipelines.onchain.prediction_differences import prediction_differences
from pipelines.onchain.prediction_report import TITLES, render_predictions, standing
from pipelines.onchain.scores import EVALUATOR_VERSION, LAYERS
from pipelines.onchain.wording import prompt_hash
from resources.dag import GoldStore, InputStore

BOARD_TABLES = ("prediction_board", "prediction_differences", "costs")
CODE = (
    *("pipelines.onchain.prediction_board", "pipelines.onchain.prediction_differences", "pipelines.onchain.scores"),
    "pipelines.evaluation.costs",
)
ALIKE = ("dataset", "evaluator", "asked")
"""What all arms of an experiment share; arms of one reader share `reader` and `prompt` too."""


@experiment_step(deps=[any_of(prediction_units), any_of(model_calls)], code=CODE)
def onchain_leaderboard(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """Every predictor of an experiment on the same targets, with wallet-cluster intervals and paired differences."""
    given = GivenPredictions(store, gold, context.partition_key)
    stated = _alike(given)
    weak = sorted({spec.arm.reader for spec in given.bound.arms if stated[spec.arm.key]["weak"]})

    def make() -> Made:
        rows = given.scored()
        paired = prediction_differences(rows, given.seed)
        board = prediction_board(rows, paired, given.seed, weak=weak)
        tables = {"prediction_board": board, "prediction_differences": paired, "costs": costs(given.calls())}
        return Made(tables, companions={"prediction_units": rows})

    yield from publish(
        context,
        {"gold": gold.catalog},
        BOARD_TABLES,
        inputs={"arms": given.contents(), "seed": given.seed, "weak": weak},
        code=CODE,
        make=make,
        show=_shown,
    )


OWNERS.update(dict.fromkeys(BOARD_TABLES[:2], onchain_leaderboard))


@report_step(deps=[onchain_leaderboard])
def onchain_report(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Boards by layer, differences, labels, funnel, provenance as one page; pages of wallets and tables beside it."""
    given = GivenPredictions(store, gold, context.partition_key)
    tables = {table: given.board(table) for table in BOARD_TABLES} | {"labels": given.labels()}
    given.results.write_tables(tables, {table: csv_safe(rows) for table, rows in tables.items()})
    tables["users"] = given.shown()
    given.results.write_pages(FOLDER, given.pages(tables["users"]).items())
    file = given.results.write_text("report.html", render_predictions(tables, given.card(), _provenance(given)))
    return dg.MaterializeResult(
        metadata={
            "report": dg.MetadataValue.path(str(file)),
            "folder": dg.MetadataValue.path(str(given.results.folder)),
            "bytes": file.stat().st_size,
        }
    )


def _alike(given: GivenPredictions) -> dict[str, dict[str, object]]:
    """What every arm states; refuses to rank arms that were made unlike in more than their method."""
    try:
        stated = given.provenance()
        check_comparable(stated, ALIKE)
        for reader in {spec.arm.reader for spec in given.bound.arms} - {RULE}:
            own = {spec.arm.key: stated[spec.arm.key] for spec in given.bound.arms if spec.arm.reader == reader}
            check_comparable(own, ("reader", "prompt"))
    except UnlikeRuns as error:
        raise dg.Failure(f"not ranked: {error}", allow_retries=False) from error
    return stated


def _shown(tables: Mapping[str, pl.LazyFrame]) -> dict[str, Any]:
    """The main rows, and the first metrics of every layer as pictures."""
    board = tables["prediction_board"].filter(pl.col("group_kind").cast(pl.String) == "all").collect()
    columns = ("board", "layer", "metric", "reading", "rank", "method", "value", "low", "high", "coverage", "flags")
    shown: dict[str, Any] = {"prediction_board": table_value(board.select(columns))}
    asked = [(name, layer) for name in board["board"].unique().sort() for layer in LAYERS]
    for name, layer in asked[:PICTURES]:
        metric = METRICS_OF[layer][0]
        if board.filter((pl.col("board") == name) & (pl.col("layer").cast(pl.String) == layer)).is_empty():
            continue
        picture = b64encode(plots.picture(standing(board, name, layer, metric))).decode()
        if len(picture) <= PICTURE_BYTES:
            title = f"{TITLES[layer, metric]}, {name}"
            shown[title] = dg.MetadataValue.md(f"![{title}](data:image/png;base64,{picture})")
    return shown


def _provenance(given: GivenPredictions) -> Mapping[str, Any]:
    experiment, stated = given.bound.experiment, given.provenance()
    return {
        "release": given.bound.release,
        "content hash": given.manifest()["content_hash"],
        "experiment": experiment.name,
        "wallets": len(given.users),
        "split": given.bound.slice.split,
        "targets sampled": "all" if given.bound.slice.pools is None else len(given.bound.slice.pools),
        "seed": experiment.seed,
        "evaluator": EVALUATOR_VERSION,
        "prompts": prompt_hash(),
        "versions": {name: version(name) for name in ("trailbench", "polars")},
        "arms": {
            spec.arm.key: {
                "fingerprint": spec.arm.fingerprint,
                **{key: stated[spec.arm.key][key] for key in ("reader", "prompt", "weak")},
            }
            for spec in given.bound.arms
        },
    }
