"""The end of an experiment: all units on one board, the checks that make it credible, and the report."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import dagster as dg
import polars as pl

from assets.accounting import model_calls
from assets.board_inputs import GivenExperiment
from assets.commerce import popularity as popularity_table
from assets.drilldown_inputs import GivenTrails
from assets.evaluation import units
from assets.evaluation_steps import experiment_step, report_step
from assets.judging import verdict_summary
from assets.metadata import table_value
from assets.partitions import any_of
from assets.publishing import Made, Result, publish
from assets.steps import OWNERS
from pipelines.evaluation import plots
from pipelines.evaluation.ablations import configurations
from pipelines.evaluation.comparable import UnlikeRuns, check_comparable
from pipelines.evaluation.costs import costs, models_asked
from pipelines.evaluation.differences import differences
from pipelines.evaluation.drilldown.pages import FOLDER
from pipelines.evaluation.faults import faults
from pipelines.evaluation.leaderboard import BOARD, csv_safe
from pipelines.evaluation.leaderboard import leaderboard as make_leaderboard
from pipelines.evaluation.report import render
from pipelines.evaluation.scores import EVALUATOR_VERSION, oracle, popularity
from pipelines.evaluation.standing import CREDIBLE, credibility
from pipelines.hashing import frame_hash
from resources.dag import GoldStore, InputStore
from resources.embedder import StaticEmbedder
from resources.tokenizer import load_tokens

BOARD_TABLES = ("leaderboard", "differences", "positions", "costs")
ASKED = ("pools", "pool_gold", "transitions", "cohort", "popularity")
CODE = tuple(
    f"pipelines.evaluation.{name}" for name in ("faults", "leaderboard", "differences", "scores", "standing", "costs")
)
PICTURES, PICTURE_BYTES = 4, 200_000
"""How many plots the UI shows at most, and of which size: every materialisation stores them in the event log."""


@experiment_step(deps=[any_of(units), any_of(model_calls), any_of(popularity_table)], code=CODE, more_checks=CREDIBLE)
def leaderboard(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """Every method of an experiment on the same frozen units, with user-cluster intervals and paired differences."""
    given = GivenExperiment(store, gold, context.partition_key)
    _refuse_unlike(given)

    def make() -> Made:
        rows = pl.concat([given.units(), *_scoring_side(given)])
        paired = differences(rows, given.seed)
        taken = costs(given.calls())
        board = make_leaderboard(rows, paired, given.seed, faults(given.weakness(), given.builds(), taken))
        tables = {"leaderboard": board, "differences": paired, "positions": given.positions(), "costs": taken}
        return Made(tables, companions={"units": rows}, findings={"leaderboard": credibility(board)})

    yield from publish(
        context,
        {"gold": gold.catalog},
        BOARD_TABLES,
        inputs={
            "arms": given.contents(),
            **{table: given.content(table) for table in ASKED},
            "slice": asdict(given.bound.slice),
            "seed": given.seed,
            # Neither shows in units or readings, and both in flags.
            "weak": given.weakness().rows(),
            "builds": frame_hash(given.builds()),
        },
        code=CODE,
        make=make,
        show=_shown,
    )


OWNERS.update(dict.fromkeys(BOARD_TABLES, leaderboard))


@report_step(deps=[leaderboard, verdict_summary])
def report(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Leaderboards, ablations, costs, verdicts, funnel, provenance as one page; pages of users and tables beside it."""
    given = GivenTrails(store, gold, context.partition_key)
    tables = {table: given.board(table) for table in (*BOARD_TABLES, "verdict_summary")}
    given.results.write_tables(tables, {table: csv_safe(rows) for table, rows in tables.items()})
    shown = {"arms": given.weakness(), "builds": given.builds(), "funnel": given.table("funnel")}
    shown |= {"configurations": configurations(given.bound.experiment)}
    shown["users"] = given.shown()
    given.results.write_pages(FOLDER, given.pages(shown["users"]).items())
    stated = _provenance(given) | _models(given, shown["arms"], tables["verdict_summary"])
    page = render({**tables, **shown}, given.card(), stated)
    file = given.results.write_text("report.html", page)
    return dg.MaterializeResult(
        metadata={
            "report": dg.MetadataValue.path(str(file)),
            "folder": dg.MetadataValue.path(str(given.results.folder)),
            "bytes": file.stat().st_size,
        }
    )


def _refuse_unlike(given: GivenExperiment) -> None:
    """Rows of one board (reader and budget) were made alike in all but the method, or nothing is ranked."""
    boards: dict[tuple[str, int], dict[str, dict[str, object]]] = {}
    try:
        stated = given.provenance()
        for spec in given.bound.arms:
            boards.setdefault((spec.arm.reader, spec.arm.budget), {})[spec.arm.key] = stated[spec.arm.key]
        for board in boards.values():
            check_comparable(board)
    except UnlikeRuns as error:
        raise dg.Failure(f"not ranked: {error}", allow_retries=False) from error


def _scoring_side(given: GivenExperiment) -> list[pl.DataFrame]:
    roles, users = given.table("pool_gold"), given.table("cohort")
    asked, steps = given.table("pools"), given.table("transitions")
    return [oracle(roles, users), popularity(asked, roles, steps, given.table("popularity"), users)]


def _shown(tables: Mapping[str, pl.LazyFrame]) -> dict[str, Any]:
    """The main rows, and recall by method as pictures."""
    board = tables["leaderboard"].filter(pl.col("group_kind") == "all").collect()
    columns = (*BOARD, "pool", "rank", "method", "recall", "recall_low", "recall_high", "chance", "flags")
    shown: dict[str, Any] = {"leaderboard": table_value(board.select(columns))}
    for reader, budget, pool in board.select(*BOARD, "pool").unique(maintain_order=True).head(PICTURES).iter_rows():
        picture = b64encode(plots.picture(plots.recall(board, reader, budget, pool))).decode()
        if len(picture) <= PICTURE_BYTES:
            title = f"recall, {pool}, {reader}, {budget} tokens"
            shown[title] = dg.MetadataValue.md(f"![{title}](data:image/png;base64,{picture})")
    return shown


def _models(given: GivenExperiment, arms: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, Any]:
    """The models behind each arm; their endpoints by alias or address, which hold no secret."""
    rows = models_asked(given.calls(), arms, verdicts)
    said = pl.when("weak").then(pl.lit("yes")).when(~pl.col("weak")).then(pl.lit("no")).otherwise(pl.lit("not stated"))
    return {"models": rows.with_columns(said.alias("weak")).to_dicts()}


def _provenance(given: GivenExperiment) -> dict[str, Any]:
    experiment = given.bound.experiment
    stated = given.provenance()
    own = ("method", "version", "wall", "reader", "prompt", "budget")
    return {
        "release": given.bound.release,
        "content hash": given.manifest()["content_hash"],
        "experiment": experiment.name,
        "users": len(given.users),
        "readers": ", ".join(experiment.readers),
        "budgets": ", ".join(map(str, experiment.budgets)),
        "seed": experiment.seed,
        "evaluator": EVALUATOR_VERSION,
        "token counter": load_tokens().sha256,
        "embedder": StaticEmbedder().fingerprint,
        "versions": {name: version(name) for name in ("trailbench", "polars")},
        "arms": {
            spec.arm.key: {"fingerprint": spec.arm.fingerprint, **{key: stated[spec.arm.key][key] for key in own}}
            for spec in given.bound.arms
        },
    }
