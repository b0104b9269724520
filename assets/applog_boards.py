"""The end of an experiment on app logs: the board, what stands beside it, and the report."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import dagster as dg
import polars as pl

from assets.accounting import model_calls
from assets.applog_board_inputs import GivenAppLogBoard, arm_of
from assets.applog_judging import applog_failures, applog_verdicts
from assets.applog_user_inputs import GivenStateTrails
from assets.applogs_evaluation import applog_units
from assets.boards import PICTURE_BYTES, PICTURES
from assets.evaluation_steps import experiment_step, report_step
from assets.metadata import table_value
from assets.partitions import any_of
from assets.publishing import Made, Result, publish
from assets.steps import OWNERS
from pipelines.applogs.board import applog_board, applog_differences, user_values
from pipelines.applogs.board_report import TITLES, render_applogs
from pipelines.applogs.board_summaries import retained
from pipelines.applogs.board_tables import ALL
from pipelines.applogs.calibrating import applog_calibration as calibrated
from pipelines.applogs.scores import EVALUATOR_VERSION
from pipelines.evaluation import plots
from pipelines.evaluation.comparable import UnlikeRuns, check_comparable
from pipelines.evaluation.costs import costs
from pipelines.evaluation.drilldown.pages import FOLDER
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.leaderboard import csv_safe
from pipelines.hashing import frame_hash
from resources.dag import GoldStore, InputStore
from resources.labels import read_labels
from resources.tokenizer import load_tokens

BOARD_TABLES = (
    *("applog_board", "applog_differences", "applog_retention"),
    *("applog_attribution", "applog_agreement", "applog_compat"),
)
CODE = (
    *(
        f"pipelines.applogs.{name}"
        for name in ("board", "board_summaries", "experiment", "scores", "attribution", "retention")
    ),
    "pipelines.evaluation.costs",
)
CALIBRATED_BY = ("pipelines.applogs.calibrating",)
JUDGED = ("method", "reader", "budget", "n_parts", "n_errors", "core", "core_low", "core_high", "calibration")
"""What the UI shows of `applog_calibration`."""
ALIKE = ("dataset", "evaluator", "asked")
"""What all arms of an experiment share; arms of one reader share `reader` and `prompt` too, baselines apart."""


@experiment_step(
    deps=[any_of(asset) for asset in (applog_units, applog_verdicts, applog_failures, model_calls)], code=CODE
)
def applog_leaderboard(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """Every method of an experiment on the same questions: by checkpoint, task, family; retention; why wrong."""
    given = GivenAppLogBoard(store, gold, context.partition_key)
    stated = _alike(given)
    weak = sorted({spec.arm.reader for spec in given.bound.arms if stated[spec.arm.key]["weak"]})

    def make() -> Made:
        rows, judged = given.of_arms("applog_units"), given.judged()
        values = user_values(rows, judged, given.checkpoints)
        paired = applog_differences(values, given.seed)
        states = given.table("gold_states")
        truth = next(iter(given.table("gold_items")["truth"].cast(pl.String).unique().sort()), "as_of")
        tables = {
            "applog_board": applog_board(values, paired, given.seed, weak=weak),
            "applog_differences": paired,
            "applog_retention": retained(rows, judged, states, given.checkpoints, truth),
            **given.beside(rows),
            "costs": costs(given.calls()),
        }
        return Made(tables, companions={"applog_units": rows})

    yield from publish(
        context,
        {"gold": gold.catalog},
        (*BOARD_TABLES, "costs"),
        inputs={
            "arms": given.contents(),
            **{table: given.content(table) for table in ("checkpoints", "gold_items", "gold_states", "state_evidence")},
            "seed": given.seed,
            "weak": weak,
        },
        code=CODE,
        make=make,
        show=_shown,
    )


OWNERS.update(dict.fromkeys(BOARD_TABLES, applog_leaderboard))


@experiment_step(deps=[any_of(applog_verdicts)], code=CALIBRATED_BY)
def applog_calibration(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """How far people's labels bear out the judge of core and detail; each method's share of right cores, corrected."""
    given = GivenAppLogBoard(store, gold, context.partition_key)
    labels, weak = read_labels(gold.catalog.store, CORE_DETAIL.name), given.weak_judge(CORE_DETAIL)

    def make() -> Made:
        verdicts, arms = given.marks(), [arm_of(spec) for spec in given.bound.arms]
        found = calibrated(arms, given.n_judged, verdicts, labels, weak, given.seed)
        return Made({"applog_calibration": found}, companions={"applog_verdicts": verdicts} if found.height else {})

    yield from publish(
        context,
        {"gold": gold.catalog},
        ["applog_calibration"],
        inputs={
            "arms": given.contents_marked(),
            "questions": given.n_judged,
            "labels": frame_hash(labels),
            "weak": weak,
            "seed": given.seed,
        },
        code=CALIBRATED_BY,
        make=make,
        show=lambda tables: {"calibration": table_value(tables["applog_calibration"].select(JUDGED).collect())},
    )


OWNERS["applog_calibration"] = applog_calibration


@report_step(deps=[applog_leaderboard, applog_calibration])
def applog_report(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One self-contained page: boards, checkpoints, retention, reasons, states; pages of users and tables beside it."""
    given = GivenStateTrails(store, gold, context.partition_key)
    tables = {table: given.board(table) for table in (*BOARD_TABLES, "applog_calibration", "costs")}
    given.results.write_tables(tables, {table: csv_safe(rows) for table, rows in tables.items()})
    users = given.shown()
    given.results.write_pages(FOLDER, given.pages(users))
    page = render_applogs({**tables, "users": users}, given.card(), _provenance(given), given.life())
    file = given.results.write_text("report.html", page)
    return dg.MaterializeResult(
        metadata={
            "report": dg.MetadataValue.path(str(file)),
            "folder": dg.MetadataValue.path(str(given.results.folder)),
            "bytes": file.stat().st_size,
        }
    )


def _alike(given: GivenAppLogBoard) -> dict[str, dict[str, object]]:
    """What every arm states; refuses to rank arms that were made unlike in more than their method."""
    try:
        stated = given.provenance()
        check_comparable(stated, ALIKE)
        for reader in {spec.arm.reader for spec in given.bound.arms} - {"rule"}:
            own = {spec.arm.key: stated[spec.arm.key] for spec in given.bound.arms if spec.arm.reader == reader}
            check_comparable(own, ("reader", "prompt"))
    except UnlikeRuns as error:
        raise dg.Failure(f"not ranked: {error}", allow_retries=False) from error
    return stated


def _shown(tables: Mapping[str, pl.LazyFrame]) -> dict[str, Any]:
    """The main rows, and agreement by rule of the first boards as pictures."""
    whole = (
        tables["applog_board"]
        .with_columns(pl.col("family", "metric", "task", "expectation").cast(pl.String))
        .filter((pl.col("place") == 0) & (pl.col("family") == ALL))
        .collect()
    )
    columns = ("board", "task", "expectation", "metric", "rank", "method", "value", "low", "high", "coverage", "flags")
    shown: dict[str, Any] = {"applog_board": table_value(whole.select(columns))}
    asked = whole.filter(pl.col("expectation") == "value").select("board", "task").unique(maintain_order=True)
    for board, task in asked.head(PICTURES).iter_rows():
        rows = whole.filter(
            (pl.col("board") == board) & (pl.col("task") == task) & (pl.col("expectation") == "value"),
            pl.col("metric") == "mechanical",
        ).sort("rank", "method", nulls_last=True)
        axis = plots.share_axis("value", TITLES["mechanical"])
        picture = b64encode(plots.picture(plots.ranked(rows, "value", low="low", high="high", axis=axis))).decode()
        if len(picture) <= PICTURE_BYTES:
            shown[f"{task}, {board}"] = dg.MetadataValue.md(f"![{task}, {board}](data:image/png;base64,{picture})")
    return shown


def _provenance(given: GivenAppLogBoard) -> Mapping[str, Any]:
    experiment, stated = given.bound.experiment, given.provenance()
    return {
        "release": given.bound.release,
        "content hash": given.manifest()["content_hash"],
        "experiment": experiment.name,
        "users": len(given.users),
        "questions sampled": "all" if given.bound.slice.pools is None else len(given.bound.slice.pools),
        "seed": experiment.seed,
        "evaluator": EVALUATOR_VERSION,
        "token counter": load_tokens().sha256,
        "versions": {name: version(name) for name in ("trailbench", "polars")},
        "arms": {
            spec.arm.key: {
                "fingerprint": spec.arm.fingerprint,
                **{key: stated[spec.arm.key][key] for key in ("reader", "prompt", "weak")},
            }
            for spec in given.bound.arms
        },
    }
