"""What every row of a table must keep, beyond what its suite can say: native Polars checks.

An invariant takes the frames it needs by table name (the table itself and
companions, whole or of the same shard) and the settings of its track. A check whose companion
was not given is reported as not checked (`info`), never passed over.
"""

from collections.abc import Callable
from typing import Any

from expectations.invariants import asked, boards, calls, catalogue, judging, labels, logs, readings, trajectories
from expectations.invariants.applog_arms import APPLOG_ARMS
from expectations.invariants.applog_boards import APPLOG_BOARDS
from expectations.invariants.applogs import APPLOGS
from expectations.invariants.chain import CHAIN
from expectations.invariants.cohort import COHORT
from expectations.invariants.predictions import PREDICTIONS
from expectations.invariants.rules import Frames
from pipelines.findings import Finding

Invariant = Callable[[Frames, Any], list[Finding]]

INVARIANTS: dict[str, Invariant] = {
    "events": logs.events,
    "rejects": logs.rejects,
    "visits": trajectories.visits,
    "batches": trajectories.batches,
    "cohort": trajectories.cohort,
    "transitions": trajectories.transitions,
    "positives": labels.positives,
    "domains": catalogue.domains,
    "category_names": catalogue.category_names,
    "taxonomy": catalogue.taxonomy,
    "popularity": catalogue.popularity,
    "pools": asked.pools,
    "pool_gold": asked.pool_gold,
    "pool_counts": asked.pool_counts,
    "readouts": readings.readouts,
    "builds": calls.builds,
    "claims": readings.claims,
    "readings": readings.readings,
    "model_calls": calls.model_calls,
    "costs": calls.costs,
    "units": readings.units,
    "leaderboard": boards.leaderboard,
    "differences": boards.differences,
    "positions": boards.positions,
    "verdicts": judging.verdicts,
    "verdict_summary": judging.verdict_summary,
    "funnel": readings.funnel,
    **CHAIN,
    **COHORT,
    **PREDICTIONS,
    **APPLOGS,
    **APPLOG_ARMS,
    **APPLOG_BOARDS,
}
"""The invariants of every table of the registry."""
