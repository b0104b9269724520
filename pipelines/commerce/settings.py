"""Every threshold of the commerce track: default, unit, origin.

These models are the Dagster run configuration, the YAML configuration and the
table in the documentation. Origin is `paper §…` (arXiv:2610.34790) or `ours`.
"""

from pydantic import BaseModel, ConfigDict

from pipelines.thresholds import setting


class CommerceSettings(BaseModel):
    """Thresholds of visits, batches, labels, pools; part of every commerce content hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    visit_gap_minutes: int = setting(
        30,
        "largest gap between consecutive events of one visit (inclusive, from the last event)",
        unit="min",
        origin="paper §A.1.1",
        ge=1,
    )
    batch_visits: int = setting(
        50, "visits that make a batch eligible to close", unit="visits", origin="paper §A.1.1", ge=1
    )
    batch_days: int = setting(
        120,
        "days since the first visit's start that make a batch eligible, read at the next visit's start, inclusive",
        unit="days",
        origin="paper §A.1.1; reading ours",
        ge=1,
    )
    batch_gap_minutes: int = setting(
        15,
        "an eligible batch closes before a visit that starts more than this after the last visit's end",
        unit="min",
        origin="paper §A.1.1",
        ge=0,
    )
    cohort_visits: int = setting(50, "valid visits a user needs", unit="visits", origin="paper §A.1.1", ge=1)
    deep_browse_events: int = setting(
        3, "browse events in a visit that make it a deep browse", unit="events", origin="ours", ge=1
    )
    deep_browse_seconds: int = setting(
        60, "dwell or span of a visit that makes it a deep browse", unit="s", origin="ours", ge=1
    )
    deep_browse_visits: int = setting(
        2, "visits to an item in the batch that make each a deep browse", unit="visits", origin="ours", ge=2
    )
    familiar_visits: int = setting(
        5, "visits in a domain that make its unseen categories familiar", unit="visits", origin="ours", ge=1
    )
    connected_domains: int = setting(
        10, "domains of highest positive PMI that count as connected", unit="domains", origin="ours", ge=0
    )
    max_positives: int = setting(10, "positives kept in one pool", unit="categories", origin="ours", ge=1)
    distractors_per_positive: int = setting(
        3, "distractors wanted for each positive", unit="categories", origin="paper §3.3", ge=1
    )
    seed: int = setting(20261, "seed of every draw and order of the release", unit="", origin="ours", ge=0)
