"""Every table of the commerce track once: column, type, unit, meaning."""

import polars as pl

from pipelines.tables import TIME, Column, Table

ACTIONS = ("click", "browse", "favourite", "cart", "purchase", "cancel", "refund")
ACTION = pl.Enum(ACTIONS)
POOLS = ("remember", "infer")
POOL = pl.Enum(POOLS)
FAMILIARITIES = ("seen", "familiar", "related", "new", "unconnected")
FAMILIARITY = pl.Enum(FAMILIARITIES)
ROLES = ("positive", "matched", "history", "random")
ROLE = pl.Enum(ROLES)

_USER = Column(pl.String, "user, text exactly as in the log")
_TRANSITION = Column(pl.Int32, "transition t, from 0: batches ≤ t are history, batch t+1 the outcome")
_POOL = Column(POOL, "remember | infer")
_L1 = Column(pl.String, "domain key (level 1, normalised)", nullable=True)
_L2 = Column(pl.String, "category key (level 2, normalised)", nullable=True)
_QUARTER = Column(TIME, "start of the calendar quarter (UTC) whose frozen table applies")


def _count(what: str) -> Column:
    return Column(pl.Int32, f"number of {what} events in the visit", "events")


COMMERCE_TABLES: dict[str, Table] = {
    "events": Table(
        "One row an accepted log row, in one vocabulary for every source.",
        {
            "user_id": _USER,
            "time": Column(TIME, "instant of the event", "µs UTC"),
            "action": Column(ACTION, "what the user did"),
            "item_id": Column(pl.String, "item, text exactly as in the log"),
            "l1": _L1,
            "l2": _L2,
            "l1_name": Column(pl.String, "level 1 as written in the log", nullable=True),
            "l2_name": Column(pl.String, "level 2 as written in the log", nullable=True),
            "brand": Column(pl.String, "brand as written in the log", nullable=True),
            "price": Column(pl.Int64, "price of one unit", "millionths of the log's currency", nullable=True),
            "quantity": Column(pl.Int64, "units bought", nullable=True),
            "dwell_ms": Column(pl.Int64, "time spent, where the log records it", "ms", nullable=True),
            "session_id": Column(
                pl.String, "session, basket or order of the log; never used as a visit", nullable=True
            ),
            "bucket": Column(pl.UInt8, "user-hash bucket, 0–255; shard = bucket mod N"),
        },
        key=(),
        order=(
            "bucket",
            "user_id",
            "time",
            "action",
            "item_id",
            "l1",
            "l2",
            "l1_name",
            "l2_name",
            "brand",
            "price",
            "quantity",
            "dwell_ms",
            "session_id",
        ),
        may_be_empty="a drop may hold rejects only",
    ),
    "rejects": Table(
        "One row a log row that could not become an event.",
        {
            "file": Column(pl.String, "file name inside the drop"),
            "line": Column(pl.Int64, "line (text) or row (Parquet) in the file, from 1", nullable=True),
            "reason": Column(pl.String, "why it was refused"),
            "raw": Column(pl.String, "the row as read, cut at 500 characters", nullable=True),
        },
        key=("file", "line", "reason", "raw"),
        may_be_empty="a clean drop has none",
    ),
    "visits": Table(
        "Consecutive events of a user on one item, at most 30 minutes apart (paper A.1.1).",
        {
            "user_id": _USER,
            "visit_index": Column(pl.Int32, "position in the user's stream, from 0"),
            "start": Column(TIME, "time of the first event", "µs UTC"),
            "end": Column(TIME, "time of the last event", "µs UTC"),
            "item_id": Column(pl.String, "the item"),
            "l1": _L1,
            "l2": _L2,
            "brand": Column(pl.String, "brand of the first event that names one", nullable=True),
            "n_click": _count("click"),
            "n_browse": _count("browse"),
            "n_favourite": _count("favourite"),
            "n_cart": _count("cart"),
            "n_purchase": _count("purchase"),
            "dwell_seconds": Column(pl.Int64, "sum of recorded dwell, whole seconds", "s", nullable=True),
        },
        key=("user_id", "visit_index"),
        may_be_empty="a shard may hold no user",
    ),
    "batches": Table(
        "Consecutive visits of a user, closed at a natural pause (paper A.1.1).",
        {
            "user_id": _USER,
            "batch_index": Column(pl.Int32, "position in the user's stream, from 0"),
            "start": Column(TIME, "start of the first visit", "µs UTC"),
            "end": Column(TIME, "end of the last visit", "µs UTC"),
            "first_visit": Column(pl.Int32, "visit_index of the first of its n_visits consecutive visits"),
            "n_visits": Column(pl.Int32, "visits in the batch", "visits"),
            "closed": Column(pl.Boolean, "false for the last batch when nothing closed it; never shown to a method"),
        },
        key=("user_id", "batch_index"),
        may_be_empty="a shard may hold no user",
    ),
    "cohort": Table(
        "One row a user, with the reason when it is not in the benchmark (paper A.1.1: ≥ 50 valid visits).",
        {
            "user_id": _USER,
            "n_events": Column(pl.Int32, "events after duplicates, cancel and refund included", "events"),
            "n_visits": Column(pl.Int32, "visits", "visits"),
            "n_valid_visits": Column(pl.Int32, "visits with a category", "visits"),
            "n_batches": Column(pl.Int32, "batches", "batches"),
            "reason": Column(pl.String, "empty when kept, else why not"),
        },
        key=("user_id",),
        may_be_empty="a shard may hold no user",
    ),
    "transitions": Table(
        "History → outcome, one row a pair of consecutive batches of a cohort user (paper §3.2).",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "history_end": Column(TIME, "end of batch t", "µs UTC"),
            "target_start": Column(TIME, "start of batch t+1", "µs UTC"),
            "target_end": Column(TIME, "end of batch t+1", "µs UTC"),
            "target_closed": Column(pl.Boolean, "whether batch t+1 was closed"),
            "quarter": _QUARTER,
        },
        key=("user_id", "transition_index"),
        may_be_empty="a shard may hold no user with two batches",
    ),
    "positives": Table(
        "Categories of batch t+1 with a strong signal (paper §3.3), their familiarity at t and pool.",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "l1": _L1,
            "l2": Column(pl.String, "category key (level 2, normalised)"),
            "favourite": Column(pl.Boolean, "a favourite was seen"),
            "cart": Column(pl.Boolean, "a cart was seen"),
            "purchase": Column(pl.Boolean, "a purchase was seen"),
            "deep_browse": Column(pl.Boolean, "a deep browse was seen"),
            "familiarity": Column(FAMILIARITY, "seen | familiar | related | new | unconnected, from batches ≤ t"),
            "pool": Column(POOL, "pool that asks for it; null when unconnected or not askable", nullable=True),
            "kept": Column(pl.Boolean, "false when cut by the limit per pool or in no pool"),
        },
        key=("user_id", "transition_index", "l1", "l2"),
        wall="gold",
        may_be_empty="a shard may hold no positive",
    ),
    "domains": Table(
        "Which domains are connected, frozen per calendar quarter from visits that ended before it (ours).",
        {
            "quarter": _QUARTER,
            "l1": Column(pl.String, "a domain"),
            "connected_l1": Column(pl.String, "a domain connected to it"),
            "rank": Column(pl.Int32, "1 = highest PMI among those of l1"),
            "n_l1": Column(pl.Int64, "user-batches that visited l1"),
            "n_connected": Column(pl.Int64, "user-batches that visited connected_l1"),
            "n_both": Column(pl.Int64, "user-batches that visited both"),
            "n_units": Column(pl.Int64, "user-batches in all"),
        },
        key=("quarter", "l1", "connected_l1"),
        order=("quarter", "l1", "rank"),
        may_be_empty="the first quarter has no past; a log without level 1 has no domains",
    ),
    "category_names": Table(
        "How categories were written, counted per shard; the taxonomy takes the most frequent form.",
        {
            "l1": _L1,
            "l2": Column(pl.String, "category key (level 2, normalised)"),
            "l1_name": Column(pl.String, "level 1 as written in the log", nullable=True),
            "l2_name": Column(pl.String, "level 2 as written in the log"),
            "n_events": Column(pl.Int64, "events that carry this form", "events"),
        },
        key=("l1", "l2", "l1_name", "l2_name"),
        may_be_empty="a log without categories",
    ),
    "taxonomy": Table(
        "The catalogue of categories of a release and their display names (whole log; a frozen vocabulary).",
        {
            "l1": _L1,
            "l2": Column(pl.String, "category key (level 2, normalised)"),
            "l1_name": Column(pl.String, "most frequent original of level 1", nullable=True),
            "l2_name": Column(pl.String, "most frequent original of level 2"),
        },
        key=("l1", "l2"),
        may_be_empty="a log without categories",
    ),
    "popularity": Table(
        "Visits of all users to a category before a quarter; a scoring-side baseline.",
        {
            "quarter": _QUARTER,
            "l1": _L1,
            "l2": Column(pl.String, "category key (level 2, normalised)"),
            "n_visits": Column(pl.Int64, "visits of all users that ended before the quarter", "visits"),
        },
        key=("quarter", "l1", "l2"),
        wall="gold",
        may_be_empty="the first quarter has no past",
    ),
    "pools": Table(
        "What a reader is shown: candidates in frozen order and how many to choose. Nothing else.",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "pool": _POOL,
            "position": Column(pl.Int32, "place of the candidate, from 0"),
            "l1": _L1,
            "l2": Column(pl.String, "category key (level 2, normalised)"),
            "n_choose": Column(pl.Int32, "how many candidates to choose"),
        },
        key=("user_id", "transition_index", "pool", "position"),
        may_be_empty="a shard may hold no pool",
    ),
    "pool_gold": Table(
        "The role of every candidate of a pool.",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "pool": _POOL,
            "position": Column(pl.Int32, "place of the candidate, from 0"),
            "l1": _L1,
            "l2": Column(pl.String, "category key (level 2, normalised)"),
            "role": Column(ROLE, "positive | matched | history | random (flagged fallback)"),
            "familiarity": Column(FAMILIARITY, "of the candidate, from batches ≤ t"),
        },
        key=("user_id", "transition_index", "pool", "position"),
        wall="gold",
        may_be_empty="a shard may hold no pool",
    ),
    "pool_counts": Table(
        "One row a transition and pool, empty ones included: what was asked, cut and short.",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "pool": _POOL,
            "n_positives": Column(pl.Int32, "positives kept"),
            "n_cut": Column(pl.Int32, "positives cut by the limit"),
            "n_matched": Column(pl.Int32, "matched distractors"),
            "n_history": Column(pl.Int32, "history-conditioned distractors"),
            "n_random": Column(pl.Int32, "random fallback distractors"),
            "n_short": Column(pl.Int32, "distractors wanted and not found"),
        },
        key=("user_id", "transition_index", "pool"),
        wall="gold",
        may_be_empty="a shard may hold no transition",
    ),
    "funnel": Table(
        "What went in, stayed and left at every step, by reason; in = kept + dropped.",
        {
            "place": Column(pl.Int32, "place of the row, from 0: the order of the steps"),
            "step": Column(pl.String, "step of the track"),
            "unit": Column(pl.String, "what is counted"),
            "reason": Column(pl.String, "why units left; empty on the row of those kept"),
            "n": Column(pl.Int64, "how many"),
        },
        key=("step", "unit", "reason"),
        order=("place",),
    ),
}
