"""What must hold for each table on its own: one declarative suite a table.

The kinds (`expectations.suites.kinds`) are compiled twice (`expectations.gx` to Great
Expectations, `expectations.summary` to Polars), so a partition can be judged by either.
What the registry says already (columns, types, nulls, enums, keys, emptiness, counts and
indices that cannot be negative) is derived from it; `OWN` adds what only this table
promises.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl

from expectations.suites.applog_arms import APPLOG_ARMS
from expectations.suites.applog_boards import APPLOG_BOARDS
from expectations.suites.applogs import APPLOGS
from expectations.suites.commerce import COMMERCE
from expectations.suites.evaluation import EVALUATION
from expectations.suites.kinds import (
    AtLeast,
    Between,
    Columns,
    Expectation,
    InSet,
    Length,
    Mean,
    NotNull,
    Rows,
    Unique,
)
from expectations.suites.onchain import ONCHAIN
from expectations.suites.predictions import PREDICTIONS
from pipelines.schema import TABLES

__all__ = [
    "OWN",
    "AtLeast",
    "Between",
    "Columns",
    "Expectation",
    "InSet",
    "Length",
    "Mean",
    "NotNull",
    "Rows",
    "Unique",
    "columns_named",
    "describe",
    "name_of",
    "suite",
]

OWN: dict[str, tuple[Expectation, ...]] = {
    **COMMERCE,
    **EVALUATION,
    **ONCHAIN,
    **PREDICTIONS,
    **APPLOGS,
    **APPLOG_ARMS,
    **APPLOG_BOARDS,
}
"""What a table promises beyond what the registry says."""


def suite(table: str, expected_rows: int | None = None) -> tuple[Expectation, ...]:
    """All expectations of a table; `expected_rows` is what conservation says it must hold, where that is known."""
    spec = TABLES[table]
    derived: list[Expectation] = [Columns(tuple(spec.schema.items()))]
    if expected_rows is not None:
        derived.append(Rows(expected_rows, expected_rows, spec.may_be_empty))
    else:
        derived.append(Rows(0 if spec.may_be_empty else 1, None, spec.may_be_empty))
    for name, column in spec.columns.items():
        if not column.nullable:
            derived.append(NotNull(name))
        if isinstance(column.dtype, pl.Enum):
            derived.append(InSet(name, tuple(column.dtype.categories)))
        if _counts(name, spec.schema[name]):
            derived.append(Between(name, 0))
    if spec.key:
        derived.append(Unique(spec.key))
    return (*derived, *OWN.get(table, ()))


def _counts(name: str, dtype: pl.DataType) -> bool:
    counted = (
        name.startswith(("n_", "hit_", "tokens"))
        or name.endswith("_index")
        or name in ("place", "position", "first_visit")
    )
    return dtype.is_integer() and counted


def columns_named(expectations: Sequence[Expectation]) -> list[str]:
    """Columns that any expectation but `Columns` looks at, each once."""
    named: dict[str, None] = {}
    for one in expectations:
        match one:
            case Unique(columns=columns):
                named.update(dict.fromkeys(columns))
            case AtLeast(column=column, other=other):
                named.update({column: None, other: None})
            case NotNull() | Between() | InSet() | Length() | Mean():
                named[one.column] = None
    return list(named)


def name_of(one: Expectation) -> str:
    """Short name of an expectation, unique within its suite."""
    match one:
        case Columns():
            return "columns"
        case Rows():
            return "rows"
        case Unique(columns=columns):
            return f"unique({', '.join(columns)})"
        case AtLeast(column=column, other=other):
            return f"at_least({column}, {other})"
        case Between(column=column, severity=severity, low=low, high=high):
            return f"between({column}, {_bound(low)}, {_bound(high)})" + ("" if severity == "error" else "?")
        case NotNull(column=column):
            return f"not_null({column})"
        case InSet(column=column):
            return f"in_set({column})"
        case Length(column=column):
            return f"length({column})"
        case Mean(column=column):
            return f"mean({column})"


def _bound(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d}"
    return "…" if value is None else str(value)


def describe(one: Expectation) -> str:
    """The expectation as a sentence."""
    match one:
        case Columns(schema=schema):
            return "columns are " + ", ".join(f"{name} {dtype}" for name, dtype in schema)
        case Rows(low=low, high=high, why=why):
            if high is not None:
                return f"{low} rows" if low == high else f"{low} to {high} rows"
            return "at least one row" if low else f"may be empty: {why}"
        case NotNull(column=column):
            return f"{column} is never null"
        case Between(column=column, low=low, high=high):
            return f"{column} lies between {_bound(low)} and {_bound(high)}"
        case InSet(column=column, values=values):
            return f"{column} is one of {', '.join(values)}"
        case Length(column=column, low=low, high=high):
            return f"{column} has {low} to {_bound(high)} characters"
        case AtLeast(column=column, other=other):
            return f"{column} ≥ {other}"
        case Unique(columns=columns):
            return f"({', '.join(columns)}) is unique"
        case Mean(column=column, low=low, high=high):
            return f"mean of {column} lies between {low} and {high}"
