"""The end of a release: the funnel, the proofs over the whole, and the frozen manifest and card."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import polars as pl

# Importing the commerce assets is what registers the owners of the tables read here.
from assets.commerce import OWNERS
from assets.manifests import Frozen, freeze, proof_specs
from assets.partitions import RELEASES, axes_of
from assets.proofs import AUDITED_USERS, PROOFS, REDERIVED_USERS, proofs, shared_tables
from assets.publishing import Made, Result
from assets.steps import Given, release_step
from pipelines.commerce.funnel import funnel as make_funnel
from pipelines.commerce.funnel import merge_step, read_step, release_steps
from pipelines.commerce.rederiving import REDERIVED, rederive
from pipelines.commerce.release import card as make_card
from pipelines.commerce.release import manifest as make_manifest
from pipelines.commerce.release import refusals, warnings
from pipelines.commerce.statistics import statistics
from resources.dag import GoldStore, InputStore

COUNTED = ("visits", "cohort", "batches", "transitions", "positives", "pool_counts")


@release_step(
    RELEASES,
    reads=("events", "rejects", *COUNTED),
    thresholds=("distractors_per_positive",),
    code=("pipelines.commerce.funnel",),
)
def funnel(given: Given) -> Made:
    """What went in, stayed and left at every step of the release, by reason."""
    drops = given.published("events")
    rejects = dict(given.lazy("rejects").group_by("reason").len().sort("reason").collect().iter_rows())
    rows_in, events_in, duplicates = (
        sum(drop.extra["counts"][name] for drop in drops) for name in ("rows_in", "events", "duplicates")
    )
    tables = {name: given.lazy(name) for name in COUNTED}
    events = given.lazy("events")
    merged = events.select(pl.len()).collect().item()
    steps = [
        read_step(rows_in, events_in, duplicates, rejects),
        merge_step(events_in, merged),
        *release_steps(events=events, **tables, settings=given.settings),
    ]
    return Made({"funnel": make_funnel(steps)})


def _card(given: Given, name: str) -> dict[str, Any]:
    drops = [one.extra for one in given.published("events")]
    can = [drop["capabilities"] for drop in drops]
    tables = ("visits", "batches", "cohort", "transitions", "taxonomy", "positives", "pool_counts")
    return make_card(
        name=name,
        settings=given.settings,
        statistics=statistics(**{table: given.lazy(table) for table in tables}),
        funnel=given["funnel"],
        refusals=refusals(
            l1=any(one["l1"] for one in can),
            l2=any(one["l2"] for one in can),
            clock=can[0]["clock"],
            resolution=can[0]["resolution"],
        ),
        warnings=[
            *sorted({warning for drop in drops for warning in drop["warnings"]}),
            *warnings(given.lazy("pool_counts")),
        ],
    )


RELEASE_TABLES = (
    *("visits", "batches", "cohort", "transitions", "positives", "pools", "pool_gold", "pool_counts"),
    *("taxonomy", "domains", "popularity", "funnel"),
)


def _proofs(given: Given, everything: bool, audited: int) -> Iterator[tuple[str, pl.DataFrame]]:
    return proofs(given, None if everything else REDERIVED_USERS, audited)


def _rederived(given: Given) -> pl.DataFrame:
    events = given["events"]
    tables = {table: given[table] for table in (*REDERIVED, "domains", "taxonomy")}
    return pl.concat([rederive(events, tables, given.settings), shared_tables(given, events)])


COMMERCE = Frozen(RELEASE_TABLES, "funnel", make_manifest, _card, PROOFS, _proofs, _rederived)


@dg.asset(
    partitions_def=RELEASES,
    deps=list(dict.fromkeys(OWNERS[table] for table in RELEASE_TABLES)),
    check_specs=proof_specs("release", PROOFS),
    group_name="commerce",
    kinds={"json"},
    owners=["team:trailbench"],
)
def release(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """The frozen release: proven free of the future, named by its content, never written again."""
    given = Given(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    yield from freeze(context, given, COMMERCE, AUDITED_USERS)
