"""Gold as JSON lines: rows of `state_intervals`, `state_changes`, `state_evidence`, `state_moments` of one user."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from pipelines.applogs.clock import wall_clock
from pipelines.applogs.json_text import JsonObject, canonical, strict
from pipelines.applogs.state_values import family_of
from pipelines.applogs.step_tables import BROUGHT
from pipelines.commerce.reading import SourceError
from pipelines.tables import TIME, Column

Taker = Callable[[Any], Any]
"""A value of a line → what the column holds."""
_JSON = frozenset({"value", "slots"})
"""Columns that hold JSON; rewritten so that equal values have equal texts."""
_LARGEST = 2**31 - 1
"""Largest place in a log or a chain."""
_KINDS: dict[Any, tuple[type, str]] = {
    pl.String: (str, "text"),
    pl.Int32: (int, "whole number"),
    pl.Boolean: (bool, "true or false"),
    TIME: (str, "text"),
}


def read_timeline(data: bytes, file: str, user_id: str, table: str) -> pl.DataFrame:
    """Rows of a table from lines of JSON objects named by its columns; `user_id` and nullable columns may be absent.

    Raises `SourceError` naming the line: for what is no such object, another user, a key of no family, a time that
    cannot be read, JSON that is none, and a row that stands twice.
    """
    spec = BROUGHT[table]
    takers = {name: _taker(name, column) for name, column in spec.columns.items() if name != "user_id"}
    rows = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            try:
                rows.append({**_row(line, user_id, takers), "__line": number})
            except (ValueError, RecursionError) as error:
                said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
                raise SourceError(file, number, said, f"Write each line as a row of {table}") from None
    schema = {name: pl.String if dtype == TIME else dtype for name, dtype in spec.schema.items()}
    read = pl.DataFrame(rows, schema={**schema, "__line": pl.Int64})
    for name, dtype in spec.schema.items():
        if dtype == TIME:
            read = _timed(read, name, file)
    twice = read.filter(~pl.struct(spec.key).is_first_distinct())
    if twice.height:
        named = ", ".join(str(twice[name][0]) for name in spec.key)
        raise SourceError(file, twice["__line"][0], f"a second row of {named}", "Leave one of them out")
    return read.drop("__line").sort(spec.sort_by)


def _row(line: bytes, user_id: str, takers: Mapping[str, Taker]) -> JsonObject:
    given = strict(line.decode())
    if not isinstance(given, dict):
        raise ValueError("no object")
    if unknown := sorted(given.keys() - takers.keys() - {"user_id"}):
        raise ValueError(f"no column is named {', '.join(map(repr, unknown))}")
    if given.get("user_id", user_id) != user_id:
        raise ValueError(f"user_id is {given['user_id']!r}, not {user_id!r}")
    row = {name: take(given.get(name)) for name, take in takers.items()}
    family_of(row["state_key"])
    return {"user_id": user_id, **row}


def _taker(name: str, column: Column) -> Taker:
    """What takes the values of a column. Raises `ValueError` for another value."""
    take = _of_type(name, column)

    def or_null(value: Any) -> Any:
        if value is None and not column.nullable:
            raise ValueError(f"{name} is absent")
        return None if value is None else take(value)

    return or_null


def _of_type(name: str, column: Column) -> Taker:
    if isinstance(column.dtype, pl.List):
        return lambda value: _checked(value, isinstance(value, list) and all(isinstance(one, str) for one in value),
                                      f"{name} is no list of texts")  # fmt: skip
    if isinstance(column.dtype, pl.Enum):
        known = tuple(column.dtype.categories)
        return lambda value: _checked(value, value in known, f"{name} is {value!r}, none of {', '.join(known)}")
    kind, said = _KINDS[column.dtype]
    if name in _JSON:
        return lambda value: _json(_checked(value, isinstance(value, str), f"{name} is no text"), name)
    if kind is int:
        return lambda value: _checked(
            value,
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST,
            f"{name} is no {said} from 0 to {_LARGEST}",
        )
    return lambda value: _checked(value, isinstance(value, kind), f"{name} is no {said}")


def _checked(value: Any, right: bool, else_said: str) -> Any:
    if not right:
        raise ValueError(else_said)
    return value


def _json(text: str, name: str) -> str:
    try:
        read = strict(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} holds no JSON ({error.msg})") from None
    if name == "slots" and not (isinstance(read, dict) and all(isinstance(path, str) for path in read.values())):
        raise ValueError(f"{name} is no object of texts, field of the service → path of the value's field")
    return canonical(read)


def _timed(read: pl.DataFrame, name: str, file: str) -> pl.DataFrame:
    timed = read.with_columns(wall_clock(read[name]), read[name].alias("__text"))
    bad = timed.filter(pl.col(name).is_null() & pl.col("__text").is_not_null())
    if bad.height:
        what = f"{name} {bad['__text'][0]!r} cannot be read as a time"
        raise SourceError(file, bad["__line"][0], what, "Write it as 2023-12-31 19:30:00")
    return timed.drop("__text")
