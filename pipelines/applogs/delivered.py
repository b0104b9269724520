"""What a memory delivered, read back: lines that hold a log are logs again, all others are words (ours)."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import polars as pl

from pipelines.applogs.app_logs import BODIES, TEXTS
from pipelines.applogs.clock import wall_clock
from pipelines.applogs.json_text import JsonObject, dump, strict
from pipelines.applogs.objects import acted_on

_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


@lru_cache(maxsize=1 << 13)
def log_of(line: str) -> JsonObject | None:
    """The log whose JSON ends the line (a time or a bullet may stand before it), with the columns of `app_logs`.

    None where there is none; without `user_id` and `position`, which a line does not tell. Not to be changed by the
    caller. Cached: the same logs are delivered for one question after another.
    """
    start = line.find("{")
    if start < 0:
        return None
    try:
        value = strict(line[start:])
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in TEXTS):
        return None
    if not all(isinstance(value.get(name, {}), dict) for name in BODIES):
        return None
    if (moment := _moment(value["timestamp"])) is None:
        return None
    return {
        "app_log_id": value["app_log_id"],
        "time": moment,
        "app": value["app_name"],
        "api": value["api_name"],
        "object": acted_on(value),
        "record": dump(value),
    }


def logs_of(text: str) -> list[JsonObject]:
    """The logs in a text, each once, in its order."""
    found: dict[str, JsonObject] = {}
    for line in text.split("\n"):
        if (log := log_of(line)) is not None:
            found.setdefault(log["app_log_id"], log)
    return list(found.values())


def in_order(logs: list[JsonObject]) -> list[JsonObject]:
    """Delivered logs in the order of time and id, with the `position` that they have among themselves."""
    ordered = sorted(logs, key=lambda log: (log["time"], log["app_log_id"]))
    return [{**log, "position": place} for place, log in enumerate(ordered)]


def other_lines(text: str) -> list[str]:
    """The lines of a text that hold no log and at least one letter, in its order."""
    return [line for line in text.split("\n") if any(map(str.isalpha, line)) and log_of(line) is None]


def _moment(text: str) -> Any:
    if _PLAIN.fullmatch(text):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:
            return None
    return wall_clock(pl.Series("time", [text]))[0]
