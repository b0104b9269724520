"""The on-chain release: what names it, its statistics beside the paper's, and what its card says."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipelines import release
from pipelines.onchain.beliefs import label_counts
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.splits import split_counts
from pipelines.onchain.step_tables import HASHED
from pipelines.thresholds import settings_stated

PAPER: dict[str, float] = {
    "candidates with enough markets": 31_319,
    "evaluation wallets": 2_000,
    "support wallets": 2_022,
    "markets": 1_414,
    "evaluation: belief instances": 141_445,
    "evaluation: trade instances": 1_485_972,
    "support: belief instances": 155_765,
    "support: trade instances": 1_537_097,
}
"""Numbers of the paper (§A.3), by the name of the statistic."""
FACTS = (
    "A trade is the fill of the maker topic's order; nothing is derived from the taker topic.",
    "Belief labels come from trades alone, as in the paper; side_full and flips say what the whole ledger would name.",
    "Filters and draw look at all trades up to the last block: a wallet is in for what it does later, too.",
    "A history stops strictly before its target's cut; a belief's cut is its market's last trade of the wallet.",
    "Trades of a pool count only where its creation is in the same drop; else they are foreign.",
)
"""What a reader of results must know about the construction, whatever the chain."""


def manifest(tables: Mapping[str, release.TableEntry], settings: OnchainSettings) -> dict[str, Any]:
    """`manifest.json` of an on-chain release."""
    return release.manifest("onchain", settings, tables, HASHED)


def statistics(
    *,
    cohort_funnel: pl.DataFrame,
    wallets: pl.DataFrame,
    cohort_trades: pl.DataFrame,
    belief_instances: pl.DataFrame,
    trade_instances: pl.DataFrame,
    redemptions: pl.DataFrame,
) -> list[dict[str, Any]]:
    """Rows (name, value, paper) of a release; `value` is null where nothing can be said."""
    cohort = wallets["cohort"].cast(pl.String)
    wanted = cohort_funnel.filter(pl.col("filter") == "too few markets")["wallets"]
    values: dict[str, Any] = {
        "wallets seen": wallets.height,
        "candidates with enough markets": int(wanted[0]) if len(wanted) else None,
        "evaluation wallets": int((cohort == "evaluation").sum()),
        "support wallets": int((cohort == "support").sum()),
        "markets": cohort_trades["condition_id"].n_unique(),
    }
    for layer, rows in (("belief", belief_instances), ("trade", trade_instances)):
        for row in split_counts(rows).sort("cohort", "split").iter_rows(named=True):
            values[f"{row['cohort']}: {layer} instances"] = (
                values.get(f"{row['cohort']}: {layer} instances", 0) + row["instances"]
            )
            values[f"{row['cohort']}: {layer} {row['split']}"] = row["instances"]
            values[f"{row['cohort']}: wallets without {layer} {row['split']}"] = row["empty"]
    labels = label_counts(belief_instances)
    instances = labels.pop("instances")
    for name, count in labels.items():
        values[f"beliefs {name.replace('_', ' ')}"] = count
        values[f"beliefs {name.replace('_', ' ')}, share"] = count / instances if instances else None
    checked = redemptions["reconciles"].count()
    values |= {
        "redemptions": redemptions.height,
        "redemptions with a known resolution": checked,
        "redemptions reconciled, share": int(redemptions["reconciles"].sum()) / checked if checked else None,
    }
    return [{"name": name, "value": value, "paper": PAPER.get(name)} for name, value in values.items()]


def refusals(*, markets: pl.DataFrame, wallets: pl.DataFrame) -> dict[str, str]:
    """What a release cannot support, by name, with the reason and the remedy: `instances`, `retrieval`, `questions`."""
    found = {}
    cohort = wallets["cohort"].cast(pl.String)
    if not (cohort == "evaluation").any():
        found["instances"] = (
            "no wallet passed every filter, so there is nothing to ask; see the funnel, and loosen a threshold or "
            "bring more of the chain"
        )
    elif not (cohort == "support").any():
        found["retrieval"] = "no wallet is left for support, so retrieval shows nothing; bring more of the chain"
    if markets["question"].null_count() == markets.height:
        found["questions"] = (
            "no market is described: contexts name outcomes by number alone; add a drop of gamma_markets"
        )
    return found


def card(
    *,
    name: str,
    settings: OnchainSettings,
    statistics: Sequence[Mapping[str, Any]],
    funnel: pl.DataFrame,
    logs: pl.DataFrame,
    refusals: Mapping[str, str],
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """The release card: settings with origin, statistics beside the paper's, filters, where every log went, facts."""
    return {
        "release": name,
        "track": "onchain",
        "settings": settings_stated(settings),
        "statistics": [dict(row) for row in statistics],
        "funnel": funnel.to_dicts(),
        "logs": logs.to_dicts(),
        "facts": list(FACTS),
        "refusals": dict(refusals),
        "warnings": list(warnings),
    }
