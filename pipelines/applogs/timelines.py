"""Gold as JSON lines: rows of `state_intervals`, `state_changes`, `state_evidence`, `state_moments` of one user."""

import json
from typing import Any

import polars as pl

from pipelines.applogs.clock import wall_clock
from pipelines.applogs.json_text import JsonObject, canonical, strict
from pipelines.applogs.state_values import family_of
from pipelines.applogs.step_tables import BROUGHT
from pipelines.commerce.reading import SourceError
from pipelines.tables import TIME, Column

_JSON = frozenset({"value", "slots"})
"""Columns that hold JSON; rewritten so that equal values have equal texts."""
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
    rows = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            try:
                rows.append({**_row(line, user_id, spec.columns), "__line": number})
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


def _row(line: bytes, user_id: str, columns: "dict[str, Column] | Any") -> JsonObject:
    given = strict(line.decode())
    if not isinstance(given, dict):
        raise ValueError("no object")
    if unknown := sorted(given.keys() - columns.keys()):
        raise ValueError(f"no column is named {', '.join(map(repr, unknown))}")
    if given.get("user_id", user_id) != user_id:
        raise ValueError(f"user_id is {given['user_id']!r}, not {user_id!r}")
    row = {name: _value(given.get(name), name, column) for name, column in columns.items() if name != "user_id"}
    family_of(row["state_key"])
    return {"user_id": user_id, **row}


def _value(value: Any, name: str, column: Column) -> Any:
    if value is None:
        if not column.nullable:
            raise ValueError(f"{name} is absent")
        return None
    if isinstance(column.dtype, pl.List):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ValueError(f"{name} is no list of texts")
        return value
    if isinstance(column.dtype, pl.Enum):
        if value not in column.dtype.categories:
            raise ValueError(f"{name} is {value!r}, none of {', '.join(column.dtype.categories)}")
        return value
    kind, said = _KINDS[column.dtype]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{name} is no {said}")
    if name in _JSON:
        try:
            return canonical(strict(str(value)))
        except json.JSONDecodeError as error:
            raise ValueError(f"{name} holds no JSON ({error.msg})") from None
    return value


def _timed(read: pl.DataFrame, name: str, file: str) -> pl.DataFrame:
    timed = read.with_columns(wall_clock(read[name]), read[name].alias("__text"))
    bad = timed.filter(pl.col(name).is_null() & pl.col("__text").is_not_null())
    if bad.height:
        what = f"{name} {bad['__text'][0]!r} cannot be read as a time"
        raise SourceError(file, bad["__line"][0], what, "Write it as 2023-12-31 19:30:00")
    return timed.drop("__text")
