"""The end of a release of app logs: funnel, proofs, card, manifest."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import polars as pl

from assets.applogs import OWNERS, applog_step, of_drops
from assets.applogs_proofs import PROOFS, proofs, rederived
from assets.manifests import Frozen, freeze, proof_specs
from assets.partitions import RELEASES, axes_of
from assets.publishing import Made, Result
from assets.steps import Given
from pipelines.applogs.funnel import steps
from pipelines.applogs.release import card as make_card
from pipelines.applogs.release import manifest, refusals, statistics, warnings
from pipelines.applogs.step_tables import DROP_TABLES, DROPPED, RELEASED
from pipelines.commerce.funnel import funnel
from resources.dag import GoldStore, InputStore

COUNTED = ("app_logs", "checkpoints", "gold_items", "gold_parts", "gold_states", "state_intervals", "state_evidence")
FROZEN = (*RELEASED, "state_keys", "applog_funnel")
AUDITED_USERS = 3
"""Users whose future is replaced before a release is frozen."""


@applog_step(
    RELEASES,
    reads=(*DROP_TABLES, *COUNTED),
    thresholds=("truth", "tasks", "only_told"),
    code=("pipelines.applogs.funnel", "pipelines.applogs.merging"),
)
def applog_funnel(given: Given) -> Made:
    """What of users, logs and states went in, stayed and left at every step, by reason."""
    every = pl.concat([given.lazy(table).select("user_id").unique() for table in DROP_TABLES]).unique().collect()
    brought = {"app_logs": sum(one.rows for one in given.published(f"{DROPPED}app_logs"))}
    tables = {**{name: given[name] for name in COUNTED}, "anchors": of_drops(given, "anchors")}
    return Made({"applog_funnel": funnel(steps(brought, every["user_id"], tables, given.settings))})


def _card(given: Given, name: str) -> dict[str, Any]:
    tables = {table: given[table] for table in FROZEN}
    packed = of_drops(given, "anchors").join(tables["checkpoints"], on="user_id", how="semi")["user_id"].n_unique()
    return make_card(
        name=name,
        settings=given.settings,
        statistics=statistics(tables, packed),
        funnel=tables["applog_funnel"],
        refusals=refusals(tables),
        warnings=warnings(tables, given.settings),
    )


APPLOGS = Frozen(FROZEN, "applog_funnel", manifest, _card, PROOFS, proofs, rederived)


@dg.asset(
    partitions_def=RELEASES,
    deps=list(dict.fromkeys(OWNERS[table] for table in FROZEN)),
    check_specs=proof_specs("applog_release", PROOFS),
    group_name="applogs",
    kinds={"json"},
    owners=["team:trailbench"],
)
def applog_release(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """The frozen release of app logs: gold behind the wall, proven free of the future, named by its content."""
    given = Given(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    yield from freeze(context, given, APPLOGS, AUDITED_USERS)
