"""When things happen: spread over a stretch of time, in the waking hours where the stretch has any (ours)."""

from datetime import datetime, timedelta

from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

_DAY = 86_400
_WHOLE_DAY = timedelta(days=1)


def seconds_of(clock: str) -> int:
    """`HH:MM` as seconds of the day."""
    return int(clock[:2]) * 3600 + int(clock[3:5]) * 60


def waking(persona: Persona) -> tuple[int, int]:
    """First and last second of a user's day; one who goes to bed after midnight is up until it."""
    up, down = seconds_of(persona.facts.get("wake", "07:00")), seconds_of(persona.facts.get("sleep", "23:00"))
    return up, down if down > up else _DAY - 1


def spread(place: Place, count: int, begins: datetime, ends: datetime, awake: tuple[int, int]) -> list[datetime]:
    """`count` moments in order, begins ≤ t < ends, one in each of as many equal parts, by day where a part has one.

    Raises `ValueError` where the stretch is shorter than a second for each.
    """
    seconds = int((ends - begins).total_seconds())
    if seconds < count:
        raise ValueError(f"{count} moments do not fit between {begins} and {ends}")
    found = []
    for n in range(count):
        low, high = seconds * n // count, seconds * (n + 1) // count
        draw = place.bits(("moment", n))
        moment = begins + timedelta(seconds=low + (draw >> 32) % (high - low))
        by_day = moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(
            seconds=awake[0] + (draw & 0xFFFFFFFF) % (awake[1] - awake[0])
        )
        tries = (by_day, by_day + _WHOLE_DAY, by_day - _WHOLE_DAY)
        found.append(next((one for one in tries if begins <= one < ends), moment))
    return sorted(found)
