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
BETTER = 1.3
"""So many times as many logs all apps together must have at a time, to be one routine rather than one of an app."""
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


@dataclass(frozen=True)
class Calendar:
    """Places of consecutive days in their months."""

    of_month: Ints
    """Day of the month."""
    nth_weekday: Ints
    """7 · week of the month (from 1) + weekday."""


def _calendar(first: int, last: int) -> Calendar:
    dates = [_EPOCH + timedelta(days=day) for day in range(first, last + 1)]
    return Calendar(
        np.array([one.day for one in dates]),
        np.array([7 * ((one.day - 1) // 7 + 1) + one.weekday() for one in dates]),
    )


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
    calendar = _calendar(int(day.min()), int(day.max()))
    found: list[Routine] = []
    for name in (*sorted(set(app.tolist())), ANY_APP):
        mine = np.ones(len(app), dtype=bool) if name == ANY_APP else app == name
        found += _of_app(day[mine], minute[mine], position[mine], calendar, int(day.min()), int(day.max()), name, rules)
    return _distinct(found, rules)


def _of_app(
    day: Ints,
    minute: Ints,
    position: Ints,
    calendar: Calendar,
    first: int,
    last: int,
    app: str,
    rules: RoutineSettings,
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
        if (hypothesis := _schedule(seen, first, last, calendar, rules)) is None:
            continue
        schedule, days, kept = hypothesis
        own = near & np.isin(day, days)
        taken |= own
        yield Routine(schedule, int(np.median(minute[own])), app, kept, tuple(int(one) for one in position[own]))


def _schedule(
    seen: Ints, first: int, last: int, calendar: Calendar, rules: RoutineSettings
) -> tuple[dict[str, Any], Ints, float] | None:
    recent = np.arange(max(first, last - 7 * rules.weeks + 1), last + 1)
    lately = np.intersect1d(seen, recent)
    return (
        _weekly(lately, recent, rules)
        or _biweekly(lately, recent, rules)
        or _monthly(seen, first, last, calendar, rules)
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
    """`seen` are some of `days`."""
    codes = _fortnight(seen)
    due, hits = np.bincount(_fortnight(days), minlength=14), np.bincount(codes, minlength=14)
    best: tuple[dict[str, Any], Ints, float] | None = None
    for code in range(14):
        between = code ^ 1
        if hits[code] < max(rules.days, rules.kept * due[code]) or hits[between] > rules.other_week * due[between]:
            continue
        if best is None or hits[code] > len(best[1]):
            own = seen[codes == code]
            start = (_EPOCH + timedelta(days=int(own[0]))).isoformat()
            schedule = {"frequency_type": "biweekly", "days_of_week": [code // 2], "start_date": start}
            best = schedule, own, float(hits[code] / due[code])
    return best


def _fortnight(days: Ints) -> Ints:
    """2 · weekday + whether the week is an odd one."""
    out: Ints = 2 * _weekday(days) + ((days + 3) // 7) % 2
    return out


def _monthly(
    seen: Ints, first: int, last: int, calendar: Calendar, rules: RoutineSettings
) -> tuple[dict[str, Any], Ints, float] | None:
    begin = max(first, last - 31 * rules.months + 1)
    lately = seen[seen >= begin]
    best: tuple[dict[str, Any], Ints, float] | None = None
    for kind, codes in (("monthly_by_date", calendar.of_month), ("monthly_nth_weekday", calendar.nth_weekday)):
        n = int(codes.max()) + 1
        due = np.bincount(codes[begin - first :], minlength=n)
        hits = np.bincount(codes[lately - first], minlength=n)
        # Most of the logs at this time must be the routine's: a weekly one meets every date as well.
        regular = (hits >= rules.days) & (hits >= rules.kept * due) & (2 * hits >= len(lately))
        for code in np.flatnonzero(regular):
            days = first + np.flatnonzero(codes == code)
            own = lately[codes[lately - first] == code]
            # Missed twice in a row at the end, it is over.
            if own[-1] < days[-2:][0] or (best is not None and len(own) <= len(best[1])):
                continue
            named = {"days_of_month": [int(code)]} if kind == "monthly_by_date" else {
                "week_of_month": int(code) // 7, "day_of_week": int(code) % 7}  # fmt: skip
            best = {"frequency_type": kind, **named}, own, float(hits[code] / due[code])
    return best


def _distinct(found: list[Routine], rules: RoutineSettings) -> list[Routine]:
    def near(one: Routine, other: Routine) -> bool:
        return abs(other.minute - one.minute) <= 2 * rules.minutes

    def size(one: Routine) -> float:
        return len(one.positions) * (1 if one.app == ANY_APP else BETTER)

    kept: list[Routine] = []
    # What all apps together keep clearly better than one app alone is one routine, now in this app and now in that.
    for one in sorted(
        found, key=lambda one: (-len(one.positions) * (1 if one.app == ANY_APP else BETTER), one.minute, one.app)
    ):
        mine = set(one.positions)
        known = set().union(*(other.positions for other in kept if near(one, other)))
        if 2 * len(mine & known) < len(mine):
            kept.append(one)
    return sorted(kept, key=lambda one: (-len(one.positions), one.minute, one.app))
