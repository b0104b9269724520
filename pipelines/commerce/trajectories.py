"""The whole path from events to strong signals in one pass over ranges of users.

Same rules, same compiled steps as `visits`, `batches`, `cohort`, `transitions` and
`signals` one by one, and the same rows; only that texts stay integers between them.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from pipelines.commerce.batches import BatchArrays, batch_table, close_batches
from pipelines.commerce.codes import Array, EventCodes, event_codes
from pipelines.commerce.cohort import with_reason
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import SCHEMA, find_signals, signal_table
from pipelines.commerce.transitions import transitions
from pipelines.commerce.visits import (
    UserRange,
    VisitArrays,
    count_events,
    merge_range,
    over_ranges,
    user_ranges,
    visit_table,
)
from pipelines.schema import TABLES


@dataclass(frozen=True)
class Trajectories:
    """The tables of a log up to its labels, each in its total order."""

    visits: pl.DataFrame
    batches: pl.DataFrame
    cohort: pl.DataFrame
    transitions: pl.DataFrame
    signals: pl.DataFrame


@dataclass(frozen=True)
class _Part:
    """Tables of one range of users."""

    visits: pl.DataFrame
    batches: pl.DataFrame
    signals: pl.DataFrame
    counts: pl.DataFrame
    contested: bool


def _part(codes: EventCodes, users: UserRange, every: Array, settings: CommerceSettings) -> _Part:
    merged = merge_range(codes, users, settings)
    names = codes.texts["user_id"].slice(users.lo + 1, users.hi - users.lo)
    closed = close_batches(merged.bounds, merged.start, merged.end, settings)
    n_valid = np.diff(np.concatenate([[0], np.cumsum(merged.l2 != 0)])[merged.bounds])
    counts = pl.DataFrame(
        {
            "user_id": names,
            "n_events": every[users.lo : users.hi],
            "n_visits": np.diff(merged.bounds),
            "n_valid_visits": n_valid,
            "n_batches": np.diff(closed.bounds),
        }
    )
    return _Part(
        visit_table(merged, codes.texts),
        batch_table(closed, merged.bounds, names, merged.start, merged.end),
        _signals(merged, closed, n_valid >= settings.cohort_visits, names, codes, settings),
        counts,
        merged.contested,
    )


def _signals(
    visits: VisitArrays,
    batches: BatchArrays,
    kept: Array,
    names: pl.Series,
    codes: EventCodes,
    settings: CommerceSettings,
) -> pl.DataFrame:
    """Signals of every batch but the first of each kept user."""
    per_user = np.diff(batches.bounds)
    user = np.repeat(np.arange(len(per_user)), per_user)
    index = np.arange(len(user)) - batches.bounds[user]
    target = np.flatnonzero(kept[user] & (index > 0))
    found = find_signals(
        batches.first[target],
        batches.end[target],
        item=visits.item,
        l1=visits.l1,
        l2=visits.l2,
        start=visits.start,
        stop=visits.end,
        counts=visits.counts,
        dwell_ms=visits.dwell,
        settings=settings,
    )
    of_signal = target[found.target]
    return signal_table(
        found, names.gather(user[of_signal]), index[of_signal] - 1, codes.texts["l1"], codes.texts["l2"]
    )


def trajectories(events: pl.LazyFrame, settings: CommerceSettings) -> Trajectories:
    """Visits, batches, cohort, transitions and strong signals of a log, in one pass.

    Equal, row for row, to the steps called one after the other. Raises `ValueError` when a
    user, item, time or action is null.
    """
    for with_names in (False, True):
        codes = event_codes(events, with_names=with_names)
        every, counted = count_events(codes)
        parts = list(over_ranges(user_ranges(counted), lambda users: _part(codes, users, every, settings)))  # noqa: B023
        # As in `visits`: the written names order such events, and are read only when there are any.
        if not any(part.contested for part in parts):
            break
    batches = pl.concat([TABLES["batches"].empty(), *(part.batches for part in parts)])
    counts = [part.counts for part in parts]
    cohort = with_reason(pl.concat(counts), settings) if counts else TABLES["cohort"].empty()
    return Trajectories(
        visits=pl.concat([TABLES["visits"].empty(), *(part.visits for part in parts)]),
        batches=batches,
        cohort=cohort,
        transitions=transitions(batches, cohort),
        signals=pl.concat([SCHEMA.to_frame(eager=True), *(part.signals for part in parts)]),
    )
