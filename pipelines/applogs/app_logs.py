"""Table `app_logs`: the one reader of what a memory may know, a whitelist of six fields (reference 1.2)."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from unicodedata import normalize

import polars as pl

from pipelines.applogs.clock import wall_clock
from pipelines.applogs.json_text import dump, load
from pipelines.applogs.objects import acted_on
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.commerce.reading import SourceError

TEXTS = ("app_log_id", "timestamp", "app_name", "api_name")
BODIES = ("request", "response")
FIELDS = (*TEXTS, *BODIES)
"""All that a log may hold; the bodies may be absent."""
HEAD = ("app_logs", "user_id")
"""All that an object around the logs may hold."""
GOLD_NAMES = frozenset({"goldenevidence", "goldenevidenceindex", "atomiceventid"})
"""Names of the generator's own records, `folded`, refused at any depth.

Its others (`event_id`, `metadata`, `domain`) may be an app's own.
"""
GENERATED = frozenset({"userintent", "windowid", "chainid", "llmusage"})
"""Names in the record that the generator keeps of each event, `folded`: one may be an app's own, two are the record."""
_PARTING = re.compile(r"[\W_]+")
_LEAK = "Give the input view (app_log_large.json), not the generator's own file"


def read_app_logs(data: bytes, file: str, user_id: str) -> pl.DataFrame:
    """Table `app_logs` of one user from the bytes of `file`: a list of logs, or an object with `app_logs`.

    Raises `SourceError` naming the log (index from 0) and the field: for anything beside the six fields (what
    leaked), an id that is no text or stands twice, a time that cannot be read, a body that is no object.
    """
    logs = _logs(load(data, file), file, user_id)
    for index, log in enumerate(logs):
        _check(log, index, file)
    frame = pl.DataFrame(
        {
            "app_log_id": [log["app_log_id"] for log in logs],
            "timestamp": [log["timestamp"] for log in logs],
            "app": [log["app_name"] for log in logs],
            "api": [log["api_name"] for log in logs],
            "object": [acted_on(log) for log in logs],
            "record": [dump(log) for log in logs],
        }
    ).with_columns(pl.lit(user_id).alias("user_id"))
    timed = frame.with_columns(wall_clock(frame["timestamp"]).alias("time")).with_row_index("index")
    _refuse_rows(timed.filter(pl.col("time").is_null()), "timestamp", file, "cannot be read as a time")
    _refuse_rows(timed.filter(~pl.col("app_log_id").is_first_distinct()), "app_log_id", file, "stands twice")
    ordered = timed.sort("time", "app_log_id").with_row_index("position")
    schema = APPLOG_TABLES["app_logs"].schema
    return ordered.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _logs(value: Any, file: str, user_id: str) -> list[Any]:
    if isinstance(value, dict):
        if leaked := sorted(value.keys() - set(HEAD)):
            raise SourceError(file, None, f"the file's head holds {', '.join(map(repr, leaked))}", _LEAK)
        if value.get("user_id", user_id) != user_id:
            raise SourceError(
                file, None, f"user_id is {value['user_id']!r}, not {user_id!r}", "Put each user's files together"
            )
        value = value.get("app_logs")
    if not isinstance(value, list):
        raise SourceError(file, None, "no list of logs", "Give a list of logs, or an object with `app_logs`")
    if not value:
        raise SourceError(file, None, "the list of logs is empty", "Send the whole file, or leave the user out")
    return value


def _check(log: Any, index: int, file: str) -> None:
    def refuse(field: str, what: str, remedy: str) -> None:
        place = f"app_logs[{index}]{field and '.'}{field}"
        raise SourceError(file, None, f"{place} {what}", remedy)

    if not isinstance(log, dict):
        refuse("", "is no object", "Give one JSON object a log")
    for field in log:
        if field not in FIELDS:
            refuse(field, f"is none of the six fields of a log ({', '.join(FIELDS)})", _LEAK)
    for field in TEXTS:
        if not isinstance(log.get(field), str) or not log[field].strip():
            refuse(field, "is no text" if field in log else "is absent", "Give every log its id, time, app and API")
    for field in BODIES:
        if not isinstance(log.get(field, {}), dict):
            refuse(field, "is no object", "Give an object, {} when there is nothing")
        for path in gold_names(log.get(field, {}), field):
            refuse(path, "is a record of the generator", _LEAK)


def gold_names(value: Any, path: str) -> Iterator[str]:
    """Paths in a body at which a record of the generator stands, however its name is written."""
    if isinstance(value, dict):
        if len(GENERATED.intersection(map(folded, value))) > 1:
            yield path
        for name, inner in value.items():
            if folded(name) in GOLD_NAMES:
                yield f"{path}.{name}"
            yield from gold_names(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from gold_names(inner, f"{path}[{place}]")


@lru_cache(maxsize=1 << 14)
def folded(name: str) -> str:
    """A name without letter case, width and what parts its words, so that `Golden-Evidence` is `goldenEvidence`."""
    return _PARTING.sub("", normalize("NFKC", name).casefold())


def _refuse_rows(rows: pl.DataFrame, field: str, file: str, what: str) -> None:
    if rows.height:
        first = rows.row(0, named=True)
        more = f" (and {rows.height - 1} more)" if rows.height > 1 else ""
        place = f"app_logs[{first['index']}].{field}"
        raise SourceError(
            file, None, f"{place} {first[field]!r} {what}{more}", "Correct the log, or leave it out of the file"
        )
