"""The end of an experiment: all units on one board, the checks that make it credible, and the report."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
import polars as pl

from assets.board_inputs import GivenExperiment
from assets.commerce import popularity as popularity_table
from assets.evaluation import GROUP, units
from assets.metadata import table_value
from assets.partitions import EXPERIMENTS, any_of
from assets.publishing import Result
from pipelines.evaluation.differences import differences
from pipelines.evaluation.leaderboard import csv_safe
from pipelines.evaluation.leaderboard import leaderboard as make_leaderboard
from pipelines.evaluation.report import render
from pipelines.evaluation.scores import oracle, popularity
from pipelines.evaluation.standing import CREDIBLE, credibility
from pipelines.hashing import digest_json, frame_hash
from resources.dag import GoldStore, InputStore


@dg.asset(
    partitions_def=EXPERIMENTS,
    deps=[any_of(units), any_of(popularity_table)],
    check_specs=[
        dg.AssetCheckSpec(name, asset="leaderboard", description=text, blocking=True, partitions_def=EXPERIMENTS)
        for name, text in CREDIBLE.items()
    ],
    group_name=GROUP,
    kinds={"polars", "csv", "parquet"},
    owners=["team:trailbench"],
)
def leaderboard(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """Every method of an experiment on the same frozen units, with user-cluster intervals and paired differences."""
    given = GivenExperiment(store, gold, context.partition_key)
    rows = pl.concat([given.units(), *_scoring_side(given)])
    paired = differences(rows, given.seed)
    board = make_leaderboard(rows, paired, given.seed)
    failed = []
    for name, (passed, severity, text) in credibility(board).items():
        failed += [f"{name}: {text}"] if not passed and severity == "error" else []
        level = dg.AssetCheckSeverity.ERROR if severity == "error" else dg.AssetCheckSeverity.WARN
        yield dg.AssetCheckResult(check_name=name, passed=passed, severity=level, metadata={"observed": text})
    if failed:
        raise dg.Failure("the leaderboard is not credible: " + "; ".join(failed), allow_retries=False)
    tables = {"leaderboard": board, "differences": paired, "positions": given.positions()}
    given.results.write_tables(tables, {"leaderboard": csv_safe(board)})
    main = board.filter(pl.col("group_kind") == "all").select("pool", "method", "recall", "recall_low", "recall_high")
    yield dg.MaterializeResult(
        metadata={
            "units": rows.height,
            "leaderboard": table_value(main),
            "folder": dg.MetadataValue.path(str(given.results.folder)),
        },
        data_version=dg.DataVersion(digest_json({name: frame_hash(frame) for name, frame in tables.items()})),
    )


@dg.asset(partitions_def=EXPERIMENTS, deps=[leaderboard], group_name=GROUP, kinds={"html"}, owners=["team:trailbench"])
def report(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One self-contained page: leaderboard, differences, funnel, subgroups, provenance."""
    given = GivenExperiment(store, gold, context.partition_key)
    tables = {**given.results.read_tables(), "funnel": given.table("funnel")}
    page = given.results.write_text("report.html", render(tables, given.card(), _provenance(given)))
    return dg.MaterializeResult(metadata={"report": dg.MetadataValue.path(str(page)), "bytes": page.stat().st_size})


def _scoring_side(given: GivenExperiment) -> list[pl.DataFrame]:
    roles, users = given.table("pool_gold"), given.table("cohort")
    asked, steps = given.table("pools"), given.table("transitions")
    return [oracle(roles, users), popularity(asked, roles, steps, given.table("popularity"), users)]


def _provenance(given: GivenExperiment) -> Mapping[str, Any]:
    experiment = given.bound.experiment
    return {
        "release": given.bound.release,
        "content hash": given.manifest()["content_hash"],
        "experiment": experiment.name,
        "users": len(given.users),
        "readers": ", ".join(experiment.readers),
        "budgets": ", ".join(map(str, experiment.budgets)),
        "seed": experiment.seed,
        "arms": {spec.arm.key: {"fingerprint": spec.arm.fingerprint} for spec in given.bound.arms},
    }
