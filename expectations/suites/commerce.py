"""What the tables of the commerce track promise beyond what the registry says."""

from datetime import UTC, datetime

from expectations.suites.kinds import AtLeast, Between, Expectation, Length, Mean, Unique

_PLAUSIBLE = (datetime(1990, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC))

COMMERCE: dict[str, tuple[Expectation, ...]] = {
    "events": (
        Length("user_id", 1),
        Length("item_id", 1),
        Length("l2", 1),
        Between("dwell_ms", 0),
        Between("price", 0, severity="warning"),
        Between("time", *_PLAUSIBLE, severity="warning"),
    ),
    "rejects": (Length("file", 1), Length("reason", 1), Length("raw", 0, 500), Between("line", 1)),
    "visits": (
        Length("user_id", 1),
        Length("item_id", 1),
        Length("l2", 1),
        AtLeast("end", "start"),
        Between("dwell_seconds", 0),
        Between("start", *_PLAUSIBLE, severity="warning"),
    ),
    "batches": (AtLeast("end", "start"), Between("n_visits", 1), Mean("n_visits", 25, 80)),
    "cohort": (
        AtLeast("n_events", "n_visits"),
        AtLeast("n_visits", "n_valid_visits"),
        AtLeast("n_visits", "n_batches"),
    ),
    "transitions": (
        AtLeast("target_start", "history_end"),
        AtLeast("target_end", "target_start"),
        AtLeast("history_end", "quarter"),
    ),
    "positives": (Length("l2", 1),),
    "domains": (
        Between("rank", 1),
        Between("n_both", 1),
        AtLeast("n_l1", "n_both"),
        AtLeast("n_connected", "n_both"),
        AtLeast("n_units", "n_l1"),
        AtLeast("n_units", "n_connected"),
        Unique(("quarter", "l1", "rank")),
    ),
    "category_names": (Length("l2", 1), Length("l2_name", 1), Between("n_events", 1)),
    "taxonomy": (Length("l2", 1), Length("l2_name", 1)),
    "popularity": (Length("l2", 1), Between("n_visits", 1)),
    "pools": (Between("n_choose", 1), Length("l2", 1), Unique(("user_id", "transition_index", "pool", "l1", "l2"))),
    "pool_gold": (Length("l2", 1), Unique(("user_id", "transition_index", "pool", "l1", "l2"))),
    "pool_counts": (Mean("n_short", 0, 5),),
    "funnel": (Length("step", 1), Length("unit", 1), Between("n", 0), Unique(("place",))),
}
"""By table."""
