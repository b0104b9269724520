"""The end of an on-chain release: proofs, card, manifest."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import polars as pl

# Importing the assets is what registers the owners of the tables read here.
from assets.manifests import Frozen, freeze, proof_specs
from assets.onchain import OWNERS
from assets.onchain_proofs import PROOFS, proofs, rederived
from assets.partitions import RELEASES, axes_of
from assets.publishing import Result
from assets.steps import Given
from pipelines.onchain.funnel_plot import spec as funnel_chart
from pipelines.onchain.release import card as make_card
from pipelines.onchain.release import manifest, refusals, statistics
from pipelines.onchain.release_rules import priced
from pipelines.onchain.wallet_plot import png
from resources.dag import GoldStore, InputStore

TABLES = (
    *("trades", "position_changes", "markets", "tokens", "wallets", "cohort_funnel", "cohort_trades", "holdings"),
    *("redemptions", "belief_instances", "trade_instances", "support_trades", "histories"),
)
COUNTED = ("cohort_funnel", "wallets", "cohort_trades", "belief_instances", "trade_instances", "redemptions")


def _card(given: Given, name: str) -> dict[str, Any]:
    logs = given["log_counts"].group_by("outcome", "event").agg(pl.col("rows").sum()).sort("outcome", "event")
    unknown = sum(one.extra["counts"]["trades of unknown tokens"] for one in given.published("trades"))
    odd = {"trades of tokens whose market is unknown, left out": unknown, **_prices(given)}
    return make_card(
        name=name,
        settings=given.settings,
        statistics=statistics(**{table: given[table] for table in COUNTED}),
        funnel=given["cohort_funnel"],
        logs=logs,
        refusals=refusals(markets=given["markets"], wallets=given["wallets"]),
        warnings=[f"{count} {what}" for what, count in odd.items() if count],
    )


def _prices(given: Given) -> dict[str, int]:
    counted = [priced(part["trades"])[1] for part in given.by_shard()]
    return {
        "prices above 1 by a taker's surplus": sum(one["surplus"] for one in counted),
        "prices outside (0, 1] of fills below a hundredth of a share": sum(one["dust"] for one in counted),
    }


def _pictures(given: Given) -> dict[str, bytes]:
    return {"funnel chart": png(funnel_chart(given["cohort_funnel"]))}


ONCHAIN = Frozen(TABLES, "cohort_funnel", manifest, _card, PROOFS, proofs, rederived, _pictures)


@dg.asset(
    partitions_def=RELEASES,
    deps=list(dict.fromkeys(OWNERS[table] for table in TABLES)),
    check_specs=proof_specs("onchain_release", PROOFS),
    group_name="onchain",
    kinds={"json"},
    owners=["team:trailbench"],
)
def onchain_release(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """The frozen on-chain release: every log accounted for, proven free of the future, named by its content."""
    given = Given(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    yield from freeze(context, given, ONCHAIN, 0)
