"""Schedules of habits: on which days one occurs (reference 1.4; weekdays count from 0 = Monday)."""

from datetime import date, timedelta
from typing import Any

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FREQUENCY_TYPES = ("daily", "weekly", "biweekly", "monthly_by_date", "monthly_nth_weekday")
HORIZON = 400
"""Days that are searched for an occurrence."""


class BadSchedule(ValueError):
    """A schedule of an unknown frequency, or without what its frequency needs."""


def occurs(schedule: dict[str, Any], day: date) -> bool:
    """Whether a schedule has an occurrence on `day`. Raises `BadSchedule`."""
    kind = schedule.get("frequency_type")
    try:
        if kind == "daily":
            return True
        if kind == "weekly":
            return day.weekday() in schedule["days_of_week"]
        if kind == "biweekly":
            start = date.fromisoformat(schedule["start_date"])
            monday = start - timedelta(days=start.weekday())
            weeks = (day - monday).days // 7
            return day >= start and weeks % 2 == 0 and day.weekday() in schedule["days_of_week"]
        if kind == "monthly_by_date":
            return day.day in schedule["days_of_month"]
        if kind == "monthly_nth_weekday":
            week = schedule["week_of_month"]
            nth = (
                (day + timedelta(days=7)).month != day.month if week == "last" else (day.day - 1) // 7 + 1 == int(week)
            )
            return day.weekday() == schedule["day_of_week"] and nth
    except (KeyError, TypeError, ValueError) as error:
        raise BadSchedule(f"a {kind} schedule cannot be read ({error!r}): {schedule}") from None
    raise BadSchedule(f"{kind!r} is no frequency; one of {', '.join(FREQUENCY_TYPES)}")


def next_day(schedule: dict[str, Any], after: date) -> date:
    """The first day after `after` on which it occurs. Raises `BadSchedule` when there is none within `HORIZON` days."""
    days = (after + timedelta(days=n) for n in range(1, HORIZON + 1))
    if (found := next((day for day in days if occurs(schedule, day)), None)) is None:
        raise BadSchedule(f"no occurrence within {HORIZON} days: {schedule}")
    return found
