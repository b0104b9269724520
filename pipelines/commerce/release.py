"""The commerce release: what names it and what its card says."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipelines import release
from pipelines.commerce.settings import CommerceSettings
from pipelines.thresholds import settings_stated

HASHED = ("visits", "batches", "transitions", "pools", "positives", "pool_gold")
"""Tables whose logical hashes name a release; the last two are gold."""

FACTS = (
    "Cohort membership uses the whole log: a user is in when it has enough valid visits, future ones included.",
    "The taxonomy is a frozen vocabulary of the whole log: it says which categories exist, not who visited them.",
    "Connected domains and popularity of a quarter use visits of all users that ended before the quarter starts.",
    "The last batch of a user is a target although nothing closed it; the transition says so.",
)
"""What a reader of results must know about the construction, whatever the log."""


def content_hash(tables: Mapping[str, str], settings: CommerceSettings) -> str:
    """Content hash of a commerce release from the logical hashes of its tables; `ValueError` when one is missing."""
    return release.content_hash("commerce", settings, tables, HASHED)


def manifest(tables: Mapping[str, release.TableEntry], settings: CommerceSettings) -> dict[str, Any]:
    """`manifest.json` of a commerce release."""
    return release.manifest("commerce", settings, tables, HASHED)


def refusals(*, l1: bool, l2: bool, clock: str, resolution: str) -> dict[str, str]:
    """What a log cannot support, by name, with the reason and the remedy.

    `l1`, `l2`: the log names that category level. `clock`: real | synthetic.
    `resolution`: second | minute | hour | day. Names: `labels` (no pool can be
    asked), `infer` (that pool is empty), `cross_user_tables` (connected domains and
    popularity are off), `gap_rules` (a warning: gaps below the resolution are
    undecidable).
    """
    found = {}
    if not l2:
        found["labels"] = (
            "the log has no level-2 category: visits and batches are built, labels and pools are refused; "
            "declare the category column (`l2`) in the mapping"
        )
    if not l1:
        found["infer"] = (
            "the log has no level-1 category: an unseen category has no domain, so only seen ones can be asked "
            "and every infer pool is empty; declare the domain column (`l1`) in the mapping"
        )
    if clock != "real":
        found["cross_user_tables"] = (
            "the log's clock is synthetic: users cannot be compared in time, so connected domains and popularity "
            "are off and no category is `new`"
        )
    if resolution in ("hour", "day"):
        found["gap_rules"] = f"times are whole {resolution}s: the 30 and 15 minute rules are undecidable"
    return found


def warnings(pool_counts: pl.LazyFrame) -> list[str]:
    """What is odd about a release, in words: pools that are asked and hold nothing but what is right."""
    asked = pl.col("n_positives") > 0
    alone = asked & (pl.col("n_matched") + pl.col("n_history") + pl.col("n_random") == 0)
    counts = pool_counts.group_by("pool").agg(asked.sum().alias("asked"), alone.sum().alias("alone")).sort("pool")
    return [
        f"{alone} of {asked} {pool} pools have no distractor: whatever is chosen there is right, and chance is 1; "
        "a log with few level-2 categories has none to draw from"
        for pool, asked, alone in counts.collect().iter_rows()
        if alone
    ]


def card(
    *,
    name: str,
    settings: CommerceSettings,
    statistics: Sequence[Mapping[str, Any]],
    funnel: pl.DataFrame,
    refusals: Mapping[str, str],
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """The release card: settings with origin, statistics beside the paper's, funnel, facts, refusals, warnings.

    `statistics` are the rows of `statistics.statistics`, `refusals` those of `refusals`.
    """
    return {
        "release": name,
        "track": "commerce",
        "settings": settings_stated(settings),
        "statistics": [dict(row) for row in statistics],
        "funnel": funnel.to_dicts(),
        "facts": list(FACTS),
        "refusals": dict(refusals),
        "warnings": list(warnings),
    }
