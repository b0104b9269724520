"""Routines found from when logs recur, whatever they say (ours; reference 6.1: the strongest sign of a habit).

For every time of day at which logs begin on several days, four hypotheses are tried in
order, weekly (or daily), every other week, days of the month, n-th weekday of the
month; the first whose days are mostly kept is the routine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

Ints = npt.NDArray[np.int64]
ANY_APP = ""
_EPOCH = date(1970, 1, 1)


class RoutineSettings(BaseModel):
    """Thresholds of the detector."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    minutes: int = Field(default=10, ge=0, description="logs so near to each other begin together; min (ours)")
    weeks: int = Field(default=8, ge=2, description="how far back weekly routines are looked for; weeks (ours)")
    months: int = Field(default=6, ge=2, description="how far back monthly routines are looked for; months (ours)")
    kept: float = Field(default=0.6, gt=0, le=1, description="share of its days on which a routine is seen (ours)")
    other_week: float = Field(default=0.25, ge=0, le=1, description="most of it on the weeks between; share (ours)")
    days: int = Field(default=3, ge=2, description="days on which a routine must be seen; days (ours)")


@dataclass(frozen=True)
class Routine:
    """A schedule that logs keep."""

    schedule: dict[str, Any]
    """As in a habit's value (reference 1.4)."""
    minute: int
    """Minute of the day at which it begins: the median of its logs."""
    app: str
    """App whose logs keep it; empty when only all apps together do."""
    kept: float
    """Share of its days on which it was seen."""
    positions: tuple[int, ...]
    """Its logs, by position."""

    @property
    def start_time(self) -> str:
        """`HH:MM`."""
        return f"{self.minute // 60:02}:{self.minute % 60:02}"


def routines(logs: pl.DataFrame, settings: RoutineSettings | None = None) -> list[Routine]:
    """Routines in some logs of one user (rows of `app_logs`, all that is visible), the most often seen first.

    The last log is now. Each app is looked at by itself, then all together; what is found again is left out.
    """
    rules = settings or RoutineSettings()
    if logs.is_empty():
        return []
    ordered = logs.sort("position")
    day = (ordered["time"].dt.date() - _EPOCH).dt.total_days().to_numpy().astype(np.int64)
    minute = (ordered["time"].dt.hour().cast(pl.Int64) * 60 + ordered["time"].dt.minute().cast(pl.Int64)).to_numpy()
    position, app = ordered["position"].cast(pl.Int64).to_numpy(), ordered["app"].to_numpy()
    found: list[Routine] = []
    for name in (*sorted(set(app.tolist())), ANY_APP):
        mine = np.ones(len(app), dtype=bool) if name == ANY_APP else app == name
        found += _of_app(day[mine], minute[mine], position[mine], int(day.min()), int(day.max()), name, rules)
    return _distinct(found, rules)


def _of_app(
    day: Ints, minute: Ints, position: Ints, first: int, last: int, app: str, rules: RoutineSettings
) -> Iterator[Routine]:
    times, counts = np.unique(minute, return_counts=True)
    taken = np.zeros(len(minute), dtype=bool)
    # Times with most logs around them first, so that a routine is not split by a few late starts.
    around = [int(counts[np.abs(times - time) <= rules.minutes].sum()) for time in times]
    for place in np.lexsort((times, -counts, -np.array(around))):
        near = (np.abs(minute - times[place]) <= rules.minutes) & ~taken
        seen = np.unique(day[near])
        if len(seen) < rules.days:
            continue
        if (hypothesis := _schedule(seen, first, last, rules)) is None:
            continue
        schedule, days, kept = hypothesis
        own = near & np.isin(day, days)
        taken |= own
        yield Routine(schedule, int(np.median(minute[own])), app, kept, tuple(int(one) for one in position[own]))


def _schedule(seen: Ints, first: int, last: int, rules: RoutineSettings) -> tuple[dict[str, Any], Ints, float] | None:
    recent = np.arange(max(first, last - 7 * rules.weeks + 1), last + 1)
    lately = np.intersect1d(seen, recent)
    return (
        _weekly(lately, recent, rules)
        or _biweekly(lately, recent, rules)
        or _monthly(seen, np.arange(max(first, last - 31 * rules.months + 1), last + 1), rules)
    )


def _weekday(days: Ints) -> Ints:
    # The epoch was a Thursday.
    out: Ints = (days + 3) % 7
    return out


def _weekly(seen: Ints, days: Ints, rules: RoutineSettings) -> tuple[dict[str, Any], Ints, float] | None:
    of_day = np.bincount(_weekday(days), minlength=7)
    hits = np.bincount(_weekday(seen), minlength=7)
    regular = np.flatnonzero((hits >= rules.days) & (hits >= rules.kept * of_day))
    if not len(regular):
        return None
    kept = float(hits[regular].sum() / of_day[regular].sum())
    own = seen[np.isin(_weekday(seen), regular)]
    if len(regular) == 7:
        return {"frequency_type": "daily"}, own, kept
    return {"frequency_type": "weekly", "days_of_week": regular.tolist()}, own, kept


def _biweekly(seen: Ints, days: Ints, rules: RoutineSettings) -> tuple[dict[str, Any], Ints, float] | None:
    best: tuple[dict[str, Any], Ints, float] | None = None
    for weekday in range(7):
        for parity in (0, 1):
            even, odd = (_of_parity(days, weekday, one) for one in (parity, 1 - parity))
            own, between = np.intersect1d(seen, even), np.intersect1d(seen, odd)
            if len(own) < rules.days or len(own) < rules.kept * len(even) or len(between) > rules.other_week * len(odd):
                continue
            if best is None or len(own) > len(best[1]):
                start = (_EPOCH + timedelta(days=int(own[0]))).isoformat()
                schedule = {"frequency_type": "biweekly", "days_of_week": [weekday], "start_date": start}
                best = schedule, own, len(own) / len(even)
    return best


def _of_parity(days: Ints, weekday: int, parity: int) -> Ints:
    out: Ints = days[(_weekday(days) == weekday) & (((days + 3) // 7) % 2 == parity)]
    return out


def _monthly(seen: Ints, days: Ints, rules: RoutineSettings) -> tuple[dict[str, Any], Ints, float] | None:
    dates = [_EPOCH + timedelta(days=int(one)) for one in days]
    held = set(seen.tolist())
    found: list[tuple[int, int, dict[str, Any], Ints, float]] = []
    keys: dict[str, list[tuple[int, ...]]] = {
        "monthly_by_date": [(one.day,) for one in dates],
        "monthly_nth_weekday": [((one.day - 1) // 7 + 1, one.weekday()) for one in dates],
    }
    for rank, (kind, places) in enumerate(keys.items()):
        for key in sorted(set(places)):
            due = np.array([one for one, place in zip(days.tolist(), places, strict=True) if place == key])
            own = np.array([one for one in due.tolist() if one in held], dtype=np.int64)
            if len(own) < rules.days or len(own) < rules.kept * len(due):
                continue
            named: dict[str, Any] = (
                {"days_of_month": [key[0]]} if rank == 0 else {"week_of_month": key[0], "day_of_week": key[1]}
            )
            found.append((-len(own), rank, {"frequency_type": kind, **named}, own, len(own) / len(due)))
    if not found:
        return None
    _, _, schedule, own, kept = min(found, key=lambda one: (one[0], one[1], str(one[2])))
    return schedule, own, kept


def _distinct(found: list[Routine], rules: RoutineSettings) -> list[Routine]:
    kept: list[Routine] = []
    for one in sorted(found, key=lambda one: (one.app == ANY_APP, -len(one.positions), one.minute, one.app)):
        mine = set(one.positions)
        # All apps together say something new only where most of their logs keep no app's own routine.
        known = set().union(*(other.positions for other in kept if abs(other.minute - one.minute) <= 2 * rules.minutes))
        if one.app != ANY_APP or 2 * len(mine & known) < len(mine):
            kept.append(one)
    return sorted(kept, key=lambda one: (-len(one.positions), one.minute, one.app))
